/* A node's end of a spread store: its streams, its workers' clocks, and time.
 *
 * Invariants: what a worker pushed is in the stream of each shard it concerns
 * before its clock moves; a cached row holds its shard's values at some moment,
 * every own push that these do not hold, and nothing twice. */
#include "engine/store/store_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/store_client_state.h"
#include "engine/store/number_cells.h"

static const uint64_t default_cache = UINT64_C(256) << 20;
static const uint64_t default_piece = UINT64_C(256) << 10;
static const uint64_t default_window = UINT64_C(8) << 20;
static const uint64_t default_resend_ns = 500000000;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a store's client");
}

/* ---- opening ----------------------------------------------------------- */

static strads_err copy_tables(sti_client *client, const sti_client_setup *setup)
{
    client->tables = calloc(setup->n_tables + 1, sizeof *client->tables);
    if (!client->tables)
        return no_memory();
    for (uint32_t t = 0; t < setup->n_tables; t++) {
        const strads_table_spec *spec = &setup->tables[t];
        if (!spec->name || !sti_cell_size(spec->type) || spec->cols == 0 ||
            spec->rows > UINT32_MAX)
            return strads_fail(STRADS_EINVAL,
                               "table %u of the store has no name, no known "
                               "type, no columns or too many rows",
                               (unsigned)t);
        client->tables[t] = *spec;
        client->tables[t].name = strdup(spec->name);
        client->n_tables++;
        if (!client->tables[t].name)
            return no_memory();
    }
    return STRADS_OK;
}

static uint64_t bytes_under_way(const sti_client_setup *setup)
{
    if (setup->max_bytes)
        return setup->max_bytes;
    return setup->max_pushes ? STI_PUSH_BYTES_MAX : STI_PUSH_BYTES;
}

static void open_streams(sti_client *client, const sti_client_setup *setup)
{
    for (uint32_t s = 0; s < setup->shards; s++)
        client->streams[s] =
            (sti_push_stream){.from = STI_CLIENT_0 + setup->client,
                              .to = STI_SHARD_0 + s,
                              .unknown = setup->returned_at > 0,
                              .max_pushes = setup->max_pushes
                                                ? setup->max_pushes
                                                : STI_PUSHES_MAX,
                              .max_bytes = bytes_under_way(setup)};
}

strads_err sti_client_new(const sti_client_setup *setup, sti_client **out)
{
    sti_client *client = calloc(1, sizeof *client);
    if (!client)
        return no_memory();
    uint32_t shards = setup->shards;
    client->client = setup->client;
    client->shards = shards;
    client->first_worker = setup->first_worker;
    client->piece_bytes =
        setup->piece_bytes ? setup->piece_bytes : default_piece;
    client->window_bytes =
        setup->window_bytes ? setup->window_bytes : default_window;
    client->life = setup->returned_at;
    client->resend_ns = setup->resend_ns ? setup->resend_ns : default_resend_ns;
    client->cache.limit =
        setup->cache_bytes ? setup->cache_bytes : default_cache;
    client->streams = calloc(shards, sizeof *client->streams);
    client->workers = calloc(setup->workers + 1, sizeof *client->workers);
    client->chains =
        calloc((size_t)setup->n_tables * shards + 1, sizeof *client->chains);
    client->newest = calloc(shards, sizeof *client->newest);
    client->stalest = calloc(setup->n_tables + 1, sizeof *client->stalest);
    client->reuse = calloc(setup->n_tables + 1, sizeof *client->reuse);
    bool ready = client->streams && client->workers && client->chains &&
                 client->newest && client->stalest && client->reuse;
    strads_err err = ready ? copy_tables(client, setup) : no_memory();
    if (client->streams)
        open_streams(client, setup);
    for (uint32_t w = 0; !err && w < setup->workers; w++) {
        client->workers[w].call.asks = calloc(shards, sizeof(sti_call_ask));
        client->workers[w].last_id = setup->returned_at; /* they only grow */
        client->workers[w].clock = setup->clocks ? setup->clocks[w] : 0;
        client->n_workers++;
        if (!client->workers[w].call.asks)
            err = no_memory();
    }
    if (err)
        sti_client_free(client);
    else
        *out = client;
    return err;
}

