/* A node's client of a spread store: its streams of pushes, its workers'
 * clocks, and time.
 *
 * Invariants: a worker's increments are in the stream of each shard concerned
 * before its clock moves. Only the last piece ends the clock, at all shards at
 * once, so a reader that sees the clock ended sees all pieces. In a stream
 * acknowledged <= pushed, both only grow, and every push between the two is
 * kept exactly as it was first sent. */
#include "engine/store/client.h"

#include <stdlib.h>
#include <string.h>

#include "engine/store/client_state.h"

static const uint64_t largest_push = (UINT64_C(1) << 30) - 4096;

/* Eight pieces with their heads: they fit into processor caches and into the
 * network's buffers on a short path. */
static const uint64_t default_bytes = (UINT64_C(2) << 20) + (UINT64_C(1) << 16);
static const uint64_t most_bytes = UINT64_C(256) << 20;

static strads_err no_client_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a store's client");
}

/* ---- opening ----------------------------------------------------------- */

static uint64_t value_or(uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

static sti_client_setup with_defaults(const sti_client_setup *given)
{
    sti_client_setup s = *given;
    s.cache_bytes = value_or(s.cache_bytes, UINT64_C(256) << 20);
    s.max_bytes =
        value_or(s.max_bytes, s.max_pushes ? most_bytes : default_bytes);
    s.max_pushes = (uint32_t)value_or(s.max_pushes, STI_PUSHES_MAX);
    s.piece_bytes = value_or(s.piece_bytes, STI_PIECE_BYTES);
    s.window_bytes = value_or(s.window_bytes, UINT64_C(8) << 20);
    s.resend_ns = value_or(s.resend_ns, 500000000);
    return s;
}

static strads_err copy_tables(sti_client *client)
{
    const sti_client_setup *setup = &client->setup;
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
            return no_client_memory();
    }
    return STRADS_OK;
}

strads_err sti_client_new(const sti_client_setup *setup, sti_client **out)
{
    sti_client *client = calloc(1, sizeof *client);
    if (!client)
        return no_client_memory();
    const uint32_t shards = setup->shards;
    const size_t tables = (size_t)setup->n_tables + 1;
    client->setup = with_defaults(setup);
    client->cache.limit = client->setup.cache_bytes;
    client->tables = calloc(tables, sizeof *client->tables);
    client->streams = calloc(shards, sizeof *client->streams);
    client->workers = calloc(setup->workers + 1, sizeof *client->workers);
    client->newest = calloc(shards, sizeof *client->newest);
    client->reuse = calloc(tables, sizeof *client->reuse);
    client->draft = calloc(shards, sizeof(sti_buffer *));
    client->leaves = calloc(shards * tables, sizeof *client->leaves);
    bool ready = client->tables && client->streams && client->workers &&
                 client->newest && client->reuse && client->draft &&
                 client->leaves;
    strads_err err = ready ? copy_tables(client) : no_client_memory();
    for (uint32_t w = 0; !err && w < setup->workers; w++) {
        sti_client_worker *worker = &client->workers[w];
        worker->call.asks = calloc(shards, sizeof(sti_call_ask));
        worker->ahead.asks = calloc(shards, sizeof(sti_call_ask));
        client->n_workers++;
        if (!worker->call.asks || !worker->ahead.asks)
            err = no_client_memory();
    }
    if (err)
        sti_client_free(client);
    else
        *out = client;
    return err;
}

static void free_stream(sti_push_stream *s)
{
    for (uint64_t n = s->acknowledged + 1; n <= s->pushed; n++)
        sti_object_drop(*sti_stream_at(s, n));
    free(s->ring);
}

void sti_client_free(sti_client *client)
{
    if (!client)
        return;
    for (uint32_t w = 0; w < client->n_workers; w++) {
        if (client->workers[w].call.asks)
            sti_call_discard(client, &client->workers[w]);
        if (client->workers[w].ahead.asks)
            sti_prefetch_discard(client, &client->workers[w]);
        free(client->workers[w].ahead.asks);
        free(client->workers[w].ahead.rows);
        sti_call_free(&client->workers[w].call);
        sti_receive_queue_free(&client->workers[w].received);
    }
    for (uint32_t s = 0; client->streams && s < client->setup.shards; s++)
        free_stream(&client->streams[s]);
    for (uint32_t t = 0; t < client->n_tables; t++)
        free((char *)(uintptr_t)client->tables[t].name);
    sti_cache_free(&client->cache);
    free(client->tables);
    free(client->newest);
    free(client->reuse);
    free(client->draft);
    free(client->leaves);
    free(client->streams);
    free(client->workers);
    free(client);
}

