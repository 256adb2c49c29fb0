/* engine/store/snapshot.h - what a table holds of all clocks below one: a
 * copy of its rows, begun before the first update of that clock or later comes,
 * that takes what is of clocks below it until these have ended. (Copies at one
 * version, of any moment, are strads_snapshot in strads/store.h.) */
#ifndef STI_STORE_SNAPSHOT_H
#define STI_STORE_SNAPSHOT_H

#include "engine/store/table.h"

/* Images of one table that may be begun and not complete. */
enum { STI_IMAGES_MAX = 4 };

typedef struct sti_image {
    uint64_t clock;   /* 0: not in use */
    sti_table *table; /* every update below `clock` so far, and no other */
} sti_image;

typedef struct sti_images {
    uint64_t every; /* k: a table keeps those of clocks k, 2k, ...; not 0 */
    sti_image image[STI_IMAGES_MAX];
    uint64_t lost; /* images up to this clock were not begun in time */
} sti_images;

/* Before an update of `clock` is added to `rows`, while the least clock of all
 * workers is `least`: begins the images that must not have it. Where there is
 * no room for one it is lost, and no other. `name` is what an image is called,
 * before its clock. STRADS_ENOMEM. */
strads_err sti_images_begin(sti_images *images, const sti_table *rows,
                            const char *name, uint64_t least, uint64_t clock);

/* The table that is as of `clock`: an image, or the rows themselves while
 * nothing of that clock or later has come; NULL: it was not kept. */
sti_table *sti_images_at(const sti_images *images, sti_table *rows,
                         uint64_t clock);

/* Memory ran out while an update of `clock` was put aside: what has begun is
 * not whole, and lost. */
void sti_images_lose(sti_images *images, uint64_t clock);

/* Drops those of clocks that no worker can ask for any more, when the least of
 * all is `least`; sti_images_free: all. */
void sti_images_drop(sti_images *images, uint64_t least);
void sti_images_free(sti_images *images);

#endif
