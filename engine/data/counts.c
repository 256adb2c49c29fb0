/* Counts entries by row and by column before the build allocates arrays, so
 * that each array is allocated once, in its final size. If rows are in order,
 * each chunk has its own counts, because the order of chunks within a column
 * matters later. Otherwise all chunks add to the same counts atomically. */
#include "engine/data/read.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory.h"
#include "engine/data/naming.h"
#include "engine/data/pack_format.h"
#include "engine/data/tabular.h"

enum { FIRST_CAPACITY = 4096 };

/* Rows from one check of the memory to the next while the array has room: its
 * size doubles, so growth alone would find a file of empty lines too late. */
enum { ROWS_UNCHECKED = 1 << 20 };

/* Limits on the memory of row and column counts, relative to the size of the
 * file. A few bytes that name a large index, or that unpack to empty lines,
 * must not cost gigabytes. */
enum { LINES_FREE = 256 << 20, LINES_PER_BYTE = 256 };

static bool grow_counts(uint32_t **counts, uint64_t *capacity, uint64_t wanted)
{
    uint64_t larger = *capacity == 0 ? FIRST_CAPACITY : *capacity;
    while (larger < wanted)
        larger *= 2;
    uint32_t *fresh = sti_big_grow(*counts, *capacity * sizeof **counts,
                                   larger * sizeof **counts);
    if (fresh == NULL)
        return false;
    *counts = fresh;
    *capacity = larger;
    return true;
}

sti_needs sti_needs_of(const strads_data_options *o, uint64_t rows,
                       uint64_t cols, uint64_t nnz)
{
    const uint64_t entry =
        sizeof(uint32_t) +
        (o->values == STRADS_F32 ? sizeof(float) : sizeof(double));
    const bool some = o->keep_count < o->partitions;
    /* A side that is not cut along its lines needs a start for every line. */
    const uint64_t starts = ((o->layout & STRADS_LAYOUT_COLS) != 0 &&
                                     !(some && o->split != STRADS_SPLIT_ROWS)
                                 ? cols
                                 : 0) +
                            ((o->layout & STRADS_LAYOUT_ROWS) != 0 &&
                                     !(some && o->split != STRADS_SPLIT_COLS)
                                 ? rows
                                 : 0);
    const uint64_t sides = o->layout == STRADS_LAYOUT_BOTH ? 2 : 1;
    const double kept =
        o->partitions > 0 ? (double)o->keep_count / o->partitions : 1;
    const uint64_t entries = (uint64_t)((double)nnz * kept) * sides * entry;
    return (sti_needs){.rows = rows,
                       .cols = cols,
                       .nnz = nnz,
                       .count = (rows + cols) * sizeof(uint32_t),
                       .data = starts * sizeof(uint64_t) +
                               sti_window_bytes(o, entries),
                       .beside =
                           cols * o->col_bytes +
                           (uint64_t)((double)(rows * o->row_bytes) * kept)};
}

strads_err sti_needs_check(const char *path, const strads_data_options *o,
                           const sti_needs *n)
{
    const uint64_t bytes = n->count + n->data + n->beside;
    const bool sparse = n->rows + n->cols > 64 * (n->nnz + 16384);
    if (bytes <= o->memory_limit)
        return STRADS_OK;
    return strads_fail(
        STRADS_ENOMEM,
        "%s: %llu rows, %llu columns and %llu entries need %llu bytes of "
        "memory at least (%llu to count them, %llu as data, %llu to work on "
        "them), %llu may be used: %s, or allow more (--memory)",
        path, (unsigned long long)n->rows, (unsigned long long)n->cols,
        (unsigned long long)n->nnz, (unsigned long long)bytes,
        (unsigned long long)n->count, (unsigned long long)n->data,
        (unsigned long long)n->beside, (unsigned long long)o->memory_limit,
        sparse ? "number rows and columns without gaps"
               : "keep fewer partitions in a process, read values as f32");
}

/* Like sti_needs_check. For a file of s->source bytes it also checks that
 * the lines do not cost more than a file of that size may. Columns that the
 * caller announces are not counted. */
