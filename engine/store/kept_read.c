/* What a shard tells of its rows, as parts of an answer: copied, lent in place,
 * or as of an exact clock. Invariant: nothing here changes a row, a number or a
 * clock; who reads a row of an eager table is noted as its holder. */
#include <stdlib.h>
#include <string.h>

#include "engine/store/kept_inside.h"
#include "engine/store/row_shard.h"

static strads_err put_dense(const sti_kept *kept, uint32_t table,
                            const sti_table *from, uint32_t n,
                            const uint32_t *places, sti_buffer *parts)
{
    sti_push_room room;
    strads_err err = sti_push_reserve(parts, table, n, from->row_bytes, &room);
    for (uint32_t k = 0; !err && k < n; k++) {
        room.rows[k] = sti_row_at(places[k], table, kept->shard, kept->shards);
        memcpy(room.cells + k * from->row_bytes,
               from->dense + places[k] * from->row_bytes, from->row_bytes);
    }
    return err;
}

strads_err sti_kept_put_rows(const sti_kept *kept, uint32_t table,
                             const sti_table *from, uint32_t n,
                             const uint32_t *places, sti_buffer *parts)
{
    if (!from->spec.sparse)
        return put_dense(kept, table, from, n, places, parts);
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < n; k++) {
        const sti_sparse_row *row = &from->sparse[places[k]];
        const sti_push_part part = {.kind = STI_PUSH_COLS,
                                    .table = table,
                                    .row =
                                        sti_row_at(places[k], table,
                                                   kept->shard, kept->shards),
                                    .n = row->n,
                                    .places = row->cols,
                                    .cells = row->values,
                                    .cell_bytes = row->n * from->cell};
        err = sti_push_append(parts, &part);
    }
    return err;
}

static strads_err check_asked(const sti_kept *kept, uint32_t table, uint32_t n,
                              const uint32_t *rows)
{
    if (table >= kept->n_tables || !sti_kept_holds(kept, table, n, rows))
        return sti_kept_broken();
    for (uint32_t k = 0; k < n; k++)
        if (rows[k] >= kept->table[table].spec.rows)
            return sti_kept_broken();
    return STRADS_OK;
}

uint32_t sti_kept_fit(const sti_kept *kept, uint32_t table, uint32_t n,
                      const uint32_t *rows, uint64_t bytes)
{
    if (check_asked(kept, table, n, rows))
        return n;
    const sti_table *from = kept->table[table].rows;
    uint64_t taken = 0;
    uint32_t fit = 0;
    for (; fit < n; fit++) {
        uint32_t place = sti_row_place(rows[fit], kept->shards);
        taken += from->sparse
                     ? from->sparse[place].n * (from->cell + sizeof(uint32_t))
                     : from->row_bytes;
        if (fit > 0 && taken > bytes)
            break;
    }
    return fit;
}

/* Places of the rows that were asked for, in memory of their own. */
static strads_err asked_places(const sti_kept *kept, uint32_t table, uint32_t n,
                               const uint32_t *rows, uint32_t **out)
{
    strads_err err = check_asked(kept, table, n, rows);
    if (err)
        return err;
    uint32_t *places = calloc((size_t)n + 1, sizeof *places);
    if (!places)
        return sti_kept_no_memory();
    for (uint32_t k = 0; k < n; k++)
        places[k] = sti_row_place(rows[k], kept->shards);
    *out = places;
    return STRADS_OK;
}

static void note_holder(sti_kept_table *table, uint32_t stream, uint32_t n,
                        const uint32_t *places)
{
    for (uint32_t k = 0; table->holders && k < n; k++)
        sti_eager_holds(table, stream, places[k]);
}

strads_err sti_kept_read(sti_kept *kept, uint32_t stream, uint32_t table,
                         uint32_t n, const uint32_t *rows, sti_buffer *parts)
{
    uint32_t *places = NULL;
    strads_err err = asked_places(kept, table, n, rows, &places);
    if (err)
        return err;
    sti_kept_table *from = &kept->table[table];
    err = sti_kept_put_rows(kept, table, from->rows, n, places, parts);
    if (!err)
        note_holder(from, stream, n, places);
    free(places);
    return err;
}

static bool are_adjacent(uint32_t n, const uint32_t *places)
{
    for (uint32_t k = 1; k < n; k++)
        if (places[k] != places[0] + k)
            return false;
    return true;
}

strads_err sti_kept_lend(sti_kept *kept, uint32_t stream, uint32_t table,
                         uint32_t n, const uint32_t *rows, uint64_t least,
                         sti_buffer *parts, const void **cells, size_t *bytes)
{
    uint32_t *places = NULL;
    *bytes = 0;
    strads_err err = asked_places(kept, table, n, rows, &places);
    if (err)
        return err;
    sti_kept_table *from = &kept->table[table];
    const size_t row_bytes = from->rows->row_bytes, all = n * row_bytes;
    const size_t head = sti_push_head_bytes(n);
    if (n == 0 || from->spec.sparse || all < least || all % 8 != 0 ||
        !are_adjacent(n, places))
        goto out;
    err = sti_buffer_resize(parts, head);
    if (err)
        goto out;
    sti_push_put_head((char *)parts->bytes + head, table, n, rows, row_bytes);
    note_holder(from, stream, n, places);
    *cells = from->rows->dense + places[0] * row_bytes;
    *bytes = all;
out:
    free(places);
    return err;
}

strads_err sti_kept_read_image(const sti_kept *kept, uint64_t clock,
                               uint32_t table, uint32_t n, const uint32_t *rows,
                               sti_buffer *parts, bool *gone)
{
    uint32_t *places = NULL;
    strads_err err = asked_places(kept, table, n, rows, &places);
    if (err)
        return err;
    const sti_kept_table *from = &kept->table[table];
    const sti_table *image = sti_images_at(&from->images, from->rows, clock);
    uint32_t every = from->spec.snapshot_every;
    /* Rows are their own image for those alone who may ask for it now. */
    if (image == from->rows &&
        (!every || clock % every || kept->clock - clock >= every))
        image = NULL;
    *gone = !image;
    if (image)
        err = sti_kept_put_rows(kept, table, image, n, places, parts);
    free(places);
    return err;
}
