/* What a worker waits for: its call, the asks that it has out, and the answers
 * to them. A call pins what it has found, so that all of it is there when it is
 * repeated, whatever else goes through the cache. It asks for a window of rows
 * at a time; as soon as these have come the next are asked for, here, without
 * its worker.
 *
 * Rows are copied to the caller's values as they come, while they are in the
 * processor's cache. What changes afterwards is copied again when the call is
 * repeated: so it sees all rows as they are then. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/store_client_state.h"
#include "engine/store/number_cells.h"
#include "engine/store/push.h"
#include "engine/store/row_shard.h"

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory to wait for rows");
}

/* ---- the call that waits ----------------------------------------------- */

static void drop_ask(sti_call_ask *ask)
{
    sti_object_drop(ask->ask);
    free(ask->places);
    *ask = (sti_call_ask){0};
}

void sti_call_forget(sti_client *client, sti_client_worker *worker)
{
    sti_waiting_call *call = &worker->call;
    if (!call->used)
        return;
    for (uint32_t s = 0; s < client->shards; s++)
        drop_ask(&call->asks[s]);
    for (uint32_t k = 0; !call->exact && k < call->n; k++)
        if (call->found[k].row)
            sti_cache_unpin(&client->cache, call->found[k].row);
    if (call->exact)
        free(call->values);
    *call = (sti_waiting_call){.asks = call->asks,
                               .rows = call->rows,
                               .found = call->found,
                               .room = call->room};
}

void sti_call_free(sti_waiting_call *call)
{
    free(call->asks);
    free(call->rows);
    free(call->found);
}

bool sti_call_is(const sti_waiting_call *call, const sti_client_read *read,
                 const void *values, uint64_t needs)
{
    return call->used && call->table == read->table &&
           call->exact == read->exact && call->needs == needs &&
           call->n == read->n && (call->exact || call->values == values) &&
           call->pending == read->pending &&
           (read->n == 0 ||
            memcmp(call->rows, read->rows, sizeof *read->rows * read->n) == 0);
}

static strads_err make_room(sti_waiting_call *call, uint32_t n)
{
    if (n <= call->room)
        return STRADS_OK;
    free(call->rows);
    free(call->found);
    call->room = 0;
    call->rows = malloc(sizeof *call->rows * n);
    call->found = malloc(sizeof *call->found * n);
    if (!call->rows || !call->found)
        return no_memory();
    call->room = n;
    return STRADS_OK;
}

strads_err sti_call_begin(sti_client_worker *worker,
                          const sti_client_read *read, void *values,
                          uint64_t needs)
{
    sti_waiting_call *call = &worker->call;
    strads_err err = make_room(call, read->n);
    if (err) {
        if (read->exact)
            free(values);
        return err;
    }
    for (uint32_t k = 0; k < read->n; k++) {
        call->rows[k] = read->rows[k];
        call->found[k] = (sti_found_row){0};
    }
    call->used = true;
    call->table = read->table;
    call->exact = read->exact;
    call->n = read->n;
    call->needs = needs;
    call->since = read->now;
    call->as_of = UINT64_MAX;
    call->values = values;
    call->pending = read->pending;
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
    sti_row_ask *ask = worker->call.asks[shard].ask;
    if (!ask)
        return;
    send_ask(client, shard, ask, out);
    worker->call.sent_at = now;
}

static strads_err make_ask(uint32_t worker, const sti_waiting_call *call,
                           uint32_t room, sti_call_ask *out)
{
    strads_err err = sti_row_ask_new(room, &out->ask);
    if (err)
        return err;
    out->places = malloc(sizeof *out->places * (room + 1));
    if (!out->places)
        return no_memory();
    out->ask->id = call->id;
    out->ask->needs = call->needs;
    out->ask->worker = worker;
    out->ask->table = call->table;
    out->ask->exact = call->exact;
    out->ask->n = 0;
    return STRADS_OK;
}

/* Asks for those of rows[] that are at places[n]: one ask for each shard that
 * holds some of them. */
