/* engine/store/cells.h - what tables are made of: cells, that is numbers of one of
 * four types; counted memory; rows that hold only the columns they were given.
 *
 * Floating point adds as IEEE 754 does: infinities and NaN pass through, for a
 * store cannot tell a program's mistake from its intent. Integers wrap around
 * (two's complement). */
#ifndef STI_STORE_CELLS_H
#define STI_STORE_CELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"

/* Bytes of a cell; 0 for an unknown type. */
size_t sti_cell_size(strads_scalar type);

/* into[i] += from[i], i < n. */
void sti_cells_add(strads_scalar type, void *into, const void *from, size_t n);

/* n cells of F64 or F32 in 8 bits each: a step, an f64, and from -127 to 127 of it
 * for each, in sti_packed_bytes(n) bytes at a multiple of 8. The step is a 127th
 * of the largest |cell|, NaN where a cell is no finite number. */
static inline size_t sti_packed_bytes(size_t n)
{
    return sizeof(double) + (n + 7) / 8 * 8;
}
void sti_cells_pack(strads_scalar type, const void *cells, size_t n, void *out);
void sti_cells_add_packed(strads_scalar type, void *into, const void *packed,
                          size_t n);
/* What packing left over: out[n] = cells less packed; 0 where those are NaN. */
void sti_cells_error(strads_scalar type, const void *cells, const void *packed,
                     size_t n, void *out);

/* into[place[i]] += from[i], in order: places may repeat. */
void sti_cells_add_at(strads_scalar type, void *into, const uint32_t *place,
                      const void *from, size_t n);

/* Is cell i of an array 0? */
bool sti_cell_is_zero(strads_scalar type, const void *cells, size_t i);

/* Writes `number` as one cell. STRADS_EINVAL: an integer type and a number
 * that is not whole or out of range. */
strads_err sti_cell_from(strads_scalar type, double number, void *cell);

/* ---- memory -------------------------------------------------------------- */

/* What a store's tables may take, and take. */
typedef struct sti_budget {
    uint64_t limit;
    _Atomic uint64_t used; /* never above limit */
} sti_budget;

/* Zeroed memory of `bytes` (0 counts as 1), counted before it is allocated.
 * STRADS_ENOMEM: the sentence names `what` and the numbers. Any thread. */
strads_err sti_budget_alloc(sti_budget *budget, uint64_t bytes,
                            const char *what, void **out);

/* Gives back what sti_budget_alloc made with the same `bytes`. NULL is fine. */
void sti_budget_free(sti_budget *budget, void *memory, uint64_t bytes);

/* ---- an index of places -------------------------------------------------- */

/* A hash table beside an array of distinct ids: it holds places, the array holds
 * the ids, in the order in which they came. */
#define STI_NO_PLACE UINT32_MAX

/* `slots` has `size` entries, a power of two, more than there are ids; 0: free,
 * else place + 1. All 0 at first. */
uint32_t sti_index_find(const uint32_t *slots, uint32_t size,
                        const uint32_t *ids, uint32_t id);

/* Notes that ids[place] is there; it was not before. */
void sti_index_put(uint32_t *slots, uint32_t size, const uint32_t *ids,
                   uint32_t place);

/* Forgets ids[place], of all that are there the one that was put in last. */
void sti_index_remove_last(uint32_t *slots, uint32_t size, const uint32_t *ids,
                           uint32_t place);

/* ---- sparse rows --------------------------------------------------------- */

/* Zeroed: an empty row. Column cols[i] has cell i of `values`, in the order in
 * which columns came. One allocation, which starts at `values`. */
typedef struct sti_sparse_row {
    uint32_t n, capacity; /* room: 0 or a power of two */
    void *values;         /* [capacity] cells */
    uint32_t *cols;       /* [capacity] */
    uint32_t *slots;      /* [2 room] place index; NULL in short rows */
} sti_sparse_row;

/* Where column col is, or STI_NO_PLACE. It is looked for at `guess` first: who
 * adds columns in the same order as before finds each behind the last one. */
uint32_t sti_sparse_row_find(const sti_sparse_row *row, uint32_t col,
                             uint32_t guess);

/* The same, added with value 0 when it was not there; *place: the guess, then
 * the place. STRADS_ENOMEM leaves the row as it was. */
strads_err sti_sparse_row_place(sti_sparse_row *row, uint32_t col,
                                size_t cell_size, sti_budget *budget,
                                uint32_t *place);

/* A row like it, into an empty one. STRADS_ENOMEM. */
strads_err sti_sparse_row_copy(const sti_sparse_row *row, size_t cell_size,
                               sti_budget *budget, sti_sparse_row *out);

void sti_sparse_row_free(sti_sparse_row *row, size_t cell_size,
                         sti_budget *budget);

#endif
