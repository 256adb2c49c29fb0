/* A journal in a directory of its own, the files `log` and `checkpoint`.
 *
 * It owns the directory (by its lock, as long as it is open), the log's
 * descriptor, and where the log ends. Invariants: the log's bytes up to
 * `durable` have reached the disk, those up to `end` are whole records, and
 * nothing lies behind them; the log goes with the checkpoint that is there, but
 * between the two renames of a new checkpoint. A journal whose files are not
 * known to be so any more is `broken`, and is not written to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/base/atomic_file.h"
#include "engine/store/journal_format.h"

enum { TOGETHER = 64 }; /* records in one system call */

typedef struct files_journal {
    sti_journal journal;
    sti_journal_options options;
    char *directory, *log_path, *checkpoint_path;
    int folder, log; /* descriptors, or -1 */
    sti_journal_stand stand;
    uint64_t end, durable; /* of the log */
    bool recovered, broken;
} files_journal;

static strads_err failed(const char *path, const char *what)
{
    return strads_fail(STRADS_EIO, "%s: cannot be %s: %s", path, what,
                       strerror(errno));
}

static strads_err broke(files_journal *j, const char *path, const char *what)
{
    j->broken = true;
    return strads_fail(STRADS_EIO,
                       "%s: cannot be %s: %s; the journal takes nothing any "
                       "more: see to the disk and restart the shard",
                       path, what, strerror(errno));
}

static strads_err check_usable(const files_journal *j)
{
    if (j->broken)
        return strads_fail(STRADS_ESTATE,
                           "%s: the journal takes nothing any more, because "
                           "the disk failed before: restart the shard",
                           j->directory);
    if (!j->recovered)
        return strads_fail(STRADS_ESTATE,
                           "%s: is to be recovered before it is written to",
                           j->directory);
    return STRADS_OK;
}

/* ---- writing ------------------------------------------------------------- */

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
static bool write_some(const files_journal *j,
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

static strads_err append(sti_journal *journal,
                         const sti_journal_record *records, size_t n)
{
    files_journal *j = (files_journal *)journal;
    uint64_t at = j->end;
    bool written = true;
    strads_err err = check_usable(j);
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
            err = broke(j, j->log_path, "cut back");
        return err;
    }
    j->end = at;
    journal->log_bytes = at - STI_JOURNAL_HEAD;
    return STRADS_OK;
}

/* The kernel tells of a write that the disk refused once, and forgets it: a
 * second sync that succeeds proves nothing. */
static strads_err sync_log(sti_journal *journal)
{
    files_journal *j = (files_journal *)journal;
    strads_err err = check_usable(j);
    if (err || j->durable == j->end)
        return err;
    if (fdatasync(j->log) != 0)
        return broke(j, j->log_path, "synced");
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
               : failed(path, "written");
}

static sti_journal_head head_of(const files_journal *j, uint64_t generation)
{
    return (sti_journal_head){.run = j->options.run,
                              .shard = j->options.shard,
                              .generation = generation};
}

static strads_err prepare_log(const files_journal *j, uint64_t generation,
                              sti_atomic_file *file)
{
    const sti_journal_head head = head_of(j, generation);
    strads_err err = sti_atomic_file_open(j->log_path, file);
    if (!err)
        err = write_head(file, j->log_path, STI_JOURNAL_LOG, &head);
    if (!err && (fflush(file->stream) != 0 || fsync(fileno(file->stream)) != 0))
        err = failed(j->log_path, "written");
    return err;
}

/* Some file systems cannot sync a directory (EINVAL): there a rename is as
 * durable as it gets. */
static strads_err sync_folder(files_journal *j)
{
    if (fsync(j->folder) == 0 || errno == EINVAL)
        return STRADS_OK;
    return broke(j, j->directory, "synced");
}

static strads_err start_log(files_journal *j, sti_atomic_file *file)
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
        return broke(j, j->log_path, "opened");
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
    return fwrite(bytes, 1, size, s->file) == size ? STRADS_OK
                                                   : failed(s->path, "written");
}

