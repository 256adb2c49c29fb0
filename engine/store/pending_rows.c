/* A worker's increments between two clocks. Invariants: each row is in `rows`
 * at most once; an empty buffer keeps its memory for the next clock; sparse
 * rows beyond n are empty, dense ones anything: the first increment of a row is
 * its value, so that nothing has to be cleared. Rows that are lent are never
 * written to: before anything is added they are copied. */
#include "engine/store/pending_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/number_cells.h"
#include "engine/store/place_index.h"
#include "engine/store/push.h"

enum { FIRST_ROOM = 4, MOST_ROOM = 1 << 30, LINE = 64 };

/* Fewer bytes are copied as fast, and make no use of a block of their own. */
enum { LEND_BYTES = 32768 };

void sti_pending_init(sti_pending *pending, const strads_table_spec *spec)
{
    size_t cell = sti_cell_size(spec->type);
    *pending = (sti_pending){.spec = spec,
                             .cell = cell,
                             .row_bytes = cell * spec->cols,
                             .lend_bytes = LEND_BYTES};
    pending->unbounded.limit = UINT64_MAX;
}

static void free_sparse_rows(sti_pending *pending)
{
    for (uint32_t i = 0; pending->sparse && i < pending->n; i++)
        sti_sparse_row_free(&pending->sparse[i], pending->cell,
                            &pending->unbounded);
}

void sti_pending_free(sti_pending *pending)
{
    free_sparse_rows(pending);
    free(pending->rows);
    free(pending->slots);
    sti_object_drop(pending->block);
    free(pending->sparse);
}

static uint32_t find(const sti_pending *pending, uint32_t row)
{
    if (pending->n == 0)
        return STI_NO_PLACE;
    return sti_index_find(pending->slots, 2 * pending->room, pending->rows,
                          row);
}

/* A push's mark has no rows: its head is all of it. */
size_t sti_pending_head_room(const sti_pending *pending)
{
    size_t bytes = sti_push_head_bytes(pending->room) + sti_push_head_bytes(0);
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Nothing is in it yet. Its end is rounded up to 8. */
static strads_err new_block(sti_pending *pending)
{
    const size_t head = sti_pending_head_room(pending);
    const size_t cells = pending->room * pending->row_bytes;
    return sti_buffer_new(head + cells + 8, &pending->block);
}

/* Where rows of its own lie in the block. */
static char *own_cells(const sti_pending *pending)
{
    return pending->block
               ? (char *)pending->block->bytes + sti_pending_head_room(pending)
               : NULL;
}

static strads_err no_memory(const sti_pending *pending, size_t rows)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory to keep increments of %zu rows of table "
                       "\"%s\": flush more often",
                       rows, pending->spec->name);
}

/* Larger arrays with the same content; all of them, or none. A block that has
 * none is made when it is wanted. */
static strads_err grow(sti_pending *pending)
{
    const bool sparse = pending->spec->sparse, dense = !sparse && pending->n;
    size_t room = pending->room ? 2 * (size_t)pending->room : FIRST_ROOM;
    sti_pending more = *pending;
    more.room = (uint32_t)room;
    more.rows = malloc(room * sizeof *more.rows);
    more.slots = calloc(2 * room, sizeof *more.slots);
    more.block = NULL;
    more.sparse = sparse ? calloc(room, sizeof *more.sparse) : NULL;
    if (room > MOST_ROOM || room > SIZE_MAX / 2 / pending->row_bytes ||
        !more.rows || !more.slots || (sparse && !more.sparse) ||
        (dense && new_block(&more))) {
        free(more.rows);
        free(more.slots);
        free(more.sparse);
        return no_memory(pending, room);
    }
    for (uint32_t i = 0; i < pending->n; i++) {
        more.rows[i] = pending->rows[i];
        sti_index_put(more.slots, 2 * more.room, more.rows, i);
    }
    more.dense = own_cells(&more);
    if (pending->n && sparse)
        memcpy(more.sparse, pending->sparse, pending->n * sizeof *more.sparse);
    else if (dense)
        memcpy(more.dense, pending->dense, pending->n * pending->row_bytes);
    free(pending->rows);
    free(pending->slots);
    sti_object_drop(pending->block);
    free(pending->sparse);
    *pending = more;
    return STRADS_OK;
}