uint64_t sti_client_clock(const sti_client *client, uint32_t worker)
{
    return sti_client_worker_of(client, worker)->clock;
}

uint64_t sti_client_parked(const sti_client *client, uint32_t worker)
{
    return sti_client_worker_of(client, worker)->parked_ns;
}

uint64_t sti_client_as_of(const sti_client *client, uint32_t worker)
{
    return sti_client_worker_of(client, worker)->as_of;
}

const sti_change_count *sti_client_changes(const sti_client *client)
{
    return &client->changes;
}

void sti_client_outdate(sti_client *client)
{
    atomic_fetch_add_explicit(&client->changes, 1, memory_order_release);
}

static uint64_t count_unacknowledged(const sti_push_stream *s)
{
    return s->pushed - s->acknowledged;
}

bool sti_client_settled(const sti_client *client)
{
    for (uint32_t s = 0; s < client->setup.shards; s++)
        if (count_unacknowledged(&client->streams[s]))
            return false;
    return true;
}

void sti_client_skip(sti_client *client, uint32_t worker, uint64_t clock)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    if (clock > w->clock)
        w->clock = clock - 1;
}

/* ---- streams ----------------------------------------------------------- */

/* Whether the window has space for a push of `bytes`. An empty window accepts
 * any push. */
static bool has_capacity(const sti_client *client, uint32_t shard,
                         uint64_t bytes)
{
    const sti_push_stream *s = &client->streams[shard];
    const uint64_t n = count_unacknowledged(s), most = client->setup.max_bytes;
    return n == 0 || (n < client->setup.max_pushes && s->bytes <= most &&
                      bytes <= most - s->bytes);
}

static void send_number(const sti_client *client, uint32_t shard, uint64_t n,
                        sti_effects *out)
{
    sti_effect_send(out,
                    (sti_msg){.kind = STI_MSG_PUSH,
                              .from = STI_CLIENT_0 + client->setup.client,
                              .to = STI_SHARD_0 + shard,
                              .round = n,
                              .object = sti_object_keep(
                                  *sti_stream_at(&client->streams[shard], n))});
}

/* Makes space to keep one more push. */
static strads_err reserve_in_ring(sti_push_stream *s)
{
    if (count_unacknowledged(s) < s->capacity)
        return STRADS_OK;
    sti_push_stream more = *s;
    more.capacity = s->capacity ? 2 * s->capacity : 8;
    more.ring = malloc(sizeof(sti_buffer *) * more.capacity);
    if (!more.ring)
        return strads_fail(STRADS_ENOMEM, "no memory for unacknowledged "
                                          "pushes");
    for (uint64_t n = s->acknowledged + 1; n <= s->pushed; n++)
        *sti_stream_at(&more, n) = *sti_stream_at(s, n);
    free(s->ring);
    *s = more;
    return STRADS_OK;
}

/* Numbers, keeps and sends a push; the stream has space for it. Takes over the
 * reference. */
static void send_push(sti_client *client, uint32_t shard, sti_buffer *push,
                      uint64_t now, sti_effects *out)
{
    sti_push_stream *s = &client->streams[shard];
    sti_client_join_push(client, push);
    if (count_unacknowledged(s) == 0)
        s->moved_at = now;
    *sti_stream_at(s, ++s->pushed) = push;
    s->bytes += push->size;
    send_number(client, shard, s->pushed, out);
}

/* C3 SETTLE: pushes up to n are durable. Returns whether n is new; a number
 * that was never pushed, or was acknowledged before, changes nothing. */
static bool sti_stream_settle(sti_push_stream *s, uint64_t n, uint64_t now)
{
    if (n <= s->acknowledged || n > s->pushed)
        return false;
    while (s->acknowledged < n) {
        sti_buffer *push = *sti_stream_at(s, ++s->acknowledged);
        s->bytes -= push->size;
        sti_object_drop(push);
    }
    s->moved_at = now;
    return true;
}

/* C4 RESEND: sends all unacknowledged pushes again, in order. */
static void resend_pushes(sti_client *client, uint32_t shard, uint64_t now,
                          sti_effects *out)
{
    sti_push_stream *s = &client->streams[shard];
    for (uint64_t n = s->acknowledged + 1; n <= s->pushed; n++)
        send_number(client, shard, n, out);
    s->moved_at = now;
}

/* ---- pushing ----------------------------------------------------------- */

