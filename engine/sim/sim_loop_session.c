/* Sessions of a simulated loop: calls of the node's client, as in
 * node_store_session.c, that give the baton away when they have to wait. */
#include <time.h>

#include "engine/sim/sim_loop_state.h"

static uint64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Others go on until it is this partition's turn. */
static strads_err wait_turn(sti_sim_looper *l)
{
    sti_sim_loop *sim = l->sim;
    uint32_t next = sti_sim_loop_next(sim);
    if (next != l->number)
        sti_baton_pass(sim->baton, l->number, next);
    return STRADS_OK;
}

static strads_err check_over(const sti_sim_loop *sim)
{
    return sim->over ? strads_fail(STRADS_ECANCELED, "the simulation is over")
                     : STRADS_OK;
}

/* What the program computed since its last call. */
static void begin_call(sti_sim_looper *l)
{
    l->sim->spent_ns += thread_ns() - l->cpu_ns;
    l->parked_ns = 0;
}

static void end_call(sti_sim_looper *l, strads_session *session, uint64_t begin)
{
    uint64_t waited = l->sim->now - begin;
    sti_session_waited(session, begin, l->sim->now,
                       l->parked_ns < waited ? l->parked_ns : waited);
    l->cpu_ns = thread_ns();
}

/* After each try. True when it is to be tried again. */
static bool try_again(sti_sim_looper *l, bool wait, strads_err *err)
{
    sti_sim_loop_apply(l->sim, STI_CLIENT_0 + l->client);
    if (*err || !wait)
        return false;
    *err = check_over(l->sim);
    if (!*err)
        *err = wait_turn(l);
    if (!*err)
        *err = check_over(l->sim);
    return !*err;
}

static sti_client *client_of(const sti_sim_looper *l)
{
    return l->sim->clients[l->client];
}

/* ---- the calls --------------------------------------------------------- */

static uint32_t count_tables(const void *behind)
{
    return ((const sti_sim_looper *)behind)->sim->setup.n_tables;
}

static const strads_table_spec *spec_of(const void *behind, uint32_t table)
{
    const sti_sim_loop_setup *setup =
        &((const sti_sim_looper *)behind)->sim->setup;
    return table < setup->n_tables ? &setup->tables[table] : NULL;
}

static strads_err join(strads_session *session)
{
    ((sti_sim_looper *)session->behind)->cpu_ns = thread_ns();
    return sti_session_make_pending(session);
}

static const sti_change_count *changes_of(const void *behind, uint32_t table)
{
    (void)table;
    return sti_client_changes(client_of(behind));
}

/* What a call asks of the client until it need not wait any more. */
typedef strads_err ask(strads_session *session, void *call, bool *wait);

static strads_err repeat(strads_session *session, ask *step, void *call)
{
    sti_sim_looper *l = session->behind;
    const uint64_t begin = l->sim->now;
    strads_err err = check_over(l->sim);
    bool wait = !err;
    begin_call(l);
    while (!err && wait) {
        err = step(session, call, &wait);
        wait = try_again(l, wait, &err);
    }
    end_call(l, session, begin);
    return err;
}

typedef struct row_call {
    sti_client_read read;
    const sti_session_read *to;
} row_call;

static strads_err ask_rows(strads_session *session, void *call, bool *wait)
{
    const sti_sim_looper *l = session->behind;
    row_call *c = call;
    c->read.now = l->sim->now;
    return sti_client_read_rows(client_of(l), &c->read, c->to->out,
                                c->to->snapshot, wait, &l->sim->effects);
}

static strads_err read_rows(strads_session *session,
                            const sti_session_read *read)
{
    const sti_sim_looper *l = session->behind;
    row_call call = {.read = {.worker = l->number,
                              .table = read->table,
                              .n = read->n,
                              .rows = read->rows,
                              .staleness = read->staleness,
                              .exact = read->snapshot != NULL,
                              .pending = &session->pending[read->table]},
                     .to = read};
    return repeat(session, ask_rows, &call);
}

static strads_err ask_push(strads_session *session, void *call, bool *wait)
{
    const sti_sim_looper *l = session->behind;
    const sti_push_end *ending = call;
    return sti_client_push(client_of(l), l->number, *ending, session->pending,
                           l->sim->now, wait, &l->sim->effects);
}

static strads_err push(strads_session *session, sti_push_end ending)
{
    return repeat(session, ask_push, &ending);
}

static strads_err flush(strads_session *session)
{
    return push(session, STI_PUSH_FLUSH);
}

/* A clock's computing passes before it ends. */
static strads_err compute(sti_sim_looper *l)
{
    sti_sim_loop *sim = l->sim;
    const uint64_t ns = sti_sim_cost_clock(&sim->cost, l->number, l->clocks++);
    const uint64_t until = sti_sim_after(sim->now, ns);
    strads_err err = STRADS_OK;
    begin_call(l);
    while (!err && sim->now < until) { /* a WAKE may come without need */
        sti_sim_loop_wake(sim, l->number, until);
        err = wait_turn(l);
        if (!err)
            err = check_over(sim);
    }
    sim->busy_ns += err ? 0 : ns;
    l->cpu_ns = thread_ns();
    return err;
}

static strads_err advance(strads_session *session, uint64_t clock)
{
    sti_sim_looper *l = session->behind;
    strads_err err = check_over(l->sim);
    if (!err)
        err = compute(l);
    if (!err && clock > session->clock + 1)
        err = flush(session);
    if (err)
        return err;
    sti_client_skip(client_of(l), l->number, clock);
    return push(session, STI_PUSH_CLOCK);
}

static strads_err ask_barrier(strads_session *session, void *call, bool *wait)
{
    const sti_sim_looper *l = session->behind;
    (void)call;
    return sti_client_barrier(client_of(l), l->number, l->sim->now, wait,
                              &l->sim->effects);
}

static strads_err barrier(strads_session *session)
{
    return repeat(session, ask_barrier, NULL);
}

static strads_err ask_reclaim(strads_session *session, void *call, bool *wait)
{
    const sti_sim_looper *l = session->behind;
    (void)call;
    sti_client_reclaim(client_of(l), l->number, wait);
    return STRADS_OK;
}

static strads_err reclaim(strads_session *session)
{
    const sti_sim_looper *l = session->behind;
    const strads_err err = repeat(session, ask_reclaim, NULL);
    if (err)
        sti_client_own(client_of(l), l->number);
    return err;
}

static void leave(strads_session *session)
{
    (void)push(session, STI_PUSH_LEAVE);
}

static uint64_t now_of(const void *behind)
{
    return ((const sti_sim_looper *)behind)->sim->now;
}

static const sti_session_ops simulated = {
    .tables = count_tables,
    .spec = spec_of,
    .join = join,
    .read = read_rows,
    .changes = changes_of,
    .flush = flush,
    .advance = advance,
    .barrier = barrier,
    .reclaim = reclaim,
    .leave = leave,
    .now = now_of,
};

strads_err sti_sim_loop_session(sti_sim_loop *sim, uint32_t partition,
                                strads_session **out)
{
    return sti_session_open(&simulated, &sim->loopers[partition], partition,
                            sim->setup.run->partitions, out);
}

/* ---- what else a body asks --------------------------------------------- */

uint64_t sti_sim_loop_now(const sti_sim_loop *sim)
{
    return sim->now;
}

uint64_t sti_sim_loop_spent(const sti_sim_loop *sim)
{
    return sim->spent_ns;
}

void sti_sim_loop_visit(sti_sim_loop *sim, uint32_t partition)
{
    sim->visitor = partition;
    sti_baton_pass(sim->baton, partition, sim->setup.run->partitions);
}
