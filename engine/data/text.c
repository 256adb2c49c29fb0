/* Opens a file and keeps its bytes until it is closed. A regular file is
 * mapped over an anonymous reservation that is one page longer, so reads past
 * its end return zeros and never fault. If a file shrinks while it is mapped,
 * reading it raises SIGBUS, as in any program that maps files. A rewritten file
 * is detected by its times. */
#include "engine/data/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "engine/data/memory.h"
#include "engine/data/parse_number.h"

/* CR_WINDOW: the number of bytes that decide which line ends a text has. */
enum { PAGE = 4096, FIRST_READ = 1 << 20, CR_WINDOW = 1 << 20 };

static strads_err refuse_open(const char *path, int error)
{
    return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                       strerror(error));
}

static strads_err map_file(sti_text *text, int fd)
{
    text->size = (size_t)text->seen.st_size;
    text->reserved = (text->size + PAGE - 1) / PAGE * PAGE + PAGE;
    char *reserved = mmap(NULL, text->reserved, PROT_READ,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED)
        return refuse_open(text->path, errno);
    text->bytes = reserved;
    if (mmap(reserved, text->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
        MAP_FAILED)
        return refuse_open(text->path, errno);
    (void)madvise(reserved, text->size, MADV_WILLNEED);
    return STRADS_OK;
}

static bool double_capacity(sti_text *text, uint64_t limit)
{
    size_t capacity = text->reserved == 0 ? FIRST_READ : 2 * text->reserved;
    void *bytes = (void *)(uintptr_t)text->bytes;
    bytes = capacity <= limit ? sti_big_grow(bytes, text->reserved, capacity)
                              : NULL;
    if (bytes == NULL)
        return false;
    text->bytes = bytes;
    text->reserved = capacity;
    return true;
}

/* Reads a pipe or a device completely, into an array that doubles. */
static strads_err read_to_end(sti_text *text, int fd, uint64_t limit)
{
    for (;;) {
        if (text->reserved - text->size <= PAGE &&
            !double_capacity(text, limit))
            return strads_fail(STRADS_ENOMEM,
                               "%s: no memory to hold more than %zu bytes of "
                               "it; a regular file needs none",
                               text->path, text->size);
        char *to = (char *)(uintptr_t)text->bytes + text->size;
        ssize_t got = read(fd, to, text->reserved - text->size - PAGE);
        if (got == 0)
            return STRADS_OK;
        if (got < 0 && errno != EINTR)
            return refuse_open(text->path, errno);
        text->size += got > 0 ? (size_t)got : 0;
    }
}

/* A zstd frame or a skippable frame: pzstd writes such frames before others. */
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

/* First bytes of files that hold no text. */
typedef struct foreign {
    const char *magic;
    size_t size;
    const char *name, *advice;
} foreign;

static const char by_python[] =
    "write it as CSV or LIBSVM first (pandas, pyarrow, scikit-learn's "
    "dump_svmlight_file)";
static const char unpack_it[] = "unpack it first, or pack it with gzip or zstd";
static const char packed_twice[] = "unpack it once (gunzip, unzstd)";

static const foreign known[] = {
    {"\x89STPACK\n", 8, "a pack of samples",
     "packs are read from plain files, by commands that read LIBSVM"},
    {"\x93NUMPY", 6, "a NumPy array (.npy)", by_python},
    {"PK\x03\x04", 4, "a zip archive (such as .zip, .npz or .xlsx)",
     "unzip it if it holds a text; write an array or a sheet as CSV or LIBSVM "
     "first (pandas, scikit-learn's dump_svmlight_file)"},
    {"\x1f\x8b", 2, "packed twice, the second time with gzip", packed_twice},
    {"\x28\xb5\x2f\xfd", 4, "packed twice, the second time with zstd",
     packed_twice},
    {"%PDF-", 5, "a PDF document", "save what it holds as text"},
    {"version https://git-lfs", 23, "a pointer that Git LFS left",
     "fetch the file itself (git lfs pull)"},
    {"7z\xbc\xaf\x27\x1c", 6, "a 7z archive", unpack_it},
    {"PAR1", 4, "a Parquet file", by_python},
    {"ARROW1", 6, "an Arrow file", by_python},
    {"\xff\xff\xff\xff", 4, "an Arrow stream", by_python},
    {"FEA1", 4, "a Feather file", by_python},
    {"\x89HDF", 4, "an HDF5 file", by_python},
    {"SQLite format 3", 15, "an SQLite database", by_python},
    {"Obj\x01", 4, "an Avro file", by_python},
    {"BZh91AY&SY", 10, "packed with bzip2", unpack_it},
    {"\xfd"
     "7zXZ",
     5, "packed with xz", unpack_it},
    {"\x04\x22\x4d\x18", 4, "packed with lz4", unpack_it},
    {"\xff\xfe", 2, "text in UTF-16", "write it as UTF-8"},
    {"\xfe\xff", 2, "text in UTF-16", "write it as UTF-8"},
};

strads_err sti_text_refuse(const char *path, const char *begin, const char *end)
{
    enum { TAR_MAGIC = 257 };
    const size_t size = (size_t)(end - begin);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (size >= known[k].size &&
            memcmp(begin, known[k].magic, known[k].size) == 0)
            return strads_fail(STRADS_EFORMAT, "%s: is %s, expected text: %s",
                               path, known[k].name, known[k].advice);
    if (size >= TAR_MAGIC + 5 && memcmp(begin + TAR_MAGIC, "ustar", 5) == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is a tar archive, expected text: unpack it "
                           "(tar xf) and name a file of it",
                           path);
    if (size >= 4 && !begin[0] != !begin[1] && !begin[2] != !begin[3] &&
        !begin[0] == !begin[2])
        return strads_fail(STRADS_EFORMAT,
                           "%s: is text in UTF-16, expected text: write it as "
                           "UTF-8",
                           path);
    return STRADS_OK;
}

strads_err sti_text_refuse_page(const char *path, const char *begin,
                                const char *end)
{
    static const char *const openings[] = {"<!doctype", "<html", "<head",
                                           "<?xml", "<body"};
    const char *p = begin + sti_text_mark(begin, end);
    while (p < end && (sti_is_blank(*p) || *p == '\n'))
        p++;
    for (size_t k = 0; k < sizeof openings / sizeof *openings; k++) {
        const size_t size = strlen(openings[k]);
        if ((size_t)(end - p) > size && strncasecmp(p, openings[k], size) == 0)
            return strads_fail(STRADS_EFORMAT,
                               "%s: is a web page or XML, expected data: a "
                               "download may have saved a server's message; "
                               "fetch the file again",
                               path);
    }
    return STRADS_OK;
}

/* True if lines end with CR alone, as on an old Mac: the first CR_WINDOW
 * bytes contain a CR and no newline. */
static bool ends_lines_by_cr(const char *bytes, size_t size)
{
    const size_t seen = size < CR_WINDOW ? size : CR_WINDOW;
    return memchr(bytes, '\n', seen) == NULL &&
           memchr(bytes, '\r', seen) != NULL;
}

static void replace_cr(char *bytes, size_t size)
{
    char *end = bytes + size;
    for (char *p = bytes; (p = memchr(p, '\r', (size_t)(end - p))) != NULL;)
        *p++ = '\n';
}

/* Replaces the CR line ends of an uncompressed text by newlines. The changed
 * pages of a mapped file become private copies, which take memory. */
static strads_err end_lines_by_newline(sti_text *text, uint64_t limit)
{
    char *bytes = (char *)(uintptr_t)text->bytes;
    if (text->codec != STI_CODEC_NONE ||
        !ends_lines_by_cr(text->bytes, text->size))
        return STRADS_OK;
    if (text->regular &&
        (text->size > limit ||
         mprotect(bytes, text->size, PROT_READ | PROT_WRITE) != 0))
        return strads_fail(STRADS_ENOMEM,
                           "%s: its lines end with a carriage return alone, "
                           "and to turn these into newlines takes %zu bytes of "
                           "memory, %llu may be used: convert it (tr '\\r' "
                           "'\\n'), or allow more (--memory)",
                           text->path, text->size, (unsigned long long)limit);
    replace_cr(bytes, text->size);
    text->edited = true;
    return STRADS_OK;
}

static strads_err take_bytes(sti_text *text, int fd, uint64_t limit)
{
    if (fstat(fd, &text->seen) != 0)
        return refuse_open(text->path, errno);
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

strads_err sti_text_open_any(sti_text *text, const char *path, uint64_t limit)
{
    *text = (sti_text){.path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse_open(path, errno);
    strads_err err = take_bytes(text, fd, limit);
    (void)close(fd);
    if (err == STRADS_OK)
        text->codec = find_codec(text);
    else
        sti_text_close(text);
    return err;
}

strads_err sti_text_open(sti_text *text, const char *path, uint64_t limit)
{
    strads_err err = sti_text_open_any(text, path, limit);
    text->lines = true;
    if (err == STRADS_OK && text->codec == STI_CODEC_NONE)
        err = sti_text_refuse(path, text->bytes, text->bytes + text->size);
    if (err == STRADS_OK)
        err = end_lines_by_newline(text, limit);
    if (err != STRADS_OK)
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
    /* Another file may have taken the name; the opened one is then
     * unchanged. */
    if (now.st_ino != text->seen.st_ino || now.st_dev != text->seen.st_dev)
        return STRADS_OK;
    if (now.st_size == text->seen.st_size &&
        same_time(now.st_mtim, text->seen.st_mtim))
        return STRADS_OK;
    return strads_fail(STRADS_EIO,
                       "%s: was changed while it was read; read it again when "
                       "no process writes to it",
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

/* Decompresses a file: any number of gzip members or zstd frames, one after
 * the other. If a stream ends inside one, that is an error, never a short text.
 */

/* zlib counts in 32 bits. */
enum { GZIP_STEP = 1 << 30 };

typedef struct unpacker {
    const sti_text *text;
    size_t used;   /* bytes of the file consumed */
    uint64_t made; /* bytes of text produced */
    bool between;  /* between members or frames */
    z_stream gzip;
    bool gzip_ready;
    ZSTD_DStream *zstd;
    char trouble[200];
} unpacker;

static unpacker *unpacker_new(const sti_text *text)
{
    unpacker *u = calloc(1, sizeof *u);
    if (u == NULL)
        return NULL;
    u->text = text;
    if (text->codec == STI_CODEC_GZIP)
        u->gzip_ready = inflateInit2(&u->gzip, 15 + 16) == Z_OK;
    else
        u->zstd = ZSTD_createDStream();
    if (!u->gzip_ready && u->zstd == NULL) {
        free(u);
        return NULL;
    }
    return u;
}

static strads_err damaged(unpacker *u, const char *why)
{
    (void)snprintf(u->trouble, sizeof u->trouble,
                   "the %s stream is damaged near byte %zu (%s); copy or "
                   "compress the file again",
                   sti_codec_name(u->text->codec), u->used, why);
    return STRADS_EFORMAT;
}

static strads_err cut_short(unpacker *u)
{
    (void)snprintf(u->trouble, sizeof u->trouble,
                   "the %s stream is cut short: the file ends after %zu bytes "
                   "(%llu bytes of text) and more was expected; copy it again",
                   sti_codec_name(u->text->codec), u->text->size,
                   (unsigned long long)u->made);
    return STRADS_EFORMAT;
}

/* After a member: another member, padding of zeros, or foreign bytes. */
static strads_err next_member(unpacker *u, bool *end)
{
    const char *rest = u->text->bytes + u->used;
    size_t left = u->text->size - u->used;
    if (left >= 2 && memcmp(rest, "\x1f\x8b", 2) == 0) {
        u->between = false;
        return inflateReset(&u->gzip) == Z_OK ? STRADS_OK
                                              : damaged(u, "no state");
    }
    for (size_t i = 0; i < left; i++)
        if (rest[i] != 0)
            return damaged(u, "foreign bytes follow its end");
    *end = true;
    return STRADS_OK;
}

static strads_err read_gzip(unpacker *u, char *out, size_t capacity,
                            size_t *got, bool *end)
{
    if (u->between)
        return next_member(u, end);
    size_t left = u->text->size - u->used;
    uInt given = (uInt)(left < GZIP_STEP ? left : GZIP_STEP);
    uInt space = (uInt)(capacity < GZIP_STEP ? capacity : GZIP_STEP);
    /* zlib only reads through next_in. */
    u->gzip.next_in = (Bytef *)(uintptr_t)(u->text->bytes + u->used);
    u->gzip.avail_in = given;
    u->gzip.next_out = (Bytef *)out;
    u->gzip.avail_out = space;
    int status = inflate(&u->gzip, Z_NO_FLUSH);
    u->used += given - u->gzip.avail_in;
    *got = space - u->gzip.avail_out;
    u->made += *got;
    if (status == Z_STREAM_END) {
        u->between = true;
        return STRADS_OK;
    }
    if (status != Z_OK && status != Z_BUF_ERROR)
        return damaged(u, u->gzip.msg != NULL ? u->gzip.msg : "unreadable");
    return *got == 0 && u->used == u->text->size ? cut_short(u) : STRADS_OK;
}

static strads_err read_zstd(unpacker *u, char *out, size_t capacity,
                            size_t *got, bool *end)
{
    if (u->between && u->used == u->text->size) {
        *end = true;
        return STRADS_OK;
    }
    ZSTD_inBuffer in = {u->text->bytes, u->text->size, u->used};
    ZSTD_outBuffer filled = {out, capacity, 0};
    size_t status = ZSTD_decompressStream(u->zstd, &filled, &in);
    u->used = in.pos;
    if (ZSTD_isError(status))
        return damaged(u, ZSTD_getErrorName(status));
    u->between = status == 0;
    *got = filled.pos;
    u->made += *got;
    if (!u->between && *got == 0 && u->used == u->text->size)
        return cut_short(u);
    return STRADS_OK;
}

static strads_err unpacker_read(unpacker *u, char *out, size_t capacity,
                                size_t *got, bool *end)
{
    *got = 0;
    return u->gzip_ready ? read_gzip(u, out, capacity, got, end)
                         : read_zstd(u, out, capacity, got, end);
}

static void unpacker_free(unpacker *u)
{
    if (u == NULL)
        return;
    if (u->gzip_ready)
        (void)inflateEnd(&u->gzip);
    ZSTD_freeDStream(u->zstd);
    free(u);
}

strads_err sti_text_whole(const sti_text *text, uint64_t limit,
                          sti_text_bytes *out)
{
    *out = (sti_text_bytes){text->bytes, text->bytes + text->size, NULL, 0};
    if (text->codec == STI_CODEC_NONE)
        return STRADS_OK;
    unpacker *u = unpacker_new(text);
    size_t size = 0, got = 0;
    bool end = false;
    strads_err err = u != NULL ? STRADS_OK : STRADS_ENOMEM;
    while (err == STRADS_OK && !end) {
        if (out->capacity - size <= STI_TEXT_SLACK) {
            const size_t capacity =
                out->capacity > 0 ? 2 * out->capacity : FIRST_READ;
            char *more =
                capacity <= limit
                    ? sti_big_grow(out->unpacked, out->capacity, capacity)
                    : NULL;
            if (more == NULL) {
                err = STRADS_ENOMEM;
                break;
            }
            out->unpacked = more;
            out->capacity = capacity;
        }
        err = unpacker_read(u, out->unpacked + size,
                            out->capacity - size - STI_TEXT_SLACK, &got, &end);
        size += got;
    }
    if (err == STRADS_ENOMEM)
        err = strads_fail(err,
                          "%s: no memory to unpack it: %llu bytes may be used",
                          text->path, (unsigned long long)limit);
    else if (err != STRADS_OK)
        err = strads_fail(err, "%s: %s", text->path, u->trouble);
    unpacker_free(u);
    if (text->lines && ends_lines_by_cr(out->unpacked, size))
        replace_cr(out->unpacked, size);
    out->begin = out->unpacked ? out->unpacked : "";
    out->end = out->begin + size;
    return err == STRADS_OK ? sti_text_refuse(text->path, out->begin, out->end)
                            : err;
}

void sti_text_bytes_free(sti_text_bytes *bytes)
{
    sti_big_free(bytes->unpacked, bytes->capacity);
    *bytes = (sti_text_bytes){0};
}

/* Decompressed text in pieces. One thread decompresses into BUFFERS buffers
 * in turn, and the caller parses the oldest, so at most BUFFERS x PIECE bytes
 * of text exist at a time. Text behind the last cut of a buffer moves to the
 * front of the next one, so that a piece ends between two tokens (or lines).
 *
 * `mutex` guards made, taken, done, stop, failed and sentence. A buffer belongs
 * to the producer until `made` counts it, then to the consumer until `taken`
 * counts it. */

enum { BUFFERS = 3, PIECE = 1 << 20, CARRY = 4096 };

typedef struct buffer {
    char *text; /* PIECE + CARRY + STI_TEXT_SLACK bytes */
    size_t size;
    size_t cut; /* end of this piece; the remainder opens the next one */
} buffer;

struct sti_stream {
    const sti_text *text;
    char cut;
    unpacker *unpacker;
    buffer buffers[BUFFERS];
    pthread_t thread;
    bool running;
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uint64_t made, taken;
    bool done, stop;
    bool by_cr; /* producer only: CR ends lines */
    strads_err failed;
    char sentence[256];
    /* consumer only */
    bool holding;
    uint64_t line, bytes;
    sti_piece last;
};

static bool is_cut(char c, char cut)
{
    return cut == '\n' ? c == '\n' : (unsigned char)c <= ' ';
}

static size_t find_cut(const buffer *b, char cut)
{
    size_t least = b->size > CARRY ? b->size - CARRY : 0;
    for (size_t i = b->size; i > least; i--)
        if (is_cut(b->text[i - 1], cut))
            return i;
    /* Do not cut inside a UTF-8 character. */
    size_t at = b->size;
    while (at > least && b->size - at < 4 && (b->text[at - 1] & 0xc0) == 0x80)
        at--;
    return at > least && (b->text[at - 1] & 0xc0) == 0xc0 ? at - 1 : b->size;
}

/* Fills a buffer behind the carried bytes; returns true at the end of the
 * text. */
static bool fill_buffer(sti_stream *s, buffer *b, const buffer *before,
                        strads_err *err)
{
    b->size = before != NULL ? before->size - before->cut : 0;
    if (b->size > 0)
        memcpy(b->text, before->text + before->cut, b->size);
    const size_t carried = b->size;
    bool end = false;
    while (!end && b->size < PIECE && *err == STRADS_OK) {
        size_t got = 0;
        *err = unpacker_read(s->unpacker, b->text + b->size,
                             PIECE + CARRY - b->size, &got, &end);
        b->size += got;
    }
    if (before == NULL)
        s->by_cr = ends_lines_by_cr(b->text, b->size);
    if (s->by_cr)
        replace_cr(b->text + carried, b->size - carried);
    memset(b->text + b->size, 0, STI_TEXT_SLACK);
    b->cut = end ? b->size : find_cut(b, s->cut);
    return end;
}

/* Waits for a free buffer; returns false if the stream was closed. The
 * consumer may still hold the previous buffer: both threads only read its tail.
 */
static bool wait_for_buffer(sti_stream *s)
{
    pthread_mutex_lock(&s->mutex);
    while (!s->stop && s->made - s->taken == BUFFERS)
        pthread_cond_wait(&s->moved, &s->mutex);
    bool go = !s->stop;
    pthread_mutex_unlock(&s->mutex);
    return go;
}

static void *produce(void *arg)
{
    sti_stream *s = arg;
    const buffer *before = NULL;
    bool end = false;
    for (size_t i = 0; !end && wait_for_buffer(s); i = (i + 1) % BUFFERS) {
        strads_err err = STRADS_OK;
        end = fill_buffer(s, &s->buffers[i], before, &err);
        before = &s->buffers[i];
        pthread_mutex_lock(&s->mutex);
        if (err != STRADS_OK) {
            end = true;
            s->failed = err;
            (void)snprintf(s->sentence, sizeof s->sentence, "%s",
                           s->unpacker->trouble);
        } else {
            s->made++;
        }
        s->done = end;
        pthread_cond_broadcast(&s->moved);
        pthread_mutex_unlock(&s->mutex);
    }
    return NULL;
}

strads_err sti_stream_open(const sti_text *text, char cut, sti_stream **out)
{
    sti_stream *s = calloc(1, sizeof *s);
    bool enough = s != NULL;
    for (size_t i = 0; enough && i < BUFFERS; i++) {
        s->buffers[i].text = sti_big_alloc(PIECE + CARRY + STI_TEXT_SLACK);
        enough = s->buffers[i].text != NULL;
    }
    if (enough) {
        s->text = text;
        s->cut = cut;
        s->line = 1;
        pthread_mutex_init(&s->mutex, NULL);
        pthread_cond_init(&s->moved, NULL);
        s->unpacker = unpacker_new(text);
        s->running = s->unpacker != NULL &&
                     pthread_create(&s->thread, NULL, produce, s) == 0;
    }
    if (!enough || !s->running) {
        sti_stream_close(s);
        return strads_fail(STRADS_ENOMEM,
                           "%s: no memory or thread to decompress it",
                           text->path);
    }
    *out = s;
    return STRADS_OK;
}

/* Returns the held piece to the producer and counts its lines. */
static void release_piece(sti_stream *s)
{
    if (!s->holding)
        return;
    s->line += sti_text_count_lines(s->last.begin, s->last.end);
    s->holding = false;
    s->taken++;
    pthread_cond_broadcast(&s->moved);
}

strads_err sti_stream_next(sti_stream *s, sti_piece *piece)
{
    pthread_mutex_lock(&s->mutex);
    release_piece(s);
    while (s->made == s->taken && !s->done)
        pthread_cond_wait(&s->moved, &s->mutex);
    bool more = s->made != s->taken;
    strads_err failed = more ? STRADS_OK : s->failed;
    uint64_t number = s->taken;
    pthread_mutex_unlock(&s->mutex);
    if (failed != STRADS_OK)
        return strads_fail(failed, "%s: %s", s->text->path, s->sentence);
    *piece = (sti_piece){.line = s->line};
    if (more) {
        const buffer *b = &s->buffers[number % BUFFERS];
        piece->begin = b->text;
        piece->end = b->text + b->cut;
        s->bytes += b->cut;
        s->last = *piece;
        s->holding = true;
    }
    return STRADS_OK;
}

void sti_stream_close(sti_stream *s)
{
    if (s == NULL)
        return;
    if (s->running) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_broadcast(&s->moved);
        pthread_mutex_unlock(&s->mutex);
        (void)pthread_join(s->thread, NULL);
    }
    if (s->text != NULL) {
        pthread_mutex_destroy(&s->mutex);
        pthread_cond_destroy(&s->moved);
    }
    unpacker_free(s->unpacker);
    for (size_t i = 0; i < BUFFERS; i++)
        sti_big_free(s->buffers[i].text, PIECE + CARRY + STI_TEXT_SLACK);
    free(s);
}

/* Functions that parsers share: comments, and making an error message of a
 * trouble. File contents are never printed raw: unprintable bytes are escaped
 * and long tokens are shortened. */

enum { QUOTED = 40 };

const char *sti_feed_skip_comment(sti_feed *feed, const char *p,
                                  const char *end)
{
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    feed->in_comment = line_end == NULL;
    return line_end != NULL ? line_end : end;
}

void sti_feed_trouble(sti_feed *feed, strads_err err, const char *at,
                      const char *end, const char *expected, ...)
{
    sti_trouble *t = &feed->trouble;
    if (t->err != STRADS_OK)
        return;
    t->err = err;
    t->at = at;
    t->end = end;
    t->empty = at != NULL && at == end && end < feed->piece.end;
    va_list args;
    va_start(args, expected);
    (void)vsnprintf(t->expected, sizeof t->expected, expected, args);
    va_end(args);
}

void sti_feed_not_a_number(sti_feed *feed, int status, const char *at,
                           const char *end, const char *what)
{
    if (status == STI_NUMBER_HUGE)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end,
                         "%s below 1.8e308 in magnitude", what);
    else if (status == STI_NUMBER_SPELLED)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end, "%s that is finite",
                         what);
    else if (status == STI_NUMBER_LONG)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end,
                         "%s of at most %d characters", what,
                         (int)STI_NUMBER_LONGEST);
    else
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end, "%s", what);
}

