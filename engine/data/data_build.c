/* Cuts lines into partitions, the same way in every process: the result depends
 * on the counts alone. */
#include "engine/data/data_build.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/data/memory.h"
#include "engine/data/readers.h"

/* all x p / parts without overflow. */
static uint64_t fraction(uint64_t all, uint32_t p, uint32_t parts)
{
    return (uint64_t)((unsigned __int128)all * p / parts);
}

static uint64_t sum_of(const uint32_t *nnz, uint64_t lines)
{
    uint64_t sum = 0;
    for (uint64_t k = 0; k < lines; k++)
        sum += nnz[k];
    return sum;
}

void sti_partition_cut(const uint32_t *nnz, uint64_t lines, uint32_t parts,
                       uint64_t *bounds)
{
    uint64_t all = nnz != NULL ? sum_of(nnz, lines) : 0;
    bounds[0] = 0;
    bounds[parts] = lines;
    if (all == 0) {
        for (uint32_t p = 1; p < parts; p++)
            bounds[p] = fraction(lines, p, parts);
        return;
    }
    uint64_t line = 0;
    uint64_t before = 0; /* entries of the lines before `line` */
    for (uint32_t p = 1; p < parts; p++) {
        uint64_t target = fraction(all, p, parts);
        while (line < lines && before + nnz[line] <= target)
            before += nnz[line++];
        /* The target lies within `line`: take it if most of it fits. */
        uint64_t over = line < lines ? before + nnz[line] - target : 0;
        if (line < lines && over < target - before)
            before += nnz[line++];
        bounds[p] = line;
    }
}

/* Decides what a process keeps and drives both sides of a build.
 *
 * A side is cut along its lines when the split follows them (columns under
 * COLS and BOTH, rows under ROWS and BOTH): then it is built as one part over
 * the kept range and split at the end. Otherwise each kept partition is a part
 * of its own with all lines, and what a line holds in each must be counted. */

static strads_err no_memory(const sti_build *b)
{
    return strads_fail(STRADS_ENOMEM,
                       "%s: the system refused memory that it had promised; "
                       "keep fewer partitions in a process",
                       b->name);
}

static bool splits_rows(const sti_build *b)
{
    return b->options.split != STRADS_SPLIT_COLS;
}

static bool splits_cols(const sti_build *b)
{
    return b->options.split != STRADS_SPLIT_ROWS;
}

/* Now that all entries are counted: no more partitions than they are worth. */
static void settle_partitions(sti_build *b)
{
    strads_data_options *o = &b->options;
    if (o->partition_entries == 0)
        return;
    uint64_t worth = b->survey->nnz / o->partition_entries;
    if (worth < o->partitions)
        o->partitions = worth > 1 ? (uint32_t)worth : 1;
    o->keep_count = o->partitions;
}

static strads_err cut(sti_build *b)
{
    uint32_t parts = b->options.partitions;
    const sti_survey *s = b->survey;
    b->row_bounds = calloc((size_t)parts + 1, sizeof *b->row_bounds);
    b->col_bounds = calloc((size_t)parts + 1, sizeof *b->col_bounds);
    if (b->row_bounds == NULL || b->col_bounds == NULL)
        return no_memory(b);
    if (splits_rows(b))
        sti_partition_cut(s->row_nnz, s->rows, parts, b->row_bounds);
    if (splits_cols(b))
        sti_partition_cut(s->col_nnz, s->cols, parts, b->col_bounds);
    return STRADS_OK;
}

static strads_range kept(const sti_build *b, const uint64_t *bounds)
{
    uint32_t first = b->options.keep_first;
    return (strads_range){bounds[first], bounds[first + b->options.keep_count]};
}

static uint64_t nnz_in(const uint32_t *nnz, strads_range range)
{
    uint64_t sum = 0;
    for (uint64_t k = range.begin; k < range.end; k++)
        sum += nnz[k];
    return sum;
}

