/* Reads and barriers (C5), and the way of answers and own pushes into cached
 * rows (C2, C6).
 *
 * A call pins the rows that it finds in the cache and requests the others, one
 * window at a time. When a window has arrived, take_piece requests the next one
 * without waking the worker. When all rows are there, the worker is woken,
 * repeats its call, and copies all of them as they are then.
 *
 * Invariant: a cached row is the shard's row at some moment (at clock `as_of`
 * or later), plus every push of this node that the shard did not hold then. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/client_state.h"

static strads_err no_call_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory to wait for rows");
}

/* ---- checks and freshness ---------------------------------------------- */

static strads_err check_read(const sti_client *client,
                             const sti_client_read *read)
{
    if (read->table >= client->n_tables)
        return strads_fail(STRADS_EINVAL,
                           "there is no table %" PRIu32 ": the store has "
                           "%" PRIu32 ", numbered from 0",
                           read->table, client->n_tables);
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < read->n; k++)
        err = sti_spec_check_row(&client->tables[read->table], read->rows[k]);
    return err;
}

/* The clock that rows must be as of, for a worker at `clock`. */
static uint64_t needed_at(const sti_client_read *read, uint64_t clock)
{
    const uint32_t staleness = read->staleness;
    return staleness != STRADS_STALENESS_INFINITE && clock > staleness
               ? clock - staleness
               : 0;
}

static uint64_t needed_clock(const sti_client *client,
                             const sti_client_read *read)
{
    return needed_at(read, sti_client_worker_of(client, read->worker)->clock);
}

/* Adds the caller's pending increments to n rows from `first` on. */
static void add_pending(const sti_client *client, const sti_client_read *read,
                        uint32_t first, uint32_t n, char *values)
{
    const size_t bytes = sti_client_row_bytes(client, read->table);
    for (uint32_t k = first; read->session && k < first + n; k++)
        sti_pending_apply(sti_session_pending(read->session, read->table,
                                              read->rows[k]),
                          read->rows[k], values + k * bytes);
}

/* A cached row as of `needs` or later; NULL: there is none. */
static sti_cached_row *sti_client_fresh(sti_client *client, uint32_t table,
                                        uint32_t row, uint64_t needs)
{
    sti_cached_row *at = sti_cache_find(&client->cache, table, row);
    return at && at->as_of >= needs ? at : NULL;
}

/* Whether a request could return a newer row and none was made in this
 * clock. */
static bool is_old(const sti_client_worker *w, const sti_cached_row *row)
{
    return row->as_of < w->clock && row->asked < w->clock;
}

/* P2: cached rows include the node's pushes; pending increments are added on
 * top. False if a row is missing; *old is set if a row is old. */
static bool copy_cached(sti_client *client, const sti_client_read *read,
                        uint64_t needs, char *values, bool *old)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    const size_t bytes = sti_client_row_bytes(client, read->table);
    w->as_of = UINT64_MAX;
    for (uint32_t k = 0; k < read->n; k++) {
        const sti_cached_row *row =
            sti_client_fresh(client, read->table, read->rows[k], needs);
        if (!row)
            return false;
        w->as_of = row->as_of < w->as_of ? row->as_of : w->as_of;
        *old |= is_old(w, row);
        memcpy(values + k * bytes, row->values, bytes);
        add_pending(client, read, k, 1, values);
    }
    client->reuse[read->table].once = 0;
    return true;
}

/* Whether rows bypass the cache: they are many, and the cache has not helped
 * for CALLS calls. A worker that reads a whole table once a clock would copy it
 * in vain. The worker must be alone on its node (P2: only it pushes to
 * these rows) and must need a minimal clock, so that it never finds older rows
 * in the cache later. */
