/* Invariants: each row is in `rows` at most once. An empty buffer keeps its
 * memory for the next clock. Sparse rows beyond n are empty. Dense rows beyond
 * n are undefined: the first increment of a row overwrites it, so rows are
 * never cleared. A block that a push refers to is immutable. */
#include "engine/store/pending.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/message.h"

enum { FIRST_PENDING = 4, MOST_PENDING = 1 << 30, LINE = 64 };

/* Copying fewer bytes is as fast, and would waste a block of their own. */
enum { AROUND_BYTES = 32768 };

void sti_pending_init(sti_pending *pending, const strads_table_spec *spec,
                      uint32_t table, uint32_t shards)
{
    size_t cell = sti_cell_size(spec->type);
    *pending = (sti_pending){.spec = spec,
                             .table = table,
                             .shards = shards,
                             .cell = cell,
                             .row_bytes = cell * spec->cols,
                             .around_bytes = AROUND_BYTES};
    pending->unbounded.limit = UINT64_MAX;
}

static void free_errors(sti_pending *pending)
{
    if (pending->errors)
        sti_pending_free(pending->errors);
    free(pending->errors);
    pending->errors = NULL;
}

void sti_pending_free(sti_pending *pending)
{
    for (uint32_t i = 0; pending->sparse && i < pending->n; i++)
        sti_sparse_row_free(&pending->sparse[i], pending->cell,
                            &pending->unbounded);
    free(pending->rows);
    free(pending->slots);
    sti_object_drop(pending->block);
    free(pending->sparse);
    free(pending->packed);
    free_errors(pending);
}

/* ---- adding ------------------------------------------------------------ */

static uint32_t find_row(const sti_pending *pending, uint32_t row)
{
    if (pending->n == 0)
        return STI_NO_PLACE;
    return sti_index_find(pending->slots, 2 * pending->capacity, pending->rows,
                          row);
}

/* Space before the cells in a block: the head of a push of all rows, and a
 * mark, which has no rows. */
static size_t head_capacity(const sti_pending *pending)
{
    size_t bytes =
        sti_push_head_bytes(pending->capacity) + sti_push_head_bytes(0);
    return (bytes + LINE - 1) / LINE * LINE;
}

static strads_err no_pending_memory(const sti_pending *pending, size_t rows)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory to keep increments of %zu rows of table "
                       "\"%s\": flush more often",
                       rows, pending->spec->name);
}

/* Makes an empty block. The 8 more bytes round its end up. */
static strads_err make_block(sti_pending *pending)
{
    const size_t head = head_capacity(pending);
    const size_t cells = pending->capacity * pending->row_bytes;
    if (sti_buffer_new(head + cells + 8, &pending->block))
        return no_pending_memory(pending, pending->capacity);
    pending->dense = (char *)pending->block->bytes + head;
    return STRADS_OK;
}

/* Doubles all arrays and keeps their content. On failure nothing has
 * changed. */
static strads_err grow_pending(sti_pending *pending)
{
    const bool sparse = pending->spec->sparse;
    size_t capacity =
        pending->capacity ? 2 * (size_t)pending->capacity : FIRST_PENDING;
    sti_pending more = *pending;
    more.capacity = (uint32_t)capacity;
    more.rows = malloc(capacity * sizeof *more.rows);
    more.slots = calloc(2 * capacity, sizeof *more.slots);
    more.block = NULL;
    more.dense = NULL;
    more.sparse = sparse ? calloc(capacity, sizeof *more.sparse) : NULL;
    if (capacity > MOST_PENDING ||
        capacity > SIZE_MAX / 2 / pending->row_bytes || !more.rows ||
        !more.slots || (sparse && !more.sparse) ||
        (!sparse && make_block(&more))) {
        free(more.rows);
        free(more.slots);
        free(more.sparse);
        return no_pending_memory(pending, capacity);
    }
    for (uint32_t i = 0; i < pending->n; i++) {
        more.rows[i] = pending->rows[i];
        sti_index_put(more.slots, 2 * more.capacity, more.rows, i);
    }
    if (pending->n && sparse)
        memcpy(more.sparse, pending->sparse, pending->n * sizeof *more.sparse);
    else if (pending->n)
        memcpy(more.dense, pending->dense, pending->n * pending->row_bytes);
    free(pending->rows);
    free(pending->slots);
    sti_object_drop(pending->block);
    free(pending->sparse);
    *pending = more;
    return STRADS_OK;
}

