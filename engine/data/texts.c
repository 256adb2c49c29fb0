/* Texts that do not have one document per line: the files of a folder, or a
 * column of a table. Both are converted to one text in memory with one document
 * per line. Line ends within a document become blanks. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory.h"
#include "engine/data/read.h"

enum { FIRST_CAPACITY = 1 << 20 };

typedef struct gathered {
    const char *path, *column; /* of a table; NULL: a folder */
    char *bytes;
    size_t size, capacity;
    uint64_t limit;
} gathered;

static strads_err put_bytes(gathered *g, const char *bytes, size_t n)
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

/* Appends a part of a document. */
static strads_err put_text(gathered *g, const char *p, const char *end)
{
    const size_t at = g->size;
    const strads_err err = put_bytes(g, p, (size_t)(end - p));
    for (size_t k = at; err == STRADS_OK && k < g->size; k++)
        if (g->bytes[k] == '\n')
            g->bytes[k] = ' ';
    return err;
}

static strads_err end_gathered(gathered *g)
{
    return put_bytes(g, "\n", 1);
}

/* Opens and unpacks a file and passes its text to `take`. */
static strads_err with_text(gathered *g, const char *path,
                            strads_err (*take)(gathered *g, const char *begin,
                                               const char *end))
{
    sti_text text;
    sti_text_bytes all = {0};
    strads_err err = sti_text_open(&text, path, g->limit);
    if (err != STRADS_OK)
        return err;
    err = sti_text_whole(&text, g->limit, &all);
    if (err == STRADS_OK)
        err = take(g, all.begin + sti_text_mark(all.begin, all.end), all.end);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&text);
    sti_text_bytes_free(&all);
    sti_text_close(&text);
    return err;
}

/* ---- folders ------------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static strads_err take_folder(gathered *g, const char *path);

/* Handles a file or a folder; other kinds are ignored. */
static strads_err gather_entry(gathered *g, const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    if (S_ISDIR(info.st_mode))
        return take_folder(g, path);
    if (S_ISLNK(info.st_mode) &&
        (stat(path, &info) != 0 || S_ISDIR(info.st_mode)))
        return STRADS_OK; /* a loop of links, or missing */
    if (!S_ISREG(info.st_mode))
        return STRADS_OK;
    if (info.st_size == 0)
        return end_gathered(g);
    const strads_err err = with_text(g, path, put_text);
    return err == STRADS_OK ? end_gathered(g) : err;
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
            err = gather_entry(g, whole);
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

/* Finds the column among the n fields of the header. */
static strads_err find_column(const gathered *g, const char *p,
                              const char *line_end, char separator,
                              sti_field *fields, uint32_t n, uint32_t *wanted)
{
    char found[200], name[200];
    *wanted = n;
    const char *wrong = sti_fields_split(p, line_end, separator, fields, n, &n);
    for (uint32_t k = 0; wrong == NULL && k < n; k++) {
        if ((size_t)(fields[k].end - fields[k].begin) >= sizeof name)
            continue;
        name[sti_field_plain(&fields[k], name)] = '\0';
        if (strcmp(name, g->column) == 0)
            *wanted = k;
    }
    sti_text_quote(p, line_end, found, sizeof found);
    return wrong == NULL && *wanted < n
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: line 1: found the header '%s', expected one "
                             "with a column '%s' (--text-column)",
                             g->path, found, g->column);
}

static strads_err wrong_record(const gathered *g, const char *begin,
                               const char *at, const char *found)
{
    return strads_fail(STRADS_EFORMAT, "%s: line %llu: found %s", g->path,
                       1 + (unsigned long long)sti_text_count_lines(begin, at),
                       found);
}

/* Reads the record at *p and moves *p behind it; `begin` is the start of the
 * text. */
static strads_err take_record(gathered *g, const char *begin, const char **p,
                              const char *end, char separator,
                              sti_field *fields, uint32_t n, uint32_t wanted)
{
    char numbers[80];
    uint32_t found;
    const char *record = *p;
    const char *wrong =
        sti_record_split(record, end, separator, fields, n, &found, p);
    if (wrong != NULL)
        return wrong_record(g, begin, wrong,
                            *p == NULL
                                ? "a quote that does not end"
                                : "text behind the quote that ends a field; a "
                                  "quote within one is written twice");
    if (found != n) {
        (void)snprintf(numbers, sizeof numbers,
                       "%u fields, expected %u, as the header has", found, n);
        return wrong_record(g, begin, record, numbers);
    }
    strads_err err = put_text(g, fields[wanted].begin, fields[wanted].end);
    return err == STRADS_OK ? end_gathered(g) : err;
}

static strads_err take_table(gathered *g, const char *begin, const char *end)
{
    strads_err page = sti_text_refuse_page(g->path, begin, end);
    if (page != STRADS_OK)
        return page;
    const char *p = sti_line_end(begin, end);
    const char separator = sti_separator_of(begin, p);
    uint32_t n = 0, wanted = 0;
    (void)sti_fields_split(begin, p, separator, NULL, 0, &n);
    sti_field *fields = calloc((size_t)n + 1, sizeof *fields);
    strads_err err =
        fields != NULL
            ? find_column(g, begin, p, separator, fields, n, &wanted)
            : strads_fail(STRADS_ENOMEM, "%s: no memory to read it", g->path);
    while (err == STRADS_OK) {
        while (p < end && (*p == '\n' || *p == '\r'))
            p++;
        if (p == end)
            break;
        err = take_record(g, begin, &p, end, separator, fields, n, wanted);
    }
    free(fields);
    return err;
}

/* ---- both forms ---------------------------------------------------------- */

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
    gathered g = {.path = path,
                  .column = o->text_column,
                  .limit = o->memory_limit};
    strads_err err = g.column != NULL ? with_text(&g, path, take_table)
                                      : take_folder(&g, path);
    if (err == STRADS_OK && g.size == 0)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has no %s, expected at least one", path,
                          g.column != NULL ? "row behind its header"
                                           : "file in it");
    *text = (sti_text){.path = path,
                       .bytes = g.bytes,
                       .size = g.size,
                       .reserved = g.capacity};
    if (err != STRADS_OK)
        sti_text_close(text);
    return err;
}
