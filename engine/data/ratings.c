/* Ratings: lines `user item rating`, parted by blanks, tabs, commas, semicolons
 * or `::`; what follows is not looked at, where the rating is missing it is 1.
 * As in RFC 4180 a field may stand in quotes, though not go over a line's end.
 * A first line without a number in its third field and with no numbers before
 * it is a header; with one, or where the first line's ids are not numbers, ids
 * are names. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/readers.h"

enum { LONGEST_NAME = 4096 };

typedef struct field {
    const char *begin, *end; /* without its quotes */
    bool doubled;            /* has a quote in it, written twice */
} field;

static bool separates(const char *p, char separator)
{
    return separator == ':' ? p[0] == ':' && p[1] == ':' : *p == separator;
}

/* The field in quotes that begins at p; NULL when they are not closed. */
static const char *take_quoted(const char *p, const char *line_end, field *out)
{
    *out = (field){.begin = p + 1};
    for (p++; p < line_end; p++) {
        if (*p != '"')
            continue;
        if (p + 1 == line_end || p[1] != '"') {
            out->end = p;
            return p + 1;
        }
        out->doubled = true;
        p++;
    }
    return NULL;
}

static const char *skip_blanks(const char *p, const char *line_end)
{
    while (p < line_end && (*p == ' ' || *p == '\r'))
        p++;
    return p;
}

/* One field of a line; returns where it ends, at a separator or at the line's
 * end, or NULL when its quotes do not close or something follows them. */
static const char *take_field(const char *p, const char *line_end,
                              char separator, field *out)
{
    if (separator == ' ') {
        while (p < line_end && sti_is_blank(*p))
            p++;
        *out = (field){.begin = p};
        while (p < line_end && !sti_is_blank(*p))
            p++;
        out->end = p;
        return p;
    }
    p = skip_blanks(p, line_end);
    if (p < line_end && *p == '"') {
        p = take_quoted(p, line_end, out);
        p = p != NULL ? skip_blanks(p, line_end) : NULL;
        return p != NULL && (p == line_end || separates(p, separator)) ? p
                                                                       : NULL;
    }
    *out = (field){.begin = p};
    while (p < line_end && !separates(p, separator))
        p++;
    out->end = p;
    while (out->end > out->begin && sti_is_blank(out->end[-1]))
        out->end--;
    return p;
}

/* Where the field after the one that ended at p begins; NULL: there is none. */
static const char *next_field(const char *p, const char *line_end,
                              char separator)
{
    if (separator == ' ') {
        while (p < line_end && sti_is_blank(*p))
            p++;
        return p < line_end ? p : NULL;
    }
    if (p >= line_end)
        return NULL;
    return p + (separator == ':' ? 2 : 1);
}

/* Splits a line; *n is how many fields it has, of which up to `room` are kept.
 * NULL, or where quotes are not right. */
static const char *split(const char *p, const char *line_end, char separator,
                         field *fields, uint32_t room, uint32_t *n)
{
    field other;
    *n = 0;
    while (p != NULL) {
        const char *from = p;
        p = take_field(p, line_end, separator,
                       *n < room ? &fields[*n] : &other);
        if (p == NULL)
            return from;
        ++*n;
        p = next_field(p, line_end, separator);
    }
    return NULL;
}

/* A number is read from a copy: what a field has behind it, a comma say, is no
 * end of a number elsewhere. */
static sti_number_status read_number(const field *f, double *out)
{
    char text[STI_NUMBER_LONGEST + 1 + STI_TEXT_SLACK];
    const char *after;
    size_t size = (size_t)(f->end - f->begin);
    if (size > STI_NUMBER_LONGEST)
        return STI_NUMBER_LONG;
    memcpy(text, f->begin, size);
    memset(text + size, 0, STI_TEXT_SLACK);
    sti_number_status status = sti_number_read(text, &after, out);
    return status == STI_NUMBER_OK && after != text + size ? STI_NUMBER_NONE
                                                           : status;
}

