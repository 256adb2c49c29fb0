/* How answers and own pushes become cached rows (C2, C6). Invariant: a cached
 * row is what its shard held at some moment (its `as_of` or later), plus every
 * push of this node that the shard did not hold then. */
#include <string.h>

#include "engine/store/store_client_state.h"
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

/* Nobody who reads as the workers did so far wants it any more: to renew it
 * costs nothing then, to keep it up to date would. Eager rows are renewed by
 * their shard, which counts on them. */
static bool is_spent(const sti_client *client, const sti_cached_row *row,
                     uint64_t clock)
{
    uint32_t stalest = client->stalest[row->table];
    uint64_t as_of = sti_client_as_of(client, row);
    return row->spent || (!row->pins && !client->tables[row->table].eager &&
                          stalest != STRADS_STALENESS_INFINITE &&
                          as_of < clock && clock - as_of > stalest);
}

void sti_client_join_push(sti_client *client, const sti_buffer *push,
                          uint64_t clock)
{
    sti_push_part part;
    strads_err err;
    sti_client_stamp(client);
    for (size_t at = 0; sti_push_next(push, &at, &part, &err);) {
        if (part.kind != STI_PUSH_ROWS && part.kind != STI_PUSH_COLS)
            continue;
        for (uint32_t k = 0; k < rows_of(&part); k++) {
            const part_row from = row_of(client, &part, k);
            sti_cached_row *to =
                sti_cache_find(&client->cache, part.table, from.row);
            if (!to)
                continue;
            to->spent = is_spent(client, to, clock);
            to->stamp = client->stamp;
            if (!to->spent)
                add_row(client, &from, to);
        }
    }
}

/* A push that an answer does not hold, to the rows which that has filled. */
static void add_push(sti_client *client, const sti_buffer *push, uint64_t stamp)
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
            if (to && to->stamp == stamp)
                add_row(client, &from, to);
        }
    }
}

/* ---- filling ----------------------------------------------------------- */

/* Asks for memory that is about to be written, all of it at once: the copy
 * would wait for one line after the other where it is in no near cache. */
static void fetch_to_write(const char *to, size_t bytes)
{
    enum { LINE = 64, MOST = 4096 };
    for (size_t at = 0; at < bytes && at < MOST; at += LINE)
        __builtin_prefetch(to + at, 1);
}

/* `cells` are those of the row, here or still in the answer. */
static void copy_cells(const sti_client *client, const sti_waiting_call *call,
                       uint32_t place, const void *cells)
{
    size_t bytes = sti_client_row_bytes(client, call->table);
    char *to = call->values + place * bytes;
    if (to != cells) {
        fetch_to_write(to, bytes);
        memcpy(to, cells, bytes);
    }
    if (call->pending)
        sti_pending_apply(call->pending, call->rows[place], to);
}

/* The same of a row that is held, and that `cells` are of. */
static void copy_held(const sti_client *client, sti_waiting_call *call,
                      uint32_t place, const void *cells)
{
    copy_cells(client, call, place, cells);
    call->found[place].stamp = call->found[place].row->stamp;
}

void sti_call_copy(const sti_client *client, sti_waiting_call *call,
                   uint32_t place)
{
    copy_held(client, call, place, call->found[place].row->values);
}

void sti_call_take(sti_client *client, sti_waiting_call *call, uint32_t place,
                   sti_cached_row *row)
{
    sti_cache_pin(&client->cache, row);
    call->found[place].row = row;
    sti_call_copy(client, call, place);
}

/* A cached row is never replaced by one of a lower as-of. */
static void replace(sti_client *client, const sti_row_answer *answer,
                    const part_row *from, bool fresh, sti_cached_row *to)
{
    if (!fresh && sti_client_as_of(client, to) > answer->as_of)
        return;
    if (from->cols) {
        memset(to->values, 0, to->bytes);
        add_row(client, from, to);
    } else {
        memcpy(to->values, from->cells, to->bytes);
    }
    to->as_of = answer->as_of;
    to->late = answer->as_of < chain_of(client, to)->to;
    to->spent = false;
    to->stamp = client->stamp;
}

/* *out: the row, which is there if anybody waits for it. */
static strads_err fill_row(sti_client *client, const sti_row_answer *answer,
                           const part_row *from, bool awaited,
                           sti_cached_row **out)
{
    sti_cached_row *to =
        sti_cache_find(&client->cache, answer->table, from->row);
    bool fresh = !to || to->spent;
    strads_err err = STRADS_OK;
    if (fresh && !awaited)
        return STRADS_OK;
    if (!to)
        err = sti_cache_place(&client->cache, answer->table, from->row,
                              sti_client_row_bytes(client, answer->table), &to);
    if (err)
        return err;
    replace(client, answer, from, fresh, to);
    *out = to;
    return STRADS_OK;
}

