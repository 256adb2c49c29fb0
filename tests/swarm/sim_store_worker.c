/* The workers of a simulated store: sessions, as a program's workers have them,
 * over their node's client. A call that has to wait gives the baton to whose
 * turn is next, and is repeated when it is the worker's own. */
#include "tests/swarm/sim_store_state.h"

/* ---- waiting ----------------------------------------------------------- */

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

/* ---- behind its session ------------------------------------------------ */

static sti_client *client_of(const sti_sim_worker *w)
{
    return w->sim->clients[w->client];
}

static uint32_t count_tables(const void *behind)
{
    return ((const sti_sim_worker *)behind)->sim->setup.n_tables;
}

static const strads_table_spec *spec_of(const void *behind, uint32_t table)
{
    const sti_sim_store_setup *s =
        &((const sti_sim_worker *)behind)->sim->setup;
    return table < s->n_tables ? &s->tables[table] : NULL;
}

static strads_err join(strads_session *session)
{
    const sti_sim_worker *w = session->behind;
    const uint64_t lend_bytes = w->sim->setup.lend_bytes;
    session->clock = sti_client_clock(client_of(w), w->number);
    strads_err err =
        sti_session_make_pieces(session, sti_client_piece(client_of(w)));
    for (uint32_t t = 0; !err && lend_bytes && t < session->n_pending; t++)
        session->pending[t].lend_bytes = lend_bytes;
    return err;
}

static const sti_change_count *changes_of(const void *behind, uint32_t table)
{
    (void)table;
    return sti_client_changes(client_of(behind));
}

/* Where the as-of of a row that was read alone is noted. */
static uint64_t *as_of_row(const sti_sim_worker *w, uint32_t table,
                           uint32_t row)
{
    uint64_t *at = w->as_of_rows;
    for (uint32_t t = 0; t < table; t++)
        at += w->sim->setup.tables[t].rows;
    return at + row;
}

static strads_err ask(sti_sim_worker *w, sti_client_read *read, void *values)
{
    sti_sim_store *sim = w->sim;
    bool wait = true;
    strads_err err = STRADS_OK;
    read->worker = w->number;
    read->pending = &w->session->pending[read->table];
    w->asked = true;
    while (!err && wait) {
        read->now = sim->now;
        err = sti_client_read_rows(client_of(w), read, values, &w->as_of, &wait,
                                   &sim->effects);
        err = after_call(w, err, wait);
    }
    if (err)
        forget(w);
    else if (read->n == 1 && !read->exact)
        *as_of_row(w, read->table, read->rows[0]) = w->as_of;
    return err;
}

static strads_err read_rows(strads_session *session,
                            const sti_session_read *read)
{
    const sti_sim_worker *w = session->behind;
    strads_err err = ask(session->behind,
                         &(sti_client_read){.table = read->table,
                                            .n = read->n,
                                            .rows = read->rows,
                                            .staleness = read->staleness,
                                            .exact = read->snapshot != NULL},
                         read->out);
    if (!err && read->snapshot)
        *read->snapshot = w->as_of;
    return err;
}

static strads_err push_early(strads_session *session)
{
    sti_sim_worker *w = session->behind;
    sti_sim_store *sim = w->sim;
    bool wait = true;
    strads_err err = STRADS_OK;
    while (!err && wait) {
        (void)sti_client_push_early(client_of(w), w->number, session->pending,
                                    sim->now, &wait, &sim->effects);
        for (size_t k = 0; k < sim->effects.n; k++)
            sim->outcome.early += sim->effects.at[k].kind == STI_EFFECT_SEND;
        err = after_call(w, err, wait);
    }
    return err;
}

static strads_err push(strads_session *session, sti_push_end end)
{
    sti_sim_worker *w = session->behind;
    bool wait = true;
    strads_err err = STRADS_OK;
    while (!err && wait) {
        err = sti_client_push(client_of(w), w->number, end, session->pending,
                              w->sim->now, &wait, &w->sim->effects);
        err = after_call(w, err, wait);
    }
    return err;
}

static strads_err flush(strads_session *session)
{
    return push(session, STI_PUSH_FLUSH);
}

static strads_err advance(strads_session *session, uint64_t clock)
{
    const sti_sim_worker *w = session->behind;
    strads_err err = clock > session->clock + 1 ? flush(session) : STRADS_OK;
    if (err)
        return err;
    sti_client_skip(client_of(w), w->number, clock);
    return push(session, STI_PUSH_CLOCK);
}

static strads_err barrier(strads_session *session)
{
    sti_sim_worker *w = session->behind;
    bool wait = true;
    strads_err err = STRADS_OK;
    while (!err && wait) {
        err = sti_client_barrier(client_of(w), w->number, w->sim->now, &wait,
                                 &w->sim->effects);
        err = after_call(w, err, wait);
    }
    return err;
}

/* A client that was killed keeps nothing. */
static strads_err reclaim(strads_session *session)
{
    sti_sim_worker *w = session->behind;
    bool wait = true;
    strads_err err = STRADS_OK;
    while (!err && wait) {
        sti_client_reclaim(client_of(w), w->number, &wait);
        err = after_call(w, STRADS_OK, wait);
    }
    if (err && w->life == life_of(w))
        sti_client_own(client_of(w), w->number);
    return err;
}

static void leave(strads_session *session)
{
    sti_sim_worker *w = session->behind;
    w->left_with = push(session, STI_PUSH_LEAVE);
}

static const sti_session_ops simulated = {
    .tables = count_tables,
    .spec = spec_of,
    .join = join,
    .read = read_rows,
    .changes = changes_of,
    .push_early = push_early,
    .flush = flush,
    .advance = advance,
    .barrier = barrier,
    .reclaim = reclaim,
    .leave = leave,
};

/* ---- its life ---------------------------------------------------------- */

/* A life: a session at the clock at which the node comes up. */
static void live(sti_sim_worker *w)
{
    sti_sim_store *sim = w->sim;
    strads_err err =
        sti_session_open(&simulated, w, w->number, sim->n_workers, &w->session);
    sti_sim_store_stop(sim, err);
    if (!err)
        sim->setup.body(sim->setup.arg, w);
    sti_session_free(w->session);
    w->session = NULL;
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
        live(w);
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

/* ---- its own calls ----------------------------------------------------- */

strads_session *sti_sim_worker_session(const sti_sim_worker *w)
{
    return w->session;
}

strads_err sti_sim_worker_read(sti_sim_worker *w, const sti_client_read *read,
                               void *values, uint64_t *as_of)
{
    sti_client_read own = *read;
    strads_err err;
    w->asked = false;
    if (read->exact)
        err = ask(w, &own, values);
    else if (read->n == 1)
        err = strads_session_read_row(w->session, read->table, read->rows[0],
                                      read->staleness, values);
    else
        err = strads_session_read_rows(w->session, read->table, read->n,
                                       read->rows, read->staleness, values);
    if (err)
        return err;
    w->sim->outcome.kept_reads += !w->asked;
    *as_of = w->asked ? w->as_of : *as_of_row(w, read->table, read->rows[0]);
    return STRADS_OK;
}

strads_err sti_sim_worker_leave(sti_sim_worker *w)
{
    sti_session_leave(w->session);
    return w->left_with;
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
