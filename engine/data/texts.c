/* Texts that are not a document a line yet: the files of a folder, or a column
 * of a table. Both become one text in memory, in which each document is a line:
 * what ends a line within a document is a blank there. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory.h"
#include "engine/data/read.h"

enum { MOST_FIELDS = 4096, FIRST_CAPACITY = 1 << 20 };

typedef struct gathered {
    const char *path;
    char *bytes;
    size_t size, capacity;
    uint64_t limit;
} gathered;

static strads_err put(gathered *g, const char *bytes, size_t n)
{
    if (g->size + n + STI_TEXT_SLACK > g->capacity) {
        size_t capacity = g->capacity ? 2 * g->capacity : FIRST_CAPACITY;
        while (capacity < g->size + n + STI_TEXT_SLACK)
            capacity *= 2;
        char *grown = capacity + g->capacity <= g->limit
                          ? sti_big_grow(g->bytes, g->capacity, capacity)
                          : NULL;
        if (grown == NULL)
            return strads_fail(STRADS_ENOMEM,
                               "%s: its texts take more than %llu bytes, which "
                               "may be used: write them to one file, a "
                               "document a line, or allow more (--memory)",
                               g->path, (unsigned long long)g->limit);
        g->bytes = grown;
        g->capacity = capacity;
    }
    if (n > 0)
        memcpy(g->bytes + g->size, bytes, n);
    g->size += n;
    return STRADS_OK;
}

/* A part of a document. */
static strads_err put_text(gathered *g, const char *p, const char *end)
{
    const size_t at = g->size;
    const strads_err err = put(g, p, (size_t)(end - p));
    for (size_t k = at; err == STRADS_OK && k < g->size; k++)
        if (g->bytes[k] == '\n')
            g->bytes[k] = ' ';
    return err;
}

static strads_err end_document(gathered *g)
{
    return put(g, "\n", 1);
}

/* All of a file, unpacked, piece by piece. */
static strads_err each_piece(const sti_text *text, void *arg,
                             strads_err (*take)(void *arg, const char *begin,
                                                const char *end))
{
    sti_stream *stream = NULL;
    sti_piece piece = {text->bytes, text->bytes + text->size, 1};
    if (text->codec == STI_CODEC_NONE)
        return take(arg, piece.begin + sti_text_mark(piece.begin, piece.end),
                    piece.end);
    strads_err err = sti_stream_open(text, '\n', &stream);
    for (bool first = true; err == STRADS_OK; first = false) {
        err = sti_stream_next(stream, &piece);
        if (err != STRADS_OK || piece.begin == NULL)
            break;
        if (first)
            piece.begin += sti_text_mark(piece.begin, piece.end);
        err = take(arg, piece.begin, piece.end);
    }
    sti_stream_close(stream);
    return err;
}

/* ---- a folder ------------------------------------------------------------ */

static strads_err take_file(void *arg, const char *begin, const char *end)
{
    return put_text(arg, begin, end);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static strads_err take_folder(gathered *g, const char *path);

/* A file, a folder, or what is neither and no document. */
static strads_err take_entry(gathered *g, const char *path)
{
    struct stat info;
    sti_text text;
    if (lstat(path, &info) != 0)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    if (S_ISDIR(info.st_mode))
        return take_folder(g, path);
    if (S_ISLNK(info.st_mode) &&
        (stat(path, &info) != 0 || S_ISDIR(info.st_mode)))
        return STRADS_OK; /* a loop, perhaps, or nothing */
    if (!S_ISREG(info.st_mode))
        return STRADS_OK;
    if (info.st_size == 0)
        return end_document(g);
    strads_err err = sti_text_open(&text, path, g->limit);
    if (err != STRADS_OK)
        return err;
    err = each_piece(&text, g, take_file);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&text);
    sti_text_close(&text);
    return err == STRADS_OK ? end_document(g) : err;
}

static strads_err take_folder(gathered *g, const char *path)
{
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, is_shown, by_name);
    if (n < 0)
        return strads_fail(errno == ENOMEM ? STRADS_ENOMEM : STRADS_EIO,
                           "%s: cannot be read: %s", path, strerror(errno));
    strads_err err = STRADS_OK;
    for (int k = 0; k < n; k++) {
        const char *name = entries[k]->d_name;
        const size_t size = strlen(path) + strlen(name) + 2;
        char *whole = err == STRADS_OK ? malloc(size) : NULL;
        if (whole != NULL) {
            (void)snprintf(whole, size, "%s/%s", path, name);
            err = take_entry(g, whole);
        } else if (err == STRADS_OK) {
            err = strads_fail(STRADS_ENOMEM, "%s: no memory to read it", path);
        }
        free(whole);
        free(entries[k]);
    }
    free(entries);
    return err;
}

/* ---- a column of a table ------------------------------------------------- */

/* Fields as RFC 4180 has them, over pieces; those in quotes may go over lines,
 * unlike in tables of samples. */
typedef struct column {
    gathered *g;
    const char *name;
    char separator;
    uint32_t fields, wanted; /* of the header; which of them */
    bool has_header;
    uint32_t field;               /* at hand */
    bool at_start;                /* of a field */
    bool quoted, closing, filled; /* in quotes; behind a quote in them; the
                                     record has something */
    uint64_t line, opened;        /* at hand; in which the quotes began */
} column;