void sti_client_free(sti_client *client)
{
    if (!client)
        return;
    for (uint32_t w = 0; w < client->n_workers; w++) {
        if (client->workers[w].call.asks)
            sti_call_forget(client, &client->workers[w]);
        sti_call_free(&client->workers[w].call);
    }
    for (uint32_t s = 0; client->streams && s < client->shards; s++)
        sti_stream_free(&client->streams[s]);
    for (uint32_t t = 0; t < client->n_tables; t++)
        free((char *)(uintptr_t)client->tables[t].name);
    sti_cache_free(&client->cache);
    free(client->tables);
    free(client->chains);
    free(client->newest);
    free(client->stalest);
    free(client->reuse);
    free(client->streams);
    free(client->workers);
    free(client);
}

uint64_t sti_client_clock(const sti_client *client, uint32_t worker)
{
    return sti_client_worker_of(client, worker)->clock;
}

uint32_t sti_client_staleness(const sti_client *client, uint32_t worker,
                              uint32_t table)
{
    return sti_adaptive_staleness(
        &sti_client_worker_of(client, worker)->adaptive,
        &client->tables[table]);
}

uint64_t sti_client_acknowledged(const sti_client *client, uint32_t shard)
{
    return client->streams[shard].acknowledged;
}

uint64_t sti_client_piece(const sti_client *client)
{
    return client->piece_bytes * client->shards;
}

const sti_change_count *sti_client_changes(const sti_client *client)
{
    return &client->changes;
}

void sti_client_outdate(sti_client *client)
{
    atomic_fetch_add_explicit(&client->changes, 1, memory_order_release);
}

bool sti_client_settled(const sti_client *client)
{
    for (uint32_t s = 0; s < client->shards; s++)
        if (sti_stream_unacknowledged(&client->streams[s]))
            return false;
    return true;
}

uint64_t sti_client_cached(const sti_client *client)
{
    return client->cache.bytes;
}

uint64_t sti_client_unacknowledged(const sti_client *client)
{
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < client->shards; s++)
        bytes += client->streams[s].bytes;
    return bytes;
}

void sti_client_forget(sti_client *client, uint32_t worker)
{
    sti_call_forget(client, sti_client_worker_of(client, worker));
}

void sti_client_skip(sti_client *client, uint32_t worker, uint64_t clock)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    if (clock > w->clock)
        w->clock = clock - 1;
}

/* ---- events ------------------------------------------------------------ */

void sti_client_fail(sti_client *client, strads_err err, sti_effects *out)
{
    client->failed = true;
    sti_effect_send(
        out, (sti_msg){.kind = STI_MSG_FAIL,
                       .from = STI_CLIENT_0 + client->client,
                       .to = STI_COORDINATOR,
                       .object = sti_failure_object(err, strads_error_text())});
}

void sti_client_attach(sti_client *client, uint32_t shard, uint64_t now,
                       sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ATTACH,
                                   .from = STI_CLIENT_0 + client->client,
                                   .to = STI_SHARD_0 + shard,
                                   .life = client->life});
    if (client->streams[shard].unknown)
        client->streams[shard].moved_at = now;
    sti_client_time(client, now, out);
}

/* C3 SETTLE, and room in the window for those who wait for it: a quarter of it,
 * so that they are not woken for each push. */
static void settle(sti_client *client, uint32_t shard, const sti_msg *msg,
                   uint64_t now, sti_effects *out)
{
    sti_push_stream *stream = &client->streams[shard];
    if (stream->unknown && msg->kind == STI_MSG_ATTACHED &&
        msg->life == client->life)
        sti_stream_stands(stream, msg->round);
    else if (!sti_stream_settle(stream, msg->round, now))
        return;
    for (uint32_t w = 0; w < client->n_workers; w++) {
        if (client->workers[w].wants_rows)
            sti_effect_wake(out, client->first_worker + w);
        client->workers[w].wants_rows = false;
    }
    if (!sti_stream_has_room(stream, stream->max_bytes / 4))
        return;
    for (uint32_t w = 0; w < client->n_workers; w++) {
        if (client->workers[w].wants_window)
            sti_effect_wake(out, client->first_worker + w);
        client->workers[w].wants_window = false;
    }
}

