/* Sessions of a spread store: each call is a call of the node's client,
 * repeated after its worker was woken. Time accounting: an answer contains the
 * time that it waited for clocks; the remainder of a wait counts as network,
 * including the shard's work. */
#include <stdlib.h>

#include "engine/store/client.h"

/* ---- waiting ----------------------------------------------------------- */

/* A call in progress; begin_ns: when it first had to wait. */
typedef struct call {
    sti_client_host *host;
    strads_session *session;
    bool waited;
    uint64_t begin_ns;
} call;

static strads_err begin_host_call(strads_session *session, call *out)
{
    *out = (call){.host = session->behind, .session = session};
    return out->host->begin(out->host, session->worker);
}

/* Called after each try that must wait; the call is then tried again. */
static strads_err wait_for_wake(call *c)
{
    if (!c->waited)
        c->begin_ns = c->host->now(c->host);
    c->waited = true;
    return c->host->wait(c->host, c->session->worker);
}

static void end_host_call(call *c, bool more)
{
    sti_client_host *host = c->host;
    const uint32_t worker = c->session->worker;
    const uint64_t parked = sti_client_parked(host->client, worker);
    host->end(host, worker, more);
    if (!c->waited)
        return;
    const uint64_t now = host->now(host), waited = now - c->begin_ns;
    sti_session_waited(c->session, host->zero_ns + c->begin_ns,
                       host->zero_ns + now, parked < waited ? parked : waited);
}

/* ---- the calls --------------------------------------------------------- */

static uint32_t count_tables(const void *behind)
{
    return ((const sti_client_host *)behind)->n_tables;
}

static const strads_table_spec *host_spec(const void *behind, uint32_t table)
{
    const sti_client_host *host = behind;
    return table < host->n_tables ? &host->tables[table] : NULL;
}

static strads_err join_session(strads_session *session)
{
    const sti_client_host *host = session->behind;
    session->shards = host->shards;
    session->piece = host->piece;
    session->clock = sti_client_clock(host->client, session->worker);
    return STRADS_OK;
}

static const sti_change_count *client_changes(const void *behind,
                                              uint32_t table)
{
    (void)table;
    return sti_client_changes(((const sti_client_host *)behind)->client);
}

static strads_err read_spread_rows(strads_session *session,
                                   const sti_session_read *read)
{
    call c;
    strads_err err = begin_host_call(session, &c);
    sti_client_host *host = c.host;
    sti_client_read ask = {.worker = session->worker,
                           .table = read->table,
                           .n = read->n,
                           .rows = read->rows,
                           .staleness = read->staleness,
                           .exact = read->snapshot != NULL,
                           .session = session};
    bool wait = !err && (ask.exact || !sti_client_read_cached(host->client,
                                                              &ask, read->out));
    while (!err && wait) {
        ask.now = host->now(host);
        err = sti_client_read_rows(host->client, &ask, read->out, &wait,
                                   host->effects);
        if (!err && wait)
            err = wait_for_wake(&c);
    }
    if (err)
        sti_client_discard(host->client, session->worker);
    else if (read->snapshot)
        *read->snapshot = sti_client_as_of(host->client, session->worker);
    end_host_call(&c, false);
    return err;
}

/* Repeats a call without an answer until it need not wait. */
typedef strads_err try_call(const call *c, const void *arg, bool *wait);

static strads_err repeat_call(strads_session *session, try_call *try,
                              const void *arg, bool more)
{
    call c;
    bool wait = true;
    strads_err err = begin_host_call(session, &c);
    while (!err && wait) {
        wait = false;
        err = try(&c, arg, &wait);
        if (!err && wait)
            err = wait_for_wake(&c);
    }
    end_host_call(&c, more);
    return err;
}

static strads_err try_push(const call *c, const void *end, bool *wait)
{
    sti_client_host *host = c->host;
    return sti_client_push(host->client, c->session->worker,
                           *(const sti_push_end *)end, c->session->pending,
                           host->now(host), wait, host->effects);
}

static strads_err try_push_clock(const call *c, const void *clock, bool *wait)
{
    const sti_push_end end = STI_PUSH_CLOCK;
    sti_client_skip(c->host->client, c->session->worker,
                    *(const uint64_t *)clock);
    return try_push(c, &end, wait);
}