static bool bypasses_cache(sti_client *client, const sti_client_read *read,
                           uint64_t needs)
{
    enum { CALLS = 4 };
    sti_reuse *reuse = &client->reuse[read->table];
    const uint64_t bytes = read->n * sti_client_row_bytes(client, read->table);
    if (needs <= reuse->brought)
        reuse->once = 0;
    else if (reuse->once < CALLS)
        reuse->once++;
    return reuse->once == CALLS && client->n_workers == 1 &&
           !client->tables[read->table].sparse &&
           bytes >= client->setup.piece_bytes / 4;
}

void sti_client_discard_rows(sti_client *client)
{
    const uint64_t limit = client->cache.limit;
    sti_cache_free(&client->cache);
    client->cache = (sti_row_cache){.limit = limit};
}

/* ---- the waiting call -------------------------------------------------- */

static void drop_ask(sti_call_ask *ask)
{
    sti_object_drop(ask->ask);
    free(ask->places);
    *ask = (sti_call_ask){0};
}

void sti_call_discard(sti_client *client, sti_client_worker *worker)
{
    sti_waiting_call *call = &worker->call;
    if (!call->used)
        return;
    for (uint32_t s = 0; s < client->setup.shards; s++)
        drop_ask(&call->asks[s]);
    for (uint32_t k = 0; k < call->n; k++)
        if (call->found[k])
            sti_cache_unpin(&client->cache, call->found[k]);
    *call = (sti_waiting_call){.asks = call->asks,
                               .rows = call->rows,
                               .found = call->found,
                               .capacity = call->capacity};
}

void sti_client_discard(sti_client *client, uint32_t worker)
{
    sti_call_discard(client, sti_client_worker_of(client, worker));
}

void sti_call_free(sti_waiting_call *call)
{
    free(call->asks);
    free(call->rows);
    free(call->found);
}

/* Whether this is the waiting call, repeated. */
static bool is_repeated(const sti_waiting_call *call,
                        const sti_client_read *read, const void *values,
                        uint64_t needs)
{
    return call->used && call->table == read->table &&
           call->exact == read->exact && call->needs == needs &&
           call->n == read->n && call->values == values &&
           (read->n == 0 ||
            memcmp(call->rows, read->rows, sizeof *read->rows * read->n) == 0);
}

static strads_err reserve_call(sti_waiting_call *call, uint32_t n)
{
    if (n <= call->capacity)
        return STRADS_OK;
    free(call->rows);
    free(call->found);
    call->capacity = 0;
    call->rows = malloc(sizeof *call->rows * n);
    call->found = malloc(sizeof(sti_cached_row *) * n);
    if (!call->rows || !call->found)
        return no_call_memory();
    call->capacity = n;
    return STRADS_OK;
}

static strads_err begin_call(sti_client_worker *worker,
                             const sti_client_read *read, void *values,
                             uint64_t needs)
{
    sti_waiting_call *call = &worker->call;
    strads_err err = reserve_call(call, read->n);
    if (err)
        return err;
    for (uint32_t k = 0; k < read->n; k++) {
        call->rows[k] = read->rows[k];
        call->found[k] = NULL;
    }
    call->used = true;
    call->table = read->table;
    call->exact = read->exact;
    call->n = read->n;
    call->needs = needs;
    call->values = values;
    worker->parked_ns = 0;
    worker->as_of = UINT64_MAX;
    return STRADS_OK;
}

/* ---- requests ---------------------------------------------------------- */

static void send_ask(const sti_client *client, uint32_t shard, sti_row_ask *ask,
                     sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ASK_ROWS,
                                   .from = STI_CLIENT_0 + client->setup.client,
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
                           uint32_t capacity, sti_call_ask *out)
{
    strads_err err = sti_row_ask_new(capacity, &out->ask);
    if (err)
        return err;
    out->places = malloc(sizeof *out->places * (capacity + 1));
    if (!out->places)
        return no_call_memory();
    out->ask->id = call->id;
    out->ask->needs = call->needs;
    out->ask->worker = worker;
    out->ask->table = call->table;
    out->ask->exact = call->exact;
    out->ask->n = 0;
    return STRADS_OK;
}