/* The head tells size and checksum: it is written last. */
static strads_err write_checkpoint(const files_journal *j,
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
        err = failed(path, "written");
    return err ? err : write_head(file, path, STI_JOURNAL_CHECKPOINT, head);
}

/* All that a full disk can refuse comes before the first rename. After it the
 * old log is void: it must not be written to any more. */
static strads_err checkpoint(sti_journal *journal, sti_journal_state *state,
                             void *arg)
{
    files_journal *j = (files_journal *)journal;
    sti_journal_head head = head_of(j, j->stand.generation + 1);
    sti_atomic_file log = {0}, file = {0};
    strads_err err = check_usable(j);
    if (err)
        return err;
    err = prepare_log(j, head.generation, &log);
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
            err = start_log(j, &log);
    }
    sti_atomic_file_abandon(&file);
    sti_atomic_file_abandon(&log);
    return err;
}

/* ---- coming back --------------------------------------------------------- */

/* A file of `size` > 0 bytes, mapped. */
static strads_err map_file(int fd, const char *path, uint64_t size,
                           const unsigned char **out)
{
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return failed(path, "read");
    (void)madvise(bytes, size, MADV_SEQUENTIAL); /* advice only */
    *out = bytes;
    return STRADS_OK;
}

static strads_err recover_checkpoint(const files_journal *j,
                                     const sti_journal_reader *reader)
{
    const sti_journal_head *head = &j->stand.checkpoint;
    const unsigned char *bytes = NULL;
    if (!head->generation)
        return STRADS_OK;
    int fd = openat(j->folder, "checkpoint", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(j->checkpoint_path, "read");
    uint64_t size = STI_JOURNAL_HEAD + head->size;
    strads_err err = map_file(fd, j->checkpoint_path, size, &bytes);
    (void)close(fd);
    if (err)
        return err;
    const void *state = bytes + STI_JOURNAL_HEAD;
    err = sti_journal_check_state(j->directory, head, state);
    if (!err)
        err = reader->checkpoint(reader->arg, state, head->size);
    (void)munmap((void *)(uintptr_t)bytes, size);
    return err;
}

static strads_err recover_log(files_journal *j,
                              const sti_journal_reader *reader)
{
    struct stat info;
    sti_journal_log log = {.where = j->directory,
                           .generation = j->stand.generation};
    uint64_t end = 0;
    if (fstat(j->log, &info) != 0)
        return failed(j->log_path, "read");
    log.size = (uint64_t)info.st_size;
    strads_err err = map_file(j->log, j->log_path, log.size, &log.bytes);
    if (err)
        return err;
    err = sti_journal_replay(&log, reader, &end);
    (void)munmap((void *)(uintptr_t)log.bytes, log.size);
    if (err)
        return err;
    if (end < log.size && ftruncate(j->log, (off_t)end) != 0)
        return broke(j, j->log_path, "cut off behind its last record");
    j->end = end;
    j->journal.log_bytes = end - STI_JOURNAL_HEAD;
    return STRADS_OK;
}

/* What a killed process had written but not synced is handed over too: it must
 * be durable before anybody builds on it. */
static strads_err recover(sti_journal *journal,
                          const sti_journal_reader *reader)
{
    files_journal *j = (files_journal *)journal;
    strads_err err = recover_checkpoint(j, reader);
    if (!err)
        err = recover_log(j, reader);
    if (err)
        return err;
    if (fdatasync(j->log) != 0)
        return broke(j, j->log_path, "synced");
    j->durable = j->end;
    j->recovered = true;
    return STRADS_OK;
}

/* ---- opening and closing ------------------------------------------------- */

static void close_files(sti_journal *journal)
{
    files_journal *j = (files_journal *)journal;
    if (j->log >= 0)
        (void)close(j->log);
    if (j->folder >= 0)
        (void)close(j->folder);
    free(j->directory);
    free(j->log_path);
    free(j->checkpoint_path);
    free(j);
}

static const sti_journal_ops files_ops = {.recover = recover,
                                          .append = append,
                                          .sync = sync_log,
                                          .checkpoint = checkpoint,
                                          .close = close_files};

/* The directory, made when it is not there, and its lock. */
static strads_err lock_folder(files_journal *j)
{
    bool made = mkdir(j->directory, 0777) == 0;
    if (!made && errno != EEXIST)
        return failed(j->directory, "made");
    j->folder = open(j->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->folder < 0)
        return failed(j->directory, "opened");
    if (flock(j->folder, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? sti_journal_in_use(j->directory)
                                    : failed(j->directory, "locked");
    int above =
        made ? openat(j->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (above >= 0) {
        (void)fsync(above); /* as in sti_atomic_file_commit */
        (void)close(above);
    }
    return STRADS_OK;
}

/* Removes what a killed process was writing (atomic_file.h). */
static void remove_leftovers(const files_journal *j)
{
    DIR *folder = opendir(j->directory);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        size_t length = strlen(name);
        if ((strncmp(name, "log.", 4) == 0 ||
             strncmp(name, "checkpoint.", 11) == 0) &&
            length > 5 && strcmp(name + length - 5, ".part") == 0)
            (void)unlinkat(j->folder, name, 0);
    }
    if (folder)
        (void)closedir(folder);
}

/* The first bytes of a file, and its size; 0 when it is not there. */
static strads_err peek(const char *path, int fd, unsigned char *head,
                       uint64_t *size)
{
    struct stat info;
    *size = 0;
    if (fd < 0)
        return errno == ENOENT ? STRADS_OK : failed(path, "opened");
    if (fstat(fd, &info) != 0 || pread(fd, head, STI_JOURNAL_HEAD, 0) < 0)
        return failed(path, "read");
    /* A file without bytes is there, too: it is refused for what it is. */
    *size = info.st_size ? (uint64_t)info.st_size : 1;
    return STRADS_OK;
}

/* Judges the files, and begins the log where there is none. */
static strads_err look(files_journal *j)
{
    unsigned char log[STI_JOURNAL_HEAD], checkpoint_head[STI_JOURNAL_HEAD];
    sti_journal_heads heads = {.where = j->directory,
                               .log = log,
                               .checkpoint = checkpoint_head};
    sti_atomic_file file = {0};
    int fd = openat(j->folder, "checkpoint", O_RDONLY | O_CLOEXEC);
    strads_err err =
        peek(j->checkpoint_path, fd, checkpoint_head, &heads.checkpoint_size);
    if (fd >= 0)
        (void)close(fd);
    if (err)
        return err;
    j->log = openat(j->folder, "log", O_RDWR | O_CLOEXEC);
    err = peek(j->log_path, j->log, log, &heads.log_size);
    if (!err)
        err = sti_journal_judge(&heads, &j->options, &j->stand);
    if (err || !j->stand.needs_log)
        return err;
    err = prepare_log(j, j->stand.generation, &file);
    if (!err)
        err = start_log(j, &file);
    sti_atomic_file_abandon(&file);
    return err;
}

static strads_err name_files(files_journal *j, const char *directory)
{
    j->directory = strdup(directory);
    if (asprintf(&j->log_path, "%s/log", directory) < 0)
        j->log_path = NULL;
    if (asprintf(&j->checkpoint_path, "%s/checkpoint", directory) < 0)
        j->checkpoint_path = NULL;
    if (j->directory && j->log_path && j->checkpoint_path)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "%s: no memory for a journal", directory);
}

strads_err sti_journal_open(const char *directory,
                            const sti_journal_options *options,
                            sti_journal **out)
{
    files_journal *j = calloc(1, sizeof *j);
    if (!j)
        return strads_fail(STRADS_ENOMEM, "%s: no memory for a journal",
                           directory);
    j->journal =
        (sti_journal){.ops = &files_ops, .log_room = options->log_room};
    j->options = *options;
    j->folder = j->log = -1;
    strads_err err = name_files(j, directory);
    if (!err)
        err = lock_folder(j);
    if (err)
        goto fail;
    remove_leftovers(j);
    err = look(j);
    if (err)
        goto fail;
    j->journal.checkpoint_bytes = j->stand.checkpoint.size;
    *out = &j->journal;
    return STRADS_OK;
fail:
    close_files(&j->journal);
    return err;
}
