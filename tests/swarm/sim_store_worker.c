/* The workers of a simulated store: sessions over their node's client, as in a
 * program. A call that must wait passes the run token on, and is repeated at
 * the worker's next turn. */
#include "engine/store/client_state.h"
#include "tests/swarm/sim_store_state.h"

/* Lets others run until it is this worker's turn. */
static strads_err wait_turn(sti_sim_worker *w)
{
    sti_sim_store *sim = w->sim;
    if (sim->over)
        return STRADS_ECANCELED;
    uint32_t next = sti_sim_store_next(sim);
    if (next != w->number)
        sti_run_token_pass(sim->token, w->number, next);
    return sim->over ? STRADS_ECANCELED : STRADS_OK;
}

/* ---- host of its session ------------------------------------------------- */

static strads_err begin(sti_client_host *host, uint32_t worker)
{
    sti_sim_worker *w = (sti_sim_worker *)host;
    (void)worker;
    w->asked = true;
    return w->sim->over ? STRADS_ECANCELED : STRADS_OK;
}

static strads_err wait_for_wake(sti_client_host *host, uint32_t worker)
{
    sti_sim_worker *w = (sti_sim_worker *)host;
    (void)worker;
    sti_sim_store_apply(w->sim, STI_CLIENT_0 + w->client);
    return wait_turn(w);
}

static void end(sti_client_host *host, uint32_t worker, bool more)
{
    sti_sim_worker *w = (sti_sim_worker *)host;
    (void)worker, (void)more;
    sti_sim_store_apply(w->sim, STI_CLIENT_0 + w->client);
}

static uint64_t now_of(const sti_client_host *host)
{
    return ((const sti_sim_worker *)host)->sim->now;
}

void sti_sim_worker_join(sti_sim_worker *w, sti_client *client)
{
    const sti_sim_store_setup *s = &w->sim->setup;
    w->host = (sti_client_host){.client = client,
                                .effects = &w->sim->effects,
                                .tables = s->tables,
                                .n_tables = s->n_tables,
                                .shards = s->shards,
                                .piece = s->piece_bytes,
                                .begin = begin,
                                .wait = wait_for_wake,
                                .end = end,
                                .now = now_of};
}

void sti_sim_worker_run(void *arg, uint32_t number)
{
    sti_sim_store *sim = arg;
    sti_sim_worker *w = &sim->workers[number];
    strads_err err =
        sti_client_session(&w->host, number, sim->n_workers, &w->session);
    sti_sim_store_stop(sim, err);
    for (uint32_t k = 0; !err && k < sim->setup.n_tables * sim->setup.shards;
         k++)
        w->session->pending[k].around_bytes = sim->setup.around_bytes;
    if (!err)
        sim->setup.body(sim->setup.arg, w);
    sti_session_free(w->session);
    w->session = NULL;
    w->left = true;
    sim->n_left++;
    sti_run_token_leave(sim->token, sti_sim_store_next(sim));
}

/* ---- its own calls ----------------------------------------------------- */

strads_session *sti_sim_worker_session(const sti_sim_worker *w)
{
    return w->session;
}

/* The place of the as-of clock of a row that was read alone. */
static uint64_t *as_of_row(const sti_sim_worker *w, uint32_t table,
                           uint32_t row)
{
    uint64_t *at = w->as_of_rows;
    for (uint32_t t = 0; t < table; t++)
        at += w->sim->setup.tables[t].rows;
    return at + row;
}

strads_err sti_sim_worker_read(sti_sim_worker *w, const sti_client_read *read,
                               void *values, uint64_t *as_of)
{
    strads_err err;
    w->asked = false;
    if (read->exact)
        return strads_session_read_snapshot(w->session, read->table, read->n,
                                            read->rows, values, as_of);
    if (read->n == 1)
        err = strads_session_read_row(w->session, read->table, read->rows[0],
                                      read->staleness, values);
    else
        err = strads_session_read_rows(w->session, read->table, read->n,
                                       read->rows, read->staleness, values);
    if (err)
        return err;
    uint64_t *row = as_of_row(w, read->table, read->rows[0]);
    *as_of = w->asked ? sti_client_as_of(w->host.client, w->number) : *row;
    if (read->n == 1)
        *row = *as_of;
    w->sim->outcome.kept_reads += !w->asked;
    return STRADS_OK;
}

strads_err sti_sim_worker_leave(sti_sim_worker *w)
{
    return w->session->ops->push(w->session, STI_PUSH_LEAVE, 0, false);
}

strads_err sti_sim_worker_compute(sti_sim_worker *w, uint64_t ns)
{
    sti_sim_store *sim = w->sim;
    uint64_t until =
        sim->now +
        sti_sim_store_on_node(sim, sim->setup.shards + w->client, ns);
    strads_err err = STRADS_OK;
    while (!err && sim->now < until) { /* a WAKE may be spurious */
        sti_sim_store_wake(sim, w->number, until);
        err = wait_turn(w);
    }
    return err;
}

uint32_t sti_sim_worker_number(const sti_sim_worker *w)
{
    return w->number;
}

uint64_t sti_sim_worker_clock(const sti_sim_worker *w)
{
    return sti_client_clock(w->sim->clients[w->client], w->number);
}

sti_sim_store *sti_sim_worker_store(const sti_sim_worker *w)
{
    return w->sim;
}

uint32_t sti_sim_worker_staleness(const sti_sim_worker *w, uint32_t table)
{
    return sti_adaptive_staleness(&w->session->adaptive,
                                  &w->sim->setup.tables[table]);
}