/* Finds or makes the place for a row's increments; *first: the row is new. */
static strads_err place_row(sti_pending *pending, uint32_t row, uint32_t *place,
                            bool *first)
{
    strads_err err = STRADS_OK;
    *place = find_row(pending, row);
    *first = *place == STI_NO_PLACE;
    if (!*first)
        return STRADS_OK;
    if (pending->n == pending->capacity)
        err = grow_pending(pending);
    else if (!pending->sparse && !pending->block)
        err = make_block(pending);
    if (err)
        return err;
    if (pending->was_early && row == pending->early_row)
        pending->piece = 0;
    *place = pending->n++;
    pending->rows[*place] = row;
    sti_index_put(pending->slots, 2 * pending->capacity, pending->rows, *place);
    return STRADS_OK;
}

/* A row's rounding error; NULL: none. */
static char *error_of(const sti_pending *pending, uint32_t row)
{
    const sti_pending *errors = pending->errors;
    const uint32_t place = errors ? find_row(errors, row) : STI_NO_PLACE;
    return place == STI_NO_PLACE ? NULL
                                 : errors->dense + place * errors->row_bytes;
}

strads_err sti_pending_add(sti_pending *pending, const sti_row_delta *delta)
{
    strads_scalar type = pending->spec->type;
    uint32_t place;
    bool first;
    strads_err err = place_row(pending, delta->row, &place, &first);
    if (err)
        return err;
    if (pending->sparse) {
        err = sti_sparse_row_reserve(&pending->sparse[place], type, delta,
                                     &pending->unbounded);
        if (!err)
            sti_sparse_row_add(&pending->sparse[place], type, delta);
        return err;
    }
    pending->added += delta->n * pending->cell;
    char *row = pending->dense + place * pending->row_bytes;
    char *error = first ? error_of(pending, delta->row) : NULL;
    if (error) {
        memcpy(row, error, pending->row_bytes);
        memset(error, 0, pending->row_bytes);
        first = false;
    }
    if (first && delta->cols)
        memset(row, 0, pending->row_bytes);
    if (first && !delta->cols)
        memcpy(row, delta->cells, pending->row_bytes);
    else
        sti_row_add(type, delta, row);
    return STRADS_OK;
}

/* The pending increments at that place, as a delta. */
static sti_row_delta pending_row_at(const sti_pending *pending, uint32_t place)
{
    sti_row_delta row = {.row = pending->rows[place]};
    if (pending->sparse) {
        row.n = pending->sparse[place].n;
        row.cols = pending->sparse[place].cols;
        row.cells = pending->sparse[place].values;
    } else {
        row.n = pending->spec->cols;
        row.cells = pending->dense + place * pending->row_bytes;
    }
    return row;
}

void sti_pending_apply(const sti_pending *pending, uint32_t row, void *out)
{
    const strads_table_spec *spec = pending->spec;
    uint32_t place = find_row(pending, row);
    const char *error = error_of(pending, row);
    if (error)
        sti_cells_add(spec->type, out, error, spec->cols);
    if (place == STI_NO_PLACE)
        return;
    const sti_row_delta delta = pending_row_at(pending, place);
    sti_row_add(spec->type, &delta, out);
}

/* ---- to a table of this process ---------------------------------------- */

strads_err sti_pending_add_to(const sti_pending *pending, sti_table *table)
{
    if (!pending->sparse)
        return sti_table_inc(table, pending->n, pending->rows, pending->dense,
                             NULL);
    sti_row_delta *deltas = malloc(pending->n * sizeof *deltas);
    if (!deltas)
        return strads_fail(STRADS_ENOMEM,
                           "no memory to commit %" PRIu32 " rows of table "
                           "\"%s\"",
                           pending->n, pending->spec->name);
    for (uint32_t i = 0; i < pending->n; i++)
        deltas[i] = pending_row_at(pending, i);
    strads_err err = sti_table_add(table, pending->n, deltas, NULL);
    free(deltas);
    return err;
}

