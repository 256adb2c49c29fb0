/* Cuts lines into partitions. The result depends on the counts alone, so
 * every process gets the same one. */
#include "engine/data/build.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/data/memory.h"

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
        /* The target lies within `line`: include it if most of it fits. */
        uint64_t over = line < lines ? before + nnz[line] - target : 0;
        if (line < lines && over < target - before)
            before += nnz[line++];
        bounds[p] = line;
    }
}

/* Decides what a process keeps and builds both sides.
 *
 * If the split follows the lines of a side (columns under COLS and BOTH, rows
 * under ROWS and BOTH), the side is built as one part over the kept range and
 * split at the end. Otherwise each kept partition is a part of its own. It has
 * all lines or, under GRID, a range of them, and the entries of each line in
 * each part must be counted. */

static strads_err no_build_memory(const sti_build *b)
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

static bool is_grid(const sti_build *b)
{
    return b->options.split == STRADS_SPLIT_GRID;
}

/* If rows and columns are both split by a grid, partition p holds row range
 * p / grid columns and column range p % grid columns. Otherwise it holds range
 * p. */
static uint32_t row_range(const sti_build *b, uint32_t partition)
{
    return partition / b->options.grid_cols;
}

static uint32_t col_range(const sti_build *b, uint32_t partition)
{
    return is_grid(b) ? partition % b->options.grid_cols : partition;
}

/* All entries are counted: limits the number of partitions by the number of
 * entries. */
static void settle_partitions(sti_build *b)
{
    strads_data_options *o = &b->options;
    if (o->partition_entries == 0)
        return;
    uint64_t worth = b->counts->nnz / o->partition_entries;
    if (worth < o->partitions)
        o->partitions = worth > 1 ? (uint32_t)worth : 1;
    o->keep_count = o->partitions;
}

/* Takes the row bounds from the options, if they give some. */
static strads_err take_bounds(sti_build *b, uint32_t ranges)
{
    const uint64_t *given = b->options.row_bounds;
    bool good = given[0] == 0 && given[ranges] == b->counts->rows;
    for (uint32_t p = 0; p < ranges; p++)
        good = good && given[p] <= given[p + 1];
    if (!good)
        return strads_fail(STRADS_EINVAL,
                           "%s: row_bounds run from %llu to %llu, expected "
                           "from 0 to %llu and ascending",
                           b->name, (unsigned long long)given[0],
                           (unsigned long long)given[ranges],
                           (unsigned long long)b->counts->rows);
    memcpy(b->row_bounds, given, ((size_t)ranges + 1) * sizeof *given);
    return STRADS_OK;
}

static strads_err cut_lines(sti_build *b)
{
    const uint32_t parts = b->options.partitions;
    const uint32_t columns = is_grid(b) ? b->options.grid_cols : parts;
    const uint32_t ranges = is_grid(b) ? parts / columns : parts;
    const sti_totals *s = b->counts;
    b->row_bounds = calloc((size_t)parts + 1, sizeof *b->row_bounds);
    b->col_bounds = calloc((size_t)parts + 1, sizeof *b->col_bounds);
    if (b->row_bounds == NULL || b->col_bounds == NULL)
        return no_build_memory(b);
    if (splits_cols(b))
        sti_partition_cut(s->col_nnz, s->cols, columns, b->col_bounds);
    if (splits_rows(b) && b->options.row_bounds != NULL)
        return take_bounds(b, ranges);
    if (splits_rows(b))
        sti_partition_cut(s->row_nnz, s->rows, ranges, b->row_bounds);
    return STRADS_OK;
}

static strads_range kept(const sti_build *b, const uint64_t *bounds)
{
    uint32_t first = b->options.keep_first;
    return (strads_range){bounds[first], bounds[first + b->options.keep_count]};
}

/* The rows of all kept partitions, if the split is by rows. */
static strads_range kept_rows(const sti_build *b)
{
    const strads_data_options *o = &b->options;
    if (o->keep_count == 0)
        return kept(b, b->row_bounds);
    const uint32_t last = row_range(b, o->keep_first + o->keep_count - 1);
    return (strads_range){b->row_bounds[row_range(b, o->keep_first)],
                          b->row_bounds[last + 1]};
}

static uint64_t nnz_in(const uint32_t *nnz, strads_range range)
{
    uint64_t sum = 0;
    for (uint64_t k = range.begin; k < range.end; k++)
        sum += nnz[k];
    return sum;
}

static strads_range rows_of(const sti_build *b, uint32_t partition)
{
    const uint64_t *at = b->row_bounds + row_range(b, partition);
    return splits_rows(b) ? (strads_range){at[0], at[1]}
                          : (strads_range){0, b->counts->rows};
}