/* C4 RESEND to one shard, and what was asked of it. First what it has told
 * before: a shard that has less now finds out (S6). */
static void attached(sti_client *client, uint32_t shard, uint64_t now,
                     sti_effects *out)
{
    sti_effect_send(out,
                    (sti_msg){.kind = STI_MSG_SETTLED,
                              .from = STI_CLIENT_0 + client->client,
                              .to = STI_SHARD_0 + shard,
                              .round = client->streams[shard].acknowledged});
    sti_stream_resend(&client->streams[shard], now, out);
    for (uint32_t w = 0; w < client->n_workers; w++)
        sti_call_resend(client, &client->workers[w], shard, now, out);
}

static void take(sti_client *client, const sti_msg *msg, uint64_t now,
                 sti_effects *out)
{
    uint32_t shard = msg->from - STI_SHARD_0;
    if (shard >= client->shards) {
        sti_object_drop(msg->object);
        sti_client_fail(client,
                        strads_fail(STRADS_EPEER,
                                    "a shard that is not there answers"),
                        out);
        return;
    }
    switch (msg->kind) {
    case STI_MSG_ACK:
        settle(client, shard, msg, now, out);
        break;
    case STI_MSG_ATTACHED:
        settle(client, shard, msg, now, out);
        attached(client, shard, now, out);
        break;
    case STI_MSG_ROWS:
        sti_client_take_rows(client, shard, (sti_row_answer *)msg->object, now,
                             out);
        break;
    default:
        sti_object_drop(msg->object);
        break;
    }
}

/* ---- time -------------------------------------------------------------- */

/* When the first thing is due to be sent again; UINT64_MAX: nothing is. */
static uint64_t next_due(const sti_client *client)
{
    uint64_t due = UINT64_MAX;
    for (uint32_t s = 0; s < client->shards; s++) {
        const sti_push_stream *stream = &client->streams[s];
        if ((stream->unknown || sti_stream_unacknowledged(stream)) &&
            stream->moved_at + client->resend_ns < due)
            due = stream->moved_at + client->resend_ns;
    }
    for (uint32_t w = 0; w < client->n_workers; w++) {
        const sti_waiting_call *call = &client->workers[w].call;
        if (call->n_asks && call->sent_at + client->resend_ns < due)
            due = call->sent_at + client->resend_ns;
    }
    return due;
}

void sti_client_time(sti_client *client, uint64_t now, sti_effects *out)
{
    uint64_t due = client->timed ? UINT64_MAX : next_due(client);
    if (due == UINT64_MAX)
        return;
    client->timed = true;
    sti_effect_timer(out, due > now ? due : now);
}

/* C4 and C5: what has not been answered for the resend time. */
static void timer(sti_client *client, uint64_t now, sti_effects *out)
{
    client->timed = false;
    if (client->failed)
        return;
    for (uint32_t s = 0; s < client->shards; s++) {
        sti_push_stream *stream = &client->streams[s];
        bool due = now >= stream->moved_at + client->resend_ns;
        if (due && stream->unknown)
            sti_client_attach(client, s, now, out);
        else if (due && sti_stream_unacknowledged(stream))
            sti_stream_resend(stream, now, out);
    }
    for (uint32_t w = 0; w < client->n_workers; w++) {
        sti_client_worker *worker = &client->workers[w];
        if (worker->call.n_asks &&
            now >= worker->call.sent_at + client->resend_ns)
            for (uint32_t s = 0; s < client->shards; s++)
                sti_call_resend(client, worker, s, now, out);
    }
}

void sti_client_step(sti_client *client, const sti_event *events, size_t n,
                     sti_effects *out)
{
    for (size_t k = 0; k < n; k++) {
        const sti_event *event = &events[k];
        if (event->kind == STI_EVENT_MESSAGE && client->failed)
            sti_object_drop(event->msg.object);
        else if (event->kind == STI_EVENT_MESSAGE)
            take(client, &event->msg, event->now, out);
        else if (event->kind == STI_EVENT_TIMER)
            timer(client, event->now, out);
        sti_client_time(client, event->now, out);
    }
}