strads_err sti_pending_commit(sti_pending *pending, sti_table *table)
{
    strads_err err =
        pending->n ? sti_pending_add_to(pending, table) : STRADS_OK;
    if (!err)
        sti_pending_discard(pending, pending->n, false);
    return err;
}

/* ---- filters ----------------------------------------------------------- */

static double number_at(strads_scalar type, const void *cells, uint32_t i)
{
    switch (type) {
    case STRADS_F64:
        return ((const double *)cells)[i];
    case STRADS_F32:
        return (double)((const float *)cells)[i];
    case STRADS_I32:
        return ((const int32_t *)cells)[i];
    case STRADS_I64:
        return (double)((const int64_t *)cells)[i];
    }
    return 0;
}

/* A row's largest |change|, its place and its bytes. */
typedef struct ranked {
    double size;
    uint64_t bytes;
    uint32_t place;
} ranked;

/* A NaN counts as infinite, so that a filter never hides it. */
static ranked rank_row(const sti_pending *pending, uint32_t place)
{
    const sti_row_delta row = pending_row_at(pending, place);
    ranked rank = {.place = place, .bytes = row.n * pending->cell};
    for (uint32_t i = 0; i < row.n; i++) {
        const double size = fabs(number_at(pending->spec->type, row.cells, i));
        if (size > rank.size || isnan(size))
            rank.size = isnan(size) ? INFINITY : size;
    }
    return rank;
}

