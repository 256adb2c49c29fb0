/* engine/store/sparse_row.h - one row that holds only columns it was given. */
#ifndef STI_STORE_SPARSE_ROW_H
#define STI_STORE_SPARSE_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "engine/store/memory_budget.h"

/* Zeroed: an empty row. Column cols[i] has cell i of `values`, in the order in
 * which columns came. One allocation, which starts at `values`. */
typedef struct sti_sparse_row {
    uint32_t n, room; /* room: 0 or a power of two */
    void *values;     /* [room] cells */
    uint32_t *cols;   /* [room] */
    uint32_t *slots;  /* [2 room] place index; NULL in short rows */
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

void sti_sparse_row_free(sti_sparse_row *row, size_t cell_size,
                         sti_budget *budget);

#endif
