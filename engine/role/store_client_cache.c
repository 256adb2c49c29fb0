/* How answers and own pushes become cached rows (C2, C6). Invariant: a cached
 * row is what its shard held at some moment (its `as_of` or later), plus every
 * push of this node that the shard did not hold then. */
#include <string.h>
#include <stdlib.h>

#include "engine/role/store_client_state.h"
#include "engine/store/number_cells.h"
#include "engine/store/push.h"
#include "engine/store/row_shard.h"

static const sti_eager_chain *chain_of(const sti_client *client,
                                       const sti_cached_row *row)
{
    uint32_t shard = sti_row_shard(row->table, row->row, client->shards);
    return &client->chains[(size_t)row->table * client->shards + shard];
}

uint64_t sti_client_as_of(const sti_client *client, const sti_cached_row *row)
{
    const sti_eager_chain *chain = chain_of(client, row);
    bool told = !row->late && row->as_of >= chain->from;
    return told && row->as_of < chain->to ? chain->to : row->as_of;
}

/* ---- checking ---------------------------------------------------------- */

static bool of_shard(const sti_client *client, uint32_t shard,
                     const sti_push_part *part)
{
    if (part->kind == STI_PUSH_COLS)
        return sti_row_shard(part->table, part->row, client->shards) == shard;
    for (uint32_t k = 0; k < part->n; k++)
        if (sti_row_shard(part->table, part->places[k], client->shards) !=
            shard)
            return false;
    return true;
}

strads_err sti_answer_check(const sti_client *client, uint32_t shard,
                            const sti_row_answer *answer)
{
    sti_push_part part;
    strads_err err = STRADS_OK;
    bool good = answer->table < client->n_tables;
    for (size_t at = 0; good && answer->parts &&
                        sti_push_next(answer->parts, &at, &part, &err);)
        good = (part.kind == STI_PUSH_ROWS || part.kind == STI_PUSH_COLS) &&
               part.table == answer->table &&
               sti_push_fits(&client->tables[part.table], &part) &&
               of_shard(client, shard, &part);
    return good && !err
               ? STRADS_OK
               : strads_fail(STRADS_EPEER,
                             "a shard sent rows that do not fit the store: it "
                             "runs another version or is broken");
}

/* ---- rows of a part ---------------------------------------------------- */

/* One row of a part: n cells, to columns cols[n], or to all. */
typedef struct part_row {
    uint32_t row, n;
    const uint32_t *cols;
    const char *cells;
} part_row;

static uint32_t rows_of(const sti_push_part *part)
{
    return part->kind == STI_PUSH_COLS ? 1 : part->n;
}

static part_row row_of(const sti_client *client, const sti_push_part *part,
                       uint32_t k)
{
    if (part->kind == STI_PUSH_COLS)
        return (part_row){.row = part->row,
                          .n = part->n,
                          .cols = part->places,
                          .cells = part->cells};
    size_t bytes = sti_client_row_bytes(client, part->table);
    return (part_row){.row = part->places[k],
                      .n = client->tables[part->table].cols,
                      .cells = (const char *)part->cells + k * bytes};
}

static void add_row(const sti_client *client, const part_row *from,
                    sti_cached_row *to)
{
    strads_scalar type = client->tables[to->table].type;
    if (from->cols)
        sti_cells_add_at(type, to->values, from->cols, from->cells, from->n);
    else
        sti_cells_add(type, to->values, from->cells, from->n);
}

/* `stamp` 0: to all cached rows; else to those that bear it. */
void sti_client_add_push(sti_client *client, const sti_buffer *push,
                         uint64_t stamp)
{
    sti_push_part part;
    strads_err err;
    for (size_t at = 0; sti_push_next(push, &at, &part, &err);) {
        if (part.kind != STI_PUSH_ROWS && part.kind != STI_PUSH_COLS)
            continue;
        for (uint32_t k = 0; k < rows_of(&part); k++) {
            const part_row from = row_of(client, &part, k);
            sti_cached_row *to =
                sti_cache_find(&client->cache, part.table, from.row);
            if (to && (stamp == 0 || to->stamp == stamp))
                add_row(client, &from, to);
        }
    }
}

/* ---- filling ----------------------------------------------------------- */

strads_err sti_call_pin(sti_client *client, sti_waiting_call *call,
                        sti_cached_row *row)
{
    if (call->n_pinned == call->room_pinned) {
        uint32_t room = call->room_pinned ? 2 * call->room_pinned : 16;
        sti_cached_row **more =
            realloc(call->pinned, sizeof(sti_cached_row *) * room);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory to wait for rows");
        call->pinned = more;
        call->room_pinned = room;
    }
    sti_cache_pin(&client->cache, row);
    call->pinned[call->n_pinned++] = row;
    return STRADS_OK;
}

/* A cached row is never replaced by one of a lower as-of. */
static void replace(sti_client *client, const sti_row_answer *answer,
                    const part_row *from, bool fresh, sti_cached_row *to)
{
    if (!fresh && sti_client_as_of(client, to) > answer->as_of)
        return;
    memset(to->values, 0, to->bytes);
    add_row(client, from, to);
    to->as_of = answer->as_of;
    to->late = answer->as_of < chain_of(client, to)->to;
    to->stamp = client->stamp;
}

static strads_err fill_row(sti_client *client, const sti_row_answer *answer,
                           const part_row *from, sti_waiting_call *call)
{
    sti_cached_row *to =
        sti_cache_find(&client->cache, answer->table, from->row);
    bool fresh = !to;
    strads_err err = STRADS_OK;
    if (fresh && !call)
        return STRADS_OK;
    if (fresh)
        err = sti_cache_place(&client->cache, answer->table, from->row,
                              sti_client_row_bytes(client, answer->table), &to);
    if (err)
        return err;
    replace(client, answer, from, fresh, to);
    return call ? sti_call_pin(client, call, to) : STRADS_OK;
}

strads_err sti_client_fill(sti_client *client, uint32_t shard,
                           const sti_row_answer *answer, sti_waiting_call *call)
{
    const sti_push_stream *stream = &client->streams[shard];
    strads_err err = STRADS_OK;
    sti_push_part part;
    client->stamp++;
    for (size_t at = 0; !err && answer->parts &&
                        sti_push_next(answer->parts, &at, &part, &err);)
        for (uint32_t k = 0; !err && k < rows_of(&part); k++) {
            const part_row from = row_of(client, &part, k);
            err = fill_row(client, answer, &from, call);
        }
    for (uint64_t n = answer->applied + 1; !err && n <= stream->pushed; n++)
        sti_client_add_push(client, sti_stream_at(stream, n), client->stamp);
    return err;
}

/* P4: rows keep the clock that the chain has told so far. Only when a message
 * was lost is it written to each of them. */
static void break_chain(sti_client *client, uint32_t shard, uint32_t table)
{
    sti_cached_row *row = client->cache.hand;
    for (uint32_t k = 0; k < client->cache.n; k++, row = row->behind) {
        uint64_t as_of = sti_client_as_of(client, row);
        if (row->table == table &&
            sti_row_shard(table, row->row, client->shards) == shard)
            row->as_of = as_of;
    }
}

void sti_client_told(sti_client *client, uint32_t shard,
                     const sti_row_answer *answer)
{
    sti_eager_chain *chain =
        &client->chains[(size_t)answer->table * client->shards + shard];
    if (answer->as_of <= chain->to) /* a duplicate, or late */
        return;
    if (answer->since > chain->to) {
        break_chain(client, shard, answer->table);
        chain->from = answer->since;
    }
    chain->to = answer->as_of;
}
