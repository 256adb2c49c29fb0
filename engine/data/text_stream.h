/* engine/data/text_stream.h - the bytes of a file, and text in pieces. */
#ifndef STI_DATA_TEXT_STREAM_H
#define STI_DATA_TEXT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "strads/error.h"

typedef enum sti_codec {
    STI_CODEC_NONE = 0,
    STI_CODEC_GZIP = 1,
    STI_CODEC_ZSTD = 2
} sti_codec;

/* A file's bytes in memory: mapped, or (a pipe, say) read to its end. They are
 * followed by STI_TEXT_SLACK readable bytes; after the last one these are 0. */
typedef struct sti_text {
    const char *path;
    const char *bytes;
    size_t size;
    size_t reserved; /* bytes of address space behind `bytes` */
    sti_codec codec;
    bool regular;
    struct stat seen; /* of a regular file, when it was opened */
} sti_text;

/* A run of text. Without compression the whole file is one piece. */
typedef struct sti_piece {
    const char *begin;
    const char *end;
    uint64_t line; /* the line in which `begin` stands, from 1 */
} sti_piece;

/* Opens `path`, which must outlive *text. What is not a regular file is read
 * into memory, at most `limit` bytes. STRADS_EIO: missing, a directory,
 * unreadable. STRADS_EFORMAT: empty. STRADS_ENOMEM. */
strads_err sti_text_open(sti_text *text, const char *path, uint64_t limit);
void sti_text_close(sti_text *text);

/* STRADS_EFORMAT where the bytes begin as a known format does that is no text;
 * the sentence names it and says what to do. */
strads_err sti_text_refuse(const char *path, const char *begin,
                           const char *end);

/* STRADS_EIO when the file was written to since it was opened. */
strads_err sti_text_unchanged(const sti_text *text);

const char *sti_codec_name(sti_codec codec);

/* Decompressed text, piece by piece, made by a thread of its own a few pieces
 * ahead of who asks. */
typedef struct sti_stream sti_stream;

/* Pieces end after a byte `cut` ('\n') or, for cut == ' ', after any blank;
 * one that has none within 4 KB of its end ends anywhere. */
strads_err sti_stream_open(const sti_text *text, char cut, sti_stream **out);

/* The next piece, valid until the next call; begin == NULL after the last one.
 * STRADS_EFORMAT: the compressed stream is cut short or damaged. */
strads_err sti_stream_next(sti_stream *stream, sti_piece *piece);

/* Bytes of text handed out so far. */
uint64_t sti_stream_bytes(const sti_stream *stream);
void sti_stream_close(sti_stream *stream);

/* Newlines in [begin, end). */
uint64_t sti_text_count_lines(const char *begin, const char *end);

/* Gzip and zstd, one interface. */

typedef struct sti_unpacker sti_unpacker;

/* Reads text->bytes from the start; NULL when memory ran out. */
sti_unpacker *sti_unpacker_new(const sti_text *text);

/* Puts up to `room` bytes of text into `out`; *end is set with the last ones.
 * On STRADS_EFORMAT sti_unpacker_trouble says why, without the file's name. */
strads_err sti_unpacker_read(sti_unpacker *unpacker, char *out, size_t room,
                             size_t *got, bool *end);
const char *sti_unpacker_trouble(const sti_unpacker *unpacker);
void sti_unpacker_free(sti_unpacker *unpacker);

#endif