static strads_err make_asks(const sti_client *client, uint32_t worker,
                            const sti_waiting_call *call, const uint32_t *rows,
                            uint32_t n, const uint32_t *places,
                            sti_call_ask *asks)
{
    uint32_t *count = calloc(client->shards, sizeof *count);
    strads_err err = count ? STRADS_OK : no_memory();
    for (uint32_t k = 0; !err && k < n; k++)
        count[sti_row_shard(call->table, rows[places[k]], client->shards)]++;
    for (uint32_t s = 0; !err && s < client->shards; s++)
        if (count[s])
            err = make_ask(worker, call, count[s], &asks[s]);
    for (uint32_t k = 0; !err && k < n; k++) {
        uint32_t row = rows[places[k]];
        sti_call_ask *to =
            &asks[sti_row_shard(call->table, row, client->shards)];
        to->places[to->ask->n] = places[k];
        to->ask->rows[to->ask->n++] = row;
    }
    free(count);
    return err;
}

/* The call's own asks: they are kept until they are answered. */
static strads_err ask_for(sti_client *client, uint32_t worker, uint32_t n,
                          const uint32_t *places, uint64_t now,
                          sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    sti_waiting_call *call = &w->call;
    call->id = ++w->last_id;
    call->sent_at = now;
    strads_err err =
        make_asks(client, worker, call, call->rows, n, places, call->asks);
    for (uint32_t s = 0; !err && s < client->shards; s++)
        if (call->asks[s].ask) {
            call->n_asks++;
            send_ask(client, s, call->asks[s].ask, out);
        }
    return err;
}

sti_cached_row *sti_client_fresh(sti_client *client, uint32_t table,
                                 uint32_t row, uint64_t needs)
{
    sti_cached_row *at = sti_cache_find(&client->cache, table, row);
    return at && !at->spent && sti_client_as_of(client, at) >= needs ? at
                                                                     : NULL;
}

strads_err sti_call_go_on(sti_client *client, uint32_t worker, uint64_t now,
                          sti_effects *out)
{
    sti_waiting_call *call = &sti_client_worker_of(client, worker)->call;
    uint64_t bytes = sti_client_row_bytes(client, call->table);
    uint64_t most =
        bytes < client->window_bytes ? client->window_bytes / bytes : 1;
    uint32_t n = 0;
    if (most > call->n - call->next)
        most = call->n - call->next;
    uint32_t *missing = malloc(sizeof *missing * (most + 1));
    if (!missing)
        return no_memory();
    for (; n < most && call->next < call->n; call->next++) {
        sti_cached_row *row =
            call->exact ? NULL
                        : sti_client_fresh(client, call->table,
                                           call->rows[call->next], call->needs);
        if (row)
            sti_call_take(client, call, call->next, row);
        else
            missing[n++] = call->next;
    }
    strads_err err =
        n ? ask_for(client, worker, n, missing, now, out) : STRADS_OK;
    free(missing);
    return err;
}

strads_err sti_call_ask_clock(sti_client *client, uint32_t worker,
                              uint32_t shard, uint64_t now, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    sti_waiting_call *call = &w->call;
    call->id = ++w->last_id;
    strads_err err = make_ask(worker, call, 0, &call->asks[shard]);
    if (err)
        return err;
    call->sent_at = now;
    call->n_asks = 1;
    send_ask(client, shard, call->asks[shard].ask, out);
    return STRADS_OK;
}

/* A lost answer is no harm, so nothing is kept. */
strads_err sti_client_renew(sti_client *client, uint32_t worker, uint32_t table,
                            uint32_t n, const uint32_t *rows, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    const sti_waiting_call call = {.id = ++w->last_id, .table = table};
    sti_call_ask *asks = calloc(client->shards, sizeof *asks);
    uint32_t *places = malloc(sizeof *places * (n + 1));
    strads_err err = asks && places ? STRADS_OK : no_memory();
    for (uint32_t k = 0; !err && k < n; k++)
        places[k] = k;
    if (!err)
        err = make_asks(client, worker, &call, rows, n, places, asks);
    for (uint32_t s = 0; asks && s < client->shards; s++) {
        if (asks[s].ask && !err)
            send_ask(client, s, asks[s].ask, out);
        drop_ask(&asks[s]);
    }
    free(asks);
    free(places);
    return err;
}

/* ---- answers ----------------------------------------------------------- */

/* Rows of an exact snapshot, to where the call named them. */
static void fill_exact(const sti_client *client, const sti_row_answer *answer,
                       sti_waiting_call *call, const uint32_t *places)
{
    size_t bytes = sti_client_row_bytes(client, call->table);
    const strads_table_spec *spec = &client->tables[call->table];
    sti_push_part part;
    strads_err err;
    for (size_t at = 0;
         answer->parts && sti_push_next(answer->parts, &at, &part, &err);) {
        bool one = part.kind == STI_PUSH_COLS;
        for (uint32_t i = 0; i < (one ? 1 : part.n); i++) {
            char *to = call->values + *places++ * bytes;
            if (one) {
                memset(to, 0, bytes);
                sti_cells_add_at(spec->type, to, part.places, part.cells,
                                 part.n);
            } else {
                memcpy(to, (const char *)part.cells + i * bytes, bytes);
            }
        }
    }
}