/* Makes the requests for rows[places[n]]: one for each shard that holds some of
 * them. */
static strads_err make_asks(const sti_client *client, uint32_t worker,
                            const sti_waiting_call *call, const uint32_t *rows,
                            uint32_t n, const uint32_t *places,
                            sti_call_ask *asks)
{
    const uint32_t shards = client->setup.shards;
    uint32_t *count = calloc(shards, sizeof *count);
    strads_err err = count ? STRADS_OK : no_call_memory();
    for (uint32_t k = 0; !err && k < n; k++)
        count[sti_row_shard(call->table, rows[places[k]], shards)]++;
    for (uint32_t s = 0; !err && s < shards; s++)
        if (count[s])
            err = make_ask(worker, call, count[s], &asks[s]);
    for (uint32_t k = 0; !err && k < n; k++) {
        const uint32_t row = rows[places[k]];
        sti_call_ask *to = &asks[sti_row_shard(call->table, row, shards)];
        to->places[to->ask->n] = places[k];
        to->ask->rows[to->ask->n++] = row;
    }
    free(count);
    return err;
}

/* A shard keeps one request of a worker, so a new one replaces the prefetch. */
static void replace_ahead(sti_client_worker *w, uint32_t shard)
{
    drop_ask(&w->ahead.asks[shard]);
}

/* Sends the call's own requests, which are kept until they are answered. */
static strads_err send_requests(sti_client *client, uint32_t worker, uint32_t n,
                                const uint32_t *places, uint64_t now,
                                sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    sti_waiting_call *call = &w->call;
    call->id = ++w->last_id;
    call->sent_at = now;
    strads_err err =
        make_asks(client, worker, call, call->rows, n, places, call->asks);
    for (uint32_t s = 0; !err && s < client->setup.shards; s++) {
        const sti_row_ask *ask = call->asks[s].ask;
        if (!ask || ask->id != call->id) /* taken over from the prefetch */
            continue;
        call->n_asks++;
        replace_ahead(w, s);
        send_ask(client, s, call->asks[s].ask, out);
    }
    return err;
}

/* Pins fresh cached rows and requests the others, one window at a time;
 * prefetched shards are not asked again. If no request is open afterwards, all
 * rows are there. */
static strads_err request_missing(sti_client *client, uint32_t worker,
                                  uint64_t now, sti_effects *out)
{
    sti_waiting_call *call = &sti_client_worker_of(client, worker)->call;
    const uint64_t bytes = sti_client_row_bytes(client, call->table);
    const uint64_t window = client->setup.window_bytes;
    uint64_t most = bytes < window ? window / bytes : 1;
    uint32_t n = 0;
    if (most > call->n - call->next)
        most = call->n - call->next;
    uint32_t *missing = malloc(sizeof *missing * (most + 1));
    if (!missing)
        return no_call_memory();
    for (; n < most && call->next < call->n; call->next++) {
        sti_cached_row *row =
            call->exact ? NULL
                        : sti_client_fresh(client, call->table,
                                           call->rows[call->next], call->needs);
        call->found[call->next] = row;
        if (row)
            sti_cache_pin(&client->cache, row);
        else if (!call->asks[sti_row_shard(call->table, call->rows[call->next],
                                           client->setup.shards)]
                      .ask)
            missing[n++] = call->next;
    }
    strads_err err =
        n ? send_requests(client, worker, n, missing, now, out) : STRADS_OK;
    free(missing);
    return err;
}

/* Requests newer values of old cached rows, once per clock and without waiting:
 * with infinite staleness only these requests refresh them. The requests are
 * not kept, because a lost answer does no harm. */
