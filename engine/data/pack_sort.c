/* Packs files in bounded memory: an external sort.
 *
 * The first pass over each input counts the entries of every column. Adjacent
 * columns with about as many entries as may be sorted in memory form a bucket;
 * a column with more entries has several, each with a range of its rows. The
 * second pass spreads the entries over the buckets: blocks of records, in
 * memory or in one unlinked file. Then each bucket in turn is loaded, sorted by
 * column and row and written. Blocks are loaded in the order of the inputs, so
 * the entries of text by rows are in order already. */
#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/atomic_file.h"
#include "engine/data/build.h"
#include "engine/data/memory.h"
#include "engine/data/pack_format.h"
#include "engine/data/read.h"
#include "engine/data/scratch_file.h"
#include "engine/data/tabular.h"

typedef struct record {
    uint32_t row, col;
    double value;
} record;

enum {
    BLOCK_MOST = 4096, /* records of a block */
    BLOCK_LEAST = 64,
    SORT_BYTES = 60,       /* memory for each record of a bucket */
    BUCKET_MOST = 4 << 20, /* records; more do not fit a cache any better */
    BUCKET_LEAST = 1 << 14
};

#define MEMORY_MOST (UINT64_C(2) << 30)
#define MEMORY_LEAST (UINT64_C(8) << 20)

typedef struct block {
    uint64_t offset; /* bytes within the scratch space */
    uint64_t source; /* input and chunk that its records come from */
    uint32_t n;
} block;

typedef struct bucket {
    uint64_t first_col, end_col;
    uint64_t first_row; /* above 0: more rows of the column before */
    block *blocks;      /* [n] */
    uint64_t n, capacity, records;
} bucket;

/* The records of one bucket that a chunk has gathered. */
typedef struct gatherer {
    record *records; /* [block_records] or NULL */
    uint32_t n;
} gatherer;

typedef struct input {
    const char *path;
    bool is_text;
    sti_reading reading; /* text */
    strads_data *data;   /* otherwise */
    uint64_t first_row, rows, cols, nnz;
    const strads_names *label_names;
    bool has_labels;
} input;

typedef struct packing {
    const char *out;
    strads_data_options data;
    strads_pack_options options;
    input *inputs;
    size_t n;
    uint64_t rows, cols, nnz;
    uint32_t *col_nnz;      /* [cols] */
    double *label, *weight; /* [rows] or NULL */
    strads_names *label_names;

    bucket *buckets;
    uint64_t *keys; /* [bucket_count] first column and row, for the search */
    uint64_t bucket_count;
    uint32_t block_records;
    uint64_t longest; /* entries of the largest column that is not split */

    int fd; /* of the scratch file, -1: records stay in `memory` */
    uint8_t *memory;
    uint64_t memory_bytes;
    atomic_uint_fast64_t used; /* bytes of the scratch space */

    /* Of the pass that runs: */
    const input *source;
    gatherer *gathered; /* [chunks * bucket_count] */
    size_t chunks;

    pthread_mutex_t lock; /* guards blocks of buckets, and: */
    strads_err err;       /* the first error while records are spread */
    char sentence[512];
    strads_pack_phase phase;
    uint64_t done, total;
} packing;

static strads_err lack_memory_to_pack(const packing *k)
{
    return strads_fail(STRADS_ENOMEM,
                       "%s: no memory to pack the data: allow less (--memory), "
                       "so that more is sorted on disk",
                       k->out);
}

/* ---- progress ------------------------------------------------------------ */

static void begin_phase(packing *k, strads_pack_phase phase, uint64_t total)
{
    k->phase = phase;
    k->done = 0;
    k->total = total;
}

static bool report_bytes(void *arg, uint64_t bytes)
{
    packing *k = arg;
    bool go_on = true;
    (void)pthread_mutex_lock(&k->lock);
    k->done += bytes;
    if (k->done > k->total && k->total > 0) /* some passes run twice */
        k->done = k->total;
    if (k->options.progress != NULL)
        go_on =
            k->options.progress(k->options.arg, k->phase, k->done, k->total);
    (void)pthread_mutex_unlock(&k->lock);
    return go_on;
}

static strads_err fail_stopped(const packing *k)
{
    return strads_fail(STRADS_ECANCELED, "%s: packing was stopped", k->out);
}

/* ---- first pass: counts -------------------------------------------------- */