static strads_range cols_of(const sti_build *b, uint32_t partition)
{
    const uint64_t *at = b->col_bounds + col_range(b, partition);
    return splits_cols(b) ? (strads_range){at[0], at[1]}
                          : (strads_range){0, b->counts->cols};
}

/* Lays out the parts of one side, without memory for them yet. */
static strads_err shape(sti_build *b, sti_side *side, bool by_col)
{
    const sti_totals *s = b->counts;
    const strads_data_options *o = &b->options;
    bool along = !is_grid(b) && (by_col ? splits_cols(b) : splits_rows(b));
    bool cols_cut = !is_grid(b) && along == by_col;
    const uint64_t *bounds = cols_cut ? b->col_bounds : b->row_bounds;
    strads_range lines = {0, by_col ? s->cols : s->rows};
    strads_range minors = {0, by_col ? s->rows : s->cols};
    side->wanted = true;
    side->by_col = by_col;
    side->writers = b->shared ? STI_WRITERS_ATOMIC : STI_WRITERS_ONE;
    side->cross = !along && o->partitions > 1;
    /* In a grid, the number of entries in one cell is not known yet. So
     * reserve space for all columns of the kept rows; the kernel allocates a
     * page only when it is written. */
    side->nnz = nnz_in(cols_cut ? s->col_nnz : s->row_nnz,
                       is_grid(b) ? kept_rows(b) : kept(b, bounds));
    side->count = side->cross ? o->keep_count : (o->keep_count > 0);
    side->parts = calloc((size_t)side->count + 1, sizeof *side->parts);
    if (side->parts == NULL)
        return no_build_memory(b);
    for (uint32_t p = 0; p < side->count; p++) {
        const uint64_t *at = bounds + o->keep_first + p;
        side->parts[p].line = along ? kept(b, bounds) : lines;
        side->parts[p].minor =
            side->cross ? (strads_range){at[0], at[1]} : minors;
        if (is_grid(b) && side->cross) {
            const strads_range cell[] = {rows_of(b, o->keep_first + p),
                                         cols_of(b, o->keep_first + p)};
            side->parts[p].line = cell[by_col];
            side->parts[p].minor = cell[!by_col];
        }
    }
    return STRADS_OK;
}

static strads_err allocate_side(sti_build *b, sti_side *side)
{
    uint32_t spare = side->cross ? 0 : b->options.keep_count;
    if (!side->wanted || side->count == 0)
        return STRADS_OK;
    return sti_side_make_starts(side, spare) &&
                   (side->lent || sti_build_spills(b) ||
                    sti_side_make_entries(side, b->options.values))
               ? STRADS_OK
               : no_build_memory(b);
}

strads_err sti_build_begin(sti_build *b)
{
    sti_totals *s = b->counts;
    const strads_data_options *o = &b->options;
    strads_data *d = calloc(1, sizeof *d);
    b->data = d;
    if (d == NULL)
        return no_build_memory(b);
    settle_partitions(b);
    strads_err err = cut_lines(b);
    if (err != STRADS_OK)
        return err;
    d->rows = s->rows;
    d->cols = s->cols;
    d->nnz = s->nnz;
    d->partitions = o->partitions;
    d->grid_cols = o->grid_cols;
    d->keep_first = o->keep_first;
    d->keep_count = o->keep_count;
    b->rows = splits_rows(b) ? kept_rows(b) : (strads_range){0, s->rows};
    if ((o->layout & STRADS_LAYOUT_COLS) != 0)
        err = shape(b, &d->by_col, true);
    if (err == STRADS_OK && (o->layout & STRADS_LAYOUT_ROWS) != 0)
        err = shape(b, &d->by_row, false);
    d->col_nnz = s->col_nnz;
    s->col_nnz = NULL;
    return err;
}

/* Bytes of a side's index and values. */
static uint64_t entry_bytes(const sti_build *b, const sti_side *side)
{
    sti_side without = *side;
    without.lent = true;
    return sti_side_bytes(side, b->options.values) -
           sti_side_bytes(&without, b->options.values);
}

