/* A journal in a directory of its own, the files `log` and `checkpoint`:
 * opening and closing it. Writing is in journal_write.c, reading in
 * journal_recover.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/store/journal_inside.h"

strads_err sti_files_failed(const char *path, const char *what)
{
    return strads_fail(STRADS_EIO, "%s: cannot be %s: %s", path, what,
                       strerror(errno));
}

strads_err sti_files_broke(sti_files_journal *j, const char *path,
                           const char *what)
{
    j->broken = true;
    return strads_fail(STRADS_EIO,
                       "%s: cannot be %s: %s; the journal takes nothing any "
                       "more: see to the disk and restart the shard",
                       path, what, strerror(errno));
}

strads_err sti_files_check(const sti_files_journal *j)
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

static void close_files(sti_journal *journal)
{
    sti_files_journal *j = (sti_files_journal *)journal;
    if (j->log >= 0)
        (void)close(j->log);
    if (j->folder >= 0)
        (void)close(j->folder);
    free(j->directory);
    free(j->log_path);
    free(j->checkpoint_path);
    free(j);
}

static const sti_journal_ops files_ops = {.recover = sti_files_recover,
                                          .append = sti_files_append,
                                          .sync = sti_files_sync,
                                          .checkpoint = sti_files_checkpoint,
                                          .close = close_files};

/* The directory, made when it is not there, and its lock. */
static strads_err lock_folder(sti_files_journal *j)
{
    bool made = mkdir(j->directory, 0777) == 0;
    if (!made && errno != EEXIST)
        return sti_files_failed(j->directory, "made");
    j->folder = open(j->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->folder < 0)
        return sti_files_failed(j->directory, "opened");
    if (flock(j->folder, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? sti_journal_in_use(j->directory)
                                    : sti_files_failed(j->directory, "locked");
    int above =
        made ? openat(j->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (above >= 0) {
        (void)fsync(above); /* as in sti_atomic_file_commit */
        (void)close(above);
    }
    return STRADS_OK;
}

/* Removes what a killed process was writing (atomic_file.h). */
static void remove_leftovers(const sti_files_journal *j)
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
        return errno == ENOENT ? STRADS_OK : sti_files_failed(path, "opened");
    if (fstat(fd, &info) != 0 || pread(fd, head, STI_JOURNAL_HEAD, 0) < 0)
        return sti_files_failed(path, "read");
    /* A file without bytes is there, too: it is refused for what it is. */
    *size = info.st_size ? (uint64_t)info.st_size : 1;
    return STRADS_OK;
}

/* Judges the files, and begins the log where there is none. */
static strads_err look(sti_files_journal *j)
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
    err = sti_files_prepare_log(j, j->stand.generation, &file);
    if (!err)
        err = sti_files_start_log(j, &file);
    sti_atomic_file_abandon(&file);
    return err;
}

static strads_err name_files(sti_files_journal *j, const char *directory)
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
    sti_files_journal *j = calloc(1, sizeof *j);
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