/* A piece. Where another answer to the same ask was cut elsewhere, as sparse
 * rows grow, some of its rows may be there already. The last one of the last of
 * several shards goes on, or wakes. */
static strads_err take_piece(sti_client *client, uint32_t shard,
                             const sti_row_answer *answer, sti_client_worker *w,
                             uint64_t now, sti_effects *out)
{
    sti_waiting_call *call = &w->call;
    sti_call_ask *ask = &call->asks[shard];
    const uint32_t *places = ask->places + answer->first;
    uint32_t n = sti_answer_rows(answer), left = ask->ask->n - answer->first;
    strads_err err = STRADS_OK;
    if (n > left || (n == 0 && ask->ask->n && !answer->gone))
        return strads_fail(STRADS_EPEER,
                           "a shard sent %" PRIu32 " rows where it was asked "
                           "for %" PRIu32,
                           n, left);
    call->gone |= answer->gone;
    if (call->exact)
        fill_exact(client, answer, call, places);
    else if (call->n)
        err = sti_client_fill(client, shard, answer, call, places);
    if (ask->got < answer->first + n)
        ask->got = answer->first + n;
    if (err || (ask->got < ask->ask->n && !call->gone))
        return err;
    drop_ask(ask);
    if (--call->n_asks == 0 && call->next < call->n && !call->gone)
        err = sti_call_go_on(client, answer->worker, now, out);
    if (!err && call->n_asks == 0)
        sti_effect_wake(out, answer->worker);
    return err;
}

static bool awaits(const sti_client *client, uint32_t shard,
                   const sti_waiting_call *call, const sti_row_answer *head)
{
    const sti_call_ask *ask = &call->asks[shard];
    return call->used && ask->ask && call->id == head->id &&
           call->needs <= head->as_of && call->table == head->table &&
           ask->got == head->first && head->as_of >= client->newest[shard];
}

/* Only rows that pass: others are cached, or lack some of what was pushed. */
char *sti_client_berth(const sti_client *client, uint32_t shard,
                       const sti_row_answer *head, const sti_push_part *part,
                       const uint32_t **places, size_t *row_bytes)
{
    const uint32_t index = head->worker - client->first_worker;
    if (shard >= client->shards || !head->id || index >= client->n_workers ||
        head->exact || head->again || head->gone ||
        head->applied < client->streams[shard].pushed)
        return NULL;
    const sti_waiting_call *call = &client->workers[index].call;
    const sti_call_ask *ask = &call->asks[shard];
    if (!call->passes || !awaits(client, shard, call, head) ||
        part->kind != STI_PUSH_ROWS || part->table != call->table ||
        part->n > ask->ask->n - head->first ||
        !sti_push_fits(&client->tables[call->table], part))
        return NULL;
    *places = ask->places + head->first;
    for (uint32_t k = 0; k < part->n; k++)
        if (call->rows[(*places)[k]] != part->places[k])
            return NULL;
    *row_bytes = sti_client_row_bytes(client, call->table);
    return call->values;
}

/* Rows that are of no one's call renew what is cached, and no more. */
static strads_err take_others(sti_client *client, uint32_t shard,
                              const sti_row_answer *answer)
{
    if (answer->exact || answer->in_place)
        return STRADS_OK;
    strads_err err = sti_client_fill(client, shard, answer, NULL, NULL);
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
        const sti_call_ask *ask = &w->call.asks[shard];
        bool awaited = answer->id && ask->ask && w->call.id == answer->id &&
                       w->call.needs <= answer->as_of &&
                       w->call.table == answer->table &&
                       answer->first <= ask->got;
        awaited &= !answer->again || answer->first == ask->got;
        bool overtaken = !answer->again && is_overtaken(client, shard, answer);
        if (answer->again || answer->applied < stream->acknowledged ||
            (awaited && overtaken))
            awaited ? sti_call_resend(client, w, shard, now, out) : (void)0;
        else if (awaited)
            err = take_piece(client, shard, answer, w, now, out);
        else
            err = take_others(client, shard, answer);
    }
    sti_object_drop(answer);
    if (err)
        sti_client_fail(client, err, out);
}