static strads_err renew_old(sti_client *client, const sti_client_read *read,
                            sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_call_ask *asks = calloc(client->setup.shards, sizeof *asks);
    uint32_t *places = malloc(sizeof *places * (read->n + 1));
    uint32_t n = 0;
    strads_err err = asks && places ? STRADS_OK : no_call_memory();
    for (uint32_t k = 0; !err && k < read->n; k++) {
        sti_cached_row *row =
            sti_cache_find(&client->cache, read->table, read->rows[k]);
        if (!row || !is_old(w, row))
            continue;
        row->asked = w->clock;
        places[n++] = k;
    }
    if (!err && n) {
        const sti_waiting_call call = {.id = ++w->last_id,
                                       .table = read->table};
        err =
            make_asks(client, read->worker, &call, read->rows, n, places, asks);
    }
    for (uint32_t s = 0; asks && s < client->setup.shards; s++) {
        if (asks[s].ask && !err) {
            replace_ahead(w, s);
            send_ask(client, s, asks[s].ask, out);
        }
        drop_ask(&asks[s]);
    }
    free(asks);
    free(places);
    return err;
}

/* ---- prefetching ------------------------------------------------------- */

void sti_prefetch_discard(sti_client *client, sti_client_worker *worker)
{
    for (uint32_t s = 0; s < client->setup.shards; s++)
        drop_ask(&worker->ahead.asks[s]);
    worker->ahead.n = 0;
}

static strads_err keep_rows(sti_prefetch *ahead, const sti_client_read *read)
{
    if (read->n > ahead->capacity) {
        uint32_t *rows = realloc(ahead->rows, sizeof *rows * read->n);
        if (!rows)
            return no_call_memory();
        ahead->rows = rows;
        ahead->capacity = read->n;
    }
    memcpy(ahead->rows, read->rows, sizeof *ahead->rows * read->n);
    ahead->table = read->table;
    ahead->n = read->n;
    return STRADS_OK;
}

static bool are_fresh(sti_client *client, const sti_client_read *read,
                      uint64_t needs)
{
    uint32_t k = 0;
    while (k < read->n &&
           sti_client_fresh(client, read->table, read->rows[k], needs))
        k++;
    return k == read->n;
}

strads_err sti_client_prefetch(sti_client *client, const sti_client_read *read,
                               sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_prefetch *ahead = &w->ahead;
    const uint64_t needs = needed_at(read, w->clock + 1);
    const uint64_t bytes = sti_client_row_bytes(client, read->table);
    strads_err err = check_read(client, read);
    sti_prefetch_discard(client, w);
    if (err || bytes * read->n > client->setup.window_bytes ||
        are_fresh(client, read, needs))
        return err;
    const sti_waiting_call call = {.id = ++w->last_id,
                                   .table = read->table,
                                   .needs = needs};
    uint32_t *places = malloc(sizeof *places * read->n);
    for (uint32_t k = 0; places && k < read->n; k++)
        places[k] = k;
    err = places ? keep_rows(ahead, read) : no_call_memory();
    if (!err)
        err = make_asks(client, read->worker, &call, read->rows, read->n,
                        places, ahead->asks);
    ahead->needs = needs;
    for (uint32_t s = 0; !err && s < client->setup.shards; s++)
        if (ahead->asks[s].ask)
            send_ask(client, s, ahead->asks[s].ask, out);
    if (err)
        sti_prefetch_discard(client, w);
    free(places);
    return err;
}

/* A call for exactly the prefetched rows and clock takes over the requests of
 * which no answer has arrived. (An answer of a later clock cannot come while
 * this worker waits.) */
static void take_over_prefetch(sti_client *client, const sti_client_read *read)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_waiting_call *call = &w->call;
    const sti_prefetch *ahead = &w->ahead;
    const bool same =
        ahead->n > 0 && ahead->n == call->n && ahead->table == call->table &&
        ahead->needs == call->needs &&
        memcmp(ahead->rows, call->rows, sizeof *call->rows * call->n) == 0;
    if (!same)
        return;
    for (uint32_t s = 0; s < client->setup.shards; s++) {
        if (!ahead->asks[s].ask || ahead->asks[s].got > 0)
            continue;
        call->asks[s] = ahead->asks[s];
        ahead->asks[s] = (sti_call_ask){0};
        call->n_asks++;
        call->sent_at = read->now;
    }
    sti_prefetch_discard(client, w);
}