static strads_err check_needs(const char *path, const sti_totals *s,
                              const sti_needs *n)
{
    const strads_data_options *o = s->options;
    const uint64_t known =
        o->most_cols > o->min_cols ? o->most_cols : o->min_cols;
    const sti_needs lines =
        sti_needs_of(o, n->rows, n->cols > known ? n->cols - known : 0, 0);
    strads_err err = sti_needs_check(path, o, n);
    if (err != STRADS_OK ||
        lines.count + lines.data <=
            LINES_FREE + (uint64_t)LINES_PER_BYTE * s->source)
        return err;
    return strads_fail(STRADS_ENOMEM,
                       "%s: its %llu rows and %llu columns would take %llu "
                       "bytes of memory, and the file has %llu bytes: a number "
                       "in it is wrong, or number rows and columns without "
                       "gaps (fewer bits of a hash)",
                       path, (unsigned long long)n->rows,
                       (unsigned long long)n->cols,
                       (unsigned long long)lines.count +
                           (unsigned long long)lines.data,
                       (unsigned long long)s->source);
}

/* Checks the memory for everything that depends on `cols` columns, and grows
 * this chunk's column counts. */
static bool widen_tally(sti_feed *f, sti_totals *s, sti_tally *t, uint64_t cols)
{
    const sti_needs n = sti_needs_of(s->options, t->rows, cols, t->nnz);
    const uint64_t tallies = cols * sizeof *t->col * s->count;
    const uint64_t limit = s->options->memory_limit;
    if (s->watches_ids && sti_has_id_gaps(cols, t->nnz)) {
        __atomic_store_n(&s->found_gaps, true, __ATOMIC_RELAXED);
        sti_feed_trouble(f, STRADS_ELIMIT, NULL, NULL, "ids without gaps");
        return false;
    }
    if (s->count > 1 &&
        ((s->width_limit != 0 && cols > s->width_limit) || tallies > limit)) {
        s->too_wide = true;
        sti_feed_trouble(f, STRADS_ELIMIT, NULL, NULL, "too wide");
        return false;
    }
    t->needs = n;
    t->needs.count += tallies;
    if (check_needs("", s, &t->needs) == STRADS_OK &&
        grow_counts(&t->col, &t->col_capacity, cols)) {
        t->needs = (sti_needs){0};
        return true;
    }
    sti_feed_trouble(f, STRADS_ENOMEM, NULL, NULL, "no memory to count it");
    return false;
}

static void count_tally_entries(sti_feed *f, const sti_batch *b)
{
    sti_totals *s = f->context;
    sti_tally *t = &s->tallies[f->chunk];
    uint32_t most = 0;
    for (size_t i = 0; i < b->n; i++)
        most = b->col[i] > most ? b->col[i] : most;
    if (most >= t->col_capacity && !widen_tally(f, s, t, (uint64_t)most + 1))
        return;
    if (most >= t->cols)
        t->cols = (uint64_t)most + 1;
    for (size_t i = 0; i < b->n; i++)
        t->col[b->col[i]]++;
    t->nnz += b->n;
}

static void count_row(sti_feed *f, uint64_t row, uint64_t nnz)
{
    sti_totals *s = f->context;
    sti_tally *t = &s->tallies[f->chunk];
    bool fits = true;
    if (row >= t->row_capacity || row % ROWS_UNCHECKED == 0) {
        t->needs = sti_needs_of(s->options, row + 1, t->cols, t->nnz);
        fits = check_needs("", s, &t->needs) == STRADS_OK &&
               (row < t->row_capacity ||
                grow_counts(&t->row, &t->row_capacity, row + 1));
        if (fits)
            t->needs = (sti_needs){0};
    }
    if (!fits) {
        sti_feed_trouble(f, STRADS_ENOMEM, NULL, NULL, "no memory to count it");
        return;
    }
    t->row[row] = (uint32_t)nnz;
    t->rows = row + 1;
}

static const sti_sink count_sink = {.entries = count_tally_entries,
                                    .row_end = count_row};