const char *sti_feed_value(sti_feed *feed, const char *p, const char *end,
                           char mark, const char *what, double *value)
{
    const char *after = p;
    sti_number_status status = sti_number_read(p, &after, value);
    if (status == STI_NUMBER_OK && (unsigned char)*after > ' ' &&
        *after != mark)
        status = STI_NUMBER_NONE;
    if (status != STI_NUMBER_OK)
        sti_feed_not_a_number(feed, (int)status, p, end, what);
    else if (!(fabs(*value) <= feed->value_limit))
        sti_feed_trouble(feed, STRADS_ELIMIT, p, end,
                         "%s that fits in 32 bits (or read it as f64)", what);
    return feed->trouble.err == STRADS_OK ? after : NULL;
}

size_t sti_text_mark(const char *begin, const char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t size = sizeof mark - 1;
    return (size_t)(end - begin) >= size && memcmp(begin, mark, size) == 0
               ? size
               : 0;
}

void sti_text_quote(const char *at, const char *end, char *out, size_t capacity)
{
    size_t used = 0;
    const char *p = at;
    out[0] = '\0';
    /* Quote the first byte in any case, because it is the one that was
     * found. */
    while (p < end && p - at < QUOTED && used + 6 < capacity &&
           (p == at || (unsigned char)*p > ' ')) {
        unsigned char c = (unsigned char)*p++;
        const char *form = c >= ' ' && c < 127 ? "%c" : "\\x%02x";
        used += (size_t)snprintf(out + used, capacity - used, form, c);
    }
    if (p < end && p - at == QUOTED && (unsigned char)*p > ' ')
        (void)snprintf(out + used, capacity - used, "...");
}

