/* Files without a name: made by O_TMPFILE, or made and unlinked at once. */
#include "engine/data/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int make_unnamed(const char *folder, int direct)
{
    char name[4096];
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | direct, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
#endif
    (void)snprintf(name, sizeof name, "%s/strads-scratch-XXXXXX", folder);
    fd = mkostemp(name, O_CLOEXEC | direct);
    if (fd >= 0)
        (void)unlink(name);
    return fd;
}

static int open_unnamed(const sti_scratch_use *use)
{
#ifdef O_DIRECT
    const int fd = use->direct ? make_unnamed(use->folder, O_DIRECT) : -1;
    if (fd >= 0)
        return fd;
#endif
    return make_unnamed(use->folder, 0);
}

static strads_err fail_open(const sti_scratch_use *use)
{
    return strads_fail(STRADS_EIO,
                       "%s: cannot hold the scratch file: %s: name a folder "
                       "that can be written to (--scratch)",
                       use->folder, strerror(errno));
}

static strads_err lack_room(const sti_scratch_use *use, uint64_t bytes,
                            const char *found)
{
    return strads_fail(STRADS_EIO,
                       "%s: %s %llu bytes of scratch space%s: name a folder on "
                       "another disk (--scratch)%s",
                       use->folder, use->needs, (unsigned long long)bytes,
                       found, use->remedy);
}

/* Makes the file that long, and reserves the room where the system can, so that
 * two files do not count on the same room. False: see errno. */
static bool reserve_room(int fd, uint64_t bytes)
{
#ifdef __linux__
    if (bytes > 0 && fallocate(fd, 0, 0, (off_t)bytes) != 0 &&
        (errno == ENOSPC || errno == EDQUOT))
        return false;
#endif
    return ftruncate(fd, (off_t)bytes) == 0;
}

strads_err sti_scratch_file_open(const sti_scratch_use *use, uint64_t bytes,
                                 int *out)
{
    struct statvfs room;
    char found[64];
    if (statvfs(use->folder, &room) != 0)
        return fail_open(use);
    const uint64_t free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    if (free_bytes < bytes) {
        (void)snprintf(found, sizeof found, " and %llu are free",
                       (unsigned long long)free_bytes);
        return lack_room(use, bytes, found);
    }
    const int fd = open_unnamed(use);
    if (fd < 0)
        return fail_open(use);
    if (!reserve_room(fd, bytes)) {
        (void)snprintf(found, sizeof found, ": %s", strerror(errno));
        (void)close(fd);
        return lack_room(use, bytes, found);
    }
    *out = fd;
    return STRADS_OK;
}

/* True if a call failed only because it must bypass the page cache. */
static bool may_use_cache(int fd)
{
#ifdef O_DIRECT
    const int flags = fcntl(fd, F_GETFL);
    if (errno == EINVAL && flags >= 0 && (flags & O_DIRECT) != 0)
        return fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
#else
    (void)fd;
#endif
    return false;
}

strads_err sti_scratch_file_read(int fd, uint64_t offset, void *to, uint64_t n)
{
    for (char *at = to; n > 0;) {
        const ssize_t got = pread(fd, at, n, (off_t)offset);
        if (got < 0 && (errno == EINTR || may_use_cache(fd)))
            continue;
        if (got <= 0)
            return strads_fail(STRADS_EIO,
                               "the scratch file cannot be read: %s",
                               got < 0 ? strerror(errno) : "it is cut short");
        at += got;
        offset += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return STRADS_OK;
}

strads_err sti_scratch_file_write(int fd, uint64_t offset, const void *from,
                                  uint64_t n)
{
    for (const char *at = from; n > 0;) {
        const ssize_t put = pwrite(fd, at, n, (off_t)offset);
        if (put < 0 && (errno == EINTR || may_use_cache(fd)))
            continue;
        if (put <= 0)
            return strads_fail(STRADS_EIO,
                               "the scratch file cannot be written: %s: name a "
                               "folder on another disk (--scratch)",
                               put < 0 ? strerror(errno) : "no byte is taken");
        at += put;
        offset += (uint64_t)put;
        n -= (uint64_t)put;
    }
    return STRADS_OK;
}