strads_err sti_build_allocate(sti_build *b)
{
    strads_data *d = b->data;
    d->label_count = b->has_labels ? b->rows.end - b->rows.begin : 0;
    d->bytes = sti_side_bytes(&d->by_col, b->options.values) +
               sti_side_bytes(&d->by_row, b->options.values) +
               d->label_count * sizeof *d->label +
               d->cols * sizeof *d->col_nnz +
               (d->by_row.wanted ? d->rows * sizeof *d->row_nnz : 0);
    sti_needs needs = sti_needs_of(&b->options, d->rows, d->cols, d->nnz);
    needs.count = 0; /* the counts of columns are part of the data */
    needs.data = d->bytes;
    if (sti_build_spills(b)) {
        const uint64_t entries =
            entry_bytes(b, &d->by_col) + entry_bytes(b, &d->by_row);
        d->bytes -= entries;
        needs.data = d->bytes + sti_window_bytes(&b->options, entries);
    }
    strads_err err = sti_needs_check(b->name, &b->options, &needs);
    if (err == STRADS_OK)
        err = allocate_side(b, &d->by_col);
    if (err == STRADS_OK)
        err = allocate_side(b, &d->by_row);
    if (err == STRADS_OK && b->has_labels) {
        d->label = sti_big_alloc(d->label_count * sizeof *d->label);
        err = d->label != NULL ? STRADS_OK : no_build_memory(b);
    }
    return err;
}

bool sti_build_must_count(const sti_build *b)
{
    return b->data->by_col.cross || b->data->by_row.cross;
}

static void count_cross_entries(sti_feed *f, const sti_batch *batch)
{
    sti_build *b = f->context;
    if (b->data->by_col.cross)
        sti_side_count(&b->data->by_col, batch);
    if (b->data->by_row.cross)
        sti_side_count(&b->data->by_row, batch);
}

const sti_sink sti_build_count_sink = {.entries = count_cross_entries};

bool sti_build_affords(const sti_build *b, size_t chunks)
{
    const sti_side *side = &b->data->by_col;
    if (!side->wanted || side->cross || side->count == 0)
        return true;
    strads_range lines = side->parts[0].line;
    uint64_t places = (lines.end - lines.begin) * sizeof(uint64_t);
    return places * (chunks - 1) <= b->data->bytes / 8;
}

/* For a side that is cut along its lines: the counts by line become its
 * starts. */
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
    bool enough = counts != NULL && lines != NULL;
    for (size_t t = 0; enough && t < chunks; t++) {
        counts[t] = tallies[t].col;
        lines[t] = tallies[t].cols;
    }
    enough = enough && sti_side_open_private(side, counts, lines, chunks);
    free(counts);
    free(lines);
    return enough;
}

static bool open_side(sti_side *side, const uint32_t *nnz,
                      const sti_tally *tallies, size_t chunks)
{
    if (!side->wanted || side->count == 0 || side->lent)
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
    bool enough = open_side(&d->by_col, d->col_nnz, tallies, chunks) &&
                  open_side(&d->by_row, b->counts->row_nnz, NULL, chunks);
    return enough ? STRADS_OK : no_build_memory(b);
}

void sti_value_range_add(sti_value_range *r, double value)
{
    r->low = r->any ? fmin(r->low, value) : value;
    r->high = r->any ? fmax(r->high, value) : value;
    r->any = true;
    r->rounded = r->rounded || (double)(float)value != value;
}

bool sti_value_range_needs_f64(const sti_value_range *r)
{
    /* Above this ratio, f32 rounds by up to 1.5e-5 of the range. */
    static const double FAR = 256;
    const double most = fmax(fabs(r->low), fabs(r->high));

    return r->rounded && most > FAR * (r->high - r->low);
}

static bool keeps_range(const sti_build *b)
{
    return b->options.kind == STRADS_KIND_RATINGS &&
           b->options.values == STRADS_F32;
}

static void place_entries(sti_feed *f, const sti_batch *batch)
{
    sti_build *b = f->context;
    for (size_t k = 0; k < batch->n && keeps_range(b); k++)
        sti_value_range_add(&f->range, batch->value[k]);
    if (b->windows == 0)
        f->entry_sum += sti_digest_entries(batch);
    if (!sti_side_place(&b->data->by_col, f->chunk, batch) ||
        !sti_side_place(&b->data->by_row, f->chunk, batch))
        sti_feed_trouble(f, STRADS_EIO, NULL, NULL,
                         "holds more entries than a moment ago; read it again "
                         "when no process writes to it");
}

static void place_label(sti_feed *f, uint64_t row, double label)
{
    sti_build *b = f->context;
    if (b->windows == 0)
        f->label_sum += sti_digest_label(row, label);
    if (row >= b->rows.begin && row < b->rows.end)
        b->data->label[row - b->rows.begin] = label;
}

void sti_build_give_labels(sti_build *b, strads_range of, const double *labels)
{
    for (uint64_t row = of.begin; row < of.end; row++) {
        const double label = labels[row - of.begin];
        b->digest.label_sum += sti_digest_label(row, label);
        if (row >= b->rows.begin && row < b->rows.end)
            b->data->label[row - b->rows.begin] = label;
    }
}