static void free_tally_rows(sti_tally *t)
{
    sti_big_free(t->row, t->row_capacity * sizeof *t->row);
    t->row = NULL;
    t->row_capacity = 0;
}

static void free_tally_cols(sti_tally *t)
{
    sti_big_free(t->col, t->col_capacity * sizeof *t->col);
    t->col = NULL;
    t->col_capacity = 0;
}

void sti_totals_free_tallies(sti_totals *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free_tally_rows(&s->tallies[i]);
        free_tally_cols(&s->tallies[i]);
    }
    free(s->tallies);
    s->tallies = NULL;
    s->count = 0;
}

void sti_totals_free(sti_totals *s)
{
    sti_totals_free_tallies(s);
    sti_big_free(s->col_nnz, s->cols * sizeof *s->col_nnz);
    sti_big_free(s->row_nnz, s->rows * sizeof *s->row_nnz);
    s->col_nnz = NULL;
    s->row_nnz = NULL;
}

static strads_err make_totals(sti_totals *s, const char *path)
{
    const sti_needs needs = sti_needs_of(s->options, s->rows, s->cols, s->nnz);
    strads_err err = check_needs(path, s, &needs);
    if (err != STRADS_OK)
        return err;
    s->col_nnz = sti_big_alloc(s->cols * sizeof *s->col_nnz);
    s->row_nnz = sti_big_alloc(s->rows * sizeof *s->row_nnz);
    return s->col_nnz != NULL && s->row_nnz != NULL
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "%s: no memory to count it", path);
}

/* Adds up the counts of all chunks and sets the first row of each chunk. */
static void add_tallies(sti_totals *s, sti_chunk *chunks)
{
    uint64_t row = 0;
    for (size_t i = 0; i < s->count; i++) {
        sti_tally *t = &s->tallies[i];
        chunks[i].first_row = row;
        if (t->rows > 0)
            memcpy(s->row_nnz + row, t->row, t->rows * sizeof *t->row);
        row += t->rows;
        free_tally_rows(t);
        for (uint64_t c = 0; c < t->cols; c++)
            s->col_nnz[c] += t->col[c];
    }
}

static strads_err total_tallies(sti_totals *s, const sti_pass *pass,
                                uint64_t min_cols)
{
    const char *path = pass->text->path;
    s->cols = min_cols;
    for (size_t i = 0; i < s->count; i++) {
        const sti_tally *t = &s->tallies[i];
        s->rows += t->rows;
        s->nnz += t->nnz;
        s->cols = t->cols > s->cols ? t->cols : s->cols;
    }
    if (s->watches_ids && s->nnz > 0 && sti_has_id_gaps(s->cols, s->nnz)) {
        s->found_gaps = true;
        return strads_fail(STRADS_ELIMIT, "%s: has ids with gaps", path);
    }
    if (s->rows == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: found no %ss, expected at least one line `%s`",
                           path, pass->parser->row, pass->parser->row_form);
    if (s->rows > STI_MOST_LINES)
        return strads_fail(STRADS_ELIMIT, "%s: %llu rows, at most %llu fit",
                           path, (unsigned long long)s->rows,
                           (unsigned long long)STI_MOST_LINES);
    strads_err err = make_totals(s, path);
    if (err == STRADS_OK)
        add_tallies(s, pass->chunks);
    return err;
}

/* One count per column and chunk should stay small compared to the matrix,
 * which takes about as many bytes as its text. */
static uint64_t width_for(const sti_pass *pass)
{
    if (pass->count == 1)
        return 0;
    uint64_t width = pass->text->size / 16 / pass->count;
    return width < FIRST_CAPACITY ? FIRST_CAPACITY : width;
}

