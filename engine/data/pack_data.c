/* Packs and data sets: strads_data_read of a pack, and a pack of a data set.
 *
 * The build is the same as for text. Threads take chunks, and a column that
 * spans chunks stays with one thread, so columns are filled in order and
 * without atomics. Row counts and the sum of entry hashes are stored in the
 * pack, so one pass over the chunks counts columns and one places entries. A
 * process that keeps a range of columns skips all other chunks. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/sized.h"
#include "engine/data/build.h"
#include "engine/data/memory.h"
#include "engine/data/naming.h"
#include "engine/data/pack_format.h"

/* One pass over the chunks. */
typedef struct chunk_pass {
    const strads_pack *pack;
    uint64_t cols;       /* columns from this one on are skipped */
    strads_range wanted; /* chunks without a column in it are skipped */
    bool decode;         /* counts alone, or entries */
    /* Takes columns of a chunk. STRADS_OK, or an error that ends the pass. */
    strads_err (*take)(struct chunk_pass *pass, uint64_t k,
                       const sti_pack_space *space);
    sti_totals *counts;
    sti_build *build;
    atomic_uint_fast64_t next; /* the next chunk to take */
    uint64_t entry_sum;        /* added to atomically */

    pthread_mutex_t lock; /* guards the error of the lowest chunk: */
    strads_err err;
    uint64_t err_at;
    char sentence[512];
} chunk_pass;

static void keep_error(chunk_pass *pass, uint64_t k, strads_err err)
{
    (void)pthread_mutex_lock(&pass->lock);
    if (pass->err == STRADS_OK || k < pass->err_at) {
        pass->err = err;
        pass->err_at = k;
        (void)snprintf(pass->sentence, sizeof pass->sentence, "%s",
                       strads_error_text());
    }
    (void)pthread_mutex_unlock(&pass->lock);
}

static bool is_wanted(const chunk_pass *pass, const sti_pack_chunk *c)
{
    return c->first_col < pass->cols && c->first_col < pass->wanted.end &&
           c->first_col + c->cols > pass->wanted.begin;
}

static strads_err take_chunk(chunk_pass *pass, uint64_t k,
                             sti_pack_space *space)
{
    sti_pack_parts parts;
    if (!is_wanted(pass, &pass->pack->chunk[k]))
        return STRADS_OK;
    strads_err err = sti_pack_load(pass->pack, k, space, &parts);
    if (err == STRADS_OK && pass->decode)
        err = sti_pack_decode(pass->pack, k, space, &parts);
    return err == STRADS_OK ? pass->take(pass, k, space) : err;
}

/* Takes the next chunk and all pieces of its last column behind it. */
static bool take_next(chunk_pass *pass, sti_pack_space *space)
{
    const strads_pack *p = pass->pack;
    uint64_t k = atomic_load(&pass->next), end;
    do {
        if (k >= p->chunks)
            return false;
        for (end = k + 1; end < p->chunks &&
                          (p->chunk[end].flags & STI_PACK_CONTINUES) != 0;)
            end++;
    } while (!atomic_compare_exchange_weak(&pass->next, &k, end));
    for (; k < end; k++) {
        const strads_err err = take_chunk(pass, k, space);
        if (err != STRADS_OK) {
            keep_error(pass, k, err);
            return false;
        }
    }
    return true;
}

static void run_thread(void *context, size_t task)
{
    chunk_pass *pass = context;
    sti_pack_space space;
    (void)task;
    const strads_err err = sti_pack_space_open(pass->pack, &space);
    if (err != STRADS_OK) {
        keep_error(pass, 0, err);
        return;
    }
    while (take_next(pass, &space))
        continue;
    sti_pack_space_close(&space);
}

/* Runs the pass on some threads. The first six fields are set. */
static strads_err run_chunks(chunk_pass *pass, uint32_t threads)
{
    const uint64_t most = pass->pack->chunks > 0 ? pass->pack->chunks : 1;
    const uint32_t n = threads < most ? threads : (uint32_t)most;
    (void)pthread_mutex_init(&pass->lock, NULL);
    sti_parallel(n, n, run_thread, pass);
    (void)pthread_mutex_destroy(&pass->lock);
    return pass->err == STRADS_OK
               ? STRADS_OK
               : strads_fail(pass->err, "%s", pass->sentence);
}