static int by_size(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Returns how many of the ranked rows may be sent: rows that are large enough,
 * as many as the bytes of a clock allow, but at least one. The first row is
 * sent however wide it is, so no row waits forever. */
static uint32_t count_chosen(const sti_pending *pending, const ranked *rank)
{
    const strads_table_spec *spec = pending->spec;
    const uint64_t most = spec->push_bytes / pending->shards;
    uint64_t bytes = 0;
    uint32_t n = 0;
    for (; n < pending->n && rank[n].size >= spec->hold_below; n++) {
        bytes += rank[n].bytes;
        if (n > 0 && spec->push_bytes && bytes > most)
            break;
    }
    return n;
}

/* Moves rows rank[0 .. n) to the end and rebuilds the index. */
static strads_err move_to_end(sti_pending *pending, ranked *rank, uint32_t n)
{
    const size_t bytes =
        pending->sparse ? sizeof *pending->sparse : pending->row_bytes;
    char *rows = pending->sparse ? (char *)pending->sparse : pending->dense;
    bool *leaves = calloc(pending->n, sizeof *leaves);
    char *aside = malloc(bytes);
    strads_err err =
        leaves && aside ? STRADS_OK : no_pending_memory(pending, pending->n);
    for (uint32_t k = 0; !err && k < n; k++)
        leaves[rank[k].place] = true;
    for (uint32_t low = 0, high = pending->n; !err; low++) {
        while (low < high && !leaves[low])
            low++;
        while (low < high && leaves[high - 1])
            high--;
        if (low >= high)
            break;
        high--;
        memcpy(aside, rows + low * bytes, bytes);
        memcpy(rows + low * bytes, rows + high * bytes, bytes);
        memcpy(rows + high * bytes, aside, bytes);
        const uint32_t row = pending->rows[low];
        pending->rows[low] = pending->rows[high];
        pending->rows[high] = row;
    }
    free(leaves);
    free(aside);
    if (err)
        return err;
    memset(pending->slots, 0, 2 * (size_t)pending->capacity * sizeof(uint32_t));
    for (uint32_t i = 0; i < pending->n; i++)
        sti_index_put(pending->slots, 2 * pending->capacity, pending->rows, i);
    return STRADS_OK;
}

/* Makes places for the errors of the last n rows, which are 0 until these rows
 * are sent. */
static strads_err reserve_errors(sti_pending *pending, uint32_t n)
{
    strads_err err = STRADS_OK;
    if (!pending->errors) {
        pending->errors = malloc(sizeof *pending->errors);
        if (!pending->errors)
            return no_pending_memory(pending, n);
        sti_pending_init(pending->errors, pending->spec, pending->table,
                         pending->shards);
        pending->errors->packed = malloc(sti_packed_bytes(pending->spec->cols));
        if (!pending->errors->packed)
            return no_pending_memory(pending, n);
    }
    for (uint32_t k = pending->n - n; !err && k < pending->n; k++) {
        uint32_t place;
        bool first;
        err = place_row(pending->errors, pending->rows[k], &place, &first);
        if (!err && first)
            memset(pending->errors->dense + place * pending->row_bytes, 0,
                   pending->row_bytes);
    }
    return err;
}

strads_err sti_pending_choose(sti_pending *pending, uint32_t *n)
{
    *n = pending->n;
    if (pending->n == 0 || !sti_pending_is_filtered(pending))
        return STRADS_OK;
    ranked *rank = malloc(sizeof *rank * pending->n);
    if (!rank)
        return no_pending_memory(pending, pending->n);
    for (uint32_t i = 0; i < pending->n; i++)
        rank[i] = rank_row(pending, i);
    qsort(rank, pending->n, sizeof *rank, by_size);
    const uint32_t chosen = count_chosen(pending, rank);
    strads_err err =
        chosen < pending->n ? move_to_end(pending, rank, chosen) : STRADS_OK;
    free(rank);
    if (!err && pending->spec->push_bits)
        err = reserve_errors(pending, chosen);
    if (!err)
        *n = chosen;
    return err;
}

/* ---- pushes ------------------------------------------------------------ */

uint32_t sti_pending_fit(const sti_pending *pending, uint64_t *bytes)
{
    uint32_t n = 0;
    for (; n < pending->n; n++) {
        const uint64_t size =
            pending_row_at(pending, pending->n - 1 - n).n * pending->cell;
        if (n > 0 && size > *bytes)
            break;
        *bytes -= size < *bytes ? size : *bytes;
    }
    return n;
}

static strads_err put_sparse_rows(const sti_pending *pending, uint32_t n,
                                  sti_buffer *push)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = pending->n - n; !err && k < pending->n; k++) {
        const sti_row_delta row = pending_row_at(pending, k);
        err = sti_push_append_row(push, pending->table, &row, pending->cell);
    }
    return err;
}

/* Whether a push can be made around the last n rows: they are all rows and fill
 * most of their block, and the parts already in the push fit before them. */
static bool fits_around(const sti_pending *pending, uint32_t n,
                        const sti_buffer *push)
{
    return n == pending->n && n > pending->capacity / 2 &&
           n * pending->row_bytes >= pending->around_bytes &&
           push->size + sti_push_head_bytes(n) <= head_capacity(pending);
}

/* Makes the push around the rows. */
static strads_err make_push_around(const sti_pending *pending,
                                   sti_buffer **push)
{
    const size_t bytes = pending->n * pending->row_bytes;
    const size_t before = (*push)->size;
    const size_t head = before + sti_push_head_bytes(pending->n);
    char *at = pending->dense - head;
    sti_buffer *made;
    strads_err err = sti_buffer_over(&pending->block->head, at,
                                     head + (bytes + 7) / 8 * 8, &made);
    if (err)
        return err;
    memcpy(at, (*push)->bytes, before);
    sti_push_put_head(pending->dense, STI_PUSH_ROWS, pending->table, pending->n,
                      pending->rows, pending->row_bytes);
    sti_object_drop(*push);
    *push = made;
    return STRADS_OK;
}

static strads_err put_packed_rows(const sti_pending *pending, uint32_t n,
                                  sti_buffer *push)
{
    const uint32_t cols = pending->spec->cols, first = pending->n - n;
    const size_t bytes = sti_packed_bytes(cols);
    char *cells;
    strads_err err = sti_push_reserve(push, STI_PUSH_PACKED, pending->table, n,
                                      pending->rows + first, bytes, &cells);
    for (uint32_t k = 0; !err && k < n; k++)
        sti_cells_pack(pending->spec->type,
                       pending->dense + (first + k) * pending->row_bytes, cols,
                       cells + k * bytes);
    return err;
}