static strads_err try_prefetch(const call *c, const void *what, bool *wait)
{
    const sti_session_read *read = what;
    sti_client_host *host = c->host;
    (void)wait;
    return sti_client_prefetch(host->client,
                               &(sti_client_read){.worker = c->session->worker,
                                                  .table = read->table,
                                                  .n = read->n,
                                                  .rows = read->rows,
                                                  .staleness = read->staleness,
                                                  .now = host->now(host)},
                               host->effects);
}

static strads_err prefetch_rows(strads_session *session,
                                const sti_session_read *read)
{
    return repeat_call(session, try_prefetch, read, false);
}

/* Increments belong to the clock in which they were added, so a jump over
 * clocks flushes first. */
static strads_err push_session(strads_session *session, sti_push_end end,
                               uint64_t clock, bool more)
{
    const sti_push_end flush = STI_PUSH_FLUSH;
    sti_client_host *host = session->behind;
    if (end != STI_PUSH_CLOCK)
        return repeat_call(session, try_push, &end, more);
    strads_err err =
        host->computed ? host->computed(host, session->worker) : STRADS_OK;
    if (!err && clock > session->clock + 1)
        err = repeat_call(session, try_push, &flush, false);
    return err ? err : repeat_call(session, try_push_clock, &clock, more);
}

/* An error here is reported by the next push. */
static strads_err try_push_early(const call *c, const void *pending, bool *wait)
{
    sti_client_host *host = c->host;
    (void)sti_client_push_early(host->client, c->session->worker,
                                (sti_pending *)(uintptr_t)pending,
                                host->now(host), wait, host->effects);
    return STRADS_OK;
}

static strads_err push_piece(strads_session *session, sti_pending *pending)
{
    return repeat_call(session, try_push_early, pending, false);
}

static strads_err try_barrier(const call *c, const void *none, bool *wait)
{
    sti_client_host *host = c->host;
    (void)none;
    return sti_client_barrier(host->client, c->session->worker, host->now(host),
                              wait, host->effects);
}

static strads_err wait_at_barrier(strads_session *session)
{
    return repeat_call(session, try_barrier, NULL, false);
}

typedef struct posting {
    uint32_t to;
    sti_buffer **packed; /* NULL after it was sent */
} posting;

static strads_err try_post(const call *c, const void *arg, bool *wait)
{
    const posting *p = arg;
    sti_client_host *host = c->host;
    (void)wait;
    sti_buffer *packed = *p->packed;
    *p->packed = NULL;
    atomic_store(&host->has_peers, true);
    return sti_client_post(host->client, p->to, host->home(host, p->to), packed,
                           host->effects);
}

static strads_err post_vector(strads_session *session, uint32_t to,
                              sti_buffer *packed)
{
    const posting p = {to, &packed};
    strads_err err = repeat_call(session, try_post, &p, false);
    /* non-NULL if the run failed before the first try */
    sti_object_drop(packed);
    return err;
}

static strads_err try_collect(const call *c, const void *what, bool *wait)
{
    sti_client_collect(c->host->client, c->session->worker,
                       (sti_collect *)(uintptr_t)what, wait);
    return STRADS_OK;
}

static strads_err collect_vectors(strads_session *session, sti_collect *what)
{
    return repeat_call(session, try_collect, what, false);
}

static uint64_t host_now(const void *behind)
{
    const sti_client_host *host = behind;
    return host->zero_ns + host->now(host);
}

static const sti_session_ops spread = {
    .tables = count_tables,
    .spec = host_spec,
    .join = join_session,
    .read = read_spread_rows,
    .prefetch = prefetch_rows,
    .changes = client_changes,
    .push = push_session,
    .push_early = push_piece,
    .barrier = wait_at_barrier,
    .post = post_vector,
    .collect = collect_vectors,
    .now = host_now,
};

strads_err sti_client_session(sti_client_host *host, uint32_t worker,
                              uint32_t workers, strads_session **out)
{
    return sti_session_open(&spread, host, worker, workers, out);
}
