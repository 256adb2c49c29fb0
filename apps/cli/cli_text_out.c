/* Text through one buffer, and through zstd where the name says so. */
#include "cli_text_out.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "engine/base/atomic_file.h"

enum { BUFFER = 1 << 20 };

struct cli_text_out {
    sti_atomic_file target;
    const char *path;
    char *buffer; /* [BUFFER] */
    size_t used;
    ZSTD_CCtx *zstd; /* NULL: plain */
    char *packed;    /* [room_packed] */
    size_t room_packed;
    uint64_t bytes;
    bool broken;
};

static bool ends_in(const char *path, const char *end)
{
    const size_t length = strlen(path), n = strlen(end);
    return length > n && strcmp(path + length - n, end) == 0;
}

static void text_free(cli_text_out *text)
{
    if (!text) {
        return;
    }
    sti_atomic_file_abandon(&text->target);
    (void)ZSTD_freeCCtx(text->zstd);
    free(text->packed);
    free(text->buffer);
    free(text);
}

strads_err cli_text_open(const char *path, cli_text_out **out)
{
    const bool zstd = ends_in(path, ".zst");
    if (ends_in(path, ".gz")) {
        return strads_fail(STRADS_EINVAL,
                           "%s: this is written plain or as .zst, not as .gz",
                           path);
    }
    cli_text_out *text = calloc(1, sizeof *text);
    if (text) {
        text->path = path;
        text->buffer = malloc(BUFFER);
        text->zstd = zstd ? ZSTD_createCCtx() : NULL;
        text->room_packed = ZSTD_CStreamOutSize();
        text->packed = zstd ? malloc(text->room_packed) : NULL;
    }
    strads_err err = STRADS_OK;
    if (!text || !text->buffer || (zstd && (!text->zstd || !text->packed))) {
        err = strads_fail(STRADS_ENOMEM, "%s: no memory to write it", path);
    }
    if (!err) {
        err = sti_atomic_file_open(path, &text->target);
    }
    if (err) {
        text_free(text);
        return err;
    }
    *out = text;
    return STRADS_OK;
}

static void put(cli_text_out *text, const char *from, size_t n)
{
    text->bytes += n;
    if (fwrite(from, 1, n, text->target.stream) != n) {
        text->broken = true;
    }
}

/* Sends the buffer on; with `end` the packed stream ends, too. */
static void flush(cli_text_out *text, bool end)
{
    ZSTD_inBuffer in = {text->buffer, text->used, 0};
    size_t left = text->used;

    if (!text->zstd) {
        put(text, text->buffer, text->used);
    }
    while (text->zstd && left > 0 && !text->broken) {
        ZSTD_outBuffer out = {text->packed, text->room_packed, 0};
        const size_t status =
            ZSTD_compressStream2(text->zstd, &out, &in,
                                 end ? ZSTD_e_end : ZSTD_e_continue);
        text->broken = ZSTD_isError(status) != 0;
        put(text, text->packed, out.pos);
        left = end ? status : in.size - in.pos;
    }
    text->used = 0;
}

char *cli_text_room(cli_text_out *text, size_t n)
{
    if (text->used + n > BUFFER) {
        flush(text, false);
    }
    return text->buffer + text->used;
}

void cli_text_took(cli_text_out *text, size_t n)
{
    text->used += n;
}

strads_err cli_text_close(cli_text_out *text, uint64_t *bytes)
{
    flush(text, true);
    strads_err err =
        text->broken ? strads_fail(STRADS_EIO,
                                   "%s: cannot be written: is the disk full?",
                                   text->path)
                     : sti_atomic_file_commit(&text->target);
    if (!err) {
        *bytes = text->bytes;
    }
    text_free(text);
    return err;
}

void cli_text_abandon(cli_text_out *text)
{
    text_free(text);
}

/* ---- numbers ----------------------------------------------------------- */

char *cli_text_u32(char *at, uint32_t n)
{
    char digit[10];
    int k = 0;
    do {
        digit[k++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    while (k > 0) {
        *at++ = digit[--k];
    }
    return at;
}

char *cli_text_thousandths(char *at, int32_t n)
{
    uint32_t size = n < 0 ? 0u - (uint32_t)n : (uint32_t)n;
    if (n < 0) {
        *at++ = '-';
    }
    at = cli_text_u32(at, size / 1000);
    size %= 1000;
    if (size == 0) {
        return at;
    }
    *at++ = '.';
    for (uint32_t unit = 100; size > 0; unit /= 10) {
        *at++ = (char)('0' + size / unit);
        size %= unit;
    }
    return at;
}