static strads_err count_text(packing *k, input *in)
{
    strads_data_options o = k->data;
    o.partitions = o.keep_first = 1; /* keep nothing: counts take memory, */
    o.split = STRADS_SPLIT_COLS;     /* starts of columns do not */
    strads_err err = sti_reading_open(&in->reading, in->path, &o);
    if (err != STRADS_OK)
        return err;
    in->is_text = true;
    sti_reading *r = &in->reading;
    r->pass.passed = report_bytes;
    r->pass.passed_arg = k;
    begin_phase(k, STRADS_PACK_COUNTS,
                r->text.codec == STI_CODEC_NONE ? r->text.size : 0);
    err = sti_reading_count(r);
    if (err != STRADS_OK)
        return err;
    in->rows = r->counts.rows;
    in->cols = r->counts.cols;
    in->nnz = r->counts.nnz;
    in->label_names = r->label_names.names;
    in->has_labels = r->format.labels || r->options.labels_path != NULL;
    return STRADS_OK;
}

static strads_err count_data(packing *k, input *in)
{
    strads_err err = strads_data_read(in->path, &k->data, &in->data);
    if (err != STRADS_OK)
        return err;
    const strads_data *d = in->data;
    if (strads_data_unknown(d) > 0)
        return strads_fail(STRADS_EINVAL,
                           "%s: has %llu fields with a text that %s lacks: put "
                           "both into one table",
                           in->path, (unsigned long long)strads_data_unknown(d),
                           k->inputs[0].path);
    in->rows = d->rows;
    in->cols = d->cols;
    in->nnz = d->nnz;
    in->label_names = d->label_names;
    in->has_labels = d->label != NULL;
    if (in == &k->inputs[0]) { /* later tables have the same columns */
        k->data.col_names = d->col_names;
        k->data.col_means = d->own_col_means;
    }
    return STRADS_OK;
}

static void free_input_counts(sti_totals *counts)
{
    sti_totals_free_tallies(counts);
    sti_big_free(counts->col_nnz, counts->cols * sizeof *counts->col_nnz);
    sti_big_free(counts->row_nnz, counts->rows * sizeof *counts->row_nnz);
    counts->col_nnz = counts->row_nnz = NULL;
}

/* Adds an input's counts to those of all. */
static strads_err add_counts(packing *k, input *in)
{
    const uint32_t *from =
        in->is_text ? in->reading.counts.col_nnz : in->data->col_nnz;
    if (in->cols > k->cols) {
        uint32_t *more = sti_big_grow(k->col_nnz, k->cols * sizeof *more,
                                      in->cols * sizeof *more);
        if (more == NULL)
            return lack_memory_to_pack(k);
        k->col_nnz = more;
        k->cols = in->cols;
    }
    for (uint64_t j = 0; j < in->cols; j++)
        k->col_nnz[j] += from[j];
    in->first_row = k->rows;
    k->rows += in->rows;
    k->nnz += in->nnz;
    if (in->is_text)
        free_input_counts(&in->reading.counts);
    return k->rows <= STI_MOST_LINES
               ? STRADS_OK
               : strads_fail(STRADS_ELIMIT,
                             "%llu rows in all, at most %llu fit",
                             (unsigned long long)k->rows,
                             (unsigned long long)STI_MOST_LINES);
}

/* All inputs have labels of the same kind, or none has labels. */
static strads_err check_alike(const packing *k, const input *in)
{
    const input *first = &k->inputs[0];
    const char *has[2];
    const input *of[2] = {first, in};
    for (int i = 0; i < 2; i++)
        has[i] = of[i]->label_names != NULL ? "names as labels"
                 : of[i]->has_labels        ? "numbers as labels"
                                            : "no labels";
    return strcmp(has[0], has[1]) == 0
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s has %s, %s has %s: pack files of one kind",
                             first->path, has[0], in->path, has[1]);
}

static strads_err count_inputs(packing *k, const char *const *paths)
{
    strads_err err = STRADS_OK;
    for (size_t i = 0; i < k->n && err == STRADS_OK; i++) {
        input *in = &k->inputs[i];
        in->path = paths[i];
        const bool whole = sti_pack_wanted(in->path, &k->data) ||
                           sti_tabular_wanted(in->path, &k->data);
        err = whole ? count_data(k, in) : count_text(k, in);
        if (err == STRADS_OK)
            err = add_counts(k, in);
        if (err == STRADS_OK)
            err = check_alike(k, in);
    }
    return err;
}

/* ---- buckets ------------------------------------------------------------- */

