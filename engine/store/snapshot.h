/* engine/store/snapshot.h - the table as of a clock: a copy that contains every
 * update of the clocks below. The copy starts before the first update of that
 * clock or a later one arrives. Until the clocks below have ended, it also
 * receives their updates. (strads_snapshot in strads/store.h copies a table at
 * one version, at any moment.) */
#ifndef STI_STORE_SNAPSHOT_H
#define STI_STORE_SNAPSHOT_H

#include "engine/store/table.h"

/* The maximal number of started, unfinished images of one table. */
enum { STI_IMAGES_MAX = 4 };

typedef struct sti_image {
    uint64_t clock;   /* 0: unused */
    sti_table *table; /* exactly the updates below `clock` that have arrived */
} sti_image;

typedef struct sti_images {
    uint64_t every; /* k: a table keeps images of clocks k, 2k, ...; not 0 */
    sti_image image[STI_IMAGES_MAX];
    uint64_t lost; /* images up to this clock were not started in time */
} sti_images;

/* Call it before an update of `clock` is added to `rows`, with the least clock
 * of all workers. Starts the images that must exclude this update. An image
 * without memory is lost; the others are kept. `name` names an image in
 * messages, before its clock. STRADS_ENOMEM. */
strads_err sti_images_begin(sti_images *images, const sti_table *rows,
                            const char *name, uint64_t least, uint64_t clock);

/* The table as of `clock`: an image, or the rows themselves if no update of
 * that clock or a later one has arrived. NULL: it was not kept. */
sti_table *sti_images_at(const sti_images *images, sti_table *rows,
                         uint64_t clock);

/* Memory ran out while an update of `clock` was added to images: the started
 * images are incomplete and are marked lost. */
void sti_images_lose(sti_images *images, uint64_t clock);

/* Drops the images that no worker can request any more if `least` is the least
 * clock of all workers. sti_images_free drops all. */
void sti_images_drop(sti_images *images, uint64_t least);
void sti_images_free(sti_images *images);

#endif
