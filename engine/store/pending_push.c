/* Pending increments become the parts of pushes. Where all of a table's go to
 * one shard they are sent from where they were gathered, or lent; otherwise
 * cells are copied once. */
#include "engine/store/pending_push.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/number_cells.h"
#include "engine/store/row_shard.h"

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory to push increments: flush more often");
}

/* ---- filters ----------------------------------------------------------- */

/* The cells of a pending row; how many. */
static const void *cells_of(const sti_pending *pending, uint32_t place,
                            uint32_t *n)
{
    if (pending->sparse) {
        *n = pending->sparse[place].n;
        return pending->sparse[place].values;
    }
    *n = pending->spec->cols;
    return pending->dense + place * pending->row_bytes;
}

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

/* The largest |change| of a row; a NaN counts as infinite, so that a mistake is
 * never hidden. */
static double largest(const sti_pending *pending, uint32_t place)
{
    uint32_t n;
    double most = 0;
    const void *cells = cells_of(pending, place, &n);
    for (uint32_t i = 0; i < n; i++) {
        double size = fabs(number_at(pending->spec->type, cells, i));
        if (isnan(size))
            return INFINITY;
        most = size > most ? size : most;
    }
    return most;
}

typedef struct ranked {
    double size;
    uint32_t place;
} ranked;

static int by_size(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* As many of the largest as fit, one at least: what is first in rank leaves
 * however wide it is, so nothing is held for good. */
static uint32_t within(const sti_pending *pending, ranked *rank, uint32_t n)
{
    uint64_t bytes = 0;
    uint32_t fit = 0;
    qsort(rank, n, sizeof *rank, by_size);
    for (; fit < n; fit++) {
        uint32_t cells;
        (void)cells_of(pending, rank[fit].place, &cells);
        bytes += cells * pending->cell;
        if (fit > 0 && bytes > pending->spec->push_bytes)
            break;
    }
    return fit;
}

static strads_err choose(const sti_pending *pending, uint32_t *n,
                         uint32_t *places)
{
    const strads_table_spec *spec = pending->spec;
    ranked *rank = malloc(sizeof *rank * (pending->n + 1));
    uint32_t m = 0;
    if (!rank)
        return no_memory();
    for (uint32_t i = 0; i < pending->n; i++) {
        double size = largest(pending, i);
        if (size >= spec->hold_below)
            rank[m++] = (ranked){.size = size, .place = i};
    }
    if (spec->push_bytes)
        m = within(pending, rank, m);
    for (uint32_t i = 0; i < m; i++)
        places[i] = rank[i].place;
    qsort(places, m, sizeof *places, by_place);
    *n = m;
    free(rank);
    return STRADS_OK;
}

strads_err sti_pending_choose(const sti_pending *pending, bool all, uint32_t *n,
                              uint32_t **places)
{
    uint32_t *chosen = malloc(sizeof *chosen * (pending->n + 1));
    strads_err err = STRADS_OK;
    if (!chosen)
        return no_memory();
    *n = pending->n;
    for (uint32_t i = 0; i < pending->n; i++)
        chosen[i] = i;
    if (!all && sti_pending_is_filtered(pending))
        err = choose(pending, n, chosen);
    if (err)
        free(chosen);
    else
        *places = chosen;
    return err;
}

strads_err sti_pending_last(const sti_pending *pending, uint64_t *bytes,
                            uint32_t *n, uint32_t **places)
{
    uint32_t first = pending->n;
    while (first > 0) {
        uint32_t cells;
        (void)cells_of(pending, first - 1, &cells);
        uint64_t size = cells * pending->cell;
        if (first < pending->n && size > *bytes)
            break;
        *bytes -= size < *bytes ? size : *bytes;
        first--;
    }
    *n = pending->n - first;
    *places = malloc(sizeof **places * (*n + 1));
    if (!*places)
        return no_memory();
    for (uint32_t k = 0; k < *n; k++)
        (*places)[k] = first + k;
    return STRADS_OK;
}

/* ---- splitting --------------------------------------------------------- */

/* A push that can be appended to. */
static strads_err need(sti_buffer **push)
{
    return *push ? sti_buffer_own(*push) : sti_buffer_new(0, push);
}

static strads_err split_sparse(const sti_pending *pending, uint32_t table,
                               uint32_t n, const uint32_t *places,
                               uint32_t shards, sti_buffer **pushes)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < n; k++) {
        const sti_sparse_row *row = &pending->sparse[places[k]];
        uint32_t number = pending->rows[places[k]];
        sti_buffer **push = &pushes[sti_row_shard(table, number, shards)];
        const sti_push_part part = {.kind = STI_PUSH_COLS,
                                    .table = table,
                                    .row = number,
                                    .n = row->n,
                                    .places = row->cols,
                                    .cells = row->values,
                                    .cell_bytes = row->n * pending->cell};
        err = need(push);
        if (!err)
            err = sti_push_append(*push, &part);
    }
    return err;
}

