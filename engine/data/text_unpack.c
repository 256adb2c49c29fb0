/* Decompresses a file's bytes: any number of gzip members or zstd frames one
 * after the other. A stream that ends inside one is an error, never a short
 * text. */
#include "engine/data/text_unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* zlib counts in 32 bits. */
enum { GZIP_STEP = 1 << 30 };

struct sti_unpacker {
    const sti_text *text;
    size_t used;   /* bytes of the file consumed */
    uint64_t made; /* bytes of text produced */
    bool between;  /* no member or frame is open */
    z_stream gzip;
    bool gzip_ready;
    ZSTD_DStream *zstd;
    char trouble[200];
};

sti_unpacker *sti_unpacker_new(const sti_text *text)
{
    sti_unpacker *u = calloc(1, sizeof *u);
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

static strads_err damaged(sti_unpacker *u, const char *why)
{
    (void)snprintf(u->trouble, sizeof u->trouble,
                   "the %s stream is damaged near byte %zu (%s); copy or "
                   "compress the file again",
                   sti_codec_name(u->text->codec), u->used, why);
    return STRADS_EFORMAT;
}

static strads_err cut_short(sti_unpacker *u)
{
    (void)snprintf(u->trouble, sizeof u->trouble,
                   "the %s stream is cut short: the file ends after %zu bytes "
                   "(%llu bytes of text) and more was expected; copy it again",
                   sti_codec_name(u->text->codec), u->text->size,
                   (unsigned long long)u->made);
    return STRADS_EFORMAT;
}

/* After a member: another one, padding of zeros, or something foreign. */
static strads_err next_member(sti_unpacker *u, bool *end)
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

static strads_err read_gzip(sti_unpacker *u, char *out, size_t room,
                            size_t *got, bool *end)
{
    if (u->between)
        return next_member(u, end);
    size_t left = u->text->size - u->used;
    uInt given = (uInt)(left < GZIP_STEP ? left : GZIP_STEP);
    uInt space = (uInt)(room < GZIP_STEP ? room : GZIP_STEP);
    /* zlib only reads what next_in points to. */
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

static strads_err read_zstd(sti_unpacker *u, char *out, size_t room,
                            size_t *got, bool *end)
{
    if (u->between && u->used == u->text->size) {
        *end = true;
        return STRADS_OK;
    }
    ZSTD_inBuffer in = {u->text->bytes, u->text->size, u->used};
    ZSTD_outBuffer filled = {out, room, 0};
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

strads_err sti_unpacker_read(sti_unpacker *u, char *out, size_t room,
                             size_t *got, bool *end)
{
    *got = 0;
    return u->gzip_ready ? read_gzip(u, out, room, got, end)
                         : read_zstd(u, out, room, got, end);
}

const char *sti_unpacker_trouble(const sti_unpacker *u)
{
    return u->trouble;
}

void sti_unpacker_free(sti_unpacker *u)
{
    if (u == NULL)
        return;
    if (u->gzip_ready)
        (void)inflateEnd(&u->gzip);
    ZSTD_freeDStream(u->zstd);
    free(u);
}