static strads_err add_bucket(packing *k, uint64_t first_col, uint64_t end_col,
                             uint64_t first_row)
{
    if (k->bucket_count % 256 == 0) {
        const size_t n = k->bucket_count + 256;
        bucket *buckets = realloc(k->buckets, n * sizeof *buckets);
        if (buckets != NULL)
            k->buckets = buckets;
        uint64_t *keys = realloc(k->keys, n * sizeof *keys);
        if (keys != NULL)
            k->keys = keys;
        if (buckets == NULL || keys == NULL)
            return lack_memory_to_pack(k);
    }
    k->keys[k->bucket_count] = first_col << 32 | first_row;
    k->buckets[k->bucket_count++] = (bucket){.first_col = first_col,
                                             .end_col = end_col,
                                             .first_row = first_row};
    return STRADS_OK;
}

/* A column of more than `most` entries: buckets with ranges of its rows, twice
 * as many as are needed if rows are spread evenly. */
static strads_err split_column(packing *k, uint64_t col, uint64_t most)
{
    const uint64_t parts = 2 * (k->col_nnz[col] / most + 1);
    const uint64_t step = k->rows / parts + 1;
    strads_err err = STRADS_OK;
    for (uint64_t row = 0; row < k->rows && err == STRADS_OK; row += step)
        err = add_bucket(k, col, col + 1, row);
    return err;
}

static strads_err plan_buckets(packing *k, uint64_t most)
{
    strads_err err = STRADS_OK;
    uint64_t first = 0, held = 0;
    for (uint64_t j = 0; j < k->cols && err == STRADS_OK; j++) {
        const uint64_t n = k->col_nnz[j];
        /* A column takes space too, even if it is empty. */
        if (j > first && held + n + 1 > most) {
            err = add_bucket(k, first, j, 0);
            first = j;
            held = 0;
        }
        held += n + 1;
        if (n > most && err == STRADS_OK) {
            err = split_column(k, j, most);
            first = j + 1;
            held = 0;
        } else if (n > k->longest) {
            k->longest = n;
        }
    }
    if (first < k->cols && err == STRADS_OK)
        err = add_bucket(k, first, k->cols, 0);
    return err;
}

/* The folder for the scratch file, malloc'ed. */
static char *scratch_folder(const packing *k)
{
    const char *slash = strrchr(k->out, '/');
    if (k->options.scratch != NULL)
        return strdup(k->options.scratch);
    if (slash == NULL)
        return strdup(".");
    return strndup(k->out, slash == k->out ? 1 : (size_t)(slash - k->out));
}

static strads_err open_scratch_file(packing *k, uint64_t bytes)
{
    char *folder = scratch_folder(k);
    if (folder == NULL)
        return lack_memory_to_pack(k);
    const sti_scratch_use use = {.folder = folder,
                                 .needs = "sorting needs",
                                 .remedy = ", or allow more memory (--memory)"};
    const strads_err err = sti_scratch_file_open(&use, bytes, &k->fd);
    free(folder);
    return err;
}

/* The most chunks that any pass has. */
static size_t most_chunks(const packing *k)
{
    size_t most = 1;
    for (size_t i = 0; i < k->n; i++)
        if (k->inputs[i].is_text && k->inputs[i].reading.pass.count > most)
            most = k->inputs[i].reading.pass.count;
    return most;
}

/* Divides the memory: a half for the bucket that is sorted, a quarter for
 * blocks that gather. Records that fit the other half do not go to disk. */
static strads_err plan_memory(packing *k)
{
    const uint64_t counts = k->cols * sizeof *k->col_nnz +
                            k->rows * (sizeof(uint32_t) + 2 * sizeof(double));
    const uint64_t limit = k->data.memory_limit;
    const uint64_t free_bytes =
        limit > counts + MEMORY_LEAST ? limit - counts : MEMORY_LEAST;
    uint64_t most = free_bytes / 2 / SORT_BYTES;
    most = most < BUCKET_MOST ? most : BUCKET_MOST;
    most = most > BUCKET_LEAST ? most : BUCKET_LEAST;
    strads_err err = plan_buckets(k, most);
    if (err != STRADS_OK)
        return err;
    k->chunks = most_chunks(k);
    const uint64_t gatherers = k->chunks * (k->bucket_count + 1);
    uint64_t records = free_bytes / 4 / gatherers / sizeof(record);
    records = records < BLOCK_MOST ? records : BLOCK_MOST;
    k->block_records = records > BLOCK_LEAST ? (uint32_t)records : BLOCK_LEAST;
    k->gathered = calloc(gatherers, sizeof *k->gathered);
    if (k->gathered == NULL)
        return lack_memory_to_pack(k);
    const uint64_t bytes = k->nnz * sizeof(record);
    if (bytes > free_bytes / 2)
        return open_scratch_file(k, bytes);
    k->memory = sti_big_alloc(bytes);
    k->memory_bytes = bytes;
    return k->memory != NULL ? STRADS_OK : lack_memory_to_pack(k);
}