/* ---- counting ------------------------------------------------------------ */

/* The columns of a chunk that are not skipped. */
static uint64_t kept_cols(const chunk_pass *pass, const sti_pack_chunk *c)
{
    const uint64_t left = pass->cols - c->first_col;
    return left < c->cols ? left : c->cols;
}

/* Passes the entries of a chunk's kept columns in batches. */
static void each_batch(const chunk_pass *pass, const sti_pack_chunk *c,
                       const sti_pack_space *s, sti_batch *batch,
                       void (*take)(void *arg, const sti_batch *batch),
                       void *arg)
{
    batch->n = 0;
    for (uint64_t j = 0; j < kept_cols(pass, c); j++)
        for (uint64_t e = s->start[j]; e < s->start[j + 1]; e++) {
            batch->row[batch->n] = s->row[e];
            batch->col[batch->n] = (uint32_t)(c->first_col + j);
            batch->value[batch->n++] = s->value[e];
            if (batch->n == STI_BATCH) {
                take(arg, batch);
                batch->n = 0;
            }
        }
    if (batch->n > 0)
        take(arg, batch);
}

static void count_rows(void *arg, const sti_batch *batch)
{
    chunk_pass *pass = arg;
    const uint64_t sum = sti_digest_entries(batch);
    for (size_t k = 0; k < batch->n; k++)
        __atomic_fetch_add(&pass->counts->row_nnz[batch->row[k]], 1,
                           __ATOMIC_RELAXED);
    __atomic_fetch_add(&pass->entry_sum, sum, __ATOMIC_RELAXED);
}

static strads_err count_chunk(chunk_pass *pass, uint64_t k,
                              const sti_pack_space *s)
{
    const sti_pack_chunk *c = &pass->pack->chunk[k];
    uint64_t nnz = 0;
    for (uint64_t j = 0; j < kept_cols(pass, c); j++) {
        const uint64_t n = s->start[j + 1] - s->start[j];
        pass->counts->col_nnz[c->first_col + j] += (uint32_t)n;
        nnz += n;
    }
    __atomic_fetch_add(&pass->counts->nnz, nnz, __ATOMIC_RELAXED);
    if (pass->decode) {
        sti_batch *batch = malloc(sizeof *batch);
        if (batch == NULL)
            return strads_fail(STRADS_ENOMEM, "%s: no memory to count it",
                               pass->pack->path);
        each_batch(pass, c, s, batch, count_rows, pass);
        free(batch);
    }
    return STRADS_OK;
}

static strads_err take_row_counts(const strads_pack *p, sti_totals *counts)
{
    uint8_t *all;
    uint64_t bytes, sum = 0;
    strads_err err =
        sti_pack_section_read(p, STI_PACK_ROW_COUNTS, &all, &bytes);
    if (err != STRADS_OK)
        return err;
    for (uint64_t i = 0; i < p->rows && bytes == 4 * p->rows; i++) {
        counts->row_nnz[i] = sti_get_u32(all + 4 * i);
        sum += counts->row_nnz[i];
    }
    sti_big_free(all, bytes);
    return bytes == 4 * p->rows && sum == p->nnz
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: its section of row counts is damaged: take "
                             "another copy of the pack, or pack the data again",
                             p->path);
}

/* Counts the entries of each row and column; *entry_sum: of the hashes of all
 * entries. */