/* One part for each shard: its room first, then the cells. */
static strads_err reserve(const sti_pending *pending, uint32_t table,
                          const uint32_t *count, uint32_t shards,
                          sti_buffer **pushes, sti_push_room *room)
{
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; !err && s < shards; s++) {
        if (count[s] == 0)
            continue;
        err = need(&pushes[s]);
        if (!err)
            err = sti_push_reserve(pushes[s], table, count[s],
                                   pending->row_bytes, &room[s]);
    }
    return err;
}

static bool go_to_one(const sti_pending *pending, uint32_t table, uint32_t n,
                      const uint32_t *places, uint32_t shards)
{
    const uint32_t shard =
        sti_row_shard(table, pending->rows[places[0]], shards);
    bool one = true;
    for (uint32_t k = 1; one && shards > 1 && k < n; k++)
        one = sti_row_shard(table, pending->rows[places[k]], shards) == shard;
    return one;
}

/* Rows that are lent: do they lie one behind the other, and all go to one
 * shard? Few bytes are copied as fast. */
static bool can_refer(const sti_pending *pending, uint32_t table, uint32_t n,
                      const uint32_t *places, uint32_t shards)
{
    const size_t bytes = n * pending->row_bytes;
    return pending->lent && bytes >= pending->lend_bytes && bytes % 8 == 0 &&
           places[n - 1] - places[0] == n - 1 &&
           go_to_one(pending, table, n, places, shards);
}

/* The push ends with the rows where they are. */
static strads_err refer(const sti_pending *pending, uint32_t table, uint32_t n,
                        uint32_t first, sti_buffer **push)
{
    strads_err err = need(push);
    return err ? err
               : sti_push_refer(*push, table, n, pending->rows + first,
                                pending->row_bytes,
                                pending->dense + first * pending->row_bytes);
}

/* Are all rows in its own block, and most of that, do they go to one shard, and
 * does what its push has so far fit in front of them? */
static bool can_lend(const sti_pending *pending, uint32_t table, uint32_t n,
                     const uint32_t *places, uint32_t shards,
                     sti_buffer *const *pushes)
{
    const sti_buffer *push =
        pushes[sti_row_shard(table, pending->rows[0], shards)];
    return !pending->lent && n == pending->n && n > pending->room / 2 &&
           n * pending->row_bytes >= pending->lend_bytes &&
           (!push || (push->size + sti_push_head_bytes(n) <=
                          sti_pending_head_room(pending) &&
                      !push->rest_bytes)) &&
           go_to_one(pending, table, n, places, shards);
}

/* Makes a push around the rows. */
static strads_err lend(const sti_pending *pending, uint32_t table,
                       sti_buffer **push)
{
    const size_t bytes = pending->n * pending->row_bytes;
    const size_t before = *push ? (*push)->size : 0;
    const size_t head = before + sti_push_head_bytes(pending->n);
    char *at = pending->dense - head;
    sti_buffer *made;
    strads_err err = sti_buffer_over(&pending->block->head, at,
                                     head + (bytes + 7) / 8 * 8, &made);
    if (err)
        return err;
    if (before)
        memcpy(at, (*push)->bytes, before);
    sti_push_put_head(pending->dense, table, pending->n, pending->rows,
                      pending->row_bytes);
    sti_object_drop(*push);
    *push = made;
    return STRADS_OK;
}

static strads_err split_dense(const sti_pending *pending, uint32_t table,
                              uint32_t n, const uint32_t *places,
                              uint32_t shards, sti_buffer **pushes)
{
    size_t bytes = pending->row_bytes;
    sti_buffer **one =
        &pushes[sti_row_shard(table, pending->rows[places[0]], shards)];
    if (can_refer(pending, table, n, places, shards))
        return refer(pending, table, n, places[0], one);
    if (can_lend(pending, table, n, places, shards, pushes))
        return lend(pending, table, one);
    uint32_t *count = calloc(shards, sizeof *count);
    sti_push_room *room = calloc(shards, sizeof *room);
    strads_err err = count && room ? STRADS_OK : no_memory();
    for (uint32_t k = 0; !err && k < n; k++)
        count[sti_row_shard(table, pending->rows[places[k]], shards)]++;
    if (!err)
        err = reserve(pending, table, count, shards, pushes, room);
    for (uint32_t k = 0; !err && k < n; k++) {
        uint32_t row = pending->rows[places[k]];
        sti_push_room *to = &room[sti_row_shard(table, row, shards)];
        *to->rows++ = row;
        memcpy(to->cells, pending->dense + places[k] * bytes, bytes);
        to->cells += bytes;
    }
    free(count);
    free(room);
    return err;
}

strads_err sti_pending_split(const sti_pending *pending, uint32_t table,
                             uint32_t n, const uint32_t *places,
                             uint32_t shards, sti_buffer **pushes)
{
    return pending->spec->sparse
               ? split_sparse(pending, table, n, places, shards, pushes)
               : split_dense(pending, table, n, places, shards, pushes);
}