static void add_range(sti_build *b, const sti_value_range *of)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    (void)pthread_mutex_lock(&lock);
    if (of->any) {
        const bool rounded = b->range.rounded || of->rounded;
        sti_value_range_add(&b->range, of->low);
        sti_value_range_add(&b->range, of->high);
        b->range.rounded = rounded;
    }
    (void)pthread_mutex_unlock(&lock);
}

static void add_sums(sti_feed *f)
{
    sti_build *b = f->context;
    add_range(b, &f->range);
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
                           "again when no process writes to it",
                           b->name);
    sti_side_free_places(side);
    if (ordered)
        return STRADS_OK;
    sti_twice found = side->spill != NULL
                          ? sti_spill_twice(side)
                          : sti_side_order(side, b->options.threads);
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
        return no_build_memory(b);
    sti_side_rebase(side);
    return STRADS_OK;
}

static strads_sparse view(const sti_side *side, uint32_t k)
{
    if (!side->wanted)
        return (strads_sparse){0};
    const sti_part *part = &side->parts[k];
    return (strads_sparse){
        .lines = part->line.end - part->line.begin,
        .nnz = part->nnz,
        .start = part->start,
        .index = side->index != NULL ? side->index + part->base : NULL,
        .f64 = side->f64 != NULL ? side->f64 + part->base : NULL,
        .f32 = side->f32 != NULL ? side->f32 + part->base : NULL};
}

static strads_err make_shares(sti_build *b)
{
    strads_data *d = b->data;
    d->shares = calloc((size_t)d->keep_count + 1, sizeof *d->shares);
    if (d->shares == NULL)
        return no_build_memory(b);
    for (uint32_t k = 0; k < d->keep_count; k++) {
        uint32_t p = d->keep_first + k;
        strads_share *share = &d->shares[k];
        share->partition = p;
        share->partitions = d->partitions;
        share->rows = rows_of(b, p);
        share->cols = cols_of(b, p);
        share->by_col = view(&d->by_col, k);
        share->by_row = view(&d->by_row, k);
        share->col_nnz = d->col_nnz;
        share->on_disk = d->by_col.spill != NULL || d->by_row.spill != NULL;
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
    if (d->by_col.wanted && b->options.split == STRADS_SPLIT_COLS) {
        d->col_bounds = b->col_bounds;
        b->col_bounds = NULL;
    }
    if (d->by_row.wanted) {
        d->row_nnz = b->counts->row_nnz;
        b->counts->row_nnz = NULL;
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

uint64_t sti_digest_names(const strads_names *names)
{
    const uint32_t n = names != NULL ? strads_names_count(names) : 0;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        const char *name = strads_names_at(names, k);
        sum += XXH3_64bits_withSeed(name, strlen(name), NAME_SEED + k);
    }
    return sum;
}

static uint64_t digest_part(const sti_side *side, const sti_part *part)
{
    sti_batch batch = {0};
    uint64_t sum = 0;
    for (uint64_t k = part->line.begin; k < part->line.end; k++) {
        const uint64_t *start = &part->start[k - part->line.begin];
        for (uint64_t e = start[0]; e < start[1]; e++) {
            const uint64_t at = part->base + e;
            const uint32_t i =
                (uint32_t)part->minor.begin +
                (side->index ? side->index[at] : (uint32_t)(e - start[0]));
            batch.row[batch.n] = side->by_col ? i : (uint32_t)k;
            batch.col[batch.n] = side->by_col ? (uint32_t)k : i;
            batch.value[batch.n++] =
                side->f64 ? side->f64[at] : (double)side->f32[at];
            if (batch.n == STI_BATCH) {
                sum += sti_digest_entries(&batch);
                batch.n = 0;
            }
        }
    }
    return sum + sti_digest_entries(&batch);
}

uint64_t sti_data_sum(const strads_data *d)
{
    const sti_side *side = d->by_col.wanted ? &d->by_col : &d->by_row;
    sti_digest digest = {.rows = d->rows,
                         .cols = d->cols,
                         .nnz = d->nnz,
                         .has_labels = d->label != NULL,
                         .label_sum = sti_digest_names(d->label_names)};
    for (uint32_t p = 0; p < side->count; p++)
        digest.entry_sum += digest_part(side, &side->parts[p]);
    for (uint64_t i = 0; d->label != NULL && i < d->label_count; i++)
        digest.label_sum += sti_digest_label(i, d->label[i]);
    return sti_digest_finish(&digest);
}

uint64_t sti_digest_finish(const sti_digest *d)
{
    const uint64_t all[6] = {d->rows,       d->cols,      d->nnz,
                             d->has_labels, d->entry_sum, d->label_sum};
    return XXH3_64bits(all, sizeof all);
}