/* Chooses a piece of a shard's pending increments, from the end:
 * leaves[n_tables] rows. Filtered tables are sent with the last piece. Returns
 * whether this is the last one. */
static bool choose_piece(const sti_client *client, sti_push_end end,
                         uint32_t shard, const sti_pending *pending,
                         uint32_t *leaves)
{
    uint64_t bytes = client->setup.piece_bytes;
    bool last = true;
    for (uint32_t t = 0; t < client->n_tables; t++) {
        const sti_pending *p =
            &pending[(size_t)t * client->setup.shards + shard];
        const bool waits =
            !last || (end == STI_PUSH_CLOCK && sti_pending_is_filtered(p));
        leaves[t] = waits ? 0 : sti_pending_fit(p, &bytes);
        last &= waits ? last : leaves[t] == p->n;
    }
    return last;
}

static strads_err choose_filtered(const sti_client *client, sti_push_end end,
                                  uint32_t shard, sti_pending *pending,
                                  uint32_t *leaves)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < client->n_tables; t++) {
        sti_pending *p = &pending[(size_t)t * client->setup.shards + shard];
        if (end == STI_PUSH_CLOCK && sti_pending_is_filtered(p))
            err = sti_pending_choose(p, &leaves[t]);
    }
    return err;
}

/* Whether a table's rows are sent packed. A flush sends them in full. */
static bool is_packed(const sti_client *client, sti_push_end end,
                      uint32_t table)
{
    return end == STI_PUSH_CLOCK && client->tables[table].push_bits;
}

static strads_err take_errors(const sti_client *client, sti_pending *pending)
{
    const size_t n = (size_t)client->n_tables * client->setup.shards;
    strads_err err = STRADS_OK;
    for (size_t k = 0; !err && k < n; k++)
        err = sti_pending_take_errors(&pending[k]);
    return err;
}

/* Makes a push of these rows, as increments of this worker at its clock; NULL:
 * an empty flush. *wait: the push does not fit into the window and is not
 * made. */
static strads_err make_push(sti_client *client, uint32_t worker,
                            sti_push_end end, uint32_t shard,
                            const sti_pending *pending, const uint32_t *leaves,
                            bool *wait, sti_buffer **out)
{
    const sti_push_part mark = {
        .kind = STI_PUSH_MARK,
        .worker = worker,
        .end = end,
        .clock = sti_client_worker_of(client, worker)->clock};
    bool empty = end == STI_PUSH_FLUSH;
    for (uint32_t t = 0; empty && t < client->n_tables; t++)
        empty = leaves[t] == 0;
    *out = NULL;
    if (empty)
        return STRADS_OK;
    strads_err err = sti_buffer_new(0, out);
    if (!err)
        err = sti_push_append(*out, &mark);
    for (uint32_t t = 0; !err && t < client->n_tables; t++)
        err =
            sti_pending_put(&pending[(size_t)t * client->setup.shards + shard],
                            leaves[t], is_packed(client, end, t), out);
    if (!err && (*out)->size > largest_push)
        err = strads_fail(STRADS_ELIMIT,
                          "increments of %zu bytes for one shard are "
                          "beyond 1 GiB: flush more often",
                          (*out)->size);
    *wait = !err && !has_capacity(client, shard, (*out)->size);
    if (!err && !*wait)
        err = reserve_in_ring(&client->streams[shard]);
    if (err || *wait) {
        sti_object_drop(*out);
        *out = NULL;
    }
    return err;
}

static void drop_sent_rows(const sti_client *client, sti_push_end end,
                           uint32_t shard, sti_pending *pending,
                           const uint32_t *leaves)
{
    for (uint32_t t = 0; t < client->n_tables; t++)
        sti_pending_discard(&pending[(size_t)t * client->setup.shards + shard],
                            leaves[t], is_packed(client, end, t));
}

/* Sends all pieces except the last one. */
static strads_err push_pieces(sti_client *client, uint32_t worker,
                              sti_push_end end, uint32_t shard,
                              sti_pending *pending, uint64_t now, bool *wait,
                              sti_effects *out)
{
    uint32_t *leaves = client->leaves + (size_t)shard * client->n_tables;
    strads_err err = STRADS_OK;
    while (!err && !*wait &&
           !choose_piece(client, end, shard, pending, leaves)) {
        sti_buffer *push = NULL;
        *wait = !has_capacity(client, shard, 0);
        if (!*wait)
            err = make_push(client, worker, STI_PUSH_FLUSH, shard, pending,
                            leaves, wait, &push);
        if (!push)
            break;
        send_push(client, shard, push, now, out);
        drop_sent_rows(client, STI_PUSH_FLUSH, shard, pending, leaves);
    }
    return err;
}