static strads_err count_pack(const strads_pack *p, const strads_data_options *o,
                             sti_totals *counts, uint64_t *entry_sum)
{
    const bool cut = o->most_cols != 0 && o->most_cols < p->cols;
    counts->rows = p->rows;
    counts->cols = cut ? o->most_cols : p->cols;
    const uint64_t cols = counts->cols;
    if (counts->cols < o->min_cols)
        counts->cols = o->min_cols;
    const sti_needs needs =
        sti_needs_of(o, counts->rows, counts->cols, cut ? 0 : p->nnz);
    strads_err err = sti_needs_check(p->path, o, &needs);
    if (err != STRADS_OK)
        return err;
    counts->col_nnz = sti_big_alloc(counts->cols * sizeof *counts->col_nnz);
    counts->row_nnz = sti_big_alloc(counts->rows * sizeof *counts->row_nnz);
    if (counts->col_nnz == NULL || counts->row_nnz == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to count it", p->path);
    chunk_pass pass = {.pack = p,
                       .cols = cols,
                       .wanted = {0, cols},
                       .decode = cut,
                       .take = count_chunk,
                       .counts = counts};
    err = run_chunks(&pass, o->threads);
    *entry_sum = cut ? pass.entry_sum : p->entry_sum;
    return err == STRADS_OK && !cut ? take_row_counts(p, counts) : err;
}

/* ---- placing ------------------------------------------------------------- */

/* What is placed from one batch, and whether all of it had its place. */
typedef struct batch_target {
    sti_side *side[2];
    bool count; /* count the entries of parts instead */
    bool full;
} batch_target;

static void place_on_sides(void *arg, const sti_batch *batch)
{
    batch_target *t = arg;
    for (int k = 0; k < 2 && t->side[k] != NULL; k++)
        if (t->count)
            sti_side_count(t->side[k], batch);
        else
            t->full = sti_side_place(t->side[k], 0, batch) && t->full;
}

/* Copies the columns of a chunk to a side that holds whole columns. */
static bool copy_columns(const chunk_pass *pass, const sti_pack_chunk *c,
                         const sti_pack_space *s, sti_side *side)
{
    const sti_part *part = &side->parts[0];
    for (uint64_t j = 0; j < kept_cols(pass, c); j++) {
        const uint64_t col = c->first_col + j, first = s->start[j];
        const uint64_t n = s->start[j + 1] - first;
        if (col < part->line.begin || col >= part->line.end)
            continue;
        uint64_t *place = &part->start[col - part->line.begin + 1];
        if (n > side->nnz || *place > side->nnz - n)
            return false;
        memcpy(side->index + *place, s->row + first, n * sizeof *s->row);
        if (side->f64 != NULL)
            memcpy(side->f64 + *place, s->value + first, n * sizeof *s->value);
        for (uint64_t e = 0; side->f32 != NULL && e < n; e++)
            side->f32[*place + e] = (float)s->value[first + e];
        *place += n;
    }
    return true;
}

static bool has_whole_columns(const sti_side *side)
{
    return side->wanted && side->count > 0 && !side->cross;
}

static strads_err check_narrow(const chunk_pass *pass, const sti_pack_space *s,
                               uint64_t n)
{
    for (uint64_t e = 0; e < n; e++)
        if (!(fabs(s->value[e]) <= FLT_MAX))
            return strads_fail(STRADS_ELIMIT,
                               "%s: value %g does not fit in 32 bits; use f64",
                               pass->pack->path, s->value[e]);
    return STRADS_OK;
}

static strads_err place_chunk(chunk_pass *pass, uint64_t k,
                              const sti_pack_space *s)
{
    const sti_pack_chunk *c = &pass->pack->chunk[k];
    strads_data *d = pass->build->data;
    batch_target t = {.full = true};
    int n = 0;
    strads_err err = STRADS_OK;
    if (pass->build->options.values == STRADS_F32)
        err = check_narrow(pass, s, s->start[kept_cols(pass, c)]);
    if (err != STRADS_OK)
        return err;
    if (has_whole_columns(&d->by_col))
        t.full = copy_columns(pass, c, s, &d->by_col);
    else if (d->by_col.wanted)
        t.side[n++] = &d->by_col;
    if (d->by_row.wanted)
        t.side[n++] = &d->by_row;
    sti_batch *batch = n > 0 ? malloc(sizeof *batch) : NULL;
    if (n > 0 && batch == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to read it",
                           pass->pack->path);
    if (n > 0)
        each_batch(pass, c, s, batch, place_on_sides, &t);
    free(batch);
    return t.full ? STRADS_OK
                  : strads_fail(STRADS_EFORMAT,
                                "%s: its section of row counts contradicts "
                                "chunk %llu: pack the data again",
                                pass->pack->path, (unsigned long long)k);
}

static strads_err count_parts(chunk_pass *pass, uint64_t k,
                              const sti_pack_space *s)
{
    strads_data *d = pass->build->data;
    batch_target t = {.count = true};
    int n = 0;
    if (d->by_col.cross)
        t.side[n++] = &d->by_col;
    if (d->by_row.cross)
        t.side[n++] = &d->by_row;
    sti_batch *batch = malloc(sizeof *batch);
    if (batch == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to count it",
                           pass->pack->path);
    each_batch(pass, &pass->pack->chunk[k], s, batch, place_on_sides, &t);
    free(batch);
    return STRADS_OK;
}

/* The columns that the process keeps: fewer than all only if it holds nothing
 * but columns. */
static strads_range find_wanted(const sti_build *b)
{
    const strads_data_options *o = &b->options;
    const uint64_t *at = b->col_bounds + o->keep_first;
    return o->split == STRADS_SPLIT_COLS
               ? (strads_range){at[0], at[o->keep_count]}
               : (strads_range){0, b->counts->cols};
}

/* The row counts of a pack place its entries: each row must have as many as
 * counted. */
static strads_err check_row_counts(const strads_pack *p, const sti_build *b)
{
    const sti_side *side = &b->data->by_row;
    if (!side->wanted || side->cross || side->count == 0)
        return STRADS_OK;
    const sti_part *part = &side->parts[0];
    uint64_t end = part->start[0];
    for (uint64_t i = part->line.begin; i < part->line.end; i++) {
        end += b->counts->row_nnz[i];
        if (part->start[i - part->line.begin + 1] != end)
            return strads_fail(STRADS_EFORMAT,
                               "%s: has other entries in row %llu than its row "
                               "counts: pack the data again",
                               p->path, (unsigned long long)i);
    }
    return STRADS_OK;
}

static strads_err place_pack(const strads_pack *p, uint64_t cols, sti_build *b)
{
    const chunk_pass like = {.pack = p,
                             .cols = cols,
                             .wanted = find_wanted(b),
                             .decode = true,
                             .build = b};
    strads_err err = STRADS_OK;
    if (sti_build_must_count(b)) {
        chunk_pass pass = like;
        pass.take = count_parts;
        err = run_chunks(&pass, b->options.threads);
    }
    if (err == STRADS_OK)
        err = sti_build_open(b, NULL, 1);
    if (err != STRADS_OK)
        return err;
    chunk_pass pass = like;
    pass.take = place_chunk;
    err = run_chunks(&pass, b->options.threads);
    return err == STRADS_OK ? check_row_counts(p, b) : err;
}

/* ---- labels and names ---------------------------------------------------- */

strads_err sti_pack_check_use(const strads_pack *p,
                              const strads_data_options *o)
{
    if (o->target != NULL && o->col_names == NULL)
        return strads_fail(STRADS_EINVAL,
                           "%s: is a pack, which holds its labels: leave out "
                           "the name of their column (--target)",
                           p->path);
    if (o->labels_path != NULL && p->label != NULL)
        return strads_fail(STRADS_EINVAL,
                           "%s: is a pack that has labels: leave %s out",
                           p->path, o->labels_path);
    if (o->row_names != NULL)
        return strads_fail(STRADS_EINVAL,
                           "%s: is a pack, and rows of a pack have no names",
                           p->path);
    if (p->label_names != NULL && !o->named_labels)
        return strads_fail(STRADS_EFORMAT,
                           "%s: has names as labels, expected numbers",
                           p->path);
    return STRADS_OK;
}

/* The columns must be those of the known names, in the same order. */
static strads_err check_pack_names(const strads_pack *p,
                                   const strads_names *known)
{
    if (known == NULL)
        return STRADS_OK;
    if (strads_names_count(known) != p->cols)
        return strads_fail(STRADS_EFORMAT,
                           "%s: found %llu columns, expected %u, as many as "
                           "have names",
                           p->path, (unsigned long long)p->cols,
                           strads_names_count(known));
    for (uint32_t j = 0; p->col_names != NULL && j < p->cols; j++) {
        const char *found = strads_names_at(p->col_names, j);
        const char *expected = strads_names_at(known, j);
        if (strcmp(found, expected) != 0)
            return strads_fail(STRADS_EFORMAT,
                               "%s: column %u is '%s', expected '%s': pack "
                               "data with the same columns in the same order",
                               p->path, j + 1, found, expected);
    }
    return STRADS_OK;
}

/* Gives labels the numbers of known names; others have the number that
 * follows. */
static void renumber_labels(strads_pack *p, const strads_names *known)
{
    for (uint64_t i = 0; i < p->rows; i++) {
        const char *name =
            strads_names_at(p->label_names, (uint32_t)p->label[i]);
        uint32_t number = strads_names_count(known);
        (void)strads_names_find(known, name, strlen(name), &number);
        p->label[i] = number;
    }
}

/* The labels of all rows, and their names, from the pack or from a file. */
static strads_err find_labels(strads_pack *p, const strads_data_options *o,
                              sti_label_names *names)
{
    names->names = p->label_names;
    if (p->label_names != NULL && o->label_names != NULL) {
        renumber_labels(p, o->label_names);
        names->names = o->label_names;
    }
    if (o->labels_path == NULL)
        return STRADS_OK;
    const sti_labels_options how = {.rows = p->rows,
                                    .memory = o->memory_limit,
                                    .named = o->named_labels,
                                    .given = o->label_names};
    p->label = sti_big_alloc(p->rows * sizeof *p->label);
    return p->label != NULL
               ? sti_labels_read(o->labels_path, &how, names, p->label)
               : strads_fail(STRADS_ENOMEM, "%s: no memory to read it",
                             o->labels_path);
}

/* Moves names and means from the pack to the data set, unless the caller's are
 * used. */
static strads_err give_pack_names(strads_pack *p, const strads_data_options *o,
                                  sti_label_names *labels, strads_data *d)
{
    d->label_names = labels->names;
    if (labels->own != NULL) {
        d->own_label_names = labels->own;
        labels->own = NULL;
    } else if (labels->names == p->label_names) {
        d->own_label_names = p->label_names;
        p->label_names = NULL;
    }
    d->col_names = o->col_names;
    if (o->col_names == NULL && p->col_names != NULL &&
        strads_names_count(p->col_names) == d->cols) {
        d->col_names = d->own_col_names = p->col_names;
        p->col_names = NULL;
    }
    for (uint32_t k = 0; k < d->keep_count; k++) {
        d->shares[k].label_names = d->label_names;
        d->shares[k].col_names = d->col_names;
    }
    if (o->col_names != NULL || p->col_means == NULL || d->cols != p->cols)
        return STRADS_OK;
    d->own_col_means = malloc((d->cols + 1) * sizeof *d->own_col_means);
    if (d->own_col_means == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to read it", p->path);
    memcpy(d->own_col_means, p->col_means, d->cols * sizeof *p->col_means);
    return STRADS_OK;
}

static strads_err finish_build(strads_pack *p, sti_build *b,
                               sti_label_names *names, uint64_t entry_sum,
                               strads_data **out)
{
    sti_twice twice;
    strads_data *d = NULL;
    const strads_range rows = b->rows;
    if (p->label != NULL)
        sti_build_give_labels(b, (strads_range){0, p->rows}, p->label);
    strads_err err = sti_build_order(b, false, &twice);
    if (err == STRADS_OK && twice.found)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has the entry of row %llu and column %llu "
                          "twice: pack the data again",
                          p->path, (unsigned long long)twice.line,
                          (unsigned long long)twice.minor);
    b->digest.entry_sum = entry_sum;
    b->digest.label_sum += sti_digest_names(names->names);
    if (err == STRADS_OK)
        err = sti_pack_unchanged(p);
    if (err == STRADS_OK)
        err = sti_build_finish(b, &d);
    if (err != STRADS_OK)
        return err;
    d->index_base = 1;
    err = give_pack_names(p, &b->options, names, d);
    if (err == STRADS_OK && p->weight != NULL)
        err =
            strads_data_weigh(d, p->weight + rows.begin, rows.end - rows.begin);
    if (err == STRADS_OK)
        *out = d;
    else
        strads_data_free(d);
    return err;
}

static strads_err read_open_pack(strads_pack *p, const strads_data_options *o,
                                 strads_data **out)
{
    sti_totals counts = {.options = o};
    sti_label_names names = {0};
    uint64_t entry_sum = 0;
    strads_err err = sti_pack_check_use(p, o);
    if (err == STRADS_OK)
        err = check_pack_names(p, o->col_names);
    if (err == STRADS_OK)
        err = count_pack(p, o, &counts, &entry_sum);
    if (err == STRADS_OK)
        err = find_labels(p, o, &names);
    sti_build build = {.name = p->path,
                       .options = *o,
                       .counts = &counts,
                       .has_labels = p->label != NULL,
                       .shared = true};
    if (err == STRADS_OK)
        err = sti_build_begin(&build);
    if (err == STRADS_OK && !build.data->by_col.cross)
        build.data->by_col.writers = STI_WRITERS_ONE;
    if (err == STRADS_OK)
        err = sti_build_allocate(&build);
    if (err == STRADS_OK)
        err = place_pack(p,
                         o->most_cols != 0 && o->most_cols < p->cols
                             ? o->most_cols
                             : p->cols,
                         &build);
    if (err == STRADS_OK)
        err = finish_build(p, &build, &names, entry_sum, out);
    sti_build_free(&build);
    sti_label_names_free(&names);
    sti_totals_free(&counts);
    return err;
}

/* ---- a data set that stays packed ---------------------------------------- */

static strads_err check_packed(const strads_pack *p,
                               const strads_data_options *o)
{
    if (o->split != STRADS_SPLIT_COLS || o->most_cols != 0 ||
        o->min_cols > p->cols)
        return strads_fail(STRADS_EINVAL,
                           "%s: stays packed, so it is cut by columns and has "
                           "%llu of them",
                           p->path, (unsigned long long)p->cols);
    return STRADS_OK;
}

static strads_err share_pack(strads_pack *p, const strads_data_options *o,
                             strads_data *d)
{
    uint64_t *bounds = malloc((o->partitions + 1) * sizeof *bounds);
    d->col_bounds = bounds;
    d->shares = calloc(o->keep_count ? o->keep_count : 1, sizeof *d->shares);
    d->row_bounds = calloc(o->partitions + 1, sizeof *d->row_bounds);
    if (bounds == NULL || d->shares == NULL || d->row_bounds == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to cut it", p->path);
    strads_pack_cut(p, o->partitions, bounds);
    for (uint32_t k = 0; k < o->keep_count; k++) {
        const uint64_t *at = bounds + o->keep_first + k;
        d->shares[k] =
            (strads_share){.partition = o->keep_first + k,
                           .partitions = o->partitions,
                           .rows = {0, p->rows},
                           .cols = {at[0], at[1]},
                           .label = d->label,
                           .pack = p,
                           .pack_exceeds = p->file_bytes > o->memory_limit};
    }
    return STRADS_OK;
}

/* The labels and names of the pack become the data set's, as of one that is
 * read; the checksum is the same as well. */
static strads_err keep_packed(strads_pack *p, const strads_data_options *o,
                              strads_data **out)
{
    sti_label_names names = {0};
    strads_err err = check_packed(p, o);
    if (err == STRADS_OK)
        err = find_labels(p, o, &names);
    strads_data *d = err == STRADS_OK ? calloc(1, sizeof *d) : NULL;
    if (err == STRADS_OK && d == NULL)
        err = strads_fail(STRADS_ENOMEM, "%s: no memory to open it", p->path);
    if (err != STRADS_OK) {
        sti_label_names_free(&names);
        return err;
    }
    *d = (strads_data){.rows = p->rows,
                       .cols = p->cols,
                       .nnz = p->nnz,
                       .index_base = 1,
                       .partitions = o->partitions,
                       .keep_first = o->keep_first,
                       .keep_count = o->keep_count,
                       .grid_cols = 1,
                       .label = p->label,
                       .label_count = p->label != NULL ? p->rows : 0};
    sti_digest digest = {.rows = p->rows,
                         .cols = p->cols,
                         .nnz = p->nnz,
                         .has_labels = p->label != NULL,
                         .entry_sum = p->entry_sum,
                         .label_sum = sti_digest_names(names.names)};
    for (uint64_t i = 0; i < d->label_count; i++)
        digest.label_sum += sti_digest_label(i, d->label[i]);
    d->checksum = sti_digest_finish(&digest);
    p->label = NULL;
    err = share_pack(p, o, d);
    if (err == STRADS_OK)
        err = give_pack_names(p, o, &names, d);
    if (err == STRADS_OK && p->weight != NULL)
        err = strads_data_weigh(d, p->weight, p->rows);
    d->bytes = d->label_count * sizeof *d->label;
    sti_label_names_free(&names);
    if (err != STRADS_OK)
        strads_data_free(d);
    else
        *out = d;
    return err;
}

bool strads_pack_exceeds(const char *path, uint64_t memory)
{
    /* Of the process itself; and of a fit for each row and column. */
    enum { PROCESS_BYTES = 16 << 20, LINE_BYTES = 192 };
    strads_pack *pack;
    if (!strads_pack_is(path) || strads_pack_open(path, &pack) != STRADS_OK)
        return false;
    const strads_data_options o = {.layout = STRADS_LAYOUT_COLS};
    const sti_needs needs = sti_needs_of(&o, pack->rows, pack->cols, pack->nnz);
    const uint64_t limit = memory > 0 ? memory : sti_memory_available();
    const uint64_t fit = PROCESS_BYTES + LINE_BYTES * (pack->rows + pack->cols);
    strads_pack_free(pack);
    return needs.count + needs.data + fit > limit;
}

bool sti_pack_wanted(const char *path, const strads_data_options *options)
{
    strads_data_options o;
    return sti_data_options(options, &o) == STRADS_OK &&
           o.kind == STRADS_KIND_SAMPLES && strads_pack_is(path);
}

strads_err sti_pack_read(const char *path, const strads_data_options *options,
                         strads_data **out)
{
    strads_data_options o;
    strads_pack *pack = NULL;
    strads_err err = sti_data_options(options, &o);
    if (err == STRADS_OK)
        err = strads_pack_open(path, &pack);
    if (err == STRADS_OK && o.packed) {
        const uint64_t most =
            o.partition_entries > 0 ? pack->nnz / o.partition_entries : 0;
        if (o.partition_entries > 0 && o.partitions > most)
            o.partitions = o.keep_count = most > 1 ? (uint32_t)most : 1;
        err = sti_pack_check_use(pack, &o);
        if (err == STRADS_OK)
            err = check_pack_names(pack, o.col_names);
        if (err == STRADS_OK)
            err = keep_packed(pack, &o, out);
        if (err == STRADS_OK) {
            (*out)->pack = pack;
            return STRADS_OK;
        }
    } else if (err == STRADS_OK) {
        err = read_open_pack(pack, &o, out);
    }
    strads_pack_free(pack);
    return err;
}

/* ---- writing a data set -------------------------------------------------- */

static strads_err check_whole(const strads_data *d)
{
    if (d->partitions != 1 || d->keep_count != 1 || !d->by_col.wanted)
        return strads_fail(STRADS_EINVAL,
                           "%u of %u partitions are kept, %s columns: a pack "
                           "is made of one partition with columns",
                           d->keep_count, d->partitions,
                           d->by_col.wanted ? "with" : "without");
    return STRADS_OK;
}

/* The first column with this number of entries is as long as any. */
static uint64_t longest_column(const strads_data *d)
{
    uint32_t most = 0;
    for (uint64_t j = 0; j < d->cols; j++)
        most = d->col_nnz[j] > most ? d->col_nnz[j] : most;
    return most;
}

/* Adds all columns; `value` and `index` have room for the longest one if
 * values are f32, and if there are no indices. */
static strads_err add_columns(const strads_data *d, sti_packer *packer,
                              const strads_pack_options *o, double *value,
                              uint32_t *index)
{
    const strads_sparse *x = &d->shares[0].by_col;
    const uint64_t total = x->nnz * (sizeof *x->index + sizeof *value);
    strads_err err = STRADS_OK;
    for (uint64_t j = 0; j < x->lines && err == STRADS_OK; j++) {
        const uint64_t first = x->start[j], n = x->start[j + 1] - first;
        for (uint64_t e = 0; x->f64 == NULL && e < n; e++)
            value[e] = (double)x->f32[first + e];
        for (uint64_t e = 0; x->index == NULL && e < n; e++)
            index[e] = (uint32_t)e;
        err = sti_packer_add(packer, n,
                             x->index != NULL ? x->index + first : index,
                             x->f64 != NULL ? x->f64 + first : value);
        if (err == STRADS_OK && o->progress != NULL && j % 1024 == 0 &&
            !o->progress(o->arg, STRADS_PACK_WRITES,
                         first * (sizeof *x->index + sizeof *value), total))
            err = strads_fail(STRADS_ECANCELED, "packing was stopped");
    }
    return err;
}

strads_err strads_pack_write(const strads_data *d, const char *out,
                             const strads_pack_options *options,
                             strads_pack_result *result)
{
    strads_pack_options o;
    sti_packer *packer = NULL;
    if (d == NULL || out == NULL)
        return strads_fail(STRADS_EINVAL, "no data or no file was named");
    strads_err err = sti_pack_options(options, &o);
    if (err == STRADS_OK)
        err = check_whole(d);
    for (uint64_t i = 0; o.weight && i < d->rows && err == STRADS_OK; i++)
        if (!(o.weight[i] >= 0 && o.weight[i] <= DBL_MAX))
            err = strads_fail(STRADS_EINVAL,
                              "the weight of row %llu is %g, expected a number "
                              "from 0 up",
                              (unsigned long long)i + 1, o.weight[i]);
    if (err != STRADS_OK)
        return err;
    const size_t longest = longest_column(d) + 1;
    double *value = malloc(longest * sizeof *value);
    uint32_t *index = malloc(longest * sizeof *index);
    if (value == NULL || index == NULL)
        err = strads_fail(STRADS_ENOMEM, "%s: no memory to write it", out);
    const sti_pack_extras extras = {.label = d->label,
                                    .weight = o.weight ? o.weight : d->weight,
                                    .col_means = d->own_col_means,
                                    .label_names = d->label_names,
                                    .col_names = d->col_names};
    if (err == STRADS_OK)
        err = sti_packer_open(out, d->rows, o.values, &packer);
    if (err == STRADS_OK)
        err = add_columns(d, packer, &o, value, index);
    free(value);
    free(index);
    if (err != STRADS_OK) {
        sti_packer_abandon(packer);
        return err;
    }
    return sti_packer_close(packer, &extras, result);
}

strads_err sti_pack_options(const strads_pack_options *given,
                            strads_pack_options *out)
{
    *out = (strads_pack_options){.size = sizeof *out};
    strads_err err = given != NULL ? sti_sized_copy(out, sizeof *out, given,
                                                    "strads_pack_options")
                                   : STRADS_OK;
    if (err == STRADS_OK &&
        (out->values < STRADS_PACK_EXACT || out->values > STRADS_PACK_F32))
        err = strads_fail(STRADS_EINVAL,
                          "values of a pack are %d, expected exact, f16 or f32",
                          (int)out->values);
    return err;
}
