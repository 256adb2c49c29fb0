/* Ratings: lines `user item rating`, separated by blanks, tabs, commas,
 * semicolons or `::`. Further fields are ignored; a missing rating is 1. Fields
 * may be quoted (fields.c). A first line is a header if its third field is not
 * a number and no number comes before it. The header names the columns of user,
 * item and rating. With a header, or if the ids of the first line are not
 * numbers, ids are names. Numbers with wide gaps between them also become names
 * (see sti_reading_measure). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/read.h"

enum { LONGEST_NAME = 4096 };

static bool is_whole_field(const sti_field *f)
{
    for (const char *p = f->begin; p < f->end; p++)
        if (*p < '0' || *p > '9')
            return false;
    return f->end > f->begin;
}

/* One separator is a run of blanks or a single tab. If the line has two tabs
 * or more, the tab separates, and fields may contain blanks. */
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

static bool is_number_field(const sti_field *at)
{
    double value;
    return sti_field_number(at, &value) == STI_NUMBER_OK;
}

/* ---- the header --------------------------------------------------------- */

enum { USER, ITEM, RATING, ROLES };

static const char *const role_name[ROLES] = {"user", "item", "rating"};

/* Common names of these columns, in lower case, letters only. */
static const char *const commonly[ROLES] = {
    " user userid uid users customer customerid reviewer reviewerid member "
    "memberid visitorid visitor account accountid ",
    " item itemid iid items movie movieid product productid asin isbn book "
    "bookid track trackid song songid artist artistid anime animeid business "
    "businessid article articleid game gameid sku ",
    " rating ratings score stars star overall value playcount plays count "
    "weight "};

typedef struct columns {
    sti_field fields[STI_RATINGS_COLUMNS];
    uint32_t n;
} columns;

static bool is_called(const sti_field *at, const char *name)
{
    const size_t n = strlen(name);
    return (size_t)(at->end - at->begin) == n &&
           strncasecmp(at->begin, name, n) == 0;
}

/* `user_id:token` is read as userid. */
static bool is_commonly(const sti_field *at, uint32_t role)
{
    char word[24] = " ";
    size_t n = 1;
    for (const char *p = at->begin; p < at->end && *p != ':'; p++) {
        const char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        if (c == '_' || c == '-' || c == '.' || c == ' ')
            continue;
        if (c < 'a' || c > 'z' || n + 2 >= sizeof word)
            return false;
        word[n++] = c;
    }
    word[n++] = ' ';
    word[n] = '\0';
    return n > 2 && strstr(commonly[role], word) != NULL;
}

/* True for a first line that is a header. Two ids that are numbers, followed
 * by another string, are not a header but a malformed rating. */
static bool is_ratings_header(const columns *c, uint32_t n)
{
    if (n >= 3)
        return !is_number_field(&c->fields[2]) &&
               !(is_whole_field(&c->fields[0]) &&
                 is_whole_field(&c->fields[1]));
    return is_commonly(&c->fields[0], USER) || is_commonly(&c->fields[0], ITEM);
}

static strads_err refuse_header(const char *path, const char *p,
                                const char *line_end, const char *why)
{
    char quoted[200];
    sti_text_quote(p, line_end, quoted, sizeof quoted);
    return strads_fail(STRADS_EFORMAT,
                       "%s: found the columns '%s', %s: say which are which "
                       "(--user NAME --item NAME --rating NAME)",
                       path, quoted, why);
}

/* Finds the columns of user, item and rating by the given names, or by
 * common names. If the header has none of these, the first three columns are
 * used. */
static strads_err find_columns(const char *path, const char *p,
                               const char *line_end, const columns *c,
                               const char *const *given, sti_ratings *r)
{
    const uint32_t n = c->n < STI_RATINGS_COLUMNS ? c->n : STI_RATINGS_COLUMNS;
    bool found[ROLES] = {false};
    for (uint32_t role = 0; role < ROLES; role++) {
        uint32_t hits = 0;
        for (uint32_t k = 0; k < n; k++) {
            if (given[role] != NULL ? !is_called(&c->fields[k], given[role])
                                    : !is_commonly(&c->fields[k], role))
                continue;
            r->column[role] = k;
            hits++;
        }
        if (given[role] != NULL && hits != 1)
            return strads_fail(STRADS_EINVAL,
                               "%s: has %s column '%s', which --%s names", path,
                               hits == 0 ? "no" : "more than one", given[role],
                               role_name[role]);
        if (hits > 1)
            return refuse_header(path, p, line_end,
                                 "of which more than one may be meant");
        found[role] = hits == 1;
    }
    r->rated = found[RATING] || n >= 3;
    const uint32_t ids = r->column[USER] + r->column[ITEM];
    for (uint32_t role = 0; role < ROLES && !(found[USER] && found[ITEM]);
         role++)
        if (found[role] && r->column[role] != role)
            return refuse_header(path, p, line_end,
                                 "which are users and items is not clear");
    if (found[USER] && found[ITEM] && !found[RATING] && n >= 3) {
        /* The remaining column, or the one behind both ids. */
        if (n > 3 && ids != 1)
            return refuse_header(path, p, line_end,
                                 "which are the ratings is not clear");
        r->column[RATING] = 3 - ids;
    }
    return STRADS_OK;
}

