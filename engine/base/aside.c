/* Files that are whole or not there. A half-written one is called
 * "NAME.PID-N.part" and is removed on every path but a kill; `path` itself is
 * touched by one rename, after the content has reached the disk. */
#include "engine/base/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_uint counter;

static strads_err cannot_write(const char *path, const char *why)
{
    return strads_fail(STRADS_EIO, "%s: cannot be written: %s", path, why);
}

/* The folder of a path, malloc'ed; "." where it has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return strdup(".");
    }
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

strads_err sti_aside_check(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return cannot_write(path, "it is a directory");
        }
        if (!S_ISREG(info.st_mode)) {
            return cannot_write(path, "it is not a plain file");
        }
    } else if (errno != ENOENT) {
        return cannot_write(path, strerror(errno));
    }
    char *folder = folder_of(path);
    if (!folder) {
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    }
    strads_err err = STRADS_OK;
    if (access(folder, W_OK | X_OK) != 0) {
        err = cannot_write(path, strerror(errno));
    }
    free(folder);
    return err;
}

/* "NAME.PID-N.part", malloc'ed. */
static char *name_beside(const char *path)
{
    char *name = NULL;
    unsigned n = atomic_fetch_add(&counter, 1);
    int length = asprintf(&name, "%s.%ld-%u.part", path, (long)getpid(), n);
    return length < 0 ? NULL : name;
}

static void forget(sti_aside *aside)
{
    free(aside->path);
    free(aside->beside);
    *aside = (sti_aside){0};
}

strads_err sti_aside_open(const char *path, sti_aside *aside)
{
    *aside = (sti_aside){0};
    strads_err err = sti_aside_check(path);
    if (err) {
        return err;
    }
    /* A link stays a link: what it names is replaced. */
    aside->path = realpath(path, NULL);
    if (!aside->path) {
        aside->path = strdup(path);
    }
    aside->beside = aside->path ? name_beside(aside->path) : NULL;
    if (!aside->beside) {
        forget(aside);
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    }
    int fd = open(aside->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    aside->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!aside->file) {
        err = cannot_write(path, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
            (void)unlink(aside->beside);
        }
        forget(aside);
    }
    return err;
}

/* The rename itself must reach the disk too; where a folder cannot be synced
 * (some network file systems) the file is there all the same. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(folder);
}

static strads_err give_up(sti_aside *aside, int why)
{
    strads_err err = cannot_write(aside->path, strerror(why));
    sti_aside_abandon(aside);
    return err;
}

strads_err sti_aside_settle(sti_aside *aside)
{
    int bad = ferror(aside->file) | fflush(aside->file);
    bad = bad || fsync(fileno(aside->file)) != 0;
    int why = errno;
    if (fclose(aside->file) != 0 && !bad) {
        bad = 1;
        why = errno;
    }
    aside->file = NULL;
    return bad ? give_up(aside, why) : STRADS_OK;
}

strads_err sti_aside_commit(sti_aside *aside)
{
    strads_err err = aside->file ? sti_aside_settle(aside) : STRADS_OK;
    if (err)
        return err;
    if (rename(aside->beside, aside->path) != 0)
        return give_up(aside, errno);
    sync_folder(aside->path);
    forget(aside);
    return STRADS_OK;
}

void sti_aside_abandon(sti_aside *aside)
{
    if (aside->file) {
        (void)fclose(aside->file);
    }
    if (aside->beside) {
        (void)unlink(aside->beside);
    }
    forget(aside);
}
