/* Reads and barriers (C5), and the answers to them. A call that has to wait
 * pins what it found, asks for the rest, and pins what comes: so when it is
 * repeated it finds all, whatever else goes through the cache. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/role/store_client_state.h"
#include "engine/store/number_cells.h"
#include "engine/store/push.h"
#include "engine/store/row_shard.h"

/* Rows asked for at once are of about so many bytes; a call that needs more
 * asks again when these have come. */
static const uint64_t most_asked = UINT64_C(64) << 20;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory to wait for rows");
}

/* ---- the call that waits ----------------------------------------------- */

void sti_call_forget(sti_client *client, sti_client_worker *worker)
{
    sti_waiting_call *call = &worker->call;
    for (uint32_t s = 0; s < client->shards; s++) {
        sti_object_drop(call->asks[s]);
        call->asks[s] = NULL;
    }
    for (uint32_t k = 0; k < call->n_pinned; k++)
        sti_cache_unpin(&client->cache, call->pinned[k]);
    free(call->rows);
    free(call->values);
    *call = (sti_waiting_call){.asks = call->asks,
                               .pinned = call->pinned,
                               .room_pinned = call->room_pinned};
}

static bool is_repeated(const sti_waiting_call *call,
                        const sti_client_read *read, uint64_t needs)
{
    return call->used && call->table == read->table &&
           call->exact == read->exact && call->needs == needs &&
           call->n == read->n &&
           memcmp(call->rows, read->rows, sizeof *read->rows * read->n) == 0;
}

static strads_err begin_call(sti_client_worker *worker,
                             const sti_client_read *read, uint64_t needs)
{
    sti_waiting_call *call = &worker->call;
    call->rows = malloc(sizeof *call->rows * (read->n + 1));
    if (!call->rows)
        return no_memory();
    if (read->n)
        memcpy(call->rows, read->rows, sizeof *read->rows * read->n);
    call->used = true;
    call->table = read->table;
    call->exact = read->exact;
    call->n = read->n;
    call->needs = needs;
    call->since = read->now;
    return STRADS_OK;
}

/* ---- asking ------------------------------------------------------------ */

static void send_ask(const sti_client *client, uint32_t shard, sti_row_ask *ask,
                     sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ASK_ROWS,
                                   .from = STI_CLIENT_0 + client->client,
                                   .to = STI_SHARD_0 + shard,
                                   .object = sti_object_keep(ask)});
}

void sti_call_resend(sti_client *client, sti_client_worker *worker,
                     uint32_t shard, uint64_t now, sti_effects *out)
{
    if (!worker->call.asks[shard])
        return;
    send_ask(client, shard, worker->call.asks[shard], out);
    worker->call.sent_at = now;
}

/* Asks for rows[n]: one ask for each shard that holds some of them. */
static strads_err make_asks(sti_client *client, uint32_t worker,
                            const sti_waiting_call *call, uint32_t n,
                            const uint32_t *rows, sti_row_ask **asks)
{
    uint32_t *count = calloc(client->shards, sizeof *count);
    strads_err err = count ? STRADS_OK : no_memory();
    for (uint32_t k = 0; !err && k < n; k++)
        count[sti_row_shard(call->table, rows[k], client->shards)]++;
    for (uint32_t s = 0; !err && s < client->shards; s++) {
        if (count[s] == 0)
            continue;
        err = sti_row_ask_new(count[s], &asks[s]);
        if (err)
            break;
        asks[s]->id = call->id;
        asks[s]->needs = call->needs;
        asks[s]->worker = worker;
        asks[s]->table = call->table;
        asks[s]->exact = call->exact;
        asks[s]->n = 0;
    }
    for (uint32_t k = 0; !err && k < n; k++) {
        uint32_t s = sti_row_shard(call->table, rows[k], client->shards);
        asks[s]->rows[asks[s]->n++] = rows[k];
    }
    free(count);
    return err;
}

/* The call's own asks: they are kept until they are answered. */
static strads_err ask_for(sti_client *client, uint32_t worker, uint32_t n,
                          const uint32_t *rows, uint64_t now, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    sti_waiting_call *call = &w->call;
    call->id = ++w->last_id;
    call->sent_at = now;
    strads_err err = make_asks(client, worker, call, n, rows, call->asks);
    for (uint32_t s = 0; !err && s < client->shards; s++)
        if (call->asks[s]) {
            call->n_asks++;
            send_ask(client, s, call->asks[s], out);
        }
    return err;
}

/* Asks once, and does not wait: rows that may be as old as they like are
 * renewed so, once a clock. A lost answer is no harm. */