/* Lays out the parts of one side, without memory for them yet. */
static strads_err shape(sti_build *b, sti_side *side, bool by_col)
{
    const sti_survey *s = b->survey;
    const strads_data_options *o = &b->options;
    bool along = by_col ? splits_cols(b) : splits_rows(b);
    bool cols_cut = along == by_col;
    const uint64_t *bounds = cols_cut ? b->col_bounds : b->row_bounds;
    strads_range lines = {0, by_col ? s->cols : s->rows};
    strads_range minors = {0, by_col ? s->rows : s->cols};
    side->wanted = true;
    side->by_col = by_col;
    side->writers = b->shared ? STI_WRITERS_ATOMIC : STI_WRITERS_ONE;
    side->cross = !along && o->partitions > 1;
    side->nnz = nnz_in(cols_cut ? s->col_nnz : s->row_nnz, kept(b, bounds));
    side->count = side->cross ? o->keep_count : (o->keep_count > 0);
    side->parts = calloc((size_t)side->count + 1, sizeof *side->parts);
    if (side->parts == NULL)
        return no_memory(b);
    for (uint32_t p = 0; p < side->count; p++) {
        const uint64_t *at = bounds + o->keep_first + p;
        side->parts[p].line = along ? kept(b, bounds) : lines;
        side->parts[p].minor =
            side->cross ? (strads_range){at[0], at[1]} : minors;
    }
    return STRADS_OK;
}

static strads_err allocate_side(sti_build *b, sti_side *side)
{
    uint32_t spare = side->cross ? 0 : b->options.keep_count;
    if (!side->wanted || side->count == 0)
        return STRADS_OK;
    return sti_side_make_starts(side, spare) &&
                   sti_side_make_entries(side, b->options.values)
               ? STRADS_OK
               : no_memory(b);
}

static strads_err allocate(sti_build *b)
{
    strads_data *d = b->data;
    d->label_count = b->has_labels ? b->rows.end - b->rows.begin : 0;
    d->bytes = sti_side_bytes(&d->by_col, b->options.values) +
               sti_side_bytes(&d->by_row, b->options.values) +
               d->label_count * sizeof *d->label +
               d->cols * sizeof *d->col_nnz +
               (d->by_row.wanted ? d->rows * sizeof *d->row_nnz : 0);
    sti_needs needs = sti_needs_of(&b->options, d->rows, d->cols, d->nnz);
    needs.count = 0; /* those of columns are part of the data */
    needs.data = d->bytes;
    strads_err err = sti_needs_check(b->name, &b->options, &needs);
    if (err == STRADS_OK)
        err = allocate_side(b, &d->by_col);
    if (err == STRADS_OK)
        err = allocate_side(b, &d->by_row);
    if (err == STRADS_OK && b->has_labels) {
        d->label = sti_big_alloc(d->label_count * sizeof *d->label);
        err = d->label != NULL ? STRADS_OK : no_memory(b);
    }
    return err;
}

strads_err sti_build_begin(sti_build *b)
{
    sti_survey *s = b->survey;
    const strads_data_options *o = &b->options;
    strads_data *d = calloc(1, sizeof *d);
    b->data = d;
    if (d == NULL)
        return no_memory(b);
    settle_partitions(b);
    strads_err err = cut(b);
    if (err != STRADS_OK)
        return err;
    d->rows = s->rows;
    d->cols = s->cols;
    d->nnz = s->nnz;
    d->partitions = o->partitions;
    d->keep_first = o->keep_first;
    d->keep_count = o->keep_count;
    b->rows =
        splits_rows(b) ? kept(b, b->row_bounds) : (strads_range){0, s->rows};
    if ((o->layout & STRADS_LAYOUT_COLS) != 0)
        err = shape(b, &d->by_col, true);
    if (err == STRADS_OK && (o->layout & STRADS_LAYOUT_ROWS) != 0)
        err = shape(b, &d->by_row, false);
    if (err == STRADS_OK)
        err = allocate(b);
    d->col_nnz = s->col_nnz;
    s->col_nnz = NULL;
    return err;
}

bool sti_build_must_count(const sti_build *b)
{
    return b->data->by_col.cross || b->data->by_row.cross;
}

static void count_entries(sti_feed *f, const sti_batch *batch)
{
    sti_build *b = f->context;
    if (b->data->by_col.cross)
        sti_side_count(&b->data->by_col, batch);
    if (b->data->by_row.cross)
        sti_side_count(&b->data->by_row, batch);
}

const sti_sink sti_build_count_sink = {.entries = count_entries};

bool sti_build_affords(const sti_build *b, size_t chunks)
{
    const sti_side *side = &b->data->by_col;
    if (!side->wanted || side->cross || side->count == 0)
        return true;
    strads_range lines = side->parts[0].line;
    uint64_t places = (lines.end - lines.begin) * sizeof(uint64_t);
    return places * (chunks - 1) <= b->data->bytes / 8;
}

/* A side cut along its lines: the survey's counts are the starts'. */
static void take_counts(sti_side *side, const uint32_t *nnz)
{
    strads_range lines = side->parts[0].line;
    for (uint64_t k = lines.begin; k < lines.end; k++)
        side->parts[0].start[k - lines.begin + 1] = nnz[k];
}

