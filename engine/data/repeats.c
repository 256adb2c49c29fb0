/* Entries that a file has twice: named by their lines, or made one. */
#include "engine/data/build.h"

#include <stdlib.h>

#include "engine/data/read.h"

/* An entry that is there twice is noticed only when its line was put in order,
 * where nobody knows any more which lines of the file it came from. One more
 * pass, entry by entry, finds them: only a broken file pays for it. */

typedef struct twin_search {
    uint64_t row, col;
    uint64_t line[2];
    size_t found;
} twin_search;

static void look_for_twin(sti_feed *f, const sti_batch *b)
{
    twin_search *t = f->context;
    /* The pieces of a plain text do not know their line. */
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
                           "when nobody writes to it",
                           text->path);
    return strads_fail(
        STRADS_EFORMAT,
        "%s: line %llu: found %s %llu, %s %llu again, expected it once "
        "(it is in line %llu too)",
        text->path, (unsigned long long)search.line[1], given->parser->row,
        (unsigned long long)search.row + given->parser->base,
        given->parser->col,
        (unsigned long long)search.col + given->parser->base,
        (unsigned long long)search.line[0]);
}

/* Entries with the same row and column stand beside each other once a line is
 * in order, but in no order among themselves. Which of them was last in the
 * file is found by one more pass over it, that looks for those alone: only a
 * file that has some pays for it. Lines then close up, in place. */

enum { FIRST_REPEATS = 256 };

/* An entry that is there more than once; ordered by key. */
typedef struct repeat {
    uint64_t key; /* row and column */
    double last;
} repeat;

typedef struct repeats {
    repeat *at;
    size_t n, capacity;
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

static repeat *find(const repeats *r, uint64_t key)
{
    repeat wanted = {.key = key};
    return bsearch(&wanted, r->at, r->n, sizeof *r->at, by_key);
}

static bool add(repeats *r, uint64_t key)
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
            if (s->index[i] == s->index[i - 1] && !add(r, key_at(s, p, k, i)))
                return false;
    return true;
}

/* The repeats of both sides, in order, each once. */
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
    return true;
}

static void note_last(sti_feed *f, const sti_batch *b)
{
    const repeats *r = f->context;
    for (size_t i = 0; i < b->n; i++) {
        repeat *at = find(r, key_of(b->row[i], b->col[i]));
        if (at != NULL)
            at->last = b->value[i];
    }
}

static const sti_sink last_sink = {.entries = note_last};

static double value_at(const sti_side *s, uint64_t i)
{
    return s->f64 != NULL ? s->f64[i] : (double)s->f32[i];
}

static void put(sti_side *s, uint64_t to, uint32_t index, double value)
{
    s->index[to] = index;
    if (s->f64 != NULL)
        s->f64[to] = value;
    else
        s->f32[to] = (float)value;
}

/* Closes up a part, from place `to` on; returns where it ends. `r` is NULL
 * where repeats are added up. */
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
                value = find(r, key_at(s, p, k, i))->last;
            put(s, to++, s->index[i], value);
        }
    }
    p->start[lines] = to;
    p->nnz = to - p->base;
    return to;
}

/* Returns how many entries it took out. */
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
    return err;
}
