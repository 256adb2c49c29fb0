/* Repeated entries in a file: reports their lines, or merges them into one. */
#include "engine/data/build.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/data/read.h"

/* A repeated entry is found only after its line was sorted, when the line
 * numbers of the file are lost. One more pass, entry by entry, finds them. Only
 * broken files pay for it. */

typedef struct twin_search {
    uint64_t row, col;
    uint64_t line[2];
    size_t found;
} twin_search;

static void look_for_twin(sti_feed *f, const sti_batch *b)
{
    twin_search *t = f->context;
    /* Pieces of a plain text have no line number. */
    uint64_t first = f->piece.line;
    if (first == 0)
        first = f->market != NULL ? f->market->body_line : 1;
    for (size_t i = 0; i < b->n && t->found < 2; i++)
        if (b->row[i] == t->row && b->col[i] == t->col)
            t->line[t->found++] =
                first + sti_text_count_lines(f->piece.begin, f->at);
}

static const sti_sink twin_sink = {.entries = look_for_twin};

strads_err sti_duplicate_fail(const sti_pass *given, const sti_twice *twice)
{
    const sti_text *text = given->text;
    twin_search search = {.row = twice->line, .col = twice->minor};
    strads_err err = sti_pass_whole(given, &twin_sink, &search, true, true);
    if (err != STRADS_OK)
        return err;
    if (search.found < 2)
        return strads_fail(STRADS_EIO,
                           "%s: was changed while it was read; read it again "
                           "when no process writes to it",
                           text->path);
    char col[24];
    (void)snprintf(col, sizeof col, "%llu",
                   (unsigned long long)search.col + given->parser->base);
    return strads_fail(
        STRADS_EFORMAT,
        "%s: line %llu: found %s %llu, %s %s again, expected it once "
        "(it is in line %llu too)",
        text->path, (unsigned long long)search.line[1], given->parser->row,
        (unsigned long long)search.row + given->parser->base,
        given->parser->col,
        given->id_limit > 0
            ? strads_names_at(given->naming->col.names, (uint32_t)search.col)
            : col,
        (unsigned long long)search.line[0]);
}

/* After sorting, entries with the same row and column are adjacent, but in
 * no defined order. To find the last one in the file, one more pass reads the
 * file and records the repeated entries only. Only files with repeats pay for
 * it. Then lines are compacted in place. */

enum { FIRST_REPEATS = 256 };

/* An entry that occurs more than once; sorted by key. */
typedef struct repeat {
    uint64_t key; /* row and column */
    double last;
} repeat;

/* Most entries of a file do not occur again. A bit for the hash of each key
 * excludes nearly all of them before the search. */
enum { FILTER_BITS_EACH = 16, FILTER_BITS_LOG_MIN = 6 };

typedef struct repeats {
    repeat *at;
    size_t n, capacity;
    uint64_t *filter; /* [2^filter_log bits], set after the last key is added */
    uint32_t filter_log;
} repeats;

static uint64_t key_of(uint64_t row, uint64_t col)
{
    return row << 32 | col;
}

static int by_key(const void *a, const void *b)
{
    const repeat *x = a;
    const repeat *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static uint64_t filter_bit(const repeats *r, uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - r->filter_log);
}