static strads_err take_header(column *c, const char *p, const char *end,
                              const char **body)
{
    static const char separators[] = ",;\t";
    const char *line_end = sti_line_end(p, end);
    uint32_t n = 0, most = 0;
    sti_field *fields = calloc(MOST_FIELDS, sizeof *fields);
    char found[200], name[200];
    if (fields == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to read it",
                           c->g->path);
    c->separator = ',';
    for (const char *s = separators; *s; s++) {
        uint32_t k = 0;
        for (const char *q = p; q < line_end; q++)
            k += *q == *s;
        if (k > most) {
            most = k;
            c->separator = *s;
        }
    }
    const char *text_end =
        line_end > p && line_end[-1] == '\r' ? line_end - 1 : line_end;
    const char *wrong =
        sti_fields_split(p, text_end, c->separator, fields, MOST_FIELDS, &n);
    c->wanted = c->fields = n < MOST_FIELDS ? n : MOST_FIELDS;
    for (uint32_t k = 0; wrong == NULL && k < c->fields; k++) {
        if ((size_t)(fields[k].end - fields[k].begin) >= sizeof name)
            continue;
        name[sti_field_plain(&fields[k], name)] = '\0';
        if (strcmp(name, c->name) == 0)
            c->wanted = k;
    }
    free(fields);
    c->fields = n;
    c->has_header = true;
    c->line = 2;
    *body = line_end < end ? line_end + 1 : end;
    sti_text_quote(p, text_end, found, sizeof found);
    if (wrong != NULL || c->wanted >= n)
        return strads_fail(STRADS_EFORMAT,
                           "%s: line 1: found the header '%s', expected one "
                           "with a column '%s' (--text-column)",
                           c->g->path, found, c->name);
    return STRADS_OK;
}

static strads_err wrong_quote(const column *c, const char *what)
{
    return strads_fail(STRADS_EFORMAT, "%s: line %llu: found %s", c->g->path,
                       (unsigned long long)(c->quoted ? c->opened : c->line),
                       what);
}

static strads_err end_record(column *c)
{
    if (!c->filled)
        return STRADS_OK; /* a blank line */
    if (c->field + 1 != c->fields)
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %llu: found %u fields, expected %u, as "
                           "the header has",
                           c->g->path, (unsigned long long)c->line,
                           c->field + 1, c->fields);
    c->field = 0;
    c->filled = c->closing = false;
    return end_document(c->g);
}

/* The run of bytes from p on that are the field's, and what ends it. */
static strads_err take_bytes(column *c, const char **at, const char *end)
{
    const char *p = *at;
    while (p < end && *p != '"' && *p != '\n' &&
           (c->quoted || (*p != c->separator && *p != '\r')))
        p++;
    const bool some = p > *at;
    if (some && c->closing)
        return wrong_quote(c, "text behind the quote that ends a field; a "
                              "quote within one is written twice");
    c->filled = c->filled || some;
    c->at_start = c->at_start && !some;
    const strads_err err =
        c->field == c->wanted && some ? put_text(c->g, *at, p) : STRADS_OK;
    *at = p;
    return err;
}

static strads_err take_mark(column *c, const char *p)
{
    strads_err err = STRADS_OK;
    if (*p == '"' && c->quoted) {
        c->quoted = false;
        c->closing = true;
    } else if (*p == '"' && c->closing) { /* written twice: one of the text */
        c->quoted = true;
        c->closing = false;
        if (c->field == c->wanted)
            err = put(c->g, "\"", 1);
    } else if (*p == '"' && c->at_start) {
        c->quoted = c->filled = true;
        c->opened = c->line;
    } else if (*p == '"') { /* in the midst of one without quotes */
        if (c->field == c->wanted)
            err = put(c->g, "\"", 1);
    } else if (*p == c->separator) {
        c->field++;
        c->filled = true;
        c->closing = false;
    } else if (*p == '\n') {
        if (c->quoted && c->field == c->wanted)
            err = put(c->g, " ", 1);
        else if (!c->quoted)
            err = end_record(c);
        c->line++;
    }
    return err;
}

static strads_err take_rows(void *arg, const char *begin, const char *end)
{
    column *c = arg;
    const char *p = begin;
    strads_err err = STRADS_OK;
    if (!c->has_header)
        err = take_header(c, p, end, &p);
    while (err == STRADS_OK && p < end) {
        err = take_bytes(c, &p, end);
        if (err == STRADS_OK && p < end) {
            err = take_mark(c, p);
            c->at_start = !c->quoted && (*p == c->separator || *p == '\n');
            p++;
        }
    }
    return err;
}

static strads_err take_table(gathered *g, const char *name)
{
    column c = {.g = g, .name = name, .line = 1, .at_start = true};
    sti_text text;
    strads_err err = sti_text_open(&text, g->path, g->limit);
    if (err != STRADS_OK)
        return err;
    err = each_piece(&text, &c, take_rows);
    if (err == STRADS_OK && c.quoted)
        err = wrong_quote(&c, "a quote that does not end");
    if (err == STRADS_OK)
        err = end_record(&c);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&text);
    sti_text_close(&text);
    return err;
}

/* ---- both ---------------------------------------------------------------- */

bool sti_texts_wanted(const char *path, const strads_data_options *o)
{
    struct stat info;
    if (o->kind != STRADS_KIND_TEXT && o->kind != STRADS_KIND_DOCUMENTS)
        return false;
    return o->text_column != NULL ||
           (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

strads_err sti_texts_open(sti_text *text, const char *path,
                          const strads_data_options *o)
{
    gathered g = {.path = path, .limit = o->memory_limit};
    *text = (sti_text){.path = path};
    strads_err err = o->text_column != NULL ? take_table(&g, o->text_column)
                                            : take_folder(&g, path);
    if (err == STRADS_OK && g.size == 0)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has no %s, expected at least one", path,
                          o->text_column != NULL ? "row behind its header"
                                                 : "file in it");
    *text = (sti_text){.path = path,
                       .bytes = g.bytes,
                       .size = g.size,
                       .reserved = g.capacity};
    if (err != STRADS_OK)
        sti_text_close(text);
    return err;
}