/* ---- reading ----------------------------------------------------------- */

/* All rows are there: the uncached ones in the caller's memory, and the pinned
 * ones in the cache, which may have changed since. Copies the pinned ones. */
static void finish_call(sti_client *client, const sti_client_read *read,
                        bool *old)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    const sti_waiting_call *call = &w->call;
    const size_t bytes = sti_client_row_bytes(client, call->table);
    for (uint32_t k = 0; k < call->n; k++) {
        const sti_cached_row *row = call->found[k];
        if (!row)
            continue;
        w->as_of = row->as_of < w->as_of ? row->as_of : w->as_of;
        *old |= is_old(w, row);
        memcpy(call->values + k * bytes, row->values, bytes);
    }
    add_pending(client, read, 0, call->n, call->values);
}

static strads_err read_fresh(sti_client *client, const sti_client_read *read,
                             char *values, bool *wait, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_waiting_call *call = &w->call;
    const uint64_t needs = needed_clock(client, read);
    bool old = false;
    strads_err err = STRADS_OK;
    if (call->used && !is_repeated(call, read, values, needs))
        sti_call_discard(client, w);
    if (!call->used && !copy_cached(client, read, needs, values, &old)) {
        err = begin_call(w, read, values, needs);
        call->passes = bypasses_cache(client, read, needs);
        if (!err)
            take_over_prefetch(client, read);
        if (!err)
            err = request_missing(client, read->worker, read->now, out);
    }
    *wait = !err && call->n_asks > 0;
    if (err || *wait)
        return err;
    if (call->used) {
        finish_call(client, read, &old);
        sti_call_discard(client, w);
    }
    return needs == 0 && old ? renew_old(client, read, out) : STRADS_OK;
}

/* An exact snapshot bypasses the cache. */
static strads_err read_exact(sti_client *client, const sti_client_read *read,
                             char *values, bool *wait, sti_effects *out)
{
    const strads_table_spec *spec = &client->tables[read->table];
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_waiting_call *call = &w->call;
    const uint32_t every = spec->snapshot_every;
    strads_err err = STRADS_OK;
    if (every == 0 || w->clock < every)
        return sti_spec_no_snapshot(spec, w->clock);
    const uint64_t needs = w->clock / every * every;
    if (call->used && !is_repeated(call, read, values, needs))
        sti_call_discard(client, w);
    if (!call->used) {
        err = begin_call(w, read, values, needs);
        if (!err)
            err = request_missing(client, read->worker, read->now, out);
    }
    *wait = !err && call->n_asks > 0;
    if (err || *wait)
        return err;
    if (call->gone)
        err = strads_fail(STRADS_ESTATE,
                          "the snapshot of clock %" PRIu64 " of table \"%s\" "
                          "was not kept: a worker is too many clocks ahead",
                          needs, spec->name);
    w->as_of = needs;
    sti_call_discard(client, w);
    return err;
}

bool sti_client_read_cached(sti_client *client, const sti_client_read *read,
                            void *values)
{
    bool old = false;
    if (sti_client_worker_of(client, read->worker)->call.used)
        return false;
    const uint64_t needs = needed_clock(client, read);
    return copy_cached(client, read, needs, values, &old) &&
           !(old && needs == 0);
}

strads_err sti_client_read_rows(sti_client *client, const sti_client_read *read,
                                void *values, bool *wait, sti_effects *out)
{
    *wait = false;
    strads_err err = check_read(client, read);
    if (err)
        return err;
    err = read->exact ? read_exact(client, read, values, wait, out)
                      : read_fresh(client, read, values, wait, out);
    if (err)
        sti_client_discard(client, read->worker);
    sti_client_time(client, read->now, out);
    return err;
}