strads_err sti_count_rows(sti_totals *s, sti_pass *pass, uint64_t min_cols)
{
    pass->sink = &count_sink;
    pass->context = s;
    pass->values = false;
    for (;;) {
        s->tallies = calloc(pass->count, sizeof *s->tallies);
        if (s->tallies == NULL)
            return strads_fail(STRADS_ENOMEM, "%s: no memory to count it",
                               pass->text->path);
        s->count = pass->count;
        s->width_limit = width_for(pass);
        s->too_wide = false;
        strads_err err = sti_pass_run(pass);
        if (err == STRADS_OK)
            return total_tallies(s, pass, min_cols);
        for (size_t i = 0; i < s->count && err == STRADS_ENOMEM; i++)
            if (check_needs(pass->text->path, s, &s->tallies[i].needs) !=
                STRADS_OK)
                return err;
        if (!s->too_wide)
            return err;
        const char *begin = pass->chunks[0].begin;
        const char *end = pass->chunks[pass->count - 1].end;
        sti_totals_free_tallies(s);
        pass->count /= 2;
        sti_pass_cut(begin, end, pass->chunks, pass->count);
    }
}

static void add_entries(sti_feed *f, const sti_batch *b)
{
    sti_totals *s = f->context;
    for (size_t i = 0; i < b->n; i++) {
        __atomic_fetch_add(&s->col_nnz[b->col[i]], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&s->row_nnz[b->row[i]], 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&s->nnz, b->n, __ATOMIC_RELAXED);
}

static const sti_sink add_sink = {.entries = add_entries};

strads_err sti_count_sized(sti_totals *s, sti_pass *pass, uint64_t min_cols)
{
    s->rows = pass->row_limit;
    s->cols = pass->col_limit;
    if (pass->keep_cols > 0 && pass->keep_cols < s->cols)
        s->cols = pass->keep_cols;
    s->cols = s->cols > min_cols ? s->cols : min_cols;
    strads_err err = make_totals(s, pass->text->path);
    if (err != STRADS_OK)
        return err;
    pass->sink = &add_sink;
    pass->context = s;
    pass->values = false;
    return sti_pass_run(pass);
}

/* strads_data_summarize runs the counting pass, and then a pass that reads
 * every value and label and keeps none. Each chunk has its own observer;
 * observers are merged in chunk order. */

enum { DISTINCT_MOST = 1000, DISTINCT_SLOTS = 2048 };

/* Distinct label values, by their bits; stops at DISTINCT_MOST. */
typedef struct label_set {
    uint64_t slot[DISTINCT_SLOTS];
    bool used[DISTINCT_SLOTS];
    uint64_t count;
} label_set;

typedef struct observer {
    double value_min, value_max;
    double label_min, label_max;
    double label_sum;
    uint64_t labels;
    uint64_t entry_digest, label_digest;
    label_set set;
} observer;

static void set_add(label_set *set, uint64_t bits)
{
    size_t at = (size_t)((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 53);
    while (set->used[at] && set->slot[at] != bits)
        at = (at + 1) % DISTINCT_SLOTS;
    if (set->used[at] || set->count == DISTINCT_MOST)
        return;
    set->used[at] = true;
    set->slot[at] = bits;
    set->count++;
}

static void observe_label(observer *o, uint64_t row, double label)
{
    double positive_zero = label + 0.0;
    uint64_t bits;
    memcpy(&bits, &positive_zero, sizeof bits);
    set_add(&o->set, bits);
    o->label_min = fmin(o->label_min, label);
    o->label_max = fmax(o->label_max, label);
    o->label_sum += label;
    o->labels++;
    o->label_digest += sti_digest_label(row, label);
}

static void observe_row_label(sti_feed *f, uint64_t row, double label)
{
    observer *all = f->context;
    observe_label(&all[f->chunk], row, label);
}

static void observe_entries(sti_feed *f, const sti_batch *b)
{
    observer *all = f->context;
    observer *o = &all[f->chunk];
    for (size_t i = 0; i < b->n; i++) {
        o->value_min = fmin(o->value_min, b->value[i]);
        o->value_max = fmax(o->value_max, b->value[i]);
    }
    o->entry_digest += sti_digest_entries(b);
}

static const sti_sink observe_sink = {.entries = observe_entries,
                                      .label = observe_row_label};

static void merge_observers(observer *into, const observer *from)
{
    into->value_min = fmin(into->value_min, from->value_min);
    into->value_max = fmax(into->value_max, from->value_max);
    into->label_min = fmin(into->label_min, from->label_min);
    into->label_max = fmax(into->label_max, from->label_max);
    into->label_sum += from->label_sum;
    into->labels += from->labels;
    into->entry_digest += from->entry_digest;
    into->label_digest += from->label_digest;
    for (size_t i = 0; i < DISTINCT_SLOTS; i++)
        if (from->set.used[i])
            set_add(&into->set, from->set.slot[i]);
}

static uint64_t count_empty(const uint32_t *nnz, uint64_t lines, uint64_t *most)
{
    uint64_t empty = 0;
    *most = 0;
    for (uint64_t k = 0; k < lines; k++) {
        empty += nnz[k] == 0;
        *most = nnz[k] > *most ? nnz[k] : *most;
    }
    return empty;
}

static void fill_sizes(const sti_reading *r, strads_data_summary *out)
{
    const sti_totals *s = &r->counts;
    out->format = r->pass.parser->name;
    out->compression = sti_codec_name(r->text.codec);
    out->rows = s->rows;
    out->cols = s->cols;
    out->nnz = s->nnz;
    out->empty_rows = count_empty(s->row_nnz, s->rows, &out->max_row_nnz);
    out->empty_cols = count_empty(s->col_nnz, s->cols, &out->max_col_nnz);
    out->index_base = r->format.parser->base;
    out->file_bytes = r->text.size;
    out->text_bytes = r->pass.text_bytes;
    out->matrix_bytes = s->nnz * (sizeof(double) + sizeof(uint32_t)) +
                        (s->cols + 1) * sizeof(uint64_t);
}

static void fill_content(const observer *o, const strads_names *label_names,
                         strads_data_summary *out)
{
    if (out->nnz > 0) {
        out->value_min = o->value_min;
        out->value_max = o->value_max;
    }
    if (o->labels > 0) {
        out->label_min = o->label_min;
        out->label_max = o->label_max;
        out->label_mean = o->label_sum / (double)o->labels;
    }
    out->distinct_labels = o->set.count;
    out->named_labels = label_names != NULL;
    sti_digest digest = {.rows = out->rows,
                         .cols = out->cols,
                         .nnz = out->nnz,
                         .has_labels = o->labels > 0,
                         .entry_sum = o->entry_digest,
                         .label_sum =
                             o->label_digest + sti_digest_names(label_names)};
    out->checksum = sti_digest_finish(&digest);
}

static strads_err observe_labels_file(sti_reading *r, observer *o)
{
    double *labels = NULL;
    strads_err err = sti_reading_labels(r, &labels);
    if (err != STRADS_OK || labels == NULL)
        return err;
    for (uint64_t row = 0; row < r->counts.rows; row++)
        observe_label(o, row, labels[row]);
    sti_big_free(labels, r->counts.rows * sizeof *labels);
    return STRADS_OK;
}

static strads_err observe_pass(sti_reading *r, observer *all,
                               strads_data_summary *out)
{
    for (size_t i = 0; i < r->pass.count; i++) {
        all[i].value_min = all[i].label_min = INFINITY;
        all[i].value_max = all[i].label_max = -INFINITY;
    }
    r->pass.sink = &observe_sink;
    r->pass.context = all;
    r->pass.values = true;
    strads_err err = sti_pass_run(&r->pass);
    if (err == STRADS_OK)
        err = observe_labels_file(r, &all[0]);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&r->text);
    if (err != STRADS_OK)
        return err;
    for (size_t i = 1; i < r->pass.count; i++)
        merge_observers(&all[0], &all[i]);
    strads_data_summary s = {0};
    fill_sizes(r, &s);
    fill_content(&all[0], r->label_names.names, &s);
    *out = s;
    return STRADS_OK;
}

/* A table is read completely, in both orientations, to fill all fields of
 * the summary. */
static strads_err summarize_table(const char *path,
                                  const strads_data_options *options,
                                  sti_tabular_file *file,
                                  strads_data_summary *out)
{
    strads_data_options o;
    strads_data *data = NULL;
    strads_data_summary s = {0};
    observer *all = calloc(1, sizeof *all);
    strads_err err = sti_data_options(options, &o);
    o.layout = STRADS_LAYOUT_BOTH;
    if (all == NULL)
        err = strads_fail(STRADS_ENOMEM, "%s: no memory to look it over", path);
    if (err == STRADS_OK)
        err = sti_tabular_read(path, &o, file, &data);
    if (err == STRADS_OK && file->is_table) {
        const strads_share *share = strads_data_share(data, 0);
        s.rows = data->rows;
        s.cols = data->cols;
        s.nnz = data->nnz;
        s.empty_rows = count_empty(data->row_nnz, data->rows, &s.max_row_nnz);
        s.empty_cols = count_empty(data->col_nnz, data->cols, &s.max_col_nnz);
        s.index_base = 1;
        s.format = file->format;
        s.compression = sti_codec_name(file->codec);
        s.file_bytes = file->file_bytes;
        s.text_bytes = file->text_bytes;
        s.matrix_bytes = s.nnz * (sizeof(double) + sizeof(uint32_t)) +
                         (s.cols + 1) * sizeof(uint64_t);
        all->value_min = all->label_min = INFINITY;
        all->value_max = all->label_max = -INFINITY;
        for (uint64_t e = 0; e < s.nnz; e++) {
            const double value = strads_sparse_value(&share->by_row, e);
            all->value_min = fmin(all->value_min, value);
            all->value_max = fmax(all->value_max, value);
        }
        for (uint64_t i = 0; share->label && i < s.rows; i++)
            observe_label(all, i, share->label[i]);
        fill_content(all, data->label_names, &s);
        s.checksum = strads_data_checksum(data);
        *out = s;
    }
    strads_data_free(data);
    free(all);
    return err;
}

/* Passes the columns of a chunk to the summary. `held` is the entries so far of
 * the last column, which may go on in the next chunk. */
static void observe_chunk(const sti_pack_chunk *c, const sti_pack_space *space,
                          observer *all, uint64_t *held,
                          strads_data_summary *out)
{
    for (uint64_t j = 0; j < c->cols; j++) {
        const uint64_t n = space->start[j + 1] - space->start[j];
        const bool goes_on = (c->flags & STI_PACK_CONTINUES) != 0;
        const uint64_t before = goes_on ? *held : 0;
        *held = before + n;
        /* Only the first piece can be empty. */
        out->empty_cols += !goes_on && n == 0;
        out->empty_cols -= goes_on && before == 0 && n > 0;
        if (*held > out->max_col_nnz)
            out->max_col_nnz = *held;
    }
    for (uint64_t e = 0; e < c->nnz; e++) {
        all->value_min = fmin(all->value_min, space->value[e]);
        all->value_max = fmax(all->value_max, space->value[e]);
    }
}

static strads_err observe_row_counts(const strads_pack *pack,
                                     strads_data_summary *out)
{
    uint8_t *counts;
    uint64_t bytes;
    strads_err err =
        sti_pack_section_read(pack, STI_PACK_ROW_COUNTS, &counts, &bytes);
    for (uint64_t i = 0; err == STRADS_OK && i < bytes / 4; i++) {
        const uint32_t n = sti_get_u32(counts + 4 * i);
        out->empty_rows += n == 0;
        out->max_row_nnz = n > out->max_row_nnz ? n : out->max_row_nnz;
    }
    if (counts != NULL)
        sti_big_free(counts, bytes);
    return err;
}

/* Labels of the pack or of a file beside it. */
static strads_err observe_pack_labels(const strads_pack *pack,
                                      const strads_data_options *o,
                                      sti_label_names *names, observer *all)
{
    const double *label = strads_pack_labels(pack);
    double *own = NULL;
    strads_err err = STRADS_OK;
    names->names = strads_pack_label_names(pack);
    if (o->labels_path != NULL) {
        const sti_labels_options how = {.rows = pack->rows,
                                        .memory = o->memory_limit,
                                        .named = o->named_labels,
                                        .given = o->label_names};
        label = own = sti_big_alloc(pack->rows * sizeof *own);
        err = own != NULL
                  ? sti_labels_read(o->labels_path, &how, names, own)
                  : strads_fail(STRADS_ENOMEM, "%s: no memory to read it",
                                o->labels_path);
    }
    for (uint64_t i = 0; err == STRADS_OK && label && i < pack->rows; i++)
        observe_label(all, i, label[i]);
    if (own != NULL)
        sti_big_free(own, pack->rows * sizeof *own);
    return err;
}

static strads_err observe_pack(const strads_pack *pack,
                               const strads_data_options *o, observer *all,
                               strads_data_summary *out)
{
    sti_pack_space space;
    sti_label_names names = {0};
    uint64_t held = 0;
    strads_data_summary s = {.format = "pack",
                             .compression = "none",
                             .rows = pack->rows,
                             .cols = pack->cols,
                             .nnz = pack->nnz,
                             .index_base = 1,
                             .file_bytes = pack->file_bytes,
                             .text_bytes = pack->file_bytes,
                             .matrix_bytes =
                                 pack->nnz *
                                     (sizeof(double) + sizeof(uint32_t)) +
                                 (pack->cols + 1) * sizeof(uint64_t)};
    strads_err err = sti_pack_space_open(pack, &space);
    all->value_min = all->label_min = INFINITY;
    all->value_max = all->label_max = -INFINITY;
    for (uint64_t k = 0; k < pack->chunks && err == STRADS_OK; k++) {
        sti_pack_parts parts;
        err = sti_pack_load(pack, k, &space, &parts);
        if (err == STRADS_OK)
            err = sti_pack_decode(pack, k, &space, &parts);
        if (err == STRADS_OK)
            observe_chunk(&pack->chunk[k], &space, all, &held, &s);
    }
    sti_pack_space_close(&space);
    if (err == STRADS_OK)
        err = observe_row_counts(pack, &s);
    if (err == STRADS_OK)
        err = observe_pack_labels(pack, o, &names, all);
    if (err == STRADS_OK)
        err = sti_pack_unchanged(pack);
    if (err == STRADS_OK) {
        all->entry_digest = pack->entry_sum;
        fill_content(all, names.names, &s);
        *out = s;
    }
    sti_label_names_free(&names);
    return err;
}

static strads_err summarize_pack(const char *path,
                                 const strads_data_options *options,
                                 strads_data_summary *out)
{
    strads_data_options o;
    strads_pack *pack = NULL;
    observer *all = calloc(1, sizeof *all);
    strads_err err =
        all != NULL
            ? sti_data_options(options, &o)
            : strads_fail(STRADS_ENOMEM, "%s: no memory to look it over", path);
    if (err == STRADS_OK)
        err = strads_pack_open(path, &pack);
    if (err == STRADS_OK)
        err = sti_pack_check_use(pack, &o);
    if (err == STRADS_OK)
        err = observe_pack(pack, &o, all, out);
    strads_pack_free(pack);
    free(all);
    return err;
}

strads_err strads_data_summarize(const char *path,
                                 const strads_data_options *options,
                                 strads_data_summary *out)
{
    sti_reading reading;
    sti_tabular_file file = {0};
    strads_err err = STRADS_OK;
    if (sti_pack_wanted(path, options))
        return summarize_pack(path, options, out);
    if (sti_tabular_wanted(path, options))
        err = summarize_table(path, options, &file, out);
    if (err != STRADS_OK || file.is_table)
        return err;
    err = sti_reading_open(&reading, path, options);
    if (err != STRADS_OK)
        return err;
    observer *all = NULL;
    err = sti_reading_count(&reading);
    if (err == STRADS_OK) {
        all = calloc(reading.pass.count, sizeof *all);
        err = all != NULL ? observe_pass(&reading, all, out)
                          : strads_fail(STRADS_ENOMEM,
                                        "%s: no memory to look it over", path);
    }
    free(all);
    sti_reading_close(&reading);
    return err;
}
