/* Copies of a table.
 *
 * Exact snapshots of clocks k, 2k, ... of a table. The image of clock T is
 * begun as a copy of the rows, just before the first update of clock T or later
 * is added to these; from then on it takes what is of clocks below T. It is
 * complete once every worker's clock is T, and kept until the next one is: a
 * worker that is at a clock below T + k can have it.
 *
 * Invariant: while no update of clock T or later has come, the rows themselves
 * are the image of T. A worker that is more than STI_IMAGES_MAX snapshots
 * ahead of the last one finds no room: that snapshot is lost, and no other.
 *
 * A strads_snapshot is copied while all stripes are held, so it holds exactly
 * the commits up to its version, each of them whole. */
#include "engine/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/local_store.h"

/* ---- exact snapshots ----------------------------------------------------- */

static strads_err copy_sparse(const sti_table *from, sti_table *to)
{
    strads_err err = STRADS_OK;
    for (uint64_t r = 0; !err && r < from->spec.rows; r++) {
        const sti_sparse_row *row = &from->sparse[r];
        if (row->n)
            err = sti_table_add(to, 1,
                                &(sti_row_delta){.row = (uint32_t)r,
                                                 .n = row->n,
                                                 .cols = row->cols,
                                                 .cells = row->values},
                                NULL);
    }
    return err;
}

static strads_err begin(sti_image *image, const sti_table *from,
                        const char *name, uint64_t clock)
{
    char full[STI_TABLE_NAME];
    (void)snprintf(full, sizeof full, "%s at %" PRIu64, name, clock);
    strads_table_spec spec = from->spec;
    spec.name = full;
    strads_err err = sti_table_open(&spec, from->budget, &image->table);
    if (err)
        return err;
    image->clock = clock;
    if (from->spec.sparse)
        return copy_sparse(from, image->table);
    memcpy(image->table->dense, from->dense, from->spec.rows * from->row_bytes);
    return STRADS_OK;
}

/* The one of that clock; of 0, one that is not in use. */
static sti_image *find(sti_images *images, uint64_t clock)
{
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock == clock)
            return &images->image[k];
    return NULL;
}

strads_err sti_images_begin(sti_images *images, const sti_table *rows,
                            const char *name, uint64_t least, uint64_t clock)
{
    uint64_t every = images->every;
    uint64_t due = least / every * every;
    if (due <= images->lost)
        due = (images->lost / every + 1) * every;
    strads_err err = STRADS_OK;
    for (uint64_t at = due ? due : every; !err && at <= clock; at += every) {
        if (find(images, at))
            continue;
        sti_image *image = find(images, 0);
        if (!image) {
            images->lost = clock / every * every;
            break;
        }
        err = begin(image, rows, name, at);
    }
    return err;
}

sti_table *sti_images_at(const sti_images *images, sti_table *rows,
                         uint64_t clock)
{
    for (uint32_t k = 0; clock && k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock == clock)
            return images->image[k].table;
    return clock > images->lost ? rows : NULL;
}

static void drop(sti_image *image)
{
    sti_table_free(image->table);
    *image = (sti_image){0};
}

void sti_images_drop(sti_images *images, uint64_t least)
{
    uint64_t every = images->every;
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock < least / every * every)
            drop(&images->image[k]);
}

void sti_images_lose(sti_images *images, uint64_t clock)
{
    uint64_t every = images->every;
    uint64_t lost = clock / every * every;
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock > lost)
            lost = images->image[k].clock;
    sti_images_free(images);
    images->lost = lost;
}

void sti_images_free(sti_images *images)
{
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        drop(&images->image[k]);
    images->lost = 0;
}

/* ---- immutable copies ---------------------------------------------------- */

struct strads_snapshot {
    const sti_table *table; /* for its spec and budget */
    uint64_t version;
    uint64_t numbers, bytes; /* cells in it; their memory */
    char *cells;             /* [numbers] */
    uint32_t *cols;          /* [numbers], ascending in a row; NULL: dense */
    uint64_t *start;         /* [rows + 1]; NULL: dense */
};

/* All stripes are held. */
static uint64_t count_numbers(const sti_table *table)
{
    uint64_t numbers = 0;
    if (!table->sparse)
        return table->spec.rows * table->spec.cols;
    for (uint64_t r = 0; r < table->spec.rows; r++)
        numbers += table->sparse[r].n;
    return numbers;
}

/* One allocation: starts, cells, columns. */
static strads_err reserve(strads_snapshot *snapshot)
{
    const sti_table *table = snapshot->table;
    uint64_t starts =
        table->sparse ? (table->spec.rows + 1) * sizeof(uint64_t) : 0;
    uint64_t cells = snapshot->numbers * table->cell;
    void *memory;
    snapshot->bytes = starts + cells;
    if (table->sparse)
        snapshot->bytes += snapshot->numbers * sizeof(uint32_t);
    strads_err err = sti_budget_alloc(table->budget, snapshot->bytes,
                                      "a snapshot of a table", &memory);
    if (err)
        return err;
    snapshot->cells = (char *)memory + starts;
    if (table->sparse) {
        snapshot->start = memory;
        snapshot->cols = (uint32_t *)(void *)(snapshot->cells + cells);
    }
    return STRADS_OK;
}

