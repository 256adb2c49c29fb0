/* Exact snapshots of clocks k, 2k, ... of a table. The image of clock T is
 * begun as a copy of the rows, just before the first update of clock T or later
 * is added to these; from then on it takes what is of clocks below T. It is
 * complete once every worker's clock is T, and kept until the next one is: a
 * worker that is at a clock below T + k can have it.
 *
 * Invariant: while no update of clock T or later has come, the rows themselves
 * are the image of T. A worker that is more than STI_IMAGES_MAX snapshots
 * ahead of the last one finds no room: that snapshot is lost, and no other. */
#include "engine/store/exact_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        sti_image *room = find(images, 0);
        if (!room) {
            images->lost = clock / every * every;
            break;
        }
        err = begin(room, rows, name, at);
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
