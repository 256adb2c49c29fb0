/* Exact snapshots of clocks k, 2k, ... of a table. The image of clock T is
 * begun as a copy of the rows, just before the first update of clock T or later
 * is added to these; from then on it takes what is of clocks below T. It is
 * complete once every worker's clock is T, and kept until the next one is: a
 * worker that is at a clock below T + k can have it.
 *
 * Invariant: while no update of clock T or later has come, the rows themselves
 * are the image of T. A worker that is more than STI_IMAGES_MAX snapshots
 * ahead of the last one finds no room: that snapshot is lost, and no other. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/store/kept_inside.h"

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

/* In a checkpoint an image is a table among the others, so it has a name of its
 * own there: one that no program gives. */
static strads_err begin(sti_kept *kept, sti_kept_table *table, sti_image *image,
                        uint64_t clock)
{
    const sti_table *from = table->rows;
    char name[STI_TABLE_NAME];
    (void)snprintf(name, sizeof name, "\x01%td at %" PRIu64,
                   table - kept->table, clock);
    strads_table_spec spec = from->spec;
    spec.name = name;
    strads_err err = sti_table_open(&spec, &kept->store->budget, &image->table);
    if (err)
        return err;
    image->clock = clock;
    if (from->spec.sparse)
        return copy_sparse(from, image->table);
    memcpy(image->table->dense, from->dense, from->spec.rows * from->row_bytes);
    return STRADS_OK;
}

static sti_image *find(sti_kept_table *table, uint64_t clock)
{
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        if (table->image[k].clock == clock)
            return &table->image[k];
    return NULL;
}

strads_err sti_images_before(sti_kept *kept, sti_kept_table *table,
                             uint64_t clock)
{
    uint64_t every = table->spec.snapshot_every;
    if (kept->clock == STI_CLOCK_GONE)
        return STRADS_OK;
    uint64_t due = kept->clock / every * every;
    if (due <= table->lost)
        due = (table->lost / every + 1) * every;
    strads_err err = STRADS_OK;
    for (uint64_t at = due ? due : every; !err && at <= clock; at += every) {
        if (find(table, at))
            continue;
        sti_image *room = find(table, 0);
        if (!room) {
            table->lost = clock / every * every;
            break;
        }
        err = begin(kept, table, room, at);
    }
    return err;
}

static void drop(sti_image *image)
{
    sti_table_free(image->table);
    *image = (sti_image){0};
}

bool sti_images_clock(sti_kept_table *table, uint64_t before, uint64_t clock)
{
    uint64_t every = table->spec.snapshot_every;
    if (!every || before / every == clock / every)
        return false;
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        if (table->image[k].clock < clock / every * every)
            drop(&table->image[k]);
    return true;
}

void sti_images_free(sti_kept_table *table)
{
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        drop(&table->image[k]);
}
