/* engine/store/kept_inside.h - what the files of a shard's state share:
 * kept_rows.c takes in pushes, kept_read.c tells of rows, kept_eager.c knows
 * who holds what. */
#ifndef STI_STORE_KEPT_INSIDE_H
#define STI_STORE_KEPT_INSIDE_H

#include "engine/store/exact_image.h"
#include "engine/store/kept_rows.h"
#include "engine/store/store_inside.h"

typedef struct sti_kept_table {
    strads_table_spec spec; /* of the whole table; the name is the store's */
    sti_table *rows;        /* the shard's; the store's */
    sti_images images;      /* of exact clocks */
    /* Eager tables: */
    uint32_t words;    /* of a row in `holders` */
    uint64_t *holders; /* [rows held x words]: a bit for each stream */
    uint64_t *holds;   /* [streams]: how many rows */
    uint64_t *changed; /* a bit for each row held */
    uint32_t *list;    /* [n_changed] the same as places */
    uint32_t n_changed;
} sti_kept_table;

struct sti_kept {
    uint32_t shard, shards, streams, workers;
    strads_store *store;
    sti_kept_table *table; /* [n_tables], as many as the store has */
    uint32_t n_tables;
    uint64_t *applied; /* [streams] */
    uint64_t *clocks;  /* [workers] */
    uint64_t clock;    /* the least of them */
    uint64_t told;     /* eager rows were sent when the clock was that;
                          STI_CLOCK_GONE: not known */
    uint32_t *places;  /* [room] scratch */
    uint32_t room;
};

/* Table n_tables of the store, which is there, is one of the shard's now. */
strads_err sti_kept_adopt(sti_kept *kept, const strads_table_spec *spec);

/* Forgets all tables, and the store. */
void sti_kept_drop_tables(sti_kept *kept);

/* Are these n rows of the table the shard's? */
bool sti_kept_holds(const sti_kept *kept, uint32_t table, uint32_t n,
                    const uint32_t *rows);

/* STRADS_ENOMEM; STRADS_EPEER: what a node sent does not fit. */
strads_err sti_kept_no_memory(void);
strads_err sti_kept_broken(void);

/* The least clock of those in `clocks`. */
void sti_kept_find_clock(sti_kept *kept);

strads_err sti_eager_open(sti_kept *kept, sti_kept_table *table);
void sti_eager_free(sti_kept *kept, sti_kept_table *table);
void sti_eager_changed(sti_kept_table *table, uint32_t n,
                       const uint32_t *places);
void sti_eager_holds(sti_kept_table *table, uint32_t stream, uint32_t place);

/* Appends rows at places[n] of `from` under their own numbers. */
strads_err sti_kept_put_rows(const sti_kept *kept, uint32_t table,
                             const sti_table *from, uint32_t n,
                             const uint32_t *places, sti_buffer *parts);

#endif