/* A request for no rows, to one shard: every worker reports its clock to all
 * shards. */
strads_err sti_client_barrier(sti_client *client, uint32_t worker, uint64_t now,
                              bool *wait, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    const sti_client_read none = {.worker = worker, .now = now};
    const uint32_t shard = worker % client->setup.shards;
    sti_waiting_call *call = &w->call;
    strads_err err = STRADS_OK;
    if (call->used && !(call->n == 0 && call->needs == w->clock))
        sti_call_discard(client, w);
    if (!call->used) {
        err = begin_call(w, &none, NULL, w->clock);
        call->id = ++w->last_id;
        if (!err)
            err = make_ask(worker, call, 0, &call->asks[shard]);
        if (!err) {
            call->n_asks = 1;
            replace_ahead(w, shard);
            sti_call_resend(client, w, shard, now, out);
        }
    }
    *wait = !err && call->n_asks > 0;
    if (!*wait)
        sti_call_discard(client, w);
    sti_client_time(client, now, out);
    return err;
}

/* ---- cached rows ------------------------------------------------------- */

/* Adds a push to the cached rows: to all of them, which then get the client's
 * stamp, or only to those that have it. */
static void add_push(sti_client *client, const sti_buffer *push, bool all)
{
    sti_push_part part;
    strads_err err;
    for (size_t at = 0; sti_push_next(push, &at, &part, &err);) {
        if (part.kind == STI_PUSH_MARK)
            continue;
        for (uint32_t k = 0; k < sti_part_rows(&part); k++) {
            const sti_row_delta from =
                sti_part_row_at(&client->tables[part.table], &part, k);
            sti_cached_row *to =
                sti_cache_find(&client->cache, part.table, from.row);
            if (!to || (!all && to->stamp != client->stamp))
                continue;
            to->stamp = client->stamp;
            sti_row_add(client->tables[part.table].type, &from, to->values);
        }
    }
}

/* Call before an answer or a push changes cached rows. */
static void renew_stamp(sti_client *client)
{
    client->stamp++;
    sti_client_outdate(client);
}

void sti_client_join_push(sti_client *client, const sti_buffer *push)
{
    renew_stamp(client);
    if (client->cache.n)
        add_push(client, push, true);
}

/* Writes a row in full. */
static void write_row(const sti_client *client, uint32_t table,
                      const sti_row_delta *from, char *to)
{
    const size_t bytes = sti_client_row_bytes(client, table);
    if (from->cols) {
        memset(to, 0, bytes);
        sti_row_add(client->tables[table].type, from, to);
    } else {
        memcpy(to, from->cells, bytes);
    }
}

/* Prefetches the lines of memory that is going to be written, all at once;
 * otherwise the copy waits for one line after the other. */
static void fetch_to_write(const char *to, size_t bytes)
{
    enum { LINE = 64, MOST = 4096 };
    for (size_t at = 0; at < bytes && at < MOST; at += LINE)
        __builtin_prefetch(to + at, 1);
}

/* Stores a row of an answer in the cache if a call awaits it or the cache holds
 * it, but never over a row of a later clock. *out: the row, which is set if it
 * was awaited. */
static strads_err cache_row(sti_client *client, const sti_row_answer *answer,
                            const sti_row_delta *from, bool awaited,
                            sti_cached_row **out)
{
    sti_cached_row *to =
        sti_cache_find(&client->cache, answer->table, from->row);
    const bool fresh = !to;
    strads_err err = STRADS_OK;
    if (fresh && awaited)
        err = sti_cache_place(&client->cache, answer->table, from->row,
                              sti_client_row_bytes(client, answer->table), &to);
    if (err || !to)
        return err;
    *out = to;
    if (!fresh && to->as_of > answer->as_of)
        return STRADS_OK;
    write_row(client, answer->table, from, to->values);
    to->as_of = answer->as_of;
    to->stamp = client->stamp;
    return STRADS_OK;
}