/* Describes the text at the place of a trouble. */
static void describe_trouble(const sti_trouble *t, char *out, size_t capacity)
{
    char quoted[4 * QUOTED + 8];
    if (t->empty) {
        (void)snprintf(out, capacity, "an empty field");
    } else if (t->at >= t->end) {
        (void)snprintf(out, capacity, "the end of the file");
    } else if (*t->at == '\n' || *t->at == '\r') {
        (void)snprintf(out, capacity, "the end of the line");
    } else if (*t->at == ' ' || *t->at == '\t') {
        (void)snprintf(out, capacity, "a blank");
    } else {
        sti_text_quote(t->at, t->end, quoted, sizeof quoted);
        (void)snprintf(out, capacity, "'%s'", quoted);
    }
}

strads_err sti_trouble_fail(const char *path, const sti_trouble *t)
{
    char found[4 * QUOTED + 16];
    if (t->at == NULL)
        return strads_fail(t->err, "%s: %s", path, t->expected);
    describe_trouble(t, found, sizeof found);
    return strads_fail(t->err, "%s: line %llu: found %s, expected %s", path,
                       (unsigned long long)t->line, found, t->expected);
}

/* Drives a parser over the chunks of a plain text in parallel, or over the
 * pieces of a compressed one in order. A feed lives on the stack of its chunk's
 * thread; results are copied to the chunk. */