/* Packs the last n rows once more, which gives the same bytes as the push, and
 * keeps the rounding errors. */
static void keep_errors(const sti_pending *pending, uint32_t n)
{
    const uint32_t cols = pending->spec->cols;
    const strads_scalar type = pending->spec->type;
    for (uint32_t k = pending->n - n; k < pending->n; k++) {
        const char *cells = pending->dense + k * pending->row_bytes;
        sti_cells_pack(type, cells, cols, pending->errors->packed);
        sti_cells_error(type, cells, pending->errors->packed, cols,
                        error_of(pending, pending->rows[k]));
    }
}

strads_err sti_pending_take_errors(sti_pending *pending)
{
    const strads_table_spec *spec = pending->spec;
    const sti_pending *errors = pending->errors;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && errors && k < errors->n; k++) {
        const uint32_t none = 0;
        const char *cells = errors->dense + k * errors->row_bytes;
        bool zero = true;
        for (uint32_t c = 0; zero && c < spec->cols; c++)
            zero = sti_cell_is_zero(spec->type, cells, c);
        /* the error becomes the pending value; the addition itself is empty */
        if (!zero)
            err = sti_pending_add(pending,
                                  &(sti_row_delta){.row = errors->rows[k],
                                                   .cols = &none,
                                                   .cells = cells});
    }
    if (!err)
        free_errors(pending);
    return err;
}

strads_err sti_pending_put(const sti_pending *pending, uint32_t n, bool packed,
                           sti_buffer **push)
{
    char *cells;
    const uint32_t first = pending->n - n;
    if (n == 0)
        return STRADS_OK;
    if (packed)
        return put_packed_rows(pending, n, *push);
    if (pending->sparse)
        return put_sparse_rows(pending, n, *push);
    if (fits_around(pending, n, *push))
        return make_push_around(pending, push);
    strads_err err =
        sti_push_reserve(*push, STI_PUSH_ROWS, pending->table, n,
                         pending->rows + first, pending->row_bytes, &cells);
    if (!err)
        memcpy(cells, pending->dense + first * pending->row_bytes,
               n * pending->row_bytes);
    return err;
}

/* Removal from the end keeps the index valid: later probes have not passed the
 * removed slot. If a push was made around the block, the push owns it now. */
void sti_pending_discard(sti_pending *pending, uint32_t n, bool packed)
{
    const uint64_t bytes = n * pending->row_bytes;
    const bool all = n == pending->n;
    if (n == 0)
        return;
    if (packed)
        keep_errors(pending, n);
    pending->added -= all || bytes > pending->added ? pending->added : bytes;
    pending->next_early = pending->added + pending->piece;
    if (all)
        memset(pending->slots, 0,
               2 * (size_t)pending->capacity * sizeof(uint32_t));
    for (; n > 0; n--) {
        const uint32_t i = --pending->n;
        if (!all)
            sti_index_remove_last(pending->slots, 2 * pending->capacity,
                                  pending->rows, i);
        if (pending->sparse)
            sti_sparse_row_free(&pending->sparse[i], pending->cell,
                                &pending->unbounded);
    }
    if (pending->block && atomic_load(&pending->block->head.refs) > 1) {
        sti_object_drop(pending->block);
        pending->block = NULL;
        pending->dense = NULL;
    }
}

/* ---- early pushes ------------------------------------------------------ */

bool sti_pending_may_leave(const sti_pending *pending, uint32_t row)
{
    const uint64_t bytes = pending->n * pending->row_bytes;
    return bytes >= pending->piece && pending->added >= bytes &&
           find_row(pending, row) == STI_NO_PLACE;
}

void sti_pending_tried(sti_pending *pending)
{
    pending->next_early = pending->added + pending->piece;
}

void sti_pending_clock(sti_pending *pending)
{
    pending->was_early = false;
}