static bool open_private(sti_side *side, const sti_tally *tallies,
                         size_t chunks)
{
    uint32_t **counts = calloc(chunks, sizeof *counts);
    uint64_t *lines = calloc(chunks, sizeof *lines);
    bool room = counts != NULL && lines != NULL;
    for (size_t t = 0; room && t < chunks; t++) {
        counts[t] = tallies[t].col;
        lines[t] = tallies[t].cols;
    }
    room = room && sti_side_open_private(side, counts, lines, chunks);
    free(counts);
    free(lines);
    return room;
}

static bool open_side(sti_side *side, const uint32_t *nnz,
                      const sti_tally *tallies, size_t chunks)
{
    if (!side->wanted || side->count == 0)
        return true;
    if (!side->cross && tallies != NULL && chunks > 1) {
        side->writers = STI_WRITERS_PRIVATE;
        return open_private(side, tallies, chunks);
    }
    if (!side->cross)
        take_counts(side, nnz);
    sti_side_open(side);
    return true;
}

strads_err sti_build_open(sti_build *b, const sti_tally *tallies, size_t chunks)
{
    strads_data *d = b->data;
    bool room = open_side(&d->by_col, d->col_nnz, tallies, chunks) &&
                open_side(&d->by_row, b->survey->row_nnz, NULL, chunks);
    return room ? STRADS_OK : no_memory(b);
}

static void place_entries(sti_feed *f, const sti_batch *batch)
{
    sti_build *b = f->context;
    f->entry_sum += sti_digest_entries(batch);
    if (!sti_side_place(&b->data->by_col, f->chunk, batch) ||
        !sti_side_place(&b->data->by_row, f->chunk, batch))
        sti_feed_trouble(f, STRADS_EIO, NULL, NULL,
                         "holds more entries than a moment ago; read it again "
                         "when nobody writes to it");
}

static void place_label(sti_feed *f, uint64_t row, double label)
{
    sti_build *b = f->context;
    f->label_sum += sti_digest_label(row, label);
    if (row >= b->rows.begin && row < b->rows.end)
        b->data->label[row - b->rows.begin] = label;
}

void sti_build_give_labels(sti_build *b, const double *labels)
{
    for (uint64_t row = 0; row < b->data->rows; row++) {
        b->digest.label_sum += sti_digest_label(row, labels[row]);
        if (row >= b->rows.begin && row < b->rows.end)
            b->data->label[row - b->rows.begin] = labels[row];
    }
}

static void add_sums(sti_feed *f)
{
    sti_build *b = f->context;
    __atomic_fetch_add(&b->digest.entry_sum, f->entry_sum, __ATOMIC_RELAXED);
    __atomic_fetch_add(&b->digest.label_sum, f->label_sum, __ATOMIC_RELAXED);
}

const sti_sink sti_build_place_sink = {.entries = place_entries,
                                       .label = place_label,
                                       .end = add_sums};

static strads_err order_side(sti_build *b, sti_side *side, bool ordered,
                             sti_twice *twice)
{
    if (!side->wanted || side->count == 0)
        return STRADS_OK;
    if (!sti_side_is_full(side))
        return strads_fail(STRADS_EIO,
                           "%s: holds fewer entries than a moment ago; read it "
                           "again when nobody writes to it",
                           b->name);
    sti_side_free_places(side);
    if (ordered)
        return STRADS_OK;
    sti_twice found = sti_side_order(side, b->options.threads);
    if (!found.found || twice->found)
        return STRADS_OK;
    *twice = found;
    if (side->by_col) {
        twice->line = found.minor;
        twice->minor = found.line;
    }
    return STRADS_OK;
}

strads_err sti_build_order(sti_build *b, bool ordered, sti_twice *twice)
{
    *twice = (sti_twice){0};
    strads_err err = order_side(b, &b->data->by_col, ordered, twice);
    return err == STRADS_OK ? order_side(b, &b->data->by_row, ordered, twice)
                            : err;
}

static strads_err finish_side(sti_build *b, sti_side *side)
{
    if (!side->wanted || side->count == 0)
        return STRADS_OK;
    const uint64_t *bounds = side->by_col ? b->col_bounds : b->row_bounds;
    if (!side->cross && b->options.partitions > 1 &&
        !sti_side_split(side, bounds + b->options.keep_first,
                        b->options.keep_count))
        return no_memory(b);
    sti_side_rebase(side);
    return STRADS_OK;
}