enum {
    RUN = 4 << 20,
    SMALL = 8 << 20, /* a text of at most this size keeps its pages */
};

static void feed_start(sti_feed *f, const sti_pass *pass, size_t chunk)
{
    memset(f, 0, offsetof(sti_feed, batch));
    f->batch.n = 0;
    f->parser = pass->parser;
    f->sink = pass->sink;
    f->context = pass->context;
    f->chunk = chunk;
    f->values = pass->values;
    f->line_by_line = pass->line_by_line;
    f->value_limit = pass->value_limit;
    f->row = pass->chunks[chunk].first_row;
    f->row_limit = pass->row_limit;
    f->col_limit = pass->col_limit;
    f->keep_cols = pass->col_limit;
    if (pass->keep_cols > 0 && pass->keep_cols < pass->col_limit)
        f->keep_cols = pass->keep_cols;
    f->id_limit = pass->id_limit;
    f->market = pass->market;
    f->ratings = pass->ratings;
    f->naming = pass->naming;
    f->label_names = pass->label_names;
    f->label_form =
        pass->label_form != NULL ? pass->label_form : "a label (a number)";
}

static void feed_take(sti_feed *f, const sti_pass *pass, sti_piece piece)
{
    f->piece = piece;
    pass->parser->take(f, piece.begin, piece.end);
}

