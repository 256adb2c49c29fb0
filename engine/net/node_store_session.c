/* Sessions of a spread store: each call is one of the node's client, repeated
 * when its worker has been woken. Where the time went: an answer says how long
 * it waited for clocks, the rest of a wait is the network's, the shard's work
 * included. */
#include <stdlib.h>

#include "engine/net/node_store_inside.h"

/* ---- waiting ----------------------------------------------------------- */

/* A call under way; begin_ns: when it first had to wait, 0: it has not. */
typedef struct waiting {
    sti_store_end *end;
    sti_store_waiter *waiter;
    uint64_t begin_ns;
} waiting;

/* Takes the end's lock. */
static waiting begin_call(strads_session *session)
{
    sti_store_end *end = session->behind;
    pthread_mutex_lock(&end->lock);
    waiting w = {.end = end,
                 .waiter = &end->workers[session->worker - end->first_worker]};
    w.waiter->parked_ns = 0;
    return w;
}

/* After each try: carries out its effects, and sleeps if it is to wait. True
 * when it is to be tried again. */
static bool try_again(waiting *w, bool wait, strads_err *err)
{
    sti_store_end *end = w->end;
    sti_store_end_carry_out(end, true);
    if (*err || !wait)
        return false;
    if (!w->begin_ns)
        w->begin_ns = sti_node_store_now(end->store);
    sti_store_end_sleep(end, w->waiter);
    *err = sti_node_store_failure(end->store);
    return !*err;
}

/* It has waited until now, if at all. */
static void note_waited(waiting *w, strads_session *session, uint64_t parked)
{
    if (!w->begin_ns)
        return;
    const sti_node_store *store = w->end->store;
    uint64_t now = sti_node_store_now(store);
    uint64_t waited = now - w->begin_ns;
    sti_session_waited(session, store->started_ns + w->begin_ns,
                       store->started_ns + now,
                       parked < waited ? parked : waited);
    w->begin_ns = 0;
}

static void end_call(waiting *w, strads_session *session)
{
    uint64_t parked = w->waiter->parked_ns;
    sti_store_end_unlock(w->end, true);
    note_waited(w, session, parked);
}

/* ---- the calls --------------------------------------------------------- */

static uint32_t count_tables(const void *behind)
{
    return ((const sti_store_end *)behind)->store->n_tables;
}

static const strads_table_spec *spec_of(const void *behind, uint32_t table)
{
    const sti_node_store *store = ((const sti_store_end *)behind)->store;
    return table < store->n_tables ? &store->tables[table] : NULL;
}

static strads_err join(strads_session *session)
{
    const sti_store_end *end = session->behind;
    return sti_session_make_pieces(session, sti_client_piece(end->client));
}

static const sti_change_count *changes_of(const void *behind, uint32_t table)
{
    (void)table;
    return sti_client_changes(((const sti_store_end *)behind)->client);
}

static strads_err try_to_read(waiting *w, strads_session *session,
                              const sti_session_read *read)
{
    sti_node_store *store = w->end->store;
    const sti_client_read call = {.worker = session->worker,
                                  .table = read->table,
                                  .n = read->n,
                                  .rows = read->rows,
                                  .staleness = read->staleness,
                                  .exact = read->snapshot != NULL,
                                  .pending = &session->pending[read->table]};
    strads_err err = sti_node_store_failure(store);
    bool wait =
        !err && (call.exact ||
                 !sti_client_read_cached(w->end->client, &call, read->out));
    while (!err && wait) {
        sti_client_read now = call;
        now.now = sti_node_store_now(store);
        err = sti_client_read_rows(w->end->client, &now, read->out,
                                   read->snapshot, &wait, &w->end->effects);
        wait = try_again(w, wait, &err);
    }
    if (err)
        sti_client_forget(w->end->client, session->worker);
    return err;
}

static strads_err read_rows(strads_session *session,
                            const sti_session_read *read)
{
    waiting w = begin_call(session);
    strads_err err = try_to_read(&w, session, read);
    end_call(&w, session);
    return err;
}

/* What is sent last is left for the caller to carry out. */
static strads_err try_to_push(waiting *w, strads_session *session,
                              sti_push_end ending, uint64_t clock)
{
    sti_node_store *store = w->end->store;
    strads_err err = sti_node_store_failure(store);
    if (!err && ending == STI_PUSH_CLOCK)
        sti_client_skip(w->end->client, session->worker, clock);
    bool wait = !err;
    while (!err && wait) {
        err = sti_client_push(w->end->client, session->worker, ending,
                              session->pending, sti_node_store_now(store),
                              &wait, &w->end->effects);
        wait = !err && wait && try_again(w, wait, &err);
    }
    return err;
}

static strads_err push(strads_session *session, sti_push_end ending,
                       uint64_t clock)
{
    waiting w = begin_call(session);
    strads_err err = try_to_push(&w, session, ending, clock);
    sti_store_end_carry_out(w.end, true);
    end_call(&w, session);
    return err;
}

static strads_err push_early(strads_session *session)
{
    waiting w = begin_call(session);
    sti_node_store *store = w.end->store;
    strads_err err = sti_node_store_failure(store);
    bool wait = !err;
    while (!err && wait) {
        (void)sti_client_push_early(w.end->client, session->worker,
                                    session->pending, sti_node_store_now(store),
                                    &wait, &w.end->effects);
        wait = try_again(&w, wait, &err);
    }
    end_call(&w, session);
    return err;
}

