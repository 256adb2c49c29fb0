/* Opens a file and keeps its bytes until closed. A regular file is mapped on
 * top of an anonymous reservation that is one page longer: reading past its end
 * finds zeros, never a fault. A file that shrinks while it is mapped raises
 * SIGBUS in any program that maps; one that is rewritten is told by its
 * times. */
#include "engine/data/text_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/data/big_array.h"

enum { PAGE = 4096, FIRST_READ = 1 << 20 };

static strads_err refuse(const char *path, int error)
{
    return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                       strerror(error));
}

static strads_err map_file(sti_text *text, int fd)
{
    text->size = (size_t)text->seen.st_size;
    text->reserved = (text->size + PAGE - 1) / PAGE * PAGE + PAGE;
    char *room = mmap(NULL, text->reserved, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return refuse(text->path, errno);
    text->bytes = room;
    if (mmap(room, text->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
        MAP_FAILED)
        return refuse(text->path, errno);
    (void)madvise(room, text->size, MADV_WILLNEED);
    return STRADS_OK;
}

static bool double_room(sti_text *text, uint64_t limit)
{
    size_t room = text->reserved == 0 ? FIRST_READ : 2 * text->reserved;
    void *bytes = (void *)(uintptr_t)text->bytes;
    bytes = room <= limit ? sti_big_grow(bytes, text->reserved, room) : NULL;
    if (bytes == NULL)
        return false;
    text->bytes = bytes;
    text->reserved = room;
    return true;
}

/* A pipe or a device: everything it has, in an array that doubles. */
static strads_err read_to_end(sti_text *text, int fd, uint64_t limit)
{
    for (;;) {
        if (text->reserved - text->size <= PAGE && !double_room(text, limit))
            return strads_fail(STRADS_ENOMEM,
                               "%s: no memory to hold more than %zu bytes of "
                               "it; a regular file needs none",
                               text->path, text->size);
        char *to = (char *)(uintptr_t)text->bytes + text->size;
        ssize_t got = read(fd, to, text->reserved - text->size - PAGE);
        if (got == 0)
            return STRADS_OK;
        if (got < 0 && errno != EINTR)
            return refuse(text->path, errno);
        text->size += got > 0 ? (size_t)got : 0;
    }
}

/* A zstd frame, or one that is passed over: pzstd writes such before others. */
static bool is_zstd(const char *bytes)
{
    return memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0 ||
           ((bytes[0] & 0xf0) == 0x50 &&
            memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0);
}

static sti_codec find_codec(const sti_text *text)
{
    if (text->size >= 2 && memcmp(text->bytes, "\x1f\x8b", 2) == 0)
        return STI_CODEC_GZIP;
    if (text->size >= 4 && is_zstd(text->bytes))
        return STI_CODEC_ZSTD;
    return STI_CODEC_NONE;
}

static strads_err take_bytes(sti_text *text, int fd, uint64_t limit)
{
    if (fstat(fd, &text->seen) != 0)
        return refuse(text->path, errno);
    if (S_ISDIR(text->seen.st_mode))
        return strads_fail(STRADS_EIO, "%s: is a directory, expected a file",
                           text->path);
    text->regular = S_ISREG(text->seen.st_mode);
    strads_err err = STRADS_OK;
    if (!text->regular)
        err = read_to_end(text, fd, limit);
    else if (text->seen.st_size > 0)
        err = map_file(text, fd);
    if (err == STRADS_OK && text->size == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is empty, expected lines of text", text->path);
    return err;
}

strads_err sti_text_open(sti_text *text, const char *path, uint64_t limit)
{
    *text = (sti_text){.path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(path, errno);
    strads_err err = take_bytes(text, fd, limit);
    (void)close(fd);
    if (err == STRADS_OK)
        text->codec = find_codec(text);
    else
        sti_text_close(text);
    return err;
}

void sti_text_close(sti_text *text)
{
    if (text->bytes == NULL)
        return;
    if (text->regular)
        (void)munmap((void *)(uintptr_t)text->bytes, text->reserved);
    else
        sti_big_free((void *)(uintptr_t)text->bytes, text->reserved);
    text->bytes = NULL;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

strads_err sti_text_unchanged(const sti_text *text)
{
    struct stat now;
    if (!text->regular || stat(text->path, &now) != 0)
        return STRADS_OK;
    /* Another file may have taken the name: ours is then untouched. */
    if (now.st_ino != text->seen.st_ino || now.st_dev != text->seen.st_dev)
        return STRADS_OK;
    if (now.st_size == text->seen.st_size &&
        same_time(now.st_mtim, text->seen.st_mtim))
        return STRADS_OK;
    return strads_fail(STRADS_EIO,
                       "%s: was changed while it was read; read it again when "
                       "nobody writes to it",
                       text->path);
}

const char *sti_codec_name(sti_codec codec)
{
    static const char *const names[] = {"none", "gzip", "zstd"};
    return names[codec];
}

uint64_t sti_text_count_lines(const char *begin, const char *end)
{
    uint64_t lines = 0;
    const char *p = begin;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        lines++;
        p++;
    }
    return lines;
}
