/* The workers of a simulated store. A call that has to wait gives the baton to
 * whose turn is next, and is repeated when it is the worker's own. */
#include "engine/simulation/sim_store_state.h"

/* Of its node: how often that was killed. */
static uint64_t life_of(const sti_sim_worker *w)
{
    return w->sim->life[w->sim->setup.shards + w->client];
}

/* Others go on until it is this worker's turn. */
static strads_err wait_turn(sti_sim_worker *w)
{
    sti_sim_store *sim = w->sim;
    if (sim->over)
        return STRADS_ECANCELED;
    uint32_t next = sti_sim_store_next(sim);
    if (next != w->number)
        sti_baton_pass(sim->baton, w->number, next);
    return sim->over || w->life != life_of(w) ? STRADS_ECANCELED : STRADS_OK;
}

void sti_sim_worker_run(void *arg, uint32_t number)
{
    sti_sim_store *sim = arg;
    sti_sim_worker *w = &sim->workers[number];
    while (!sim->over) {
        if (w->left || !sim->clients[w->client]) {
            (void)wait_turn(w); /* for a next life, if there is one */
            continue;
        }
        w->life = life_of(w);
        sim->setup.body(sim->setup.arg, w);
        if (sim->over || w->life != life_of(w))
            continue;
        w->left = true;
        sim->n_left++;
        if (!sim->mortal)
            break;
    }
    w->ended = true;
    sti_baton_leave(sim->baton, sti_sim_store_next(sim));
}

static strads_err after_call(sti_sim_worker *w, strads_err err, bool wait)
{
    sti_sim_store *sim = w->sim;
    sti_sim_store_apply(sim, STI_CLIENT_0 + w->client);
    if (!err && (wait || sim->over))
        return wait_turn(w);
    return err;
}

/* A call that is not repeated: its memory goes away. A client that was killed
 * has forgotten it. */
static void forget(const sti_sim_worker *w)
{
    if (w->life == life_of(w))
        sti_client_forget(w->sim->clients[w->client], w->number);
}

strads_err sti_sim_worker_read(sti_sim_worker *w, const sti_client_read *read,
                               void *values, uint64_t *as_of)
{
    sti_sim_store *sim = w->sim;
    sti_client_read own = *read;
    bool wait = true;
    strads_err err = STRADS_OK;
    own.worker = w->number;
    own.pending = &w->pending[read->table];
    while (!err && wait) {
        own.now = sim->now;
        err = sti_client_read_rows(sim->clients[w->client], &own, values, as_of,
                                   &wait, &sim->effects);
        err = after_call(w, err, wait);
    }
    if (err)
        forget(w);
    return err;
}

strads_err sti_sim_worker_push(sti_sim_worker *w, sti_push_end end)
{
    sti_sim_store *sim = w->sim;
    bool wait = true;
    strads_err err = STRADS_OK;
    while (!err && wait) {
        err = sti_client_push(sim->clients[w->client], w->number, end,
                              w->pending, sim->now, &wait, &sim->effects);
        err = after_call(w, err, wait);
    }
    return err;
}

strads_err sti_sim_worker_barrier(sti_sim_worker *w)
{
    sti_sim_store *sim = w->sim;
    bool wait = true;
    strads_err err = STRADS_OK;
    while (!err && wait) {
        err = sti_client_barrier(sim->clients[w->client], w->number, sim->now,
                                 &wait, &sim->effects);
        err = after_call(w, err, wait);
    }
    return err;
}

strads_err sti_sim_worker_compute(sti_sim_worker *w, uint64_t ns)
{
    sti_sim_store *sim = w->sim;
    uint64_t until =
        sim->now +
        sti_sim_store_on_node(sim, sim->setup.shards + w->client, ns);
    strads_err err = STRADS_OK;
    while (!err && sim->now < until) { /* a WAKE may come without need */
        sti_sim_store_wake(sim, w->number, until);
        err = wait_turn(w);
    }
    return err;
}

strads_err sti_sim_worker_add(sti_sim_worker *w, uint32_t table,
                              const sti_row_delta *delta)
{
    return sti_pending_add(&w->pending[table], delta);
}

const sti_pending *sti_sim_worker_pending(const sti_sim_worker *w)
{
    return w->pending;
}

uint32_t sti_sim_worker_number(const sti_sim_worker *w)
{
    return w->number;
}

uint64_t sti_sim_worker_life(const sti_sim_worker *w)
{
    return w->life;
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
    return sti_client_staleness(w->sim->clients[w->client], w->number, table);
}