/* Sends the last piece to every shard, or to none. */
static strads_err push_last(sti_client *client, uint32_t worker,
                            sti_push_end end, sti_pending *pending,
                            uint64_t now, bool *wait, sti_effects *out)
{
    const uint32_t shards = client->setup.shards;
    strads_err err = STRADS_OK;
    uint32_t made = 0;
    for (uint32_t s = 0; s < shards && !*wait; s++)
        *wait = !has_capacity(client, s, 0);
    for (; !err && !*wait && made < shards; made++) {
        uint32_t *leaves = client->leaves + (size_t)made * client->n_tables;
        err = choose_filtered(client, end, made, pending, leaves);
        if (!err)
            err = make_push(client, worker, end, made, pending, leaves, wait,
                            &client->draft[made]);
        if (err || *wait)
            break;
    }
    for (uint32_t s = 0; s < made; s++) {
        if (err || *wait) {
            sti_object_drop(client->draft[s]);
        } else if (client->draft[s]) {
            send_push(client, s, client->draft[s], now, out);
            drop_sent_rows(client, end, s, pending,
                           client->leaves + (size_t)s * client->n_tables);
        }
    }
    return err;
}

strads_err sti_client_push(sti_client *client, uint32_t worker,
                           sti_push_end end, sti_pending *pending, uint64_t now,
                           bool *wait, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    strads_err err = STRADS_OK;
    *wait = false;
    w->parked_ns = 0;
    sti_call_discard(client, w);
    if (end != STI_PUSH_CLOCK)
        err = take_errors(client, pending);
    for (uint32_t s = 0; !err && !*wait && s < client->setup.shards; s++)
        err = push_pieces(client, worker, end, s, pending, now, wait, out);
    if (!err && !*wait)
        err = push_last(client, worker, end, pending, now, wait, out);
    w->wants_window = *wait;
    if (!err && !*wait && end == STI_PUSH_CLOCK)
        w->clock++;
    sti_client_time(client, now, out);
    return err;
}

strads_err sti_client_push_early(sti_client *client, uint32_t worker,
                                 sti_pending *pending, uint64_t now, bool *wait,
                                 sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    const sti_pending *first =
        pending - (size_t)pending->table * client->setup.shards;
    const uint32_t shard =
        sti_row_shard(pending->table, pending->rows[0], client->setup.shards);
    uint32_t *leaves = client->leaves + (size_t)shard * client->n_tables;
    uint64_t bytes = client->setup.piece_bytes;
    sti_buffer *push = NULL;
    strads_err err = STRADS_OK;
    w->parked_ns = 0;
    memset(leaves, 0, client->n_tables * sizeof *leaves);
    leaves[pending->table] = sti_pending_fit(pending, &bytes);
    *wait = !has_capacity(client, shard, 0);
    if (!*wait)
        err = make_push(client, worker, STI_PUSH_FLUSH, shard, first - shard,
                        leaves, wait, &push);
    if (push) {
        send_push(client, shard, push, now, out);
        sti_pending_discard(pending, leaves[pending->table], false);
    }
    w->wants_window = *wait;
    sti_client_time(client, now, out);
    return err;
}

/* ---- events ------------------------------------------------------------ */

void sti_client_fail(sti_client *client, strads_err err, sti_effects *out)
{
    client->failed = true;
    sti_effect_send(
        out, (sti_msg){.kind = STI_MSG_FAIL,
                       .from = STI_CLIENT_0 + client->setup.client,
                       .to = STI_COORDINATOR,
                       .object = sti_failure_object(err, strads_error_text())});
}

/* C3. Wakes the workers that wait for the window once a quarter of it is free,
 * so that they are not woken for each push. */
static void settle_stream(sti_client *client, uint32_t shard, uint64_t n,
                          uint64_t now, sti_effects *out)
{
    if (!sti_stream_settle(&client->streams[shard], n, now) ||
        !has_capacity(client, shard, client->setup.max_bytes / 4))
        return;
    for (uint32_t w = 0; w < client->n_workers; w++) {
        if (client->workers[w].wants_window)
            sti_effect_wake(out, client->setup.first_worker + w);
        client->workers[w].wants_window = false;
    }
}

/* ---- peers --------------------------------------------------------------- */