/* The column of ratings, from 1, if it is given by its number in a file without
 * a header; otherwise 0. */
static uint32_t rating_place(const columns *c, const char *const *given,
                             uint32_t fields)
{
    char *end = NULL;
    const unsigned long place = given[RATING] && !given[USER] && !given[ITEM] &&
                                        given[RATING][0] >= '1' &&
                                        given[RATING][0] <= '9'
                                    ? strtoul(given[RATING], &end, 10)
                                    : 0;
    return place > 0 && !*end && place <= fields &&
                   place <= STI_RATINGS_COLUMNS && !is_ratings_header(c, fields)
               ? (uint32_t)place
               : 0;
}

strads_err sti_ratings_look(const char *path, const char *begin,
                            const char *end, const char *const *given,
                            sti_ratings *out)
{
    columns c;
    sti_ratings r = {.column = {USER, ITEM, RATING}};
    const char *p = begin;
    while (p < end && (sti_is_blank(*p) || *p == '\n'))
        p++;
    const char *line_end = sti_line_end(p, end);
    r.separator = find_separator(p, line_end);
    const char *wrong = sti_fields_split(p, line_end, r.separator, c.fields,
                                         STI_RATINGS_COLUMNS, &c.n);
    r.fields = c.n;
    if (wrong != NULL || r.fields < 2) {
        char quoted[200];
        sti_text_quote(p, line_end, quoted, sizeof quoted);
        return strads_fail(
            STRADS_EFORMAT,
            "%s: line %llu: found '%s', expected `user item rating`, separated "
            "by blanks, tabs, commas, semicolons or `::`",
            path, 1 + (unsigned long long)sti_text_count_lines(begin, p),
            quoted);
    }
    const uint32_t place = rating_place(&c, given, r.fields);
    const bool told =
        given[USER] || given[ITEM] || (given[RATING] && place == 0);
    const bool header = told || is_ratings_header(&c, r.fields);
    r.rated = r.fields >= 3;
    if (place > 0)
        r.column[RATING] = place - 1;
    strads_err err =
        header ? find_columns(path, p, line_end, &c, given, &r) : STRADS_OK;
    r.named = header || !is_number_field(&c.fields[0]) ||
              !is_number_field(&c.fields[1]);
    if (header)
        p = line_end < end ? line_end + 1 : end;
    r.body = (size_t)(p - begin);
    if (err == STRADS_OK)
        *out = r;
    return err;
}

/* ---- ratings ------------------------------------------------------------- */

static bool refuse_number(sti_feed *f, const sti_field *at, const char *what)
{
    sti_feed_trouble(f, STRADS_EFORMAT, at->begin, at->end,
                     "%s, a whole number from 0 to %llu (ids may be any text "
                     "in a file with a header line)",
                     what, (unsigned long long)f->row_limit - 1);
    return false;
}

/* Reads a whole number from 0, below `limit`. While numbers are only
 * measured, a number that is too large counts as the largest. */
static bool parse_id_number(sti_feed *f, const sti_field *at, const char *what,
                            uint64_t limit, uint32_t *out)
{
    const char *after;
    uint64_t value = sti_whole_read(at->begin, limit - 1, &after);
    if (!is_whole_field(at))
        return refuse_number(f, at, what);
    if (value >= limit && f->ratings->measured)
        value = limit - 1;
    if (value >= limit)
        return refuse_number(f, at, what);
    *out = (uint32_t)value;
    return true;
}

/* Reads a name and removes doubled quotes; false after an error. */
static bool find_id_name(sti_feed *f, sti_axis *axis, const sti_field *at,
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
    /* 007 and 7 are the same number, and so the same name. */
    for (; f->ratings->numbers && size > 1 && *name == '0'; size--)
        name++;
    if (at->doubled) {
        size = sti_field_plain(at, plain);
        name = plain;
    }
    strads_err err = sti_axis_number(axis, name, size, number, known);
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "%s", strads_error_text());
    return err == STRADS_OK;
}

