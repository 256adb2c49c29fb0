/* Reading a journal's files when its shard is back: the checkpoint, then the
 * log's records, whose torn end is cut off. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/store/journal_inside.h"

/* A file of `size` > 0 bytes, mapped. */
static strads_err map_file(int fd, const char *path, uint64_t size,
                           const unsigned char **out)
{
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return sti_files_failed(path, "read");
    (void)madvise(bytes, size, MADV_SEQUENTIAL); /* advice only */
    *out = bytes;
    return STRADS_OK;
}

static strads_err recover_checkpoint(const sti_files_journal *j,
                                     const sti_journal_reader *reader)
{
    const sti_journal_head *head = &j->stand.checkpoint;
    const unsigned char *bytes = NULL;
    if (!head->generation)
        return STRADS_OK;
    int fd = openat(j->folder, "checkpoint", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sti_files_failed(j->checkpoint_path, "read");
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

static strads_err recover_log(sti_files_journal *j,
                              const sti_journal_reader *reader)
{
    struct stat info;
    sti_journal_log log = {.where = j->directory,
                           .generation = j->stand.generation};
    uint64_t end = 0;
    if (fstat(j->log, &info) != 0)
        return sti_files_failed(j->log_path, "read");
    log.size = (uint64_t)info.st_size;
    strads_err err = map_file(j->log, j->log_path, log.size, &log.bytes);
    if (err)
        return err;
    err = sti_journal_replay(&log, reader, &end);
    (void)munmap((void *)(uintptr_t)log.bytes, log.size);
    if (err)
        return err;
    if (end < log.size && ftruncate(j->log, (off_t)end) != 0)
        return sti_files_broke(j, j->log_path,
                               "cut off behind its last record");
    j->end = end;
    j->journal.log_bytes = end - STI_JOURNAL_HEAD;
    return STRADS_OK;
}

/* What a killed process had written but not synced is handed over too: it must
 * be durable before anybody builds on it. */
strads_err sti_files_recover(sti_journal *journal,
                             const sti_journal_reader *reader)
{
    sti_files_journal *j = (sti_files_journal *)journal;
    strads_err err = recover_checkpoint(j, reader);
    if (!err)
        err = recover_log(j, reader);
    if (err)
        return err;
    if (fdatasync(j->log) != 0)
        return sti_files_broke(j, j->log_path, "synced");
    j->durable = j->end;
    j->recovered = true;
    return STRADS_OK;
}
