/* engine/store/recent_rows.h - rows that a worker has read in its clock, to be
 * read again without asking what stands behind its session: no lock, no search.
 *
 * What stands behind counts the changes of what it would answer. A row is kept
 * together with that count, as it was before the row was read, and is used only
 * while nothing has been counted since, nothing was added to it here, and the
 * same is asked for: then the answer would be these bytes again. So nothing
 * that is promised of a read depends on whether it is answered here. Belongs to
 * one thread; others do the counting. */
#ifndef STI_STORE_RECENT_ROWS_H
#define STI_STORE_RECENT_ROWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Wider rows are not kept: to copy them takes longer than to ask. */
enum { STI_RECENT_ROWS = 64, STI_RECENT_BYTES = 256 };

typedef _Atomic uint64_t sti_change_count;

/* What was asked for. */
typedef struct sti_recent_key {
    uint64_t row, clock;
    uint32_t table, staleness; /* as the caller says it */
} sti_recent_key;

typedef struct sti_recent_row {
    sti_recent_key key;
    const sti_change_count *changes; /* NULL: its values are not kept */
    uint64_t before;                 /* what it was when the row was read */
} sti_recent_row;

/* Zeroed: empty. Each row has one place, which the last one read has; its
 * values are kept when it is read again: rows that are read once cost nothing.
 */
typedef struct sti_recent_rows {
    sti_recent_row at[STI_RECENT_ROWS];
    char values[STI_RECENT_ROWS][STI_RECENT_BYTES];
} sti_recent_rows;

static inline uint32_t sti_recent_place(uint32_t table, uint64_t row)
{
    return (uint32_t)(row + 7 * table) % STI_RECENT_ROWS;
}

/* The row's values; NULL: what stands behind is to be asked. */
static inline const void *sti_recent_find(const sti_recent_rows *recent,
                                          sti_recent_key key)
{
    const uint32_t place = sti_recent_place(key.table, key.row);
    const sti_recent_row *at = &recent->at[place];
    const bool same =
        at->changes && at->key.row == key.row && at->key.table == key.table &&
        at->key.clock == key.clock && at->key.staleness == key.staleness;
    return same && atomic_load_explicit(at->changes, memory_order_acquire) ==
                       at->before
               ? recent->values[place]
               : NULL;
}

/* A row is about to be read. True: it has its place, and its values are to be
 * kept; else it takes the place. */
static inline bool sti_recent_claim(sti_recent_rows *recent, sti_recent_key key)
{
    sti_recent_row *at = &recent->at[sti_recent_place(key.table, key.row)];
    const bool again = at->key.row == key.row && at->key.table == key.table;
    at->key = key;
    at->changes = NULL;
    return again;
}

/* It was read, and no more than `before` had been counted until then. */
static inline void sti_recent_keep(sti_recent_rows *recent, sti_recent_key key,
                                   const sti_change_count *changes,
                                   uint64_t before, const void *values,
                                   size_t bytes)
{
    const uint32_t place = sti_recent_place(key.table, key.row);
    recent->at[place].changes = changes;
    recent->at[place].before = before;
    memcpy(recent->values[place], values, bytes);
}

/* Something is added to a row here. */
static inline void sti_recent_forget(sti_recent_rows *recent, uint32_t table,
                                     uint64_t row)
{
    sti_recent_row *at = &recent->at[sti_recent_place(table, row)];
    if (at->key.row == row && at->key.table == table) {
        at->key.row = UINT64_MAX; /* of no table */
        at->changes = NULL;
    }
}

#endif