static bool is_whole(const field *f)
{
    for (const char *p = f->begin; p < f->end; p++)
        if (*p < '0' || *p > '9')
            return false;
    return f->end > f->begin;
}

/* Blanks and single tabs are one separator; where there are two tabs or more,
 * what is between them may hold blanks. */
static char find_separator(const char *p, const char *line_end)
{
    uint32_t tabs = 0;
    for (; p < line_end; p++) {
        if (*p == ',' || *p == ';' ||
            (*p == ':' && p + 1 < line_end && p[1] == ':'))
            return *p;
        tabs += *p == '\t';
        if (tabs == 2)
            return '\t';
    }
    return ' ';
}

static const char *find_line_end(const char *p, const char *end)
{
    const char *at = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return at != NULL ? at : end;
}

static bool is_number(const field *at)
{
    double value;
    return read_number(at, &value) == STI_NUMBER_OK;
}

static bool begins(const field *at, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(at->end - at->begin) >= n &&
           strncasecmp(at->begin, word, n) == 0;
}

/* Two ids that are numbers, then something else: a rating that is none. */
static bool is_header(const field *fields, uint32_t n)
{
    if (n >= 3)
        return !is_number(&fields[2]) &&
               !(is_whole(&fields[0]) && is_whole(&fields[1]));
    return begins(&fields[0], "user");
}

/* A header that says itself that its columns stand in another order. */
static bool is_turned(const field *fields, uint32_t n)
{
    for (uint32_t k = 0; k < 2 && k < n; k++)
        if (begins(&fields[k], "rating") || begins(&fields[k], "score"))
            return true;
    return n >= 2 && begins(&fields[0], "item") && begins(&fields[1], "user");
}

strads_err sti_ratings_look(const char *path, const char *begin,
                            const char *end, sti_ratings *out)
{
    field fields[3];
    sti_ratings r = {0};
    const char *p = begin;
    while (p < end && (sti_is_blank(*p) || *p == '\n'))
        p++;
    const char *line_end = find_line_end(p, end);
    r.separator = find_separator(p, line_end);
    const char *wrong = split(p, line_end, r.separator, fields, 3, &r.fields);
    if (wrong != NULL || r.fields < 2) {
        char quoted[200];
        sti_text_quote(p, line_end, quoted, sizeof quoted);
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %llu: found '%s', expected `user item "
                           "rating`, parted by blanks, tabs, commas, "
                           "semicolons or `::`",
                           path,
                           1 + (unsigned long long)sti_text_count_lines(begin,
                                                                        p),
                           quoted);
    }
    bool header = is_header(fields, r.fields);
    if (header && is_turned(fields, r.fields)) {
        char quoted[200];
        sti_text_quote(p, line_end, quoted, sizeof quoted);
        return strads_fail(STRADS_EFORMAT,
                           "%s: found the columns '%s', expected user, item "
                           "and rating in this order, which is what counts "
                           "and not their names",
                           path, quoted);
    }
    r.named = header || !is_number(&fields[0]) || !is_number(&fields[1]);
    if (header)
        p = line_end < end ? line_end + 1 : end;
    r.body = (size_t)(p - begin);
    *out = r;
    return STRADS_OK;
}

static bool refuse_number(sti_feed *f, const field *at, const char *what)
{
    sti_feed_trouble(f, STRADS_EFORMAT, at->begin, at->end,
                     "%s, a whole number from 0 to %llu (ids may be any text "
                     "in a file with a header line)",
                     what, (unsigned long long)f->row_limit - 1);
    return false;
}