static strads_err flush(strads_session *session)
{
    return push(session, STI_PUSH_FLUSH, 0);
}

/* What was added belongs to the clock in which it was. */
static strads_err advance(strads_session *session, uint64_t clock)
{
    strads_err err = clock > session->clock + 1 ? flush(session) : STRADS_OK;
    return err ? err : push(session, STI_PUSH_CLOCK, clock);
}

static strads_err advance_and_read(strads_session *session,
                                   const sti_session_read *read)
{
    const uint64_t clock = session->clock + 1;
    waiting w = begin_call(session);
    strads_err err = try_to_push(&w, session, STI_PUSH_CLOCK, clock);
    if (!err) {
        note_waited(&w, session, w.waiter->parked_ns);
        sti_session_passed(session, clock);
        err = try_to_read(&w, session, read);
    }
    sti_store_end_carry_out(w.end, true);
    end_call(&w, session);
    return err;
}

static strads_err barrier(strads_session *session)
{
    waiting w = begin_call(session);
    sti_node_store *store = w.end->store;
    strads_err err = sti_node_store_failure(store);
    bool wait = !err;
    while (!err && wait) {
        wait = false;
        err = sti_client_barrier(w.end->client, session->worker,
                                 sti_node_store_now(store), &wait,
                                 &w.end->effects);
        wait = try_again(&w, wait, &err);
    }
    end_call(&w, session);
    return err;
}

/* After a failure nobody acknowledges anything: the pushes get copies. */
static strads_err reclaim(strads_session *session)
{
    waiting w = begin_call(session);
    sti_node_store *store = w.end->store;
    strads_err err = sti_node_store_failure(store);
    bool wait = !err;
    while (!err && wait) {
        sti_client_reclaim(w.end->client, session->worker, &wait);
        wait = try_again(&w, wait, &err);
    }
    if (err)
        sti_client_own(w.end->client, session->worker);
    end_call(&w, session);
    return err;
}

static void leave(strads_session *session)
{
    (void)push(session, STI_PUSH_LEAVE, 0);
}

static const sti_session_ops spread = {
    .tables = count_tables,
    .spec = spec_of,
    .join = join,
    .read = read_rows,
    .changes = changes_of,
    .push_early = push_early,
    .flush = flush,
    .advance = advance,
    .advance_and_read = advance_and_read,
    .barrier = barrier,
    .reclaim = reclaim,
    .leave = leave,
};

strads_err sti_store_end_session(sti_store_end *end, uint32_t worker,
                                 strads_session **out)
{
    return sti_session_open(&spread, end, worker,
                            end->store->setup.run->partitions, out);
}

strads_err sti_node_store_session(sti_node_store *store, uint32_t worker,
                                  strads_session **out)
{
    return sti_store_end_session(&store->end[0], worker, out);
}

/* ---- the engine's own -------------------------------------------------- */

static strads_err settle(sti_store_end *end)
{
    sti_store_end_settle(end);
    return sti_node_store_failure(end->store);
}

strads_err sti_node_store_settle(sti_node_store *store)
{
    return settle(&store->end[0]);
}

/* What a push of start values may gather. */
static const uint64_t push_bytes = UINT64_C(8) << 20;

static bool is_zero(const char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (bytes[k])
            return false;
    return true;
}

static strads_err put_row(strads_session *session, uint32_t table,
                          const strads_snapshot *from, uint64_t row,
                          uint64_t *gathered)
{
    sti_pending *pending = &session->pending[table];
    uint32_t n;
    const uint32_t *cols;
    const void *cells;
    strads_err err = strads_snapshot_row(from, row, &n, &cols, &cells);
    size_t bytes = n * pending->cell;
    if (err || n == 0 || is_zero(cells, bytes))
        return err;
    err = sti_pending_add(pending, &(sti_row_delta){.row = (uint32_t)row,
                                                    .n = n,
                                                    .cols = cols,
                                                    .cells = cells});
    *gathered += bytes;
    if (err || *gathered < push_bytes)
        return err;
    *gathered = 0;
    return strads_session_flush(session);
}

static strads_err put_table(strads_session *session, uint32_t table,
                            const strads_store *from)
{
    strads_snapshot *snapshot;
    uint64_t gathered = 0;
    strads_err err = strads_store_snapshot(from, table, &snapshot);
    if (err)
        return err;
    uint64_t rows = session->pending[table].spec->rows;
    for (uint64_t row = 0; !err && row < rows; row++)
        err = put_row(session, table, snapshot, row, &gathered);
    strads_snapshot_free(snapshot);
    return err ? err : strads_session_flush(session);
}

strads_err sti_node_store_put(sti_node_store *store, const strads_store *from)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < store->n_tables; t++)
        if (strads_store_version(from, t)) /* somebody has added to it */
            err = put_table(store->engine, t, from);
    if (!err)
        err = push(store->engine, STI_PUSH_LEAVE, 0);
    return err ? err : settle(&store->end[1]);
}

strads_err sti_node_store_get(sti_node_store *store, uint32_t table, uint32_t n,
                              const uint32_t *rows, void *out)
{
    return strads_session_read_rows(store->engine, table, n, rows,
                                    STRADS_STALENESS_INFINITE, out);
}