/* ---- second pass: entries to buckets ------------------------------------- */

static strads_err fail_changed(const input *in)
{
    return strads_fail(STRADS_EIO,
                       "%s: holds other entries than a moment ago: pack it "
                       "again when no process writes to it",
                       in->path);
}

static strads_err write_scratch(const packing *k, uint64_t offset,
                                const void *bytes, size_t n)
{
    if (k->fd >= 0)
        return sti_scratch_file_write(k->fd, offset, bytes, n);
    if (offset + n > k->memory_bytes)
        return fail_changed(k->source);
    memcpy(k->memory + offset, bytes, n);
    return STRADS_OK;
}

static strads_err add_block(packing *k, bucket *b, block one)
{
    strads_err err = STRADS_OK;
    (void)pthread_mutex_lock(&k->lock);
    if (b->n == b->capacity) {
        const uint64_t capacity = 2 * b->capacity + 8;
        block *more = realloc(b->blocks, capacity * sizeof *more);
        if (more == NULL)
            err = lack_memory_to_pack(k);
        else {
            b->blocks = more;
            b->capacity = capacity;
        }
    }
    if (err == STRADS_OK) {
        b->blocks[b->n++] = one;
        b->records += one.n;
    }
    (void)pthread_mutex_unlock(&k->lock);
    return err;
}

static void keep_first_error(packing *k, strads_err err)
{
    (void)pthread_mutex_lock(&k->lock);
    if (k->err == STRADS_OK) {
        k->err = err;
        (void)snprintf(k->sentence, sizeof k->sentence, "%s",
                       strads_error_text());
    }
    (void)pthread_mutex_unlock(&k->lock);
}

/* Writes what a chunk has gathered for bucket b. */
static strads_err flush_bucket(packing *k, size_t chunk, uint64_t b)
{
    gatherer *g = &k->gathered[chunk * k->bucket_count + b];
    const size_t bytes = g->n * sizeof *g->records;
    if (g->n == 0)
        return STRADS_OK;
    const uint64_t offset = atomic_fetch_add(&k->used, bytes);
    const block one = {.offset = offset,
                       .source =
                           (uint64_t)(k->source - k->inputs) << 32 | chunk,
                       .n = g->n};
    strads_err err = write_scratch(k, offset, g->records, bytes);
    if (err == STRADS_OK)
        err = add_block(k, &k->buckets[b], one);
    g->n = 0;
    return err;
}

