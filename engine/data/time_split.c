/* Ratings split by time. One pass notes the user and the time of each line, a
 * sort finds the last ones, and a second pass copies lines. */
#include "strads/time_split.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/atomic_file.h"
#include "engine/data/read.h"
#include "strads/names.h"

static const double USUAL_SHARE = .1;
enum { FOURTH = 3 };

/* A rating, and its line in the order of the file. */
typedef struct timed {
    double time;
    uint32_t user; /* with the last of all: 0 */
    uint64_t line;
} timed;

typedef struct time_split {
    const char *path;
    strads_time_split options;
    sti_ratings columns;
    uint32_t time; /* its column */
    sti_text_bytes text;
    timed *rating;
    uint64_t n, room;
    unsigned char *is_last; /* [n] */
    strads_names *users;
} time_split;

/* ---- columns ------------------------------------------------------------- */

static bool is_named(const sti_field *f, const char *name)
{
    return (size_t)(f->end - f->begin) == strlen(name) &&
           strncasecmp(f->begin, name, strlen(name)) == 0;
}

static strads_err find_time(time_split *s)
{
    const char *given = s->options.time, *begin = s->text.begin;
    sti_field field[STI_RATINGS_COLUMNS];
    uint32_t n = 0, hits = 0;
    if (s->columns.body > 0)
        (void)sti_fields_split(begin, sti_line_end(begin, s->text.end),
                               s->columns.separator, field, STI_RATINGS_COLUMNS,
                               &n);
    s->time = FOURTH;
    for (uint32_t k = 0; k < n && k < STI_RATINGS_COLUMNS; k++)
        if (given ? is_named(&field[k], given)
                  : is_named(&field[k], "timestamp") ||
                        is_named(&field[k], "time")) {
            s->time = k;
            hits++;
        }
    if (given && hits != 1)
        return strads_fail(STRADS_EINVAL,
                           "%s: has %s column '%s', which --time names",
                           s->path, hits == 0 ? "no" : "more than one", given);
    if (s->time >= s->columns.fields)
        return strads_fail(STRADS_EINVAL,
                           "%s: has %u columns and none of times; name it: "
                           "--time NAME",
                           s->path, s->columns.fields);
    return STRADS_OK;
}

/* ---- ratings ------------------------------------------------------------- */

static strads_err add_timed(time_split *s, const timed *t)
{
    if (s->n == s->room) {
        const uint64_t room = 2 * s->room + 1024;
        timed *more = realloc(s->rating, room * sizeof *more);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory for %llu ratings",
                               (unsigned long long)room);
        s->rating = more;
        s->room = room;
    }
    s->rating[s->n++] = *t;
    return STRADS_OK;
}

static strads_err note_line(time_split *s, const char *p, const char *end)
{
    sti_field field[STI_RATINGS_COLUMNS];
    timed t = {.line = s->n};
    char quoted[200];
    uint32_t n = 0;
    const char *wrong = sti_fields_split(p, end, s->columns.separator, field,
                                         STI_RATINGS_COLUMNS, &n);
    const uint32_t user = s->columns.column[0];
    if (wrong || n <= s->time || n <= user ||
        sti_field_number(&field[s->time], &t.time) != STI_NUMBER_OK ||
        !isfinite(t.time)) {
        sti_text_quote(p, end, quoted, sizeof quoted);
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %llu: found '%s', expected a time, a "
                           "number, in field %u: --time names its column",
                           s->path,
                           1 + (unsigned long long)
                                   sti_text_count_lines(s->text.begin, p),
                           quoted, s->time + 1);
    }
    strads_err err = STRADS_OK;
    if (s->options.last > 0)
        err = strads_names_add(s->users, field[user].begin,
                               (size_t)(field[user].end - field[user].begin),
                               &t.user);
    return err ? err : add_timed(s, &t);
}

static bool is_blank_line(const char *p, const char *end)
{
    while (p < end && sti_is_blank(*p))
        p++;
    return p == end;
}

static strads_err note_ratings(time_split *s)
{
    strads_err err = STRADS_OK;
    const char *p = s->text.begin + s->columns.body, *end;
    for (; p < s->text.end && !err; p = end + 1) {
        end = sti_line_end(p, s->text.end);
        if (!is_blank_line(p, end))
            err = note_line(s, p, end);
    }
    return err;
}

/* By user, then from the last to the first. */
static int compare_timed(const void *a, const void *b)
{
    const timed *x = a, *y = b;
    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->line > y->line ? -1 : 1;
}