/* Takes a vector for one of this node's workers. */
static strads_err take_vector(sti_client *client, uint32_t worker,
                              sti_buffer *packed, sti_effects *out)
{
    sti_receive_queue *received =
        &sti_client_worker_of(client, worker)->received;
    strads_err err =
        sti_receive_queue_put(received, client->setup.peers, packed);
    if (received->waits)
        sti_effect_wake(out, worker);
    received->waits = false;
    return err;
}

static bool is_own(const sti_client *client, uint32_t worker)
{
    return worker - client->setup.first_worker < client->n_workers;
}

strads_err sti_client_post(sti_client *client, uint32_t to, sti_address home,
                           sti_buffer *packed, sti_effects *out)
{
    if (is_own(client, to))
        return take_vector(client, to, packed, out);
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_PEER_VECTOR,
                                   .from = STI_CLIENT_0 + client->setup.client,
                                   .to = home,
                                   .partition = to,
                                   .object = &packed->head});
    return STRADS_OK;
}

strads_err sti_client_lose(sti_client *client, uint32_t peer, sti_effects *out)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < client->n_workers; k++) {
        sti_buffer *packed;
        err = sti_buffer_new(sizeof(sti_peer_vector), &packed);
        if (err)
            break;
        *(sti_peer_vector *)(void *)packed->bytes =
            (sti_peer_vector){.sender = peer,
                              .queue = 1,
                              .iteration = STI_PEER_LOST};
        err = take_vector(client, client->setup.first_worker + k, packed, out);
    }
    return err;
}

void sti_client_collect(sti_client *client, uint32_t worker,
                        sti_collect *collect, bool *wait)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    w->parked_ns = UINT64_MAX; /* the whole wait is for other workers */
    *wait = !sti_receive_queue_take(&w->received, collect);
}

static void take_message(sti_client *client, const sti_msg *msg, uint64_t now,
                         sti_effects *out)
{
    if (msg->kind == STI_MSG_PEER_VECTOR) {
        sti_buffer *packed = (sti_buffer *)msg->object;
        strads_err err =
            is_own(client, msg->partition)
                ? take_vector(client, msg->partition, packed, out)
                : strads_fail(STRADS_EPEER, "a vector for a peer of another "
                                            "node");
        if (err)
            sti_client_fail(client, err, out);
        return;
    }
    const uint32_t shard = msg->from - STI_SHARD_0;
    if (shard >= client->setup.shards) {
        sti_object_drop(msg->object);
        sti_client_fail(client,
                        strads_fail(STRADS_EPEER,
                                    "an answer from an unknown shard"),
                        out);
        return;
    }
    switch (msg->kind) {
    case STI_MSG_ACK:
        settle_stream(client, shard, msg->round, now, out);
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

/* The time of the first resend; UINT64_MAX: none. */
static uint64_t next_due(const sti_client *client)
{
    uint64_t since = UINT64_MAX;
    for (uint32_t s = 0; s < client->setup.shards; s++)
        if (count_unacknowledged(&client->streams[s]) &&
            client->streams[s].moved_at < since)
            since = client->streams[s].moved_at;
    for (uint32_t w = 0; w < client->n_workers; w++) {
        const sti_waiting_call *call = &client->workers[w].call;
        if (call->n_asks && call->sent_at < since)
            since = call->sent_at;
    }
    return since == UINT64_MAX ? since : since + client->setup.resend_ns;
}

void sti_client_time(sti_client *client, uint64_t now, sti_effects *out)
{
    const uint64_t due = client->timed ? UINT64_MAX : next_due(client);
    if (due == UINT64_MAX)
        return;
    client->timed = true;
    sti_effect_timer(out, due > now ? due : now);
}

/* C4 and C5: resends whatever has been unanswered for the resend time. */
static void resend_overdue(sti_client *client, uint64_t now, sti_effects *out)
{
    const uint64_t ns = client->setup.resend_ns;
    client->timed = false;
    if (client->failed)
        return;
    for (uint32_t s = 0; s < client->setup.shards; s++)
        if (count_unacknowledged(&client->streams[s]) &&
            now >= client->streams[s].moved_at + ns)
            resend_pushes(client, s, now, out);
    for (uint32_t w = 0; w < client->n_workers; w++) {
        sti_client_worker *worker = &client->workers[w];
        if (worker->call.n_asks && now >= worker->call.sent_at + ns)
            for (uint32_t s = 0; s < client->setup.shards; s++)
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
            take_message(client, &event->msg, event->now, out);
        else if (event->kind == STI_EVENT_TIMER)
            resend_overdue(client, event->now, out);
        sti_client_time(client, event->now, out);
    }
}