/* A number from 0, below `limit`. */
static bool take_number(sti_feed *f, const field *at, const char *what,
                        uint64_t limit, uint32_t *out)
{
    uint64_t value = 0;
    if (!is_whole(at))
        return refuse_number(f, at, what);
    for (const char *p = at->begin; p < at->end && value < limit; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    if (value >= limit)
        return refuse_number(f, at, what);
    *out = (uint32_t)value;
    return true;
}

/* The name without its doubled quotes; false after a trouble. */
static bool take_name(sti_feed *f, sti_axis *axis, const field *at,
                      const char *what, uint32_t *number, bool *known)
{
    char plain[LONGEST_NAME];
    const char *name = at->begin;
    size_t size = (size_t)(at->end - at->begin);
    if (size == 0 || size > sizeof plain) {
        sti_feed_trouble(f, STRADS_EFORMAT, at->begin, at->end,
                         "%s of 1 to %d bytes", what, (int)LONGEST_NAME);
        return false;
    }
    if (at->doubled) {
        size = 0;
        for (const char *p = at->begin; p < at->end; p++) {
            plain[size++] = *p;
            p += *p == '"';
        }
        name = plain;
    }
    strads_err err = sti_axis_number(axis, name, size, number, known);
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "%s", strads_error_text());
    return err == STRADS_OK;
}

static bool take_rating(sti_feed *f, const field *at, double *out)
{
    sti_number_status status = read_number(at, out);
    if (status != STI_NUMBER_OK) {
        sti_feed_not_a_number(f, (int)status, at->begin, at->end,
                              "a rating (a number)");
        return false;
    }
    if (!(fabs(*out) <= f->value_limit)) {
        sti_feed_trouble(f, STRADS_ELIMIT, at->begin, at->end,
                         "a rating that fits in 32 bits");
        return false;
    }
    return true;
}

static void put_rating(sti_feed *f, uint32_t row, uint32_t col, double value)
{
    size_t n = f->batch.n;
    f->batch.row[n] = row;
    f->batch.col[n] = col;
    f->batch.value[n] = value;
    f->batch.n = n + 1;
    if (n + 1 == STI_BATCH || f->line_by_line)
        sti_feed_flush(f);
}

static bool take_ids(sti_feed *f, const field *fields, uint32_t *row,
                     uint32_t *col, bool *known)
{
    *known = true;
    if (!f->ratings->named)
        return take_number(f, &fields[0], "a user", f->row_limit, row) &&
               take_number(f, &fields[1], "an item", f->col_limit, col);
    bool row_known;
    bool col_known;
    if (!take_name(f, &f->naming->row, &fields[0], "a user", row, &row_known) ||
        !take_name(f, &f->naming->col, &fields[1], "an item", col, &col_known))
        return false;
    *known = row_known && col_known;
    return true;
}

static void take_line(sti_feed *f, const char *p, const char *line_end)
{
    const sti_ratings *r = f->ratings;
    field fields[3] = {{0}};
    uint32_t n;
    uint32_t row = 0;
    uint32_t col = 0;
    bool known;
    double value = 1;
    f->at = p;
    const char *wrong = split(p, line_end, r->separator, fields, 3, &n);
    if (wrong != NULL) {
        sti_feed_trouble(f, STRADS_EFORMAT, wrong, line_end,
                         "a field whose quotes close, before a separator");
        return;
    }
    if (n != r->fields) {
        sti_feed_trouble(f, STRADS_EFORMAT, p, line_end,
                         "%u fields as in the first line, not %u", r->fields,
                         n);
        return;
    }
    if (!take_ids(f, fields, &row, &col, &known))
        return;
    if (f->values && r->fields >= 3 && !take_rating(f, &fields[2], &value))
        return;
    if (known)
        put_rating(f, row, col, value);
    else if (f->values)
        __atomic_fetch_add(&f->naming->unknown, 1, __ATOMIC_RELAXED);
}

static void take(sti_feed *f, const char *p, const char *end)
{
    while (p < end && f->trouble.err == STRADS_OK) {
        const char *line_end = find_line_end(p, end);
        const char *next = line_end < end ? line_end + 1 : end;
        while (p < line_end && sti_is_blank(*p))
            p++;
        if (p < line_end)
            take_line(f, p, line_end);
        p = next;
    }
}

const sti_parser sti_ratings_parser = {
    .name = "ratings", .row = "user", .col = "item", .cut = '\n', .take = take};