/* All stripes are held. */
static void copy_rows(strads_snapshot *snapshot)
{
    const sti_table *table = snapshot->table;
    uint64_t at = 0;
    if (table->dense)
        memcpy(snapshot->cells, table->dense, snapshot->numbers * table->cell);
    for (uint64_t r = 0; table->sparse && r < table->spec.rows; r++) {
        const sti_sparse_row *row = &table->sparse[r];
        snapshot->start[r] = at;
        if (row->n) {
            memcpy(snapshot->cells + at * table->cell, row->values,
                   row->n * table->cell);
            memcpy(snapshot->cols + at, row->cols, row->n * sizeof *row->cols);
        }
        at += row->n;
    }
    if (table->sparse)
        snapshot->start[table->spec.rows] = at;
}

static strads_err copy_table(strads_snapshot *snapshot, sti_table *table)
{
    sti_stripes_take(&table->stripes, STI_STRIPES_ALL);
    snapshot->version = atomic_load(&table->version);
    snapshot->numbers = count_numbers(table);
    strads_err err = reserve(snapshot);
    if (!err)
        copy_rows(snapshot);
    sti_stripes_drop(&table->stripes, STI_STRIPES_ALL);
    return err;
}

/* ---- columns in ascending order ---------------------------------------- */

/* A column and where its cell was. */
struct column {
    uint32_t col, place;
};

static int by_col(const void *a, const void *b)
{
    uint32_t x = ((const struct column *)a)->col;
    uint32_t y = ((const struct column *)b)->col;
    return (x > y) - (x < y);
}

static void sort_row(strads_snapshot *snapshot, uint64_t row,
                     struct column *order, char *cells)
{
    size_t cell = snapshot->table->cell;
    uint64_t first = snapshot->start[row];
    uint32_t n = (uint32_t)(snapshot->start[row + 1] - first);
    uint32_t *cols = snapshot->cols + first;
    char *values = snapshot->cells + first * cell;
    for (uint32_t i = 0; i < n; i++)
        order[i] = (struct column){.col = cols[i], .place = i};
    qsort(order, n, sizeof *order, by_col);
    memcpy(cells, values, n * cell);
    for (uint32_t i = 0; i < n; i++) {
        cols[i] = order[i].col;
        memcpy(values + i * cell, cells + order[i].place * cell, cell);
    }
}

/* After the locks are gone: commits need not wait for it. */
static strads_err sort_rows(strads_snapshot *snapshot)
{
    const sti_table *table = snapshot->table;
    uint64_t longest = 0;
    for (uint64_t r = 0; r < table->spec.rows; r++) {
        uint64_t n = snapshot->start[r + 1] - snapshot->start[r];
        longest = n > longest ? n : longest;
    }
    struct column *order = malloc((longest + 1) * sizeof *order);
    char *cells = malloc((longest + 1) * table->cell);
    if (order && cells)
        for (uint64_t r = 0; r < table->spec.rows; r++)
            sort_row(snapshot, r, order, cells);
    bool sorted = order && cells;
    free(order);
    free(cells);
    return sorted ? STRADS_OK
                  : strads_fail(STRADS_ENOMEM,
                                "no memory to sort rows of %" PRIu64 " columns",
                                longest);
}

/* ---- public ------------------------------------------------------------ */

strads_err strads_store_snapshot(const strads_store *store, uint32_t table,
                                 strads_snapshot **out)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    if (err)
        return err;
    strads_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot)
        return strads_fail(STRADS_ENOMEM, "no memory for a snapshot");
    snapshot->table = found;
    err = copy_table(snapshot, found);
    if (!err && snapshot->cols)
        err = sort_rows(snapshot);
    if (err)
        goto fail;
    *out = snapshot;
    return STRADS_OK;
fail:
    strads_snapshot_free(snapshot);
    return err;
}

void strads_snapshot_free(strads_snapshot *snapshot)
{
    if (!snapshot)
        return;
    void *memory = snapshot->start ? (void *)snapshot->start : snapshot->cells;
    sti_budget_free(snapshot->table->budget, memory, snapshot->bytes);
    free(snapshot);
}

uint64_t strads_snapshot_version(const strads_snapshot *snapshot)
{
    return snapshot->version;
}

strads_err strads_snapshot_row(const strads_snapshot *snapshot, uint64_t row,
                               uint32_t *n, const uint32_t **cols,
                               const void **values)
{
    const sti_table *table = snapshot->table;
    strads_err err = sti_spec_check_row(&table->spec, row);
    if (err)
        return err;
    uint64_t first = row * table->spec.cols;
    *n = table->spec.cols;
    *cols = NULL;
    if (snapshot->start) {
        first = snapshot->start[row];
        *n = (uint32_t)(snapshot->start[row + 1] - first);
        *cols = snapshot->cols + first;
    }
    *values = snapshot->cells + first * table->cell;
    return STRADS_OK;
}