/* Takes row `place` of a call; `lacks`: own pushes must still be added. An
 * uncached row goes to the caller's memory, and an older cached copy is
 * dropped, so that it is never read after this one (P4). Other rows are pinned
 * at once, because the next row could evict them. */
static strads_err take_row(sti_client *client, const sti_row_answer *answer,
                           const sti_row_delta *from, sti_client_worker *w,
                           uint32_t place, bool lacks)
{
    sti_waiting_call *call = &w->call;
    const size_t bytes = sti_client_row_bytes(client, call->table);
    if (call->rows[place] != from->row)
        return strads_fail(STRADS_EPEER,
                           "a shard sent rows that were not requested: "
                           "it runs another version or is broken");
    sti_cached_row *row =
        call->exact ? NULL
                    : sti_cache_find(&client->cache, call->table, from->row);
    if (call->exact || (call->passes && !lacks && (!row || row->pins == 0))) {
        if (row)
            sti_cache_discard(&client->cache, row);
        if (answer->as_of < w->as_of)
            w->as_of = answer->as_of;
        fetch_to_write(call->values + place * bytes, bytes);
        write_row(client, call->table, from, call->values + place * bytes);
        return STRADS_OK;
    }
    strads_err err = cache_row(client, answer, from, true, &row);
    if (!err && !call->found[place]) {
        sti_cache_pin(&client->cache, row);
        call->found[place] = row;
    }
    return err;
}

/* ---- answers ----------------------------------------------------------- */

/* Checks that all parts of an answer fit the tables and the shard, and counts
 * the rows. */
static strads_err check_answer(const sti_client *client, uint32_t shard,
                               const sti_row_answer *answer, uint32_t *n)
{
    sti_push_part part;
    strads_err err = STRADS_OK;
    bool good = answer->table < client->n_tables;
    *n = 0;
    for (size_t at = 0; good && answer->parts &&
                        sti_push_next(answer->parts, &at, &part, &err);) {
        good = part.kind != STI_PUSH_MARK && part.kind != STI_PUSH_PACKED &&
               part.table == answer->table &&
               sti_push_fits(&client->tables[part.table], &part, shard,
                             client->setup.shards);
        *n += sti_part_rows(&part);
    }
    return good && !err
               ? STRADS_OK
               : strads_fail(STRADS_EPEER,
                             "a shard sent rows that do not fit the store: it "
                             "runs another version or is broken");
}

/* Takes rows for a worker's call, at `places` of it. NULL: rows of no call;
 * they refresh cached rows, and are added only if they were prefetched
 * (`ahead`). Own pushes above the answer's `applied` are then added to the
 * cached rows. */
static strads_err take_parts(sti_client *client, uint32_t shard,
                             const sti_row_answer *answer, sti_client_worker *w,
                             const uint32_t *places, bool ahead)
{
    const sti_push_stream *stream = &client->streams[shard];
    const bool lacks = answer->applied < stream->pushed;
    sti_reuse *reuse = &client->reuse[answer->table];
    strads_err err = STRADS_OK;
    sti_push_part part;
    if (!answer->exact && answer->as_of > reuse->brought)
        reuse->brought = answer->as_of;
    renew_stamp(client);
    for (size_t at = 0; !err && answer->parts &&
                        sti_push_next(answer->parts, &at, &part, &err);)
        for (uint32_t k = 0; !err && k < sti_part_rows(&part); k++) {
            const sti_row_delta from =
                sti_part_row_at(&client->tables[part.table], &part, k);
            sti_cached_row *row;
            err = w ? take_row(client, answer, &from, w, *places++, lacks)
                    : cache_row(client, answer, &from, ahead, &row);
        }
    for (uint64_t k = answer->applied + 1;
         !err && !answer->exact && k <= stream->pushed; k++)
        add_push(client, *sti_stream_at(stream, k), false);
    return err;
}