strads_err sti_pending_make_room(sti_pending *pending, uint32_t n)
{
    strads_err err = STRADS_OK;
    while (!err && pending->room < n)
        err = grow(pending);
    return err;
}

strads_err sti_pending_make_block(sti_pending *pending, char **cells)
{
    if (!pending->block && new_block(pending))
        return no_memory(pending, pending->room);
    *cells = own_cells(pending);
    return STRADS_OK;
}

/* Where a row's increments are gathered; *first: there were none. */
static strads_err place_row(sti_pending *pending, uint32_t row, uint32_t *place,
                            bool *first)
{
    *place = find(pending, row);
    *first = *place == STI_NO_PLACE;
    if (!*first)
        return STRADS_OK;
    if (pending->n == pending->room) {
        strads_err err = grow(pending);
        if (err)
            return err;
    }
    if (!pending->sparse && !pending->block) {
        strads_err err = sti_pending_make_block(pending, &pending->dense);
        if (err)
            return err;
    }
    if (pending->was_early && row == pending->early_row)
        pending->piece = 0;
    *place = pending->n++;
    pending->rows[*place] = row;
    sti_index_put(pending->slots, 2 * pending->room, pending->rows, *place);
    return STRADS_OK;
}

/* Columns first, so that nothing has changed when there is no room for one. */
static strads_err add_sparse(sti_pending *pending, sti_sparse_row *row,
                             const sti_row_delta *delta)
{
    uint32_t place = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < delta->n; i++) {
            if (!delta->cols &&
                sti_cell_is_zero(pending->spec->type, delta->cells, i))
                continue;
            strads_err err =
                sti_sparse_row_place(row, delta->cols ? delta->cols[i] : i,
                                     pending->cell, &pending->unbounded,
                                     &place);
            if (err)
                return err;
            const char *cell = (const char *)delta->cells + i * pending->cell;
            if (pass == 1)
                sti_cells_add_at(pending->spec->type, row->values, &place, cell,
                                 1);
            place++;
        }
    return STRADS_OK;
}

strads_err sti_pending_add(sti_pending *pending, const sti_row_delta *delta)
{
    strads_scalar type = pending->spec->type;
    uint32_t place;
    bool first;
    strads_err err = pending->lent ? sti_pending_own(pending) : STRADS_OK;
    if (!err)
        err = place_row(pending, delta->row, &place, &first);
    if (err)
        return err;
    if (pending->sparse)
        return add_sparse(pending, &pending->sparse[place], delta);
    pending->added += delta->n * pending->cell;
    char *row = pending->dense + place * pending->row_bytes;
    if (first && delta->cols)
        memset(row, 0, pending->row_bytes);
    if (first && !delta->cols)
        memcpy(row, delta->cells, pending->row_bytes);
    else if (delta->cols)
        sti_cells_add_at(type, row, delta->cols, delta->cells, delta->n);
    else
        sti_cells_add(type, row, delta->cells, delta->n);
    return STRADS_OK;
}

bool sti_pending_may_leave(const sti_pending *pending, uint32_t row)
{
    const uint64_t bytes = pending->n * pending->row_bytes;
    return bytes >= pending->piece && pending->added >= bytes &&
           find(pending, row) == STI_NO_PLACE;
}

void sti_pending_tried(sti_pending *pending)
{
    pending->next_early = pending->added + pending->piece;
}

void sti_pending_clock(sti_pending *pending)
{
    pending->was_early = false;
}

void sti_pending_apply(const sti_pending *pending, uint32_t row, void *out)
{
    const strads_table_spec *spec = pending->spec;
    uint32_t place = find(pending, row);
    if (place == STI_NO_PLACE)
        return;
    if (pending->sparse)
        sti_cells_add_at(spec->type, out, pending->sparse[place].cols,
                         pending->sparse[place].values,
                         pending->sparse[place].n);
    else
        sti_cells_add(spec->type, out,
                      pending->dense + place * pending->row_bytes, spec->cols);
}

