/* Columns of a row in the order of their coming, with a place index once there
 * are more than a cache line or two of them. Rows only grow: a column whose
 * value came back to 0 keeps its place. */
#include "engine/store/sparse_row.h"

#include <string.h>

#include "engine/store/place_index.h"

enum { FIRST_ROOM = 4, SCANNED_ROOM = 16 };

/* Beyond it the place index would need more than 32 bits. */
static const uint32_t most_room = UINT32_C(1) << 30;

uint32_t sti_sparse_row_find(const sti_sparse_row *row, uint32_t col,
                             uint32_t guess)
{
    if (guess < row->n && row->cols[guess] == col)
        return guess;
    if (row->slots)
        return sti_index_find(row->slots, 2 * row->room, row->cols, col);
    for (uint32_t i = 0; i < row->n; i++)
        if (row->cols[i] == col)
            return i;
    return STI_NO_PLACE;
}

static uint64_t bytes_of(uint32_t room, size_t cell_size)
{
    uint64_t slots = room > SCANNED_ROOM ? 2 : 0;
    return room * (cell_size + (1 + slots) * sizeof(uint32_t));
}

static strads_err grow(sti_sparse_row *row, size_t cell_size,
                       sti_budget *budget)
{
    sti_sparse_row more = {.n = row->n,
                           .room = row->room ? 2 * row->room : FIRST_ROOM};
    if (row->room == most_room)
        return strads_fail(STRADS_ELIMIT,
                           "a sparse row cannot hold more than %u columns",
                           most_room);
    strads_err err = sti_budget_alloc(budget, bytes_of(more.room, cell_size),
                                      "a sparse row", &more.values);
    if (err)
        return err;
    more.cols = (uint32_t *)((char *)more.values + more.room * cell_size);
    if (row->n) {
        memcpy(more.values, row->values, row->n * cell_size);
        memcpy(more.cols, row->cols, row->n * sizeof *row->cols);
    }
    if (more.room > SCANNED_ROOM) {
        more.slots = more.cols + more.room;
        for (uint32_t i = 0; i < more.n; i++)
            sti_index_put(more.slots, 2 * more.room, more.cols, i);
    }
    sti_sparse_row_free(row, cell_size, budget);
    *row = more;
    return STRADS_OK;
}

strads_err sti_sparse_row_place(sti_sparse_row *row, uint32_t col,
                                size_t cell_size, sti_budget *budget,
                                uint32_t *place)
{
    uint32_t at = sti_sparse_row_find(row, col, *place);
    if (at == STI_NO_PLACE) {
        strads_err err = STRADS_OK;
        if (row->n == row->room)
            err = grow(row, cell_size, budget);
        if (err)
            return err;
        at = row->n++;
        row->cols[at] = col;
        if (row->slots)
            sti_index_put(row->slots, 2 * row->room, row->cols, at);
    }
    *place = at;
    return STRADS_OK;
}

void sti_sparse_row_free(sti_sparse_row *row, size_t cell_size,
                         sti_budget *budget)
{
    sti_budget_free(budget, row->values, bytes_of(row->room, cell_size));
    *row = (sti_sparse_row){0};
}