/* Takes a piece of n rows. If another answer to the same request was split
 * elsewhere (sparse rows grow), some rows may have arrived before. The last
 * piece of the last shard requests the next window or wakes the worker. */
static strads_err take_piece(sti_client *client, uint32_t shard,
                             const sti_row_answer *answer, uint32_t n,
                             sti_client_worker *w, uint64_t now,
                             sti_effects *out)
{
    sti_waiting_call *call = &w->call;
    sti_call_ask *ask = &call->asks[shard];
    const uint32_t left = ask->ask->n - answer->first;
    if (n > left || (n == 0 && ask->ask->n && !answer->gone))
        return strads_fail(STRADS_EPEER,
                           "a shard sent %" PRIu32 " rows, but %" PRIu32
                           " were requested",
                           n, left);
    call->gone |= answer->gone;
    if (answer->parked_ns > w->parked_ns)
        w->parked_ns = answer->parked_ns;
    strads_err err = n ? take_parts(client, shard, answer, w,
                                    ask->places + answer->first, false)
                       : STRADS_OK;
    if (ask->got < answer->first + n)
        ask->got = answer->first + n;
    if (err || (ask->got < ask->ask->n && !call->gone))
        return err;
    drop_ask(ask);
    if (--call->n_asks == 0 && call->next < call->n && !call->gone)
        err = request_missing(client, answer->worker, now, out);
    if (!err && call->n_asks == 0)
        sti_effect_wake(out, answer->worker);
    return err;
}

/* Takes prefetched rows that no call awaits yet. */
static strads_err take_ahead(sti_client *client, uint32_t shard,
                             const sti_row_answer *answer, uint32_t n,
                             sti_call_ask *ask)
{
    strads_err err = take_parts(client, shard, answer, NULL, NULL, true);
    ask->got = answer->first + n;
    if (ask->got >= ask->ask->n)
        drop_ask(ask);
    return err;
}

/* P4: an answer that a newer one has overtaken could bring back an evicted row
 * that was read as of a later clock. Exact answers are independent of this. */
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

/* C6. If an answer was made before pushes that have been acknowledged since, it
 * lacks them, and this client no longer keeps them. Such an answer is discarded
 * and requested again. */
void sti_client_take_rows(sti_client *client, uint32_t shard,
                          sti_row_answer *answer, uint64_t now,
                          sti_effects *out)
{
    const sti_push_stream *stream = &client->streams[shard];
    const uint32_t index =
        answer ? answer->worker - client->setup.first_worker : 0;
    uint32_t n = 0;
    strads_err err = answer ? check_answer(client, shard, answer, &n)
                            : strads_fail(STRADS_EPEER, "an empty answer");
    if (!err && index >= client->n_workers)
        err = strads_fail(STRADS_EPEER, "an answer to an unknown worker");
    if (!err) {
        sti_client_worker *w = &client->workers[index];
        const sti_call_ask *ask = &w->call.asks[shard];
        const bool awaited = ask->ask && ask->ask->id == answer->id &&
                             w->call.needs <= answer->as_of &&
                             w->call.table == answer->table &&
                             answer->first <= ask->got;
        sti_call_ask *early = &w->ahead.asks[shard];
        const bool ahead = early->ask && early->ask->id == answer->id &&
                           w->ahead.needs <= answer->as_of;
        const bool overtaken = is_overtaken(client, shard, answer);
        if (answer->applied < stream->acknowledged || (awaited && overtaken)) {
            if (awaited)
                sti_call_resend(client, w, shard, now, out);
            else if (ahead)
                drop_ask(early);
        } else if (awaited) {
            err = take_piece(client, shard, answer, n, w, now, out);
        } else if (ahead && !overtaken) {
            err = take_ahead(client, shard, answer, n, early);
        } else if (!answer->exact) {
            err = take_parts(client, shard, answer, NULL, NULL, false);
        }
    }
    sti_object_drop(answer);
    if (err)
        sti_client_fail(client, err, out);
}