static strads_err mark_last(time_split *s)
{
    const double share = s->options.share > 0 ? s->options.share : USUAL_SHARE;
    s->is_last = calloc(s->n + 1, 1);
    if (!s->is_last)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu ratings",
                           (unsigned long long)s->n);
    if (s->n > 0)
        qsort(s->rating, s->n, sizeof *s->rating, compare_timed);
    for (uint64_t k = 0, end; k < s->n; k = end) {
        for (end = k + 1;
             end < s->n && s->rating[end].user == s->rating[k].user;)
            end++;
        const uint64_t most = s->options.last;
        const uint64_t last = most == 0 ? (uint64_t)((double)s->n * share)
                              : end - k > most ? most
                                               : 0;
        for (uint64_t t = k; t < k + last; t++)
            s->is_last[s->rating[t].line] = 1;
    }
    return STRADS_OK;
}

/* ---- output -------------------------------------------------------------- */

static void copy_line(const char *p, const char *end, FILE *out)
{
    (void)fwrite(p, 1, (size_t)(end - p), out);
    (void)fputc('\n', out);
}

static void copy_ratings(const time_split *s, sti_atomic_file *file,
                         uint64_t counts[2])
{
    const char *p = s->text.begin + s->columns.body, *end;
    counts[0] = counts[1] = 0;
    for (int k = 0; k < 2; k++)
        (void)fwrite(s->text.begin, 1, s->columns.body, file[k].stream);
    for (uint64_t line = 0; p < s->text.end; p = end + 1) {
        end = sti_line_end(p, s->text.end);
        if (is_blank_line(p, end))
            continue;
        const int to = s->is_last[line++];
        copy_line(p, end, file[to].stream);
        counts[to]++;
    }
}

static strads_err write_split(const time_split *s, const char *train,
                              const char *test, uint64_t counts[2])
{
    sti_atomic_file file[2] = {{0}, {0}};
    uint64_t lines[2];
    strads_err err = sti_atomic_file_open(train, &file[0]);
    if (!err)
        err = sti_atomic_file_open(test, &file[1]);
    if (!err) {
        copy_ratings(s, file, lines);
        err = sti_atomic_file_sync(&file[0]);
    }
    if (!err)
        err = sti_atomic_file_sync(&file[1]);
    for (int k = 0; k < 2 && !err; k++)
        err = sti_atomic_file_commit(&file[k]);
    for (int k = 0; k < 2; k++)
        sti_atomic_file_abandon(&file[k]);
    if (!err)
        memcpy(counts, lines, sizeof lines);
    return err;
}

/* ---- the call ------------------------------------------------------------ */

static strads_err check_split(const strads_time_split *o)
{
    if (!(o->share >= 0 && o->share < 1))
        return strads_fail(STRADS_EINVAL,
                           "the share of ratings to test on is %g; expected a "
                           "number above 0 and below 1",
                           o->share);
    if (o->share > 0 && o->last > 0)
        return strads_fail(
            STRADS_EINVAL,
            "--share is of the last ratings of all users, --last "
            "of each user: give one of them");
    return STRADS_OK;
}

static strads_err split_text(time_split *s, const char *train, const char *test,
                             uint64_t counts[2])
{
    const char *const given[] = {s->options.user, s->options.item,
                                 s->options.rating};
    strads_err err = sti_ratings_look(s->path, s->text.begin, s->text.end,
                                      given, &s->columns);
    if (!err)
        err = find_time(s);
    if (!err)
        err = strads_names_new(&s->users);
    if (!err)
        err = note_ratings(s);
    if (!err)
        err = mark_last(s);
    return err ? err : write_split(s, train, test, counts);
}

strads_err strads_time_split_ratings(const char *path,
                                     const strads_time_split *split,
                                     const char *train, const char *test,
                                     uint64_t counts[2])
{
    time_split s = {.path = path};
    sti_text text;
    memcpy(&s.options, split,
           split->size < sizeof s.options ? split->size : sizeof s.options);
    strads_err err = check_split(&s.options);
    if (!err)
        err = sti_text_open(&text, path, SIZE_MAX);
    if (err)
        return err;
    err = sti_text_whole(&text, SIZE_MAX, &s.text);
    if (!err)
        err = split_text(&s, train, test, counts);
    sti_text_bytes_free(&s.text);
    sti_text_close(&text);
    strads_names_free(s.users);
    free(s.rating);
    free(s.is_last);
    return err;
}