/* Is it the row that the call asked for? */
static strads_err check_row(const sti_waiting_call *call, uint32_t place,
                            uint32_t row)
{
    return call->rows[place] == row
               ? STRADS_OK
               : strads_fail(STRADS_EPEER,
                             "a shard sent other rows than it was asked for: "
                             "it runs another version or is broken");
}

/* A row that a call has asked for is pinned at once: the next one could evict
 * it. It is copied when all is in it. */
static strads_err hold(sti_client *client, sti_waiting_call *call,
                       uint32_t place, sti_cached_row *row)
{
    strads_err err = check_row(call, place, row->row);
    if (err)
        return err;
    if (!call->found[place].row)
        sti_cache_pin(&client->cache, row);
    call->found[place].row = row;
    return STRADS_OK;
}

uint32_t sti_answer_rows(const sti_row_answer *answer)
{
    uint32_t n = 0;
    strads_err err;
    sti_push_part part;
    for (size_t at = 0;
         answer->parts && sti_push_next(answer->parts, &at, &part, &err);)
        n += rows_of(&part);
    return n;
}

/* Where a row that was just filled lies nearest. */
static const void *cells_at(const sti_client *client, const part_row *from,
                            const sti_cached_row *row)
{
    const bool same = !from->cols && row->stamp == client->stamp;
    return same ? (const void *)from->cells : row->values;
}

/* A row for the caller alone. An older one that is cached goes: nobody is to
 * read it after this one (P4). */
static strads_err pass_row(sti_client *client, uint64_t as_of,
                           const part_row *from, sti_waiting_call *call,
                           uint32_t place, sti_cached_row *old)
{
    strads_err err = check_row(call, place, from->row);
    if (err)
        return err;
    if (old)
        sti_cache_forget(&client->cache, old);
    if (as_of < call->as_of)
        call->as_of = as_of;
    copy_cells(client, call, place, from->cells);
    return STRADS_OK;
}

/* A row for a call; it `lacks` own pushes that are still to be added. */
static strads_err take_row(sti_client *client, const sti_row_answer *answer,
                           const part_row *from, sti_waiting_call *call,
                           uint32_t place, bool lacks)
{
    sti_cached_row *row =
        sti_cache_find(&client->cache, answer->table, from->row);
    if (call->passes && !lacks && (!row || row->pins == 0))
        return pass_row(client, answer->as_of, from, call, place, row);
    strads_err err = fill_row(client, answer, from, true, &row);
    if (!err)
        err = hold(client, call, place, row);
    if (!err && !lacks)
        copy_held(client, call, place, cells_at(client, from, row));
    return err;
}

/* Own pushes above its `applied`, and then all of it to the caller. */
static void add_what_it_lacks(sti_client *client, uint32_t shard,
                              const sti_row_answer *answer,
                              sti_waiting_call *call, uint32_t n,
                              const uint32_t *places)
{
    const sti_push_stream *stream = &client->streams[shard];
    for (uint64_t k = answer->applied + 1; k <= stream->pushed; k++)
        add_push(client, sti_stream_at(stream, k), client->stamp);
    for (uint32_t k = 0; k < n; k++)
        sti_call_copy(client, call, places[k]);
}

static const char *cells_in_place(const sti_client *client,
                                  const sti_waiting_call *call, uint32_t place)
{
    return call->values + place * sti_client_row_bytes(client, call->table);
}

strads_err sti_client_fill(sti_client *client, uint32_t shard,
                           const sti_row_answer *answer, sti_waiting_call *call,
                           const uint32_t *places)
{
    sti_reuse *reuse = &client->reuse[answer->table];
    strads_err err = STRADS_OK;
    sti_push_part part;
    uint32_t n = 0;
    const bool lacks = answer->applied < client->streams[shard].pushed;
    if (answer->as_of > reuse->brought)
        reuse->brought = answer->as_of;
    sti_client_stamp(client);
    for (size_t at = 0; !err && answer->parts &&
                        sti_push_next(answer->parts, &at, &part, &err);)
        for (uint32_t k = 0; !err && k < rows_of(&part); k++) {
            part_row from = row_of(client, &part, k);
            sti_cached_row *row;
            if (answer->in_place)
                from.cells = cells_in_place(client, call, places[n]);
            err = call ? take_row(client, answer, &from, call, places[n], lacks)
                       : fill_row(client, answer, &from, false, &row);
            n += call != NULL;
        }
    if (!err && lacks)
        add_what_it_lacks(client, shard, answer, call, n, places);
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
