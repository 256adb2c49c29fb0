/* engine/store/cells.h - the parts of tables: cells, which are numbers of one
 * of four types; memory counted against a budget; sparse rows, which hold only
 * the columns that were added to.
 *
 * Floating point adds as IEEE 754 does. Infinities and NaN pass through,
 * because a store cannot know whether they are a mistake. Integers wrap around
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

/* Packs n cells of F64 or F32 into 8 bits each: a step, an f64, and then for
 * each cell a multiple of it from -127 to 127, in sti_packed_bytes(n) bytes at
 * a multiple of 8. The step is 1/127 of the largest |cell|, or NaN if a cell is
 * not finite. */
static inline size_t sti_packed_bytes(size_t n)
{
    return sizeof(double) + (n + 7) / 8 * 8;
}
void sti_cells_pack(strads_scalar type, const void *cells, size_t n, void *out);
void sti_cells_add_packed(strads_scalar type, void *into, const void *packed,
                          size_t n);
/* The rounding error of a packing: out[n] = cells - packed; 0 if that is
 * NaN. */
void sti_cells_error(strads_scalar type, const void *cells, const void *packed,
                     size_t n, void *out);

/* into[place[i]] += from[i], in order; places may repeat. */
void sti_cells_add_at(strads_scalar type, void *into, const uint32_t *place,
                      const void *from, size_t n);

/* Whether cell i of an array is 0. */
bool sti_cell_is_zero(strads_scalar type, const void *cells, size_t i);

/* Writes `number` as one cell. STRADS_EINVAL: the type is an integer and the
 * number is not whole or out of range. */
strads_err sti_cell_from(strads_scalar type, double number, void *cell);

/* ---- memory -------------------------------------------------------------- */

/* The bytes that a store's tables may use, and do use. */
typedef struct sti_budget {
    uint64_t limit;
    _Atomic uint64_t used; /* never above limit */
} sti_budget;

/* Allocates zeroed memory of `bytes` (0 counts as 1) and counts it first.
 * STRADS_ENOMEM: the sentence names `what` and the numbers. Any thread. */
strads_err sti_budget_alloc(sti_budget *budget, uint64_t bytes,
                            const char *what, void **out);

/* Frees memory that sti_budget_alloc made with the same `bytes`. NULL is
 * allowed. */
void sti_budget_free(sti_budget *budget, void *memory, uint64_t bytes);

/* ---- place index --------------------------------------------------------- */

/* A hash table beside an array of distinct ids. It holds places; the array
 * holds the ids, in the order in which they were added. */
#define STI_NO_PLACE UINT32_MAX

/* Returns the place of an id, or STI_NO_PLACE. `slots` has `size` entries, a
 * power of two above the number of ids; 0 is free, otherwise place + 1. All
 * entries start at 0. */
uint32_t sti_index_find(const uint32_t *slots, uint32_t size,
                        const uint32_t *ids, uint32_t id);

/* Adds ids[place], which must not be in the index. */
void sti_index_put(uint32_t *slots, uint32_t size, const uint32_t *ids,
                   uint32_t place);

/* Removes ids[place], which must be the id that was added last. */
void sti_index_remove_last(uint32_t *slots, uint32_t size, const uint32_t *ids,
                           uint32_t place);

/* ---- sparse rows --------------------------------------------------------- */

/* A sparse row; zeroed it is empty. Column cols[i] has cell i of `values`, in
 * the order in which columns were added. One allocation, which starts at
 * `values`. */
typedef struct sti_sparse_row {
    uint32_t n, capacity; /* capacity: 0 or a power of two */
    void *values;         /* [capacity] cells */
    uint32_t *cols;       /* [capacity] */
    uint32_t *slots;      /* [2 capacity] place index; NULL in short rows */
} sti_sparse_row;

/* The place of column col, or STI_NO_PLACE. `guess` is tried first: a caller
 * that adds columns in the same order as before finds each after the last
 * one. */
uint32_t sti_sparse_row_find(const sti_sparse_row *row, uint32_t col,
                             uint32_t guess);

/* The same, but adds a missing column with value 0. *place: the guess, then the
 * place. After STRADS_ENOMEM the row is unchanged. */
strads_err sti_sparse_row_place(sti_sparse_row *row, uint32_t col,
                                size_t cell_size, sti_budget *budget,
                                uint32_t *place);

/* Copies a row into an empty one. STRADS_ENOMEM. */
strads_err sti_sparse_row_copy(const sti_sparse_row *row, size_t cell_size,
                               sti_budget *budget, sti_sparse_row *out);

void sti_sparse_row_free(sti_sparse_row *row, size_t cell_size,
                         sti_budget *budget);

#endif
