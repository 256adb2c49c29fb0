/* Writing a journal's files: records at the end of its log, and a checkpoint
 * with a new log behind it. Invariants in journal_inside.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/store/journal_inside.h"

enum { TOGETHER = 64 }; /* records in one system call */

/* ---- appending --------------------------------------------------------- */

/* Writes all parts at `at`; changes the list. */
static bool write_all(int fd, struct iovec *part, int n, uint64_t at)
{
    while (n > 0) {
        ssize_t done = pwritev(fd, part, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        at += (uint64_t)done;
        for (; n > 0 && (size_t)done >= part->iov_len; part++, n--)
            done -= (ssize_t)part->iov_len;
        if (n > 0) {
            part->iov_base = (char *)part->iov_base + done;
            part->iov_len -= (size_t)done;
        }
    }
    return true;
}

/* Writes up to TOGETHER records at *at, from where their bytes lie. */
static bool write_some(const sti_files_journal *j,
                       const sti_journal_record *records, size_t n,
                       uint64_t *at)
{
    static const unsigned char zeros[8];
    unsigned char heads[TOGETHER][STI_JOURNAL_HEAD];
    struct iovec part[3 * TOGETHER];
    int parts = 0;
    uint64_t next = *at;
    for (size_t k = 0; k < n; k++) {
        const sti_journal_record *r = &records[k];
        const sti_journal_place place = {.generation = j->stand.generation,
                                         .at = next,
                                         .durable = j->durable};
        sti_journal_record_encode(r, &place, heads[k]);
        next += sti_journal_record_bytes(r);
        part[parts++] = (struct iovec){heads[k], STI_JOURNAL_HEAD};
        if (r->size)
            part[parts++] =
                (struct iovec){(void *)(uintptr_t)r->bytes, (size_t)r->size};
        if (r->size % 8)
            part[parts++] =
                (struct iovec){(void *)(uintptr_t)zeros, 8 - r->size % 8};
    }
    if (!write_all(j->log, part, parts, *at))
        return false;
    *at = next;
    return true;
}

strads_err sti_files_append(sti_journal *journal,
                            const sti_journal_record *records, size_t n)
{
    sti_files_journal *j = (sti_files_journal *)journal;
    uint64_t at = j->end;
    bool written = true;
    strads_err err = sti_files_check(j);
    if (err)
        return err;
    for (size_t k = 0; written && k < n; k += TOGETHER)
        written = write_some(j, records + k,
                             n - k < TOGETHER ? n - k : TOGETHER, &at);
    if (!written) {
        err = strads_fail(STRADS_EIO,
                          "%s: cannot be written: %s; nothing of it was "
                          "taken: make room on the disk",
                          j->log_path, strerror(errno));
        if (ftruncate(j->log, (off_t)j->end) != 0)
            err = sti_files_broke(j, j->log_path, "cut back");
        return err;
    }
    j->end = at;
    journal->log_bytes = at - STI_JOURNAL_HEAD;
    return STRADS_OK;
}

/* The kernel tells of a write that the disk refused once, and forgets it: a
 * second sync that succeeds proves nothing. */
strads_err sti_files_sync(sti_journal *journal)
{
    sti_files_journal *j = (sti_files_journal *)journal;
    strads_err err = sti_files_check(j);
    if (err || j->durable == j->end)
        return err;
    if (fdatasync(j->log) != 0)
        return sti_files_broke(j, j->log_path, "synced");
    j->durable = j->end;
    return STRADS_OK;
}

/* ---- new files --------------------------------------------------------- */

static strads_err write_head(sti_atomic_file *file, const char *path,
                             sti_journal_file kind,
                             const sti_journal_head *head)
{
    unsigned char bytes[STI_JOURNAL_HEAD];
    sti_journal_head_encode(kind, head, bytes);
    return fwrite(bytes, sizeof bytes, 1, file->stream) == 1
               ? STRADS_OK
               : sti_files_failed(path, "written");
}

static sti_journal_head head_of(const sti_files_journal *j, uint64_t generation)
{
    return (sti_journal_head){.run = j->options.run,
                              .shard = j->options.shard,
                              .generation = generation};
}

strads_err sti_files_prepare_log(const sti_files_journal *j,
                                 uint64_t generation, sti_atomic_file *file)
{
    const sti_journal_head head = head_of(j, generation);
    strads_err err = sti_atomic_file_open(j->log_path, file);
    if (!err)
        err = write_head(file, j->log_path, STI_JOURNAL_LOG, &head);
    if (!err && (fflush(file->stream) != 0 || fsync(fileno(file->stream)) != 0))
        err = sti_files_failed(j->log_path, "written");
    return err;
}

/* Some file systems cannot sync a directory (EINVAL): there a rename is as
 * durable as it gets. */
static strads_err sync_folder(sti_files_journal *j)
{
    if (fsync(j->folder) == 0 || errno == EINVAL)
        return STRADS_OK;
    return sti_files_broke(j, j->directory, "synced");
}

strads_err sti_files_start_log(sti_files_journal *j, sti_atomic_file *file)
{
    strads_err err = sti_atomic_file_commit(file);
    if (err) {
        j->broken = true;
        return err;
    }
    err = sync_folder(j);
    if (err)
        return err;
    if (j->log >= 0)
        (void)close(j->log);
    j->log = openat(j->folder, "log", O_RDWR | O_CLOEXEC);
    if (j->log < 0)
        return sti_files_broke(j, j->log_path, "opened");
    j->end = j->durable = STI_JOURNAL_HEAD;
    j->journal.log_bytes = 0;
    return STRADS_OK;
}

/* ---- checkpoints ------------------------------------------------------- */

typedef struct file_sink {
    sti_sink sink;
    FILE *file;
    const char *path;
} file_sink;

static strads_err put_bytes(sti_sink *sink, const void *bytes, size_t size)
{
    file_sink *s = (file_sink *)sink;
    return fwrite(bytes, 1, size, s->file) == size
               ? STRADS_OK
               : sti_files_failed(s->path, "written");
}

/* The head tells size and checksum: it is written last. */
static strads_err write_checkpoint(const sti_files_journal *j,
                                   sti_atomic_file *file,
                                   sti_journal_state *state, void *arg,
                                   sti_journal_head *head)
{
    const char *path = j->checkpoint_path;
    strads_err err = sti_atomic_file_open(path, file);
    if (err)
        return err;
    file_sink to = {.sink.put = put_bytes, .file = file->stream, .path = path};
    err = write_head(file, path, STI_JOURNAL_CHECKPOINT, head);
    if (!err)
        err = sti_journal_put_state(state, arg, &to.sink, head);
    if (!err && fseek(file->stream, 0, SEEK_SET) != 0)
        err = sti_files_failed(path, "written");
    return err ? err : write_head(file, path, STI_JOURNAL_CHECKPOINT, head);
}

/* All that a full disk can refuse comes before the first rename. After it the
 * old log is void: it must not be written to any more. */
strads_err sti_files_checkpoint(sti_journal *journal, sti_journal_state *state,
                                void *arg)
{
    sti_files_journal *j = (sti_files_journal *)journal;
    sti_journal_head head = head_of(j, j->stand.generation + 1);
    sti_atomic_file log = {0}, file = {0};
    strads_err err = sti_files_check(j);
    if (err)
        return err;
    err = sti_files_prepare_log(j, head.generation, &log);
    if (!err)
        err = write_checkpoint(j, &file, state, arg, &head);
    if (!err)
        err = sti_atomic_file_commit(&file);
    if (!err) {
        j->stand = (sti_journal_stand){.generation = head.generation,
                                       .checkpoint = head};
        journal->checkpoint_bytes = head.size;
        err = sync_folder(j);
        if (!err)
            err = sti_files_start_log(j, &log);
    }
    sti_atomic_file_abandon(&file);
    sti_atomic_file_abandon(&log);
    return err;
}
