/* strads_names_read: a text of lines into names. Lines may go over the pieces
 * of a compressed text; what is left of one waits for the next piece. */
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory_room.h"
#include "engine/data/text_feed.h"
#include "strads/names.h"

typedef struct lines {
    const char *path;
    strads_names *names;
    uint64_t line; /* the one that is being read, from 1 */
    char *begun;   /* what an earlier piece had of it */
    size_t begun_size;
} lines;

static strads_err add_name(lines *l, const char *name, size_t size)
{
    uint32_t count = strads_names_count(l->names);
    uint32_t number;
    const size_t mark = l->line == 1 ? sti_text_mark(name, name + size) : 0;
    name += mark;
    size -= mark;
    if (size > 0 && name[size - 1] == '\r')
        size--;
    if (size == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %llu: found an empty line, expected a "
                           "name in each",
                           l->path, (unsigned long long)l->line);
    strads_err err = strads_names_add(l->names, name, size, &number);
    if (err == STRADS_OK && number < count) {
        char quoted[200];
        sti_text_quote(name, name + size, quoted, sizeof quoted);
        err = strads_fail(STRADS_EFORMAT,
                          "%s: line %llu: found '%s' again, expected each name "
                          "once (it is in line %u too)",
                          l->path, (unsigned long long)l->line, quoted,
                          number + 1);
    }
    l->line++;
    return err;
}

static strads_err keep_begun(lines *l, const char *begin, const char *end)
{
    size_t size = (size_t)(end - begin);
    char *begun = realloc(l->begun, l->begun_size + size + 1);
    if (begun == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory for line %llu",
                           l->path, (unsigned long long)l->line);
    memcpy(begun + l->begun_size, begin, size);
    l->begun = begun;
    l->begun_size += size;
    return STRADS_OK;
}

static strads_err take_begun(lines *l, const char *begin, const char *end)
{
    strads_err err = keep_begun(l, begin, end);
    if (err == STRADS_OK)
        err = add_name(l, l->begun, l->begun_size);
    l->begun_size = 0;
    return err;
}

static strads_err take_piece(lines *l, const char *p, const char *end)
{
    strads_err err = STRADS_OK;
    while (err == STRADS_OK && p < end) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        if (line_end == NULL)
            return keep_begun(l, p, end);
        err = l->begun_size > 0 ? take_begun(l, p, line_end)
                                : add_name(l, p, (size_t)(line_end - p));
        p = line_end + 1;
    }
    return err;
}

static strads_err take_stream(lines *l, const sti_text *text)
{
    sti_stream *stream;
    strads_err err = sti_stream_open(text, '\n', &stream);
    if (err != STRADS_OK)
        return err;
    sti_piece piece = {0};
    do {
        err = sti_stream_next(stream, &piece);
        if (err == STRADS_OK && piece.begin != NULL)
            err = take_piece(l, piece.begin, piece.end);
    } while (err == STRADS_OK && piece.begin != NULL);
    sti_stream_close(stream);
    return err;
}

static strads_err take_text(lines *l)
{
    sti_text text;
    strads_err err = sti_text_open(&text, l->path, sti_memory_room());
    if (err != STRADS_OK)
        return err;
    err = text.codec == STI_CODEC_NONE
              ? take_piece(l, text.bytes, text.bytes + text.size)
              : take_stream(l, &text);
    if (err == STRADS_OK && l->begun_size > 0)
        err = add_name(l, l->begun, l->begun_size);
    sti_text_close(&text);
    return err;
}

strads_err strads_names_read(const char *path, strads_names **out)
{
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no file of names was given");
    lines l = {.path = path, .line = 1};
    strads_err err = strads_names_new(&l.names);
    if (err == STRADS_OK)
        err = take_text(&l);
    free(l.begun);
    if (err != STRADS_OK) {
        strads_names_free(l.names);
        return err;
    }
    *out = l.names;
    return STRADS_OK;
}
