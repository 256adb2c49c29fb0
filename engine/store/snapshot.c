/* Copies of a table.
 *
 * Exact snapshots exist for clocks k, 2k, ... of a table. The image of clock T
 * starts as a copy of the rows, just before the first update of clock T or
 * later is added to them. From then on it receives the updates of clocks below
 * T. It is complete once every worker's clock is T. It is kept until the next
 * image is complete: workers at clocks below T + k read it.
 *
 * Invariant: until an update of clock T or later arrives, the rows themselves
 * are the image of T. If a worker runs more than STI_IMAGES_MAX snapshots ahead
 * of the slowest one, there is no space for its image: that snapshot is lost,
 * the others are kept.
 *
 * A strads_snapshot is copied while all stripes are held, so it holds exactly
 * the commits up to its version, each of them complete. */
#include "engine/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/local_store.h"

/* ---- exact snapshots ----------------------------------------------------- */

/* Copies the rows; the caller guarantees that no commit runs meanwhile. */
static strads_err copy_table(const sti_table *from, const char *name,
                             sti_table **out)
{
    strads_table_spec spec = from->spec;
    spec.name = name;
    strads_err err = sti_table_open(&spec, from->budget, out);
    if (err)
        return err;
    if (from->dense)
        memcpy((*out)->dense, from->dense, from->spec.rows * from->row_bytes);
    for (uint64_t r = 0; from->sparse && !err && r < from->spec.rows; r++)
        err = sti_sparse_row_copy(&from->sparse[r], from->cell, from->budget,
                                  &(*out)->sparse[r]);
    if (err) {
        sti_table_free(*out);
        *out = NULL;
    }
    return err;
}

static strads_err begin_image(sti_image *image, const sti_table *from,
                              const char *name, uint64_t clock)
{
    char full[STI_TABLE_NAME];
    (void)snprintf(full, sizeof full, "%s at %" PRIu64, name, clock);
    strads_err err = copy_table(from, full, &image->table);
    if (!err)
        image->clock = clock;
    return err;
}

/* The image of that clock; for clock 0, an unused one. */
static sti_image *find_image(sti_images *images, uint64_t clock)
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
        if (find_image(images, at))
            continue;
        sti_image *image = find_image(images, 0);
        if (!image) {
            images->lost = clock / every * every;
            break;
        }
        err = begin_image(image, rows, name, at);
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

static void drop_image(sti_image *image)
{
    sti_table_free(image->table);
    *image = (sti_image){0};
}

void sti_images_drop(sti_images *images, uint64_t least)
{
    uint64_t every = images->every;
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock < least / every * every)
            drop_image(&images->image[k]);
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
        drop_image(&images->image[k]);
    images->lost = 0;
}

/* ---- immutable copies ---------------------------------------------------- */

struct strads_snapshot {
    sti_table *table;
    uint64_t version;
};

/* ---- columns in ascending order ---------------------------------------- */

/* A column and the old place of its cell. */
struct column {
    uint32_t col, place;
};

static int by_col(const void *a, const void *b)
{
    uint32_t x = ((const struct column *)a)->col;
    uint32_t y = ((const struct column *)b)->col;
    return (x > y) - (x < y);
}

/* Sorts a row by columns. It drops the index, because a snapshot's columns are
 * never searched. */
static void sort_row(sti_sparse_row *row, size_t cell, struct column *order,
                     char *cells)
{
    char *values = row->values;
    for (uint32_t i = 0; i < row->n; i++)
        order[i] = (struct column){.col = row->cols[i], .place = i};
    qsort(order, row->n, sizeof *order, by_col);
    memcpy(cells, values, row->n * cell);
    for (uint32_t i = 0; i < row->n; i++) {
        row->cols[i] = order[i].col;
        memcpy(values + i * cell, cells + order[i].place * cell, cell);
    }
    row->slots = NULL;
}

static strads_err sort_rows(sti_table *table)
{
    size_t longest = 0;
    for (uint64_t r = 0; r < table->spec.rows; r++)
        longest = table->sparse[r].n > longest ? table->sparse[r].n : longest;
    struct column *order = malloc((longest + 1) * sizeof *order);
    char *cells = malloc((longest + 1) * table->cell);
    const bool enough = order && cells;
    for (uint64_t r = 0; enough && r < table->spec.rows; r++)
        if (table->sparse[r].n)
            sort_row(&table->sparse[r], table->cell, order, cells);
    free(order);
    free(cells);
    return enough
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory to sort rows of %zu columns", longest);
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
    sti_stripes_take(&found->stripes, STI_STRIPES_ALL);
    snapshot->version = atomic_load(&found->version);
    err = copy_table(found, found->name, &snapshot->table);
    sti_stripes_drop(&found->stripes, STI_STRIPES_ALL);
    /* after the locks, so commits do not wait for it */
    if (!err && found->sparse)
        err = sort_rows(snapshot->table);
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
    sti_table_free(snapshot->table);
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
    const sti_row_delta found = sti_table_row(table, (uint32_t)row);
    *n = found.n;
    *cols = found.cols;
    *values = found.cells;
    return STRADS_OK;
}