static bool take_rating(sti_feed *f, const sti_field *at, double *out)
{
    sti_number_status status = sti_field_number(at, out);
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

static bool take_ids(sti_feed *f, const sti_field *fields, uint32_t *row,
                     uint32_t *col, bool *known)
{
    *known = true;
    const sti_field *user = &fields[USER];
    const sti_field *item = &fields[ITEM];
    if (f->ratings->numbers && (!is_whole_field(user) || !is_whole_field(item)))
        return refuse_number(f, is_whole_field(user) ? item : user,
                             is_whole_field(user) ? "an item" : "a user");
    if (!f->ratings->named)
        return parse_id_number(f, user, "a user", f->row_limit, row) &&
               parse_id_number(f, item, "an item", f->col_limit, col);
    bool row_known;
    bool col_known;
    if (!find_id_name(f, &f->naming->row, user, "a user", row, &row_known) ||
        !find_id_name(f, &f->naming->col, item, "an item", col, &col_known))
        return false;
    *known = row_known && col_known;
    return true;
}

/* A line that is split, with the fields of user, item and rating. */
typedef struct rating_line {
    const char *begin, *end;
    const char *wrong; /* the place of malformed quotes, or NULL */
    uint32_t n;        /* fields */
    sti_field field[ROLES];
} rating_line;

static void split_rating(const sti_feed *f, rating_line *line)
{
    const sti_ratings *r = f->ratings;
    sti_field fields[STI_RATINGS_COLUMNS];
    line->wrong = sti_fields_split(line->begin, line->end, r->separator, fields,
                                   STI_RATINGS_COLUMNS, &line->n);
    if (line->wrong != NULL || line->n != r->fields)
        return;
    const uint32_t wanted = r->rated ? ROLES : RATING;
    for (uint32_t role = 0; role < wanted; role++)
        line->field[role] = fields[r->column[role]];
    const sti_axis *axis[] = {&f->naming->row, &f->naming->col};
    for (uint32_t role = USER; r->named && role <= ITEM; role++) {
        const sti_field *at = &line->field[role];
        sti_axis_prefetch(axis[role], at->begin, (size_t)(at->end - at->begin));
    }
}

static void take_line(sti_feed *f, const rating_line *line)
{
    const sti_ratings *r = f->ratings;
    uint32_t row = 0;
    uint32_t col = 0;
    bool known;
    double value = 1;
    f->at = line->begin;
    if (line->wrong != NULL) {
        sti_feed_trouble(f, STRADS_EFORMAT, line->wrong, line->end,
                         "a field with quotes that close on its line, before a "
                         "separator: names cannot contain a line break");
        return;
    }
    if (line->n != r->fields) {
        sti_feed_trouble(f, STRADS_EFORMAT, line->begin, line->end,
                         "%u fields as in the first line, not %u", r->fields,
                         line->n);
        return;
    }
    if (!take_ids(f, line->field, &row, &col, &known))
        return;
    if (f->values && r->rated && !take_rating(f, &line->field[RATING], &value))
        return;
    if (known)
        sti_feed_put(f, row, col, value);
    else if (f->values)
        __atomic_fetch_add(&f->naming->unknown, 1, __ATOMIC_RELAXED);
}

/* Whether lines are `user item rating` with numbers as ids. */
static bool are_plain(const sti_ratings *r)
{
    return !r->named && !r->numbers && r->rated && r->fields == ROLES &&
           r->separator != ':' && r->column[USER] == 0 && r->column[ITEM] == 1;
}

/* Reads an id of at most eight digits and the separator behind it; returns the
 * position behind both, or NULL. */
static const char *quick_id(const char *p, char separator, uint64_t limit,
                            uint64_t *out)
{
    const unsigned digits = sti_digits(p, out);
    p += digits;
    return digits > 0 && *out < limit &&
                   (*p == separator || (separator == ' ' && *p == '\t'))
               ? p + 1
               : NULL;
}

/* Reads a plain line in its usual form, without copies of its fields. Returns
 * false, and has done nothing, for all other lines, valid or not. */
static bool take_plain(sti_feed *f, const char *begin, const char *line_end)
{
    const char separator = f->ratings->separator;
    const char *p = begin;
    uint64_t row, col;
    double value = 1;
    p = quick_id(p, separator, f->row_limit, &row);
    if (p != NULL)
        p = quick_id(p, separator, f->col_limit, &col);
    if (p == NULL || p >= line_end)
        return false;
    if (f->values && (!sti_number_quick(p, &p, &value) ||
                      (p != line_end && p + 1 != line_end) ||
                      !(fabs(value) <= f->value_limit)))
        return false;
    f->at = begin;
    sti_feed_put(f, row, col, value);
    return true;
}

static void parse_ratings(sti_feed *f, const char *p, const char *end)
{
    const bool plain = are_plain(f->ratings);
    rating_line line[STI_LINES_AHEAD];
    while (p < end && f->trouble.err == STRADS_OK) {
        uint32_t n = 0;
        while (p < end && n < (plain ? 1 : STI_LINES_AHEAD)) {
            const char *line_end = sti_line_end(p, end);
            while (p < line_end && sti_is_blank(*p))
                p++;
            if (p < line_end && !(plain && take_plain(f, p, line_end))) {
                line[n].begin = p;
                line[n].end = line_end;
                split_rating(f, &line[n++]);
            }
            p = line_end < end ? line_end + 1 : end;
        }
        for (uint32_t k = 0; k < n && f->trouble.err == STRADS_OK; k++)
            take_line(f, &line[k]);
    }
}

const sti_parser sti_ratings_parser = {.name = "ratings",
                                       .row = "user",
                                       .col = "item",
                                       .cut = '\n',
                                       .take = parse_ratings};
