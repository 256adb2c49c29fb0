/* Writes a file without a name, which ends with the process, gives it the
 * temporary name "NAME.PID-N.part" when its content is on disk, and renames it
 * to `path`. `path` changes only by that rename. File systems that lack files
 * without a name (NFS) have the temporary name from the beginning: there, every
 * path except a kill removes it. */
#include "engine/base/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_uint counter;

static strads_err cannot_write(const char *path, const char *why)
{
    return strads_fail(STRADS_EIO, "%s: cannot be written: %s", path, why);
}

/* The folder of a path, malloc'ed; "." if the path has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Whether `name` is "BASE.PID-N.part" of a process of this machine that has
 * ended. */
static bool is_of_dead_process(const char *name, const char *base)
{
    const size_t n = strlen(base);
    long pid;
    unsigned count;
    int end = 0;
    if (strncmp(name, base, n) != 0 || name[n] != '.' ||
        sscanf(name + n + 1, "%ld-%u.part%n", &pid, &count, &end) != 2 ||
        end == 0 || name[n + 1 + (size_t)end] != '\0' || pid <= 0)
        return false;
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Removes what killed processes of this user have left of `path`. The lock of
 * a process on another machine keeps its file. */
static void remove_stale(const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        struct stat about;
        if (!is_of_dead_process(e->d_name, base))
            continue;
        const int fd = openat(dirfd(dir), e->d_name,
                              O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
            about.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dirfd(dir), e->d_name, 0);
        if (fd >= 0)
            (void)close(fd);
    }
    if (dir)
        (void)closedir(dir);
}

strads_err sti_atomic_file_check(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return cannot_write(path, "it is a directory");
        if (!S_ISREG(info.st_mode))
            return cannot_write(path, "it is not a plain file");
    } else if (errno != ENOENT) {
        return cannot_write(path, strerror(errno));
    }
    char *folder = folder_of(path);
    if (!folder)
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    strads_err err = STRADS_OK;
    if (access(folder, W_OK | X_OK) != 0)
        err = cannot_write(path, strerror(errno));
    else
        remove_stale(folder, path);
    free(folder);
    return err;
}

/* "NAME.PID-N.part", malloc'ed. */
static char *temporary_name(const char *path)
{
    char *name = NULL;
    unsigned n = atomic_fetch_add(&counter, 1);
    int length = asprintf(&name, "%s.%ld-%u.part", path, (long)getpid(), n);
    return length < 0 ? NULL : name;
}

static void free_names(sti_atomic_file *file)
{
    free(file->path);
    free(file->temporary);
    *file = (sti_atomic_file){0};
}

/* A file without a name in the folder of `path`; -1 if the file system has
 * none, or if it could not get a name later. */
static int open_unnamed(const char *path)
{
#ifdef O_TMPFILE
    char *folder = access("/proc/self/fd", X_OK) == 0 ? folder_of(path) : NULL;
    const int fd =
        folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    free(folder);
    return fd;
#else
    (void)path;
    return -1;
#endif
}

strads_err sti_atomic_file_open(const char *path, sti_atomic_file *file)
{
    *file = (sti_atomic_file){0};
    strads_err err = sti_atomic_file_check(path);
    if (err)
        return err;
    /* A symbolic link stays; the file that it points to is replaced. */
    file->path = realpath(path, NULL);
    if (!file->path)
        file->path = strdup(path);
    file->temporary = file->path ? temporary_name(file->path) : NULL;
    if (!file->temporary) {
        free_names(file);
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    }
    int fd = open_unnamed(file->path);
    file->unnamed = fd >= 0;
    if (fd < 0)
        fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  0666);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB); /* see remove_stale */
    file->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file->stream) {
        err = cannot_write(path, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
            if (!file->unnamed)
                (void)unlink(file->temporary);
        }
        free_names(file);
    }
    return err;
}

/* Gives the file its temporary name. */
static bool name_file(sti_atomic_file *file)
{
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(file->stream));
    if (linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) !=
        0)
        return false;
    file->unnamed = false;
    return true;
}

/* Syncs the rename itself. Some network file systems cannot sync a folder; the
 * file exists anyway. */
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

static strads_err fail_and_abandon(sti_atomic_file *file, int why)
{
    strads_err err = cannot_write(file->path, strerror(why));
    sti_atomic_file_abandon(file);
    return err;
}

strads_err sti_atomic_file_sync(sti_atomic_file *file)
{
    int bad = ferror(file->stream) | fflush(file->stream);
    bad = bad || fsync(fileno(file->stream)) != 0;
    bad = bad || (file->unnamed && !name_file(file));
    int why = errno;
    if (fclose(file->stream) != 0 && !bad) {
        bad = 1;
        why = errno;
    }
    file->stream = NULL;
    return bad ? fail_and_abandon(file, why) : STRADS_OK;
}

strads_err sti_atomic_file_commit(sti_atomic_file *file)
{
    strads_err err = file->stream ? sti_atomic_file_sync(file) : STRADS_OK;
    if (err)
        return err;
    if (rename(file->temporary, file->path) != 0)
        return fail_and_abandon(file, errno);
    sync_folder(file->path);
    free_names(file);
    return STRADS_OK;
}

void sti_atomic_file_abandon(sti_atomic_file *file)
{
    if (file->stream)
        (void)fclose(file->stream);
    if (file->temporary && !file->unnamed)
        (void)unlink(file->temporary);
    free_names(file);
}