/* Who made a push around the block has it. */
static void forget_all(sti_pending *pending)
{
    free_sparse_rows(pending);
    memset(pending->slots, 0, 2 * (size_t)pending->room * sizeof(uint32_t));
    pending->n = 0;
    if (pending->lent) {
        pending->lent = false;
        pending->dense = own_cells(pending);
    }
    if (!pending->block || atomic_load(&pending->block->head.refs) == 1)
        return;
    sti_object_drop(pending->block);
    pending->block = NULL;
    pending->dense = NULL;
}

static strads_err commit_sparse(const sti_pending *pending, sti_table *table)
{
    sti_row_delta *deltas = malloc(pending->n * sizeof *deltas);
    if (!deltas)
        return strads_fail(STRADS_ENOMEM,
                           "no memory to commit %" PRIu32 " rows of table "
                           "\"%s\"",
                           pending->n, pending->spec->name);
    for (uint32_t i = 0; i < pending->n; i++)
        deltas[i] = (sti_row_delta){.row = pending->rows[i],
                                    .n = pending->sparse[i].n,
                                    .cols = pending->sparse[i].cols,
                                    .cells = pending->sparse[i].values};
    strads_err err = sti_table_add(table, pending->n, deltas, NULL);
    free(deltas);
    return err;
}

strads_err sti_pending_add_to(const sti_pending *pending, sti_table *table)
{
    return pending->sparse ? commit_sparse(pending, table)
                           : sti_table_inc(table, pending->n, pending->rows,
                                           pending->dense, NULL);
}

strads_err sti_pending_commit(sti_pending *pending, sti_table *table)
{
    if (pending->n == 0)
        return STRADS_OK;
    strads_err err = sti_pending_add_to(pending, table);
    if (err)
        return err;
    forget_all(pending);
    pending->added = 0;
    return STRADS_OK;
}

/* Row `from` comes to `to`, whose own is gone. */
static void move_row(sti_pending *pending, uint32_t to, uint32_t from)
{
    size_t bytes = pending->row_bytes;
    pending->rows[to] = pending->rows[from];
    if (pending->sparse)
        pending->sparse[to] = pending->sparse[from];
    else
        memcpy(pending->dense + to * bytes, pending->dense + from * bytes,
               bytes);
}

/* The last n rows. Taken out of the index from behind, none of them is on the
 * way to another one's slot. */
static void forget_last(sti_pending *pending, uint32_t n)
{
    for (; n > 0; n--) {
        uint32_t i = --pending->n;
        sti_index_remove_last(pending->slots, 2 * pending->room, pending->rows,
                              i);
        if (pending->sparse) {
            sti_sparse_row_free(&pending->sparse[i], pending->cell,
                                &pending->unbounded);
            pending->sparse[i] = (sti_sparse_row){0};
        }
    }
}

void sti_pending_forget(sti_pending *pending, uint32_t n,
                        const uint32_t *places)
{
    uint32_t kept = 0, next = 0, before = pending->n;
    if (n == 0)
        return;
    const uint64_t bytes = n * pending->row_bytes;
    pending->added -= bytes < pending->added ? bytes : pending->added;
    pending->next_early = pending->added + pending->piece;
    if (n == before) {
        forget_all(pending);
        return;
    }
    if (places[0] == before - n) {
        forget_last(pending, n);
        return;
    }
    for (uint32_t i = 0; i < before; i++) {
        if (next < n && places[next] == i) {
            next++;
            if (pending->sparse)
                sti_sparse_row_free(&pending->sparse[i], pending->cell,
                                    &pending->unbounded);
        } else {
            if (kept < i)
                move_row(pending, kept, i);
            kept++;
        }
    }
    pending->n = kept;
    if (pending->sparse)
        memset(pending->sparse + kept, 0,
               (before - kept) * sizeof *pending->sparse);
    memset(pending->slots, 0, 2 * (size_t)pending->room * sizeof(uint32_t));
    for (uint32_t i = 0; i < kept; i++)
        sti_index_put(pending->slots, 2 * pending->room, pending->rows, i);
}