static strads_sparse view(const sti_side *side, uint32_t k)
{
    if (!side->wanted)
        return (strads_sparse){0};
    const sti_part *part = &side->parts[k];
    return (strads_sparse){.lines = part->line.end - part->line.begin,
                           .nnz = part->nnz,
                           .start = part->start,
                           .index = side->index + part->base,
                           .f64 = side->f64 != NULL ? side->f64 + part->base
                                                    : NULL,
                           .f32 = side->f32 != NULL ? side->f32 + part->base
                                                    : NULL};
}

static strads_err make_shares(sti_build *b)
{
    strads_data *d = b->data;
    d->shares = calloc((size_t)d->keep_count + 1, sizeof *d->shares);
    if (d->shares == NULL)
        return no_memory(b);
    for (uint32_t k = 0; k < d->keep_count; k++) {
        uint32_t p = d->keep_first + k;
        strads_share *share = &d->shares[k];
        share->partition = p;
        share->partitions = d->partitions;
        share->rows = (strads_range){0, d->rows};
        share->cols = (strads_range){0, d->cols};
        if (splits_rows(b))
            share->rows =
                (strads_range){b->row_bounds[p], b->row_bounds[p + 1]};
        if (splits_cols(b))
            share->cols =
                (strads_range){b->col_bounds[p], b->col_bounds[p + 1]};
        share->by_col = view(&d->by_col, k);
        share->by_row = view(&d->by_row, k);
        if (d->label != NULL)
            share->label = d->label + (share->rows.begin - b->rows.begin);
    }
    return STRADS_OK;
}

strads_err sti_build_finish(sti_build *b, strads_data **out)
{
    strads_data *d = b->data;
    strads_err err = finish_side(b, &d->by_col);
    if (err == STRADS_OK)
        err = finish_side(b, &d->by_row);
    if (err == STRADS_OK)
        err = make_shares(b);
    if (err != STRADS_OK)
        return err;
    b->digest.rows = d->rows;
    b->digest.cols = d->cols;
    b->digest.nnz = d->nnz;
    b->digest.has_labels = b->has_labels;
    d->checksum = sti_digest_finish(&b->digest);
    d->row_bounds = b->row_bounds;
    b->row_bounds = NULL;
    if (d->by_row.wanted) {
        d->row_nnz = b->survey->row_nnz;
        b->survey->row_nnz = NULL;
    }
    *out = d;
    b->data = NULL;
    return STRADS_OK;
}

void sti_build_free(sti_build *b)
{
    strads_data_free(b->data);
    free(b->row_bounds);
    free(b->col_bounds);
    *b = (sti_build){0};
}

/* XXH3-64 over canonical keys of 16 bytes; -0 counts as 0, because they are
 * equal. */

enum { LABEL_SEED = 1, NAME_SEED = 2 };

static inline uint64_t bits_of(double value)
{
    double positive_zero = value + 0.0;
    uint64_t bits;
    memcpy(&bits, &positive_zero, sizeof bits);
    return bits;
}

uint64_t sti_digest_entries(const sti_batch *batch)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->n; i++) {
        uint64_t key[2] = {(uint64_t)batch->row[i] << 32 | batch->col[i],
                           bits_of(batch->value[i])};
        sum += XXH3_64bits(key, sizeof key);
    }
    return sum;
}

uint64_t sti_digest_label(uint64_t row, double label)
{
    uint64_t key[2] = {row, bits_of(label)};
    return XXH3_64bits_withSeed(key, sizeof key, LABEL_SEED);
}

uint64_t sti_digest_label_names(const strads_names *names)
{
    const uint32_t n = names != NULL ? strads_names_count(names) : 0;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        const char *name = strads_names_at(names, k);
        sum += XXH3_64bits_withSeed(name, strlen(name), NAME_SEED + k);
    }
    return sum;
}

uint64_t sti_digest_finish(const sti_digest *d)
{
    const uint64_t all[6] = {d->rows,       d->cols,      d->nnz,
                             d->has_labels, d->entry_sum, d->label_sum};
    return XXH3_64bits(all, sizeof all);
}

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
        (unsigned long long)(search.row + given->parser->base),
        given->parser->col,
        (unsigned long long)(search.col + given->parser->base),
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
    size_t n, room;
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
    if (r->n == r->room) {
        size_t room = r->room == 0 ? FIRST_REPEATS : 2 * r->room;
        repeat *at = realloc(r->at, room * sizeof *at);
        if (at == NULL)
            return false;
        r->at = at;
        r->room = room;
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