static bool make_filter(repeats *r)
{
    r->filter_log = FILTER_BITS_LOG_MIN;
    while (UINT64_C(1) << r->filter_log < FILTER_BITS_EACH * r->n)
        r->filter_log++;
    r->filter = calloc((UINT64_C(1) << r->filter_log) / 64, sizeof *r->filter);
    for (size_t i = 0; i < r->n && r->filter != NULL; i++) {
        const uint64_t bit = filter_bit(r, r->at[i].key);
        r->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return r->filter != NULL;
}

static repeat *find_repeat(const repeats *r, uint64_t key)
{
    repeat wanted = {.key = key};
    const uint64_t bit = filter_bit(r, key);
    if (!(r->filter[bit / 64] >> bit % 64 & 1))
        return NULL;
    return bsearch(&wanted, r->at, r->n, sizeof *r->at, by_key);
}

static bool add_repeat(repeats *r, uint64_t key)
{
    if (r->n > 0 && r->at[r->n - 1].key == key)
        return true;
    if (r->n == r->capacity) {
        size_t capacity = r->capacity == 0 ? FIRST_REPEATS : 2 * r->capacity;
        repeat *at = realloc(r->at, capacity * sizeof *at);
        if (at == NULL)
            return false;
        r->at = at;
        r->capacity = capacity;
    }
    r->at[r->n++] = (repeat){.key = key};
    return true;
}

static uint64_t key_at(const sti_side *s, const sti_part *p, uint64_t k,
                       uint64_t i)
{
    uint64_t line = p->line.begin + k;
    uint64_t minor = p->minor.begin + s->index[i];
    return s->by_col ? key_of(minor, line) : key_of(line, minor);
}

static bool collect_part(repeats *r, const sti_side *s, const sti_part *p)
{
    for (uint64_t k = 0; k < p->line.end - p->line.begin; k++)
        for (uint64_t i = p->start[k] + 1; i < p->start[k + 1]; i++)
            if (s->index[i] == s->index[i - 1] &&
                !add_repeat(r, key_at(s, p, k, i)))
                return false;
    return true;
}

/* Collects the repeats of both sides, sorted and unique. */
static bool collect_repeats(repeats *r, const strads_data *d)
{
    const sti_side *sides[] = {&d->by_row, &d->by_col};
    for (size_t side = 0; side < 2; side++)
        for (uint32_t p = 0; p < sides[side]->count; p++)
            if (!collect_part(r, sides[side], &sides[side]->parts[p]))
                return false;
    qsort(r->at, r->n, sizeof *r->at, by_key);
    size_t n = 0;
    for (size_t k = 0; k < r->n; k++)
        if (n == 0 || r->at[n - 1].key != r->at[k].key)
            r->at[n++] = r->at[k];
    r->n = n;
    return make_filter(r);
}

static void note_last(sti_feed *f, const sti_batch *b)
{
    const repeats *r = f->context;
    for (size_t i = 0; i < b->n; i++) {
        repeat *at = find_repeat(r, key_of(b->row[i], b->col[i]));
        if (at != NULL)
            at->last = b->value[i];
    }
}

static const sti_sink last_sink = {.entries = note_last};

static double value_at(const sti_side *s, uint64_t i)
{
    return s->f64 != NULL ? s->f64[i] : (double)s->f32[i];
}

static void put_side_entry(sti_side *s, uint64_t to, uint32_t index,
                           double value)
{
    s->index[to] = index;
    if (s->f64 != NULL)
        s->f64[to] = value;
    else
        s->f32[to] = (float)value;
}

/* Compacts a part, starting at place `to`; returns its new end. `r` is NULL
 * if repeats are added up. */
static uint64_t close_part(sti_side *s, sti_part *p, uint64_t to,
                           const repeats *r)
{
    uint64_t lines = p->line.end - p->line.begin;
    uint64_t from = p->start[0];
    p->base = to;
    for (uint64_t k = 0; k < lines; k++) {
        uint64_t end = p->start[k + 1];
        p->start[k] = to;
        while (from < end) {
            uint64_t i = from++;
            double value = value_at(s, i);
            while (from < end && s->index[from] == s->index[i])
                value += value_at(s, from++);
            if (r != NULL && from > i + 1)
                value = find_repeat(r, key_at(s, p, k, i))->last;
            put_side_entry(s, to++, s->index[i], value);
        }
    }
    p->start[lines] = to;
    p->nnz = to - p->base;
    return to;
}

/* Returns the number of removed entries. */
static uint64_t close_side(sti_side *s, const repeats *r)
{
    uint64_t to = 0;
    uint64_t before = s->nnz;
    for (uint32_t p = 0; p < s->count; p++)
        to = close_part(s, &s->parts[p], to, r);
    s->nnz = s->count > 0 ? to : before;
    return before - s->nnz;
}

strads_err sti_repeats_merge(sti_build *b, const sti_pass *pass,
                             sti_repeats how)
{
    repeats r = {0};
    strads_data *d = b->data;
    strads_err err = STRADS_OK;
    if (how == STI_REPEATS_LAST) {
        err = collect_repeats(&r, d)
                  ? sti_pass_whole(pass, &last_sink, &r, true, false)
                  : strads_fail(STRADS_ENOMEM,
                                "%s: no memory for what is in it "
                                "more than once",
                                b->name);
    }
    if (err == STRADS_OK) {
        const repeats *last = how == STI_REPEATS_LAST ? &r : NULL;
        uint64_t by_row = close_side(&d->by_row, last);
        uint64_t by_col = close_side(&d->by_col, last);
        d->repeated = by_row > by_col ? by_row : by_col;
    }
    free(r.at);
    free(r.filter);
    return err;
}