static strads_err renew(sti_client *client, uint32_t worker, uint32_t table,
                        uint32_t n, const uint32_t *rows, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    const sti_waiting_call call = {.id = ++w->last_id, .table = table};
    sti_row_ask **asks = calloc(client->shards, sizeof(sti_row_ask *));
    if (!asks)
        return no_memory();
    strads_err err = make_asks(client, worker, &call, n, rows, asks);
    for (uint32_t s = 0; s < client->shards; s++) {
        if (asks[s] && !err)
            send_ask(client, s, asks[s], out);
        sti_object_drop(asks[s]);
    }
    free(asks);
    return err;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err check_read(const sti_client *client,
                             const sti_client_read *read)
{
    if (read->table >= client->n_tables)
        return strads_fail(STRADS_EINVAL,
                           "there is no table %" PRIu32 ": the store has "
                           "%" PRIu32 ", numbered from 0",
                           read->table, client->n_tables);
    const strads_table_spec *spec = &client->tables[read->table];
    for (uint32_t k = 0; k < read->n; k++)
        if (read->rows[k] >= spec->rows)
            return strads_fail(STRADS_EINVAL,
                               "table \"%s\" has %" PRIu64
                               " rows, numbered from 0: there is no row "
                               "%" PRIu32,
                               spec->name, spec->rows, read->rows[k]);
    return STRADS_OK;
}

/* Whoever reads so lets it grow, to the table's bound. */
static uint32_t pick_staleness(sti_client *client, const sti_client_worker *w,
                               const strads_table_spec *spec)
{
    uint32_t most = sti_staleness_max(spec);
    if (client->adaptive_most < most)
        client->adaptive_most = most;
    return sti_adaptive_staleness(&w->adaptive, spec);
}

static uint64_t needed(sti_client *client, const sti_client_read *read)
{
    const strads_table_spec *spec = &client->tables[read->table];
    const sti_client_worker *w = sti_client_worker_of(client, read->worker);
    uint32_t staleness = read->staleness;
    if (staleness == STRADS_STALENESS_DEFAULT)
        staleness = spec->staleness;
    if (staleness == STRADS_STALENESS_INFINITE)
        return 0;
    if (staleness == STRADS_STALENESS_ADAPTIVE)
        staleness = pick_staleness(client, w, spec);
    return w->clock > staleness ? w->clock - staleness : 0;
}

static sti_cached_row *fresh_row(sti_client *client, uint32_t table,
                                 uint32_t row, uint64_t needs)
{
    sti_cached_row *at = sti_cache_find(&client->cache, table, row);
#if STI_PLANTED_BUG == 2 /* a stale read */
    return at;
#endif
    return at && sti_client_as_of(client, at) >= needs ? at : NULL;
}

static bool all_fresh(sti_client *client, const sti_client_read *read,
                      uint64_t needs)
{
    for (uint32_t k = 0; k < read->n; k++)
        if (!fresh_row(client, read->table, read->rows[k], needs))
            return false;
    return true;
}

/* P2: the node's pushes are in the cached rows, what is pending comes on top.
 * *as_of: the least. */
static void copy_rows(sti_client *client, const sti_client_read *read,
                      char *values, uint64_t *as_of)
{
    size_t bytes = sti_client_row_bytes(client, read->table);
    for (uint32_t k = 0; k < read->n; k++) {
        const sti_cached_row *row =
            sti_cache_find(&client->cache, read->table, read->rows[k]);
        uint64_t at = sti_client_as_of(client, row);
        *as_of = at < *as_of ? at : *as_of;
        memcpy(values + k * bytes, row->values, bytes);
        if (read->pending)
            sti_pending_apply(read->pending, read->rows[k], values + k * bytes);
    }
}

/* With infinite staleness nothing else would ever bring newer values. */
static strads_err renew_old(sti_client *client, const sti_client_read *read,
                            sti_effects *out)
{
    const sti_client_worker *w = sti_client_worker_of(client, read->worker);
    uint32_t *rows = malloc(sizeof *rows * (read->n + 1));
    uint32_t n = 0;
    if (!rows)
        return no_memory();
    for (uint32_t k = 0; k < read->n; k++) {
        sti_cached_row *row =
            sti_cache_find(&client->cache, read->table, read->rows[k]);
        if (sti_client_as_of(client, row) >= w->clock || row->asked >= w->clock)
            continue;
        row->asked = w->clock;
        rows[n++] = row->row;
    }
    strads_err err =
        n ? renew(client, read->worker, read->table, n, rows, out) : STRADS_OK;
    free(rows);
    return err;
}

/* Pins what is fresh and asks for the rest. */
static strads_err ask_for_missing(sti_client *client,
                                  const sti_client_read *read, uint64_t needs,
                                  sti_effects *out)
{
    sti_waiting_call *call = &sti_client_worker_of(client, read->worker)->call;
    uint32_t *missing = malloc(sizeof *missing * (read->n + 1));
    uint64_t bytes = sti_client_row_bytes(client, read->table);
    uint32_t most = bytes < most_asked ? (uint32_t)(most_asked / bytes) : 1;
    uint32_t n = 0;
    strads_err err = missing ? STRADS_OK : no_memory();
    for (uint32_t k = 0; !err && k < read->n; k++) {
        sti_cached_row *row =
            fresh_row(client, read->table, read->rows[k], needs);
        if (row)
            err = sti_call_pin(client, call, row);
        else if (n < most)
            missing[n++] = read->rows[k];
    }
    if (!err)
        err = ask_for(client, read->worker, n, missing, read->now, out);
    free(missing);
    return err;
}

static strads_err read_cached(sti_client *client, const sti_client_read *read,
                              char *values, uint64_t *as_of, bool *wait,
                              sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    uint64_t needs = needed(client, read);
    if (w->call.used && !is_repeated(&w->call, read, needs))
        sti_call_forget(client, w);
    strads_err err = STRADS_OK;
    *wait = !all_fresh(client, read, needs);
    if (!*wait) {
        copy_rows(client, read, values, as_of);
        if (w->call.used)
            sti_adaptive_waited(&w->adaptive, read->now - w->call.since);
        sti_call_forget(client, w);
        if (needs == 0 && w->clock > 0 && !client->tables[read->table].eager)
            err = renew_old(client, read, out);
        return err;
    }
    if (w->call.n_asks) /* a WAKE without need */
        return STRADS_OK;
    if (!w->call.used)
        err = begin_call(w, read, needs);
    if (!err)
        err = ask_for_missing(client, read, needs, out);
    return err;
}

/* An exact snapshot does not go through the cache: its rows are the call's. */
static strads_err read_exact(sti_client *client, const sti_client_read *read,
                             char *values, uint64_t *as_of, bool *wait,
                             sti_effects *out)
{
    const strads_table_spec *spec = &client->tables[read->table];
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_waiting_call *call = &w->call;
    size_t bytes = sti_client_row_bytes(client, read->table) * read->n;
    uint32_t every = spec->snapshot_every;
    if (every == 0 || w->clock < every)
        return strads_fail(STRADS_EINVAL,
                           "table \"%s\" has no snapshot before clock "
                           "%" PRIu64,
                           spec->name, w->clock + 1);
    uint64_t needs = w->clock / every * every;
    if (call->used && !is_repeated(call, read, needs))
        sti_call_forget(client, w);
    strads_err err = STRADS_OK;
    *wait = !call->used || call->n_asks;
    if (!call->used) {
        err = begin_call(w, read, needs);
        call->values = calloc(1, bytes + 1);
        if (!err && !call->values)
            err = no_memory();
        if (!err)
            err = ask_for(client, read->worker, read->n, read->rows, read->now,
                          out);
        *wait = call->n_asks > 0;
    }
    if (err || *wait)
        return err;
    if (call->gone)
        err = strads_fail(STRADS_ESTATE,
                          "the snapshot of clock %" PRIu64 " of table \"%s\" "
                          "was not kept: a worker is too many clocks ahead",
                          needs, spec->name);
    else
        memcpy(values, call->values, bytes);
    *as_of = needs;
    sti_call_forget(client, w);
    return err;
}

strads_err sti_client_read_rows(sti_client *client, const sti_client_read *read,
                                void *values, uint64_t *as_of, bool *wait,
                                sti_effects *out)
{
    uint64_t least = UINT64_MAX;
    *wait = false;
    strads_err err = check_read(client, read);
    if (err)
        return err;
    err = read->exact ? read_exact(client, read, values, &least, wait, out)
                      : read_cached(client, read, values, &least, wait, out);
    if (err)
        sti_call_forget(client, sti_client_worker_of(client, read->worker));
    else if (!*wait && as_of)
        *as_of = least;
    sti_client_time(client, read->now, out);
    return err;
}

/* An ask with no rows, of one shard: workers tell all of them their clocks. */
strads_err sti_client_barrier(sti_client *client, uint32_t worker, uint64_t now,
                              bool *wait, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    const sti_client_read none = {.worker = worker, .now = now};
    uint32_t shard = worker % client->shards;
    sti_waiting_call *call = &w->call;
    if (call->used && !(call->n == 0 && call->needs == w->clock))
        sti_call_forget(client, w);
    if (call->used) {
        *wait = call->n_asks > 0;
        if (!*wait)
            sti_call_forget(client, w);
        return STRADS_OK;
    }
    strads_err err = begin_call(w, &none, w->clock);
    if (!err)
        err = sti_row_ask_new(0, &call->asks[shard]);
    if (err) {
        sti_call_forget(client, w);
        return err;
    }
    call->asks[shard]->id = call->id = ++w->last_id;
    call->asks[shard]->needs = w->clock;
    call->asks[shard]->worker = worker;
    call->sent_at = now;
    call->n_asks = 1;
    send_ask(client, shard, call->asks[shard], out);
    *wait = true;
    sti_client_time(client, now, out);
    return STRADS_OK;
}

/* ---- answers ----------------------------------------------------------- */

/* Rows of an exact snapshot, to wherever the call named them. */
static void fill_exact(const sti_client *client, const sti_row_answer *answer,
                       sti_waiting_call *call)
{
    size_t bytes = sti_client_row_bytes(client, call->table);
    const strads_table_spec *spec = &client->tables[call->table];
    sti_push_part part;
    strads_err err;
    uint32_t k = 0;
    call->gone |= answer->gone;
    for (size_t at = 0;
         answer->parts && sti_push_next(answer->parts, &at, &part, &err);) {
        bool one = part.kind == STI_PUSH_COLS;
        for (uint32_t i = 0; i < (one ? 1 : part.n); i++) {
            uint32_t row = one ? part.row : part.places[i];
            while (k < call->n && call->rows[k] != row)
                k++;
            if (k == call->n)
                return;
            char *to = call->values + k++ * bytes;
            if (one)
                sti_cells_add_at(spec->type, to, part.places, part.cells,
                                 part.n);
            else
                memcpy(to, (const char *)part.cells + i * bytes, bytes);
        }
    }
}

/* The answer that a worker waits for, of the last of several shards, wakes. */
static strads_err take_awaited(sti_client *client, uint32_t shard,
                               const sti_row_answer *answer,
                               sti_client_worker *w, sti_effects *out)
{
    sti_waiting_call *call = &w->call;
    strads_err err = STRADS_OK;
    if (call->exact)
        fill_exact(client, answer, call);
    else if (call->n)
        err = sti_client_fill(client, shard, answer, call);
    sti_object_drop(call->asks[shard]);
    call->asks[shard] = NULL;
    if (--call->n_asks == 0)
        sti_effect_wake(out, answer->worker);
    return err;
}

/* Rows that are of no one's call renew what is cached, and no more. */
static strads_err take_others(sti_client *client, uint32_t shard,
                              const sti_row_answer *answer)
{
    if (answer->exact)
        return STRADS_OK;
    strads_err err = sti_client_fill(client, shard, answer, NULL);
    if (err || answer->id)
        return err;
    sti_client_told(client, shard, answer);
    return STRADS_OK;
}

/* P4: an answer that a newer one has overtaken could bring back a row, evicted
 * meanwhile, that was seen as of a later clock. An exact one is of its own. */
static bool is_overtaken(sti_client *client, uint32_t shard,
                         const sti_row_answer *answer)
{
    uint64_t *newest = &client->newest[shard];
    if (answer->exact)
        return false;
    if (answer->as_of > *newest)
        *newest = answer->as_of;
    return answer->as_of < *newest;
}

/* C6. An answer from before pushes that were acknowledged since lacks them,
 * and they are not kept here any more: it is not used, and asked for again. */
void sti_client_take_rows(sti_client *client, uint32_t shard,
                          sti_row_answer *answer, uint64_t now,
                          sti_effects *out)
{
    const sti_push_stream *stream = &client->streams[shard];
    uint32_t index = answer ? answer->worker - client->first_worker : 0;
    strads_err err = answer ? sti_answer_check(client, shard, answer)
                            : strads_fail(STRADS_EPEER, "an empty answer");
    if (!err && answer->id && index >= client->n_workers)
        err = strads_fail(STRADS_EPEER, "an answer to nobody");
    if (!err) {
        sti_client_worker *w = &client->workers[answer->id ? index : 0];
        bool awaited =
            answer->id && w->call.asks[shard] && w->call.id == answer->id &&
            w->call.needs <= answer->as_of && w->call.table == answer->table;
        bool overtaken = is_overtaken(client, shard, answer);
        if (answer->applied < stream->acknowledged || (awaited && overtaken))
            awaited ? sti_call_resend(client, w, shard, now, out) : (void)0;
        else if (awaited)
            err = take_awaited(client, shard, answer, w, out);
        else
            err = take_others(client, shard, answer);
    }
    sti_object_drop(answer);
    if (err)
        sti_client_fail(client, err, out);
}