static void feed_end(sti_feed *f, const sti_pass *pass)
{
    sti_chunk *chunk = &pass->chunks[f->chunk];
    if (f->trouble.err == STRADS_OK && pass->parser->finish != NULL)
        pass->parser->finish(f);
    if (f->trouble.err == STRADS_OK)
        sti_feed_flush(f);
    if (f->trouble.err == STRADS_OK && f->sink->end != NULL)
        f->sink->end(f);
    chunk->rows = f->row - chunk->first_row;
    chunk->read = f->read;
    chunk->trouble = f->trouble;
}

/* Returns the first cut that is a few megabytes further. */
static const char *piece_end(const sti_pass *pass, const char *at,
                             const char *end)
{
    const size_t left = (size_t)(end - at);
    const char *cut =
        left > RUN ? memchr(at + RUN, pass->parser->cut, left - RUN) : NULL;
    return cut != NULL ? cut + 1 : end;
}

/* Drops the pages of a mapped file that were read; the file still has them.
 * A small file keeps its pages, because the next pass would have to map them
 * again. */
static void let_go(const sti_text *text, const char *from, const char *to)
{
    const uintptr_t page = 4096;
    const uintptr_t first = ((uintptr_t)from + page - 1) / page * page;
    const uintptr_t end = (uintptr_t)to / page * page;
    if (text->regular && !text->edited && text->size > SMALL && first < end)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

static void report_piece(sti_feed *feed, const sti_pass *pass, uint64_t bytes)
{
    if (pass->passed != NULL && feed->trouble.err == STRADS_OK &&
        !pass->passed(pass->passed_arg, bytes))
        sti_feed_trouble(feed, STRADS_ECANCELED, NULL, NULL,
                         "reading was stopped");
}

static void one_chunk(void *context, size_t task)
{
    const sti_pass *pass = context;
    const sti_chunk *chunk = &pass->chunks[task];
    sti_feed feed;
    feed_start(&feed, pass, task);
    for (const char *at = chunk->begin; feed.trouble.err == STRADS_OK;) {
        const char *end = piece_end(pass, at, chunk->end);
        /* The line number is computed only if it is needed. */
        feed_take(&feed, pass, (sti_piece){at, end, 0});
        let_go(pass->text, at, end);
        report_piece(&feed, pass, (uint64_t)(end - at));
        at = end;
        if (at == chunk->end)
            break;
    }
    feed_end(&feed, pass);
}

static strads_err run_plain(sti_pass *pass)
{
    const sti_text *text = pass->text;
    pass->text_bytes = text->size;
    sti_parallel(pass->threads, pass->count, one_chunk, pass);
    for (size_t i = 0; i < pass->count; i++) {
        sti_trouble *t = &pass->chunks[i].trouble;
        if (t->err == STRADS_OK)
            continue;
        if (t->at != NULL)
            t->line = 1 + sti_text_count_lines(text->bytes, t->at);
        return sti_trouble_fail(text->path, t);
    }
    return STRADS_OK;
}

/* Skips the header's bytes in the first piece. */
static void skip_header(sti_piece *piece, size_t skip)
{
    size_t size = (size_t)(piece->end - piece->begin);
    size_t left_out = skip < size ? skip : size;
    piece->line += sti_text_count_lines(piece->begin, piece->begin + left_out);
    piece->begin += left_out;
}

static strads_err run_pieces(sti_pass *pass, sti_stream *stream, sti_feed *f)
{
    bool first = true;
    sti_piece piece = {0}, next;
    while (f->trouble.err == STRADS_OK) {
        strads_err err = sti_stream_next(stream, &next);
        if (err != STRADS_OK)
            return err;
        if (next.begin == NULL)
            break; /* an error at the end is in the last piece */
        piece = next;
        if (first)
            skip_header(&piece, pass->skip);
        first = false;
        feed_take(f, pass, piece);
        report_piece(f, pass, (uint64_t)(piece.end - piece.begin));
    }
    feed_end(f, pass);
    pass->text_bytes = stream->bytes;
    sti_trouble *t = &f->trouble;
    if (t->err == STRADS_OK)
        return STRADS_OK;
    if (t->at != NULL && piece.begin != NULL)
        t->line = piece.line + sti_text_count_lines(piece.begin, t->at);
    return sti_trouble_fail(pass->text->path, t);
}

strads_err sti_pass_run(sti_pass *pass)
{
    if (pass->text->codec == STI_CODEC_NONE)
        return run_plain(pass);
    sti_stream *stream;
    strads_err err = sti_stream_open(pass->text, pass->parser->cut, &stream);
    if (err != STRADS_OK)
        return err;
    sti_feed feed;
    feed_start(&feed, pass, 0);
    err = run_pieces(pass, stream, &feed);
    sti_stream_close(stream);
    return err;
}

strads_err sti_pass_whole(const sti_pass *like, const sti_sink *sink,
                          void *context, bool values, bool line_by_line)
{
    sti_chunk whole = {.begin = like->text->bytes + like->skip,
                       .end = like->text->bytes + like->text->size};
    sti_pass pass = *like;
    pass.sink = sink;
    pass.context = context;
    pass.values = values;
    pass.line_by_line = line_by_line;
    pass.chunks = &whole;
    pass.count = 1;
    return sti_pass_run(&pass);
}

void sti_pass_cut(const char *begin, const char *end, sti_chunk *chunks,
                  size_t count)
{
    const char *from = begin;
    size_t size = (size_t)(end - begin);
    for (size_t i = 0; i < count; i++) {
        const char *to = begin + size / count * (i + 1);
        if (i + 1 == count)
            to = end;
        else if (to < from)
            to = from;
        const char *line_end =
            to > begin && to < end
                ? memchr(to - 1, '\n', (size_t)(end - to + 1))
                : NULL;
        if (to < end)
            to = line_end != NULL ? line_end + 1 : (to > begin ? end : begin);
        chunks[i] = (sti_chunk){.begin = from, .end = to};
        from = to;
    }
}