/* The last bucket with a key up to (col, row). `last` is a guess. */
static uint64_t find_bucket(const packing *k, uint64_t key, uint64_t last)
{
    if (k->keys[last] <= key &&
        (last + 1 == k->bucket_count || k->keys[last + 1] > key))
        return last;
    uint64_t low = 0, high = k->bucket_count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (k->keys[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static strads_err spread_batch(packing *k, size_t chunk, const sti_batch *batch)
{
    uint64_t b = 0;
    for (size_t i = 0; i < batch->n; i++) {
        const uint64_t row = batch->row[i] + k->source->first_row;
        const uint64_t col = batch->col[i];
        if (row >= k->rows || col >= k->cols)
            return fail_changed(k->source);
        b = find_bucket(k, col << 32 | row, b);
        gatherer *g = &k->gathered[chunk * k->bucket_count + b];
        if (g->records == NULL)
            g->records = malloc(k->block_records * sizeof *g->records);
        if (g->records == NULL)
            return lack_memory_to_pack(k);
        g->records[g->n++] =
            (record){(uint32_t)row, (uint32_t)col, batch->value[i]};
        if (g->n == k->block_records) {
            const strads_err err = flush_bucket(k, chunk, b);
            if (err != STRADS_OK)
                return err;
        }
    }
    return STRADS_OK;
}

static void spread_entries(sti_feed *f, const sti_batch *batch)
{
    packing *k = f->context;
    const strads_err err = spread_batch(k, f->chunk, batch);
    if (err != STRADS_OK) {
        keep_first_error(k, err);
        sti_feed_trouble(f, err, NULL, NULL, "cannot be packed");
    }
}

static void keep_label(sti_feed *f, uint64_t row, double label)
{
    packing *k = f->context;
    const uint64_t at = k->source->first_row + row;
    if (k->label != NULL && at < k->rows)
        k->label[at] = label;
}

static const sti_sink spread_sink = {.entries = spread_entries,
                                     .label = keep_label};

static strads_err flush_all(packing *k)
{
    strads_err err = STRADS_OK;
    for (size_t chunk = 0; chunk < k->chunks && err == STRADS_OK; chunk++)
        for (uint64_t b = 0; b < k->bucket_count && err == STRADS_OK; b++)
            err = flush_bucket(k, chunk, b);
    return err;
}

static strads_err spread_text(packing *k, input *in)
{
    sti_reading *r = &in->reading;
    double *labels = NULL;
    begin_phase(k, STRADS_PACK_SPREADS, r->pass.text_bytes);
    r->pass.sink = &spread_sink;
    r->pass.context = k;
    r->pass.values = true;
    strads_err err = sti_pass_run(&r->pass);
    if (k->err != STRADS_OK)
        return strads_fail(k->err, "%s", k->sentence);
    if (err == STRADS_OK)
        err = sti_reading_labels(r, &labels);
    if (labels != NULL) {
        memcpy(k->label + in->first_row, labels, in->rows * sizeof *labels);
        sti_big_free(labels, in->rows * sizeof *labels);
    }
    return err == STRADS_OK ? sti_text_unchanged(&r->text) : err;
}

static strads_err spread_data(packing *k, input *in)
{
    const strads_data *d = in->data;
    const strads_sparse *x = &d->shares[0].by_col;
    sti_batch *batch = malloc(sizeof *batch);
    strads_err err = batch != NULL ? STRADS_OK : lack_memory_to_pack(k);
    begin_phase(k, STRADS_PACK_SPREADS, x->nnz * sizeof(record));
    for (uint64_t j = 0; j < x->lines && err == STRADS_OK; j++)
        for (uint64_t e = x->start[j]; e < x->start[j + 1] && err == STRADS_OK;
             e += batch->n) {
            const uint64_t left = x->start[j + 1] - e;
            batch->n = left < STI_BATCH ? left : STI_BATCH;
            for (size_t i = 0; i < batch->n; i++) {
                batch->row[i] = x->index[e + i];
                batch->col[i] = (uint32_t)j;
                batch->value[i] = x->f64[e + i];
            }
            err = spread_batch(k, 0, batch);
            if (err == STRADS_OK && !report_bytes(k, batch->n * sizeof(record)))
                err = fail_stopped(k);
        }
    free(batch);
    if (d->label != NULL)
        memcpy(k->label + in->first_row, d->label, in->rows * sizeof *d->label);
    return err;
}

/* Replaces the numbers of an input's names by those among all names. */
static void renumber_names(packing *k, const input *in)
{
    for (uint64_t i = in->first_row; i < in->first_row + in->rows; i++) {
        const char *name =
            strads_names_at(in->label_names, (uint32_t)k->label[i]);
        uint32_t number = 0;
        (void)strads_names_find(k->label_names, name, strlen(name), &number);
        k->label[i] = number;
    }
}

/* The names of all inputs' labels, in the order of their bytes. */
static strads_err join_label_names(packing *k)
{
    sti_label_names all = {0};
    strads_err err = sti_label_names_open(&all, NULL);
    for (size_t i = 0; i < k->n && err == STRADS_OK; i++) {
        const strads_names *names = k->inputs[i].label_names;
        for (uint32_t j = 0; j < strads_names_count(names) && !err; j++) {
            const char *name = strads_names_at(names, j);
            uint32_t number;
            err = strads_names_add(all.found, name, strlen(name), &number);
        }
    }
    if (err == STRADS_OK)
        err = sti_label_names_end(&all);
    k->label_names = all.own;
    all.own = NULL;
    sti_label_names_free(&all);
    return err;
}

static strads_err spread_inputs(packing *k)
{
    strads_err err = STRADS_OK;
    if (k->inputs[0].has_labels) {
        k->label = sti_big_alloc(k->rows * sizeof *k->label);
        err = k->label != NULL ? STRADS_OK : lack_memory_to_pack(k);
    }
    if (err == STRADS_OK && k->inputs[0].label_names != NULL)
        err = join_label_names(k);
    for (size_t i = 0; i < k->n && err == STRADS_OK; i++) {
        input *in = &k->inputs[i];
        k->source = in;
        err = in->is_text ? spread_text(k, in) : spread_data(k, in);
        if (err == STRADS_OK)
            err = flush_all(k);
        if (err == STRADS_OK && k->label_names != NULL)
            renumber_names(k, in);
    }
    for (uint64_t g = 0; g < k->chunks * k->bucket_count; g++) {
        free(k->gathered[g].records);
        k->gathered[g].records = NULL;
    }
    return err;
}

/* ---- sort and write ------------------------------------------------------ */

/* Memory for one bucket. */
typedef struct sorter {
    record *loaded, *sorted; /* [capacity] */
    uint64_t capacity;
    uint64_t
        *place; /* [place_capacity] by column, where its next record goes */
    uint64_t place_capacity;
    uint32_t *row; /* [entries] of one column */
    double *value;
    uint64_t entries;
} sorter;

static void free_sorter(sorter *s)
{
    sti_big_free(s->loaded, s->capacity * sizeof *s->loaded);
    sti_big_free(s->sorted, s->capacity * sizeof *s->sorted);
    sti_big_free(s->place, s->place_capacity * sizeof *s->place);
    sti_big_free(s->row, s->entries * sizeof *s->row);
    sti_big_free(s->value, s->entries * sizeof *s->value);
}

static strads_err open_sorter(const packing *k, sorter *s)
{
    *s = (sorter){.entries = k->longest};
    for (uint64_t b = 0; b < k->bucket_count; b++) {
        const bucket *at = &k->buckets[b];
        const uint64_t cols = at->end_col - at->first_col;
        s->capacity = at->records > s->capacity ? at->records : s->capacity;
        s->place_capacity =
            cols + 1 > s->place_capacity ? cols + 1 : s->place_capacity;
        /* `longest` leaves out columns with several buckets. */
        if (cols == 1 && at->records > s->entries)
            s->entries = at->records;
    }
    s->loaded = sti_big_alloc(s->capacity * sizeof *s->loaded);
    s->sorted = sti_big_alloc(s->capacity * sizeof *s->sorted);
    s->place = sti_big_alloc(s->place_capacity * sizeof *s->place);
    s->row = sti_big_alloc(s->entries * sizeof *s->row);
    s->value = sti_big_alloc(s->entries * sizeof *s->value);
    return s->loaded != NULL && s->sorted != NULL && s->place != NULL &&
                   s->row != NULL && s->value != NULL
               ? STRADS_OK
               : lack_memory_to_pack(k);
}

static int by_source(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->source != y->source)
        return (x->source > y->source) - (x->source < y->source);
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_row(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static strads_err load_block(const packing *k, const block *from, record *to)
{
    const size_t n = from->n * sizeof *to;
    if (k->fd >= 0)
        return sti_scratch_file_read(k->fd, from->offset, to, n);
    memcpy(to, k->memory + from->offset, n);
    return STRADS_OK;
}

static strads_err load_bucket(const packing *k, bucket *b, sorter *s)
{
    strads_err err = STRADS_OK;
    record *to = s->loaded;
    if (b->n > 1)
        qsort(b->blocks, b->n, sizeof *b->blocks, by_source);
    for (uint64_t i = 0; i < b->n && err == STRADS_OK; to += b->blocks[i++].n)
        err = load_block(k, &b->blocks[i], to);
    return err;
}

/* Sorts the records by column, in their order within it; place[j] becomes the
 * end of column j. */
static void sort_by_column(const bucket *b, sorter *s)
{
    const uint64_t cols = b->end_col - b->first_col;
    memset(s->place, 0, (cols + 1) * sizeof *s->place);
    for (uint64_t i = 0; i < b->records; i++)
        s->place[s->loaded[i].col - b->first_col + 1]++;
    for (uint64_t j = 1; j <= cols; j++)
        s->place[j] += s->place[j - 1];
    for (uint64_t i = 0; i < b->records; i++)
        s->sorted[s->place[s->loaded[i].col - b->first_col]++] = s->loaded[i];
}

static strads_err refuse_repeated(const packing *k, const record *at)
{
    size_t i = k->n - 1;
    while (k->inputs[i].first_row > at->row)
        i--;
    const input *in = &k->inputs[i];
    const sti_twice twice = {.found = true,
                             .line = at->row - in->first_row,
                             .minor = at->col};
    return in->is_text
               ? sti_duplicate_fail(&in->reading.pass, &twice)
               : strads_fail(STRADS_EFORMAT,
                             "%s: has the entry of row %llu and column "
                             "%u twice",
                             in->path, (unsigned long long)twice.line, at->col);
}

/* Adds the sorted records of one column of bucket b to the pack. */
static strads_err pack_column(const packing *k, const bucket *b, record *from,
                              uint64_t n, sorter *s, sti_packer *packer)
{
    bool ascends = true;
    for (uint64_t e = 1; e < n; e++)
        ascends = ascends && from[e].row > from[e - 1].row;
    if (!ascends)
        qsort(from, n, sizeof *from, by_row);
    for (uint64_t e = 0; e < n; e++) {
        if (e > 0 && from[e].row == from[e - 1].row)
            return refuse_repeated(k, &from[e]);
        s->row[e] = from[e].row;
        s->value[e] = from[e].value;
    }
    return b->first_row > 0 ? sti_packer_continue(packer, n, s->row, s->value)
                            : sti_packer_add(packer, n, s->row, s->value);
}

static strads_err pack_bucket(packing *k, bucket *b, sorter *s,
                              sti_packer *packer)
{
    strads_err err = load_bucket(k, b, s);
    if (err != STRADS_OK)
        return err;
    sort_by_column(b, s);
    const uint64_t cols = b->end_col - b->first_col;
    for (uint64_t j = 0; j < cols && err == STRADS_OK; j++) {
        const uint64_t first = j > 0 ? s->place[j - 1] : 0;
        err = pack_column(k, b, s->sorted + first, s->place[j] - first, s,
                          packer);
    }
    free(b->blocks);
    b->blocks = NULL;
    return err == STRADS_OK && !report_bytes(k, b->records * sizeof(record))
               ? fail_stopped(k)
               : err;
}

/* The parser can find other entries than it counted if the file has changed. */
static strads_err check_spread(const packing *k)
{
    uint64_t found = 0;
    for (uint64_t b = 0; b < k->bucket_count; b++)
        found += k->buckets[b].records;
    return found == k->nnz ? STRADS_OK : fail_changed(&k->inputs[0]);
}

static strads_err pack_buckets(packing *k, strads_pack_result *result)
{
    sti_packer *packer = NULL;
    sorter s = {0};
    strads_err err = check_spread(k);
    if (err == STRADS_OK)
        err = open_sorter(k, &s);
    if (err == STRADS_OK)
        err = sti_packer_open(k->out, k->rows, k->options.values, &packer);
    begin_phase(k, STRADS_PACK_WRITES, k->nnz * sizeof(record));
    for (uint64_t b = 0; b < k->bucket_count && err == STRADS_OK; b++)
        err = pack_bucket(k, &k->buckets[b], &s, packer);
    free_sorter(&s);
    if (err != STRADS_OK) {
        sti_packer_abandon(packer);
        return err;
    }
    const input *first = &k->inputs[0];
    const sti_pack_extras extras = {
        .label = k->label,
        .weight = k->options.weight,
        .col_means = first->data ? first->data->own_col_means : NULL,
        .label_names = k->label_names,
        .col_names = first->data ? first->data->col_names : k->data.col_names};
    return sti_packer_close(packer, &extras, result);
}

/* ---- the public function ------------------------------------------------- */

static strads_err check_inputs(const packing *k)
{
    const strads_data_options *o = &k->data;
    if (o->kind != STRADS_KIND_SAMPLES || o->row_names != NULL)
        return strads_fail(STRADS_EINVAL,
                           "a pack is made of samples, not of a corpus, text "
                           "or ratings");
    if (k->n > 1 && o->labels_path != NULL)
        return strads_fail(
            STRADS_EINVAL,
            "%s: labels from a file belong to one input; there are %zu inputs",
            o->labels_path, k->n);
    for (size_t i = 0; i < k->n && k->n > 1; i++)
        if (k->inputs[i].data != NULL && k->inputs[i].data->weight != NULL)
            return strads_fail(STRADS_EINVAL,
                               "%s: has weights, and packs with weights cannot "
                               "be joined: pack it alone",
                               k->inputs[i].path);
    return STRADS_OK;
}

/* Weights from the caller or from a file. */
static strads_err find_weights(packing *k)
{
    const sti_labels_options how = {.rows = k->rows,
                                    .memory = k->data.memory_limit};
    sti_label_names names = {0};
    strads_err err = STRADS_OK;
    if (k->options.weights_path != NULL && k->options.weight != NULL)
        return strads_fail(STRADS_EINVAL,
                           "%s: weights are given twice, as an array and as a "
                           "file",
                           k->options.weights_path);
    if (k->options.weights_path != NULL) {
        k->weight = sti_big_alloc(k->rows * sizeof *k->weight);
        err = k->weight != NULL ? sti_labels_read(k->options.weights_path, &how,
                                                  &names, k->weight)
                                : lack_memory_to_pack(k);
        k->options.weight = k->weight;
    }
    for (uint64_t i = 0; k->options.weight && i < k->rows && !err; i++)
        if (!(k->options.weight[i] >= 0 && k->options.weight[i] <= DBL_MAX))
            err = strads_fail(STRADS_EINVAL,
                              "the weight of row %llu is %g, expected a number "
                              "from 0 up",
                              (unsigned long long)i + 1, k->options.weight[i]);
    return err;
}

static strads_err set_up(packing *k, const char *const *paths, size_t n,
                         const strads_data_options *data,
                         const strads_pack_options *options)
{
    strads_err err = sti_pack_options(options, &k->options);
    const bool limited = data != NULL && data->memory_limit != 0;
    if (err == STRADS_OK)
        err = sti_data_options(data, &k->data);
    if (err == STRADS_OK && (n == 0 || paths == NULL || k->out == NULL))
        err = strads_fail(STRADS_EINVAL, "no data file or no pack was named");
    if (err == STRADS_OK)
        err = sti_atomic_file_check(k->out);
    if (err != STRADS_OK)
        return err;
    if (!limited) {
        k->data.memory_limit /= 4;
        if (k->data.memory_limit > MEMORY_MOST)
            k->data.memory_limit = MEMORY_MOST;
    }
    k->data.partitions = 1;
    k->data.keep_first = k->data.keep_count = 0;
    k->data.grid_cols = 1;
    k->data.split = STRADS_SPLIT_ROWS;
    k->data.layout = STRADS_LAYOUT_COLS;
    k->data.values = STRADS_F64;
    k->data.partition_entries = k->data.row_bytes = k->data.col_bytes = 0;
    k->data.row_bounds = NULL;
    k->n = n;
    k->inputs = calloc(n, sizeof *k->inputs);
    return k->inputs != NULL ? STRADS_OK : lack_memory_to_pack(k);
}

static void free_packing(packing *k)
{
    for (size_t i = 0; i < k->n && k->inputs != NULL; i++) {
        if (k->inputs[i].is_text)
            sti_reading_close(&k->inputs[i].reading);
        strads_data_free(k->inputs[i].data);
    }
    for (uint64_t g = 0; k->gathered && g < k->chunks * k->bucket_count; g++)
        free(k->gathered[g].records);
    for (uint64_t b = 0; b < k->bucket_count; b++)
        free(k->buckets[b].blocks);
    free(k->gathered);
    free(k->buckets);
    free(k->keys);
    free(k->inputs);
    sti_big_free(k->col_nnz, k->cols * sizeof *k->col_nnz);
    if (k->label != NULL)
        sti_big_free(k->label, k->rows * sizeof *k->label);
    if (k->weight != NULL)
        sti_big_free(k->weight, k->rows * sizeof *k->weight);
    strads_names_free(k->label_names);
    sti_big_free(k->memory, k->memory_bytes);
    if (k->fd >= 0)
        (void)close(k->fd);
    (void)pthread_mutex_destroy(&k->lock);
}

strads_err strads_pack_files(const char *const *paths, size_t n,
                             const char *out, const strads_data_options *data,
                             const strads_pack_options *options,
                             strads_pack_result *result)
{
    packing k = {.out = out, .fd = -1};
    (void)pthread_mutex_init(&k.lock, NULL);
    strads_err err = set_up(&k, paths, n, data, options);
    if (err == STRADS_OK)
        err = count_inputs(&k, paths);
    if (err == STRADS_OK)
        err = check_inputs(&k);
    if (err == STRADS_OK)
        err = find_weights(&k);
    if (err == STRADS_OK && n == 1 && k.inputs[0].data != NULL) {
        err = strads_pack_write(k.inputs[0].data, out, &k.options, result);
    } else if (err == STRADS_OK) {
        err = plan_memory(&k);
        if (err == STRADS_OK)
            err = spread_inputs(&k);
        if (err == STRADS_OK)
            err = pack_buckets(&k, result);
    }
    free_packing(&k);
    return err;
}
