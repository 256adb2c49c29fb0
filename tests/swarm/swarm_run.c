/* A worker of the swarm: its own stream of random numbers gives its increments
 * and reads, independent of the others. */
#include "tests/swarm/swarm_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/session.h"
#include "tests/swarm/store_checker.h"
#include "tests/swarm/swarm_plan.h"

enum { PURPOSE = 0x776f726b, MOST_ROWS = 3, FULL_ROWS = 4 };

typedef struct swarm {
    swarm_plan plan;
    checker *checker;
    sti_sim_store *sim;
    swarm_lie lie;
    uint32_t adding; /* the client of the worker that is adding rows, or none */
    swarm_result *result;
} swarm;

/* State of one worker. */
typedef struct life {
    swarm *swarm;
    sti_sim_worker *worker;
    uint32_t number;
    sti_random random;
    sti_client_read last; /* of the rows below */
    bool ahead;           /* they were prefetched */
    uint32_t rows[MOST_ROWS];
    void *values; /* space for MOST_ROWS rows */
    char *batch;  /* space for FULL_ROWS rows */
} life;

static uint32_t below(life *l, uint32_t n)
{
    return (uint32_t)sti_random_below(&l->random, n);
}

/* A breach ends the run. */
static strads_err judge(life *l, strads_err err)
{
    const char *breach = checker_breach(l->swarm->checker);
    if (!err && breach[0])
        err = strads_fail(STRADS_EPEER, "%s", breach);
    if (err && err != STRADS_ECANCELED)
        sti_sim_store_stop(l->swarm->sim, err);
    return err;
}

static void tell_lie(swarm_lie lie, sti_msg *msg)
{
    sti_row_answer *rows = (sti_row_answer *)msg->object;
    if (lie == SWARM_ACK_OF_MORE && msg->kind == STI_MSG_ACK)
        msg->round++;
    else if (lie == SWARM_OLD_AS_NEW && msg->kind == STI_MSG_ROWS &&
             rows->as_of != STI_CLOCK_GONE)
        rows->as_of += 2;
    else if (lie == SWARM_APPLIED_EARLY && msg->kind == STI_MSG_ROWS)
        rows->applied++;
}

/* A message is checked before it becomes a lie, so that only the consequences
 * can reveal the lie. */
static void watch(void *arg, sti_msg *msg)
{
    swarm *s = arg;
    s->result->early += msg->kind == STI_MSG_PUSH && s->adding != UINT32_MAX &&
                        msg->from == STI_CLIENT_0 + s->adding;
    checker_told(s->checker, msg);
    tell_lie(s->lie, msg);
    if (checker_breach(s->checker)[0])
        sti_sim_store_stop(s->sim, strads_fail(STRADS_EPEER, "%s",
                                               checker_breach(s->checker)));
}

/* ---- a worker's actions ------------------------------------------------ */

static void put_cell(strads_scalar type, void *cells, uint32_t at, double value)
{
    if (type == STRADS_F32)
        ((float *)cells)[at] = (float)value;
    else if (type == STRADS_F64)
        ((double *)cells)[at] = value;
    else if (type == STRADS_I32)
        ((int32_t *)cells)[at] = (int32_t)value;
    else
        ((int64_t *)cells)[at] = (int64_t)value;
}

static uint32_t client_of(const life *l)
{
    return l->number / l->swarm->plan.setup.workers_each;
}

static strads_err add(life *l, uint32_t table, uint32_t row, bool in_full)
{
    const strads_table_spec *spec = &l->swarm->plan.tables[table];
    strads_session *session = sti_sim_worker_session(l->worker);
    uint32_t col;
    double value;
    if (!checker_inc(l->swarm->checker, l->number, table, row, &col, &value))
        return STRADS_OK;
    l->swarm->result->incs++;
    sti_sim_store_log(l->swarm->sim, "worker %u adds %g to table %u row %u%s",
                      l->number, value, table, row, in_full ? " in full" : "");
    if (!in_full)
        return strads_session_inc(session, table, row, col, value);
    memset(l->values, 0, 8 * (size_t)spec->cols);
    put_cell(spec->type, l->values, col, value);
    l->swarm->adding = client_of(l);
    strads_err err = strads_session_inc_row(session, table, row, l->values);
    l->swarm->adding = UINT32_MAX;
    return err;
}

/* The distance from a row to the next one of its shard if workers sweep,
 * otherwise 1. */
static uint32_t stride_of(const life *l)
{
    return l->swarm->plan.sweeps ? l->swarm->plan.setup.shards : 1;
}

/* Adds to n rows from `row` on in one call; a row may come twice. Overwrites
 * the batch afterwards, so that a late read of it is detected. */
static strads_err add_batch(life *l, uint32_t table, uint32_t row, uint32_t n)
{
    const strads_table_spec *spec = &l->swarm->plan.tables[table];
    const size_t bytes = sti_cell_size(spec->type) * spec->cols;
    uint32_t rows[FULL_ROWS], col, m = 0;
    double value;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t r = (row + k * stride_of(l)) % (uint32_t)spec->rows;
        if (!checker_inc(l->swarm->checker, l->number, table, r, &col, &value))
            continue;
        memset(l->batch + m * bytes, 0, bytes);
        put_cell(spec->type, l->batch + m * bytes, col, value);
        rows[m++] = r;
        sti_sim_store_log(l->swarm->sim,
                          "worker %u adds %g to table %u row %u in a batch",
                          l->number, value, table, r);
    }
    l->swarm->result->batched += m;
    l->swarm->adding = client_of(l);
    strads_err err = strads_session_inc_rows(sti_sim_worker_session(l->worker),
                                             table, m, rows, l->batch);
    l->swarm->adding = UINT32_MAX;
    memset(l->batch, 0x5A, FULL_ROWS * bytes);
    return err;
}

/* Adds to all rows of table 0 of one shard, in full; or to some of them in one
 * call. */
static strads_err sweep(life *l)
{
    const uint32_t rows = (uint32_t)l->swarm->plan.tables[0].rows;
    uint32_t row = below(l, stride_of(l));
    strads_err err = STRADS_OK;
    if (below(l, 2))
        return add_batch(l, 0, row, FULL_ROWS);
    for (; !err && row < rows; row += stride_of(l))
        err = add(l, 0, row, true);
    return err;
}

/* Adds one value; or to some rows in full, one by one or in one call, which may
 * push them early. */
static strads_err increment(life *l)
{
    const swarm_plan *plan = &l->swarm->plan;
    uint32_t table = below(l, plan->setup.n_tables);
    uint32_t rows = (uint32_t)plan->tables[table].rows;
    uint32_t row = below(l, rows), n = below(l, FULL_ROWS);
    if (n && plan->sweeps)
        return sweep(l);
    if (n && below(l, 3) == 0)
        return add_batch(l, table, row, n);
    strads_err err = n == 0 ? add(l, table, row, false) : STRADS_OK;
    for (uint32_t k = 0; !err && k < n; k++)
        err = add(l, table, (row + k) % rows, true);
    return err;
}

/* The clock below which a read must see all updates. */
static uint64_t needs_of(const life *l, uint32_t table, uint32_t staleness)
{
    uint64_t clock = sti_sim_worker_clock(l->worker);
    if (staleness == STRADS_STALENESS_DEFAULT)
        staleness = l->swarm->plan.tables[table].staleness;
    if (staleness == STRADS_STALENESS_ADAPTIVE) {
        staleness = sti_sim_worker_staleness(l->worker, table);
        checker_adaptive(l->swarm->checker, l->number, table, staleness);
        l->swarm->result->adaptive += staleness > 0;
    }
    return clock > staleness ? clock - staleness : 0;
}

static uint32_t draw_staleness(life *l)
{
    static const uint32_t some[] = {STRADS_STALENESS_DEFAULT,
                                    STRADS_STALENESS_DEFAULT,
                                    STRADS_STALENESS_DEFAULT,
                                    0,
                                    1,
                                    2,
                                    STRADS_STALENESS_INFINITE};
    return some[below(l, sizeof some / sizeof *some)];
}

static strads_err carry_out_read(life *l, const sti_client_read *read,
                                 checker_read *saw)
{
    swarm *s = l->swarm;
    strads_err err =
        sti_sim_worker_read(l->worker, read, l->values, &saw->as_of);
    if (read->exact && err == STRADS_ESTATE) {
        checker_refused(s->checker, l->number, read->table, saw->needs);
        return STRADS_OK;
    }
    if (err)
        return err;
    sti_sim_store_log(s->sim,
                      "worker %u at clock %" PRIu64 " has read table %u row "
                      "%u%s, needs %" PRIu64 ", as of %" PRIu64,
                      l->number, sti_sim_worker_clock(l->worker), read->table,
                      read->rows[0], read->exact ? " exactly" : "", saw->needs,
                      saw->as_of);
    checker_saw(s->checker, saw);
    s->result->reads++;
    s->result->snapshots += read->exact;
    return STRADS_OK;
}

/* Draws a read: the last row once more, or others. */
static sti_client_read draw_read(life *l, bool exact)
{
    const swarm_plan *plan = &l->swarm->plan;
    const bool ahead = l->ahead;
    l->ahead = false;
    if (ahead && !exact && below(l, 4))
        return l->last;
    if (!exact && l->last.n == 1 && !l->last.exact && below(l, 2))
        return l->last;
    uint32_t table = below(l, plan->setup.n_tables);
    const strads_table_spec *spec = &plan->tables[table];
    l->last = (sti_client_read){.table = table,
                                .n = 1 + below(l, MOST_ROWS),
                                .rows = l->rows,
                                .staleness = draw_staleness(l),
                                .exact = exact && spec->snapshot_every &&
                                         sti_sim_worker_clock(l->worker) >=
                                             spec->snapshot_every};
    for (uint32_t k = 0; k < l->last.n; k++)
        l->rows[k] = below(l, (uint32_t)spec->rows);
    return l->last;
}

/* Reads twice, so that the row is kept for the next time. */
static strads_err look(life *l, bool exact)
{
    const sti_client_read read = draw_read(l, exact);
    const strads_table_spec *spec = &l->swarm->plan.tables[read.table];
    checker_read saw = {.worker = l->number,
                        .table = read.table,
                        .n = read.n,
                        .rows = l->rows,
                        .exact = read.exact,
                        .needs = needs_of(l, read.table, read.staleness),
                        .values = l->values};
    if (read.exact)
        saw.needs = sti_sim_worker_clock(l->worker) / spec->snapshot_every *
                    spec->snapshot_every;
    strads_err err = carry_out_read(l, &read, &saw);
    bool twice = read.n == 1 && !read.exact && below(l, 2);
    if (twice && !err)
        err = carry_out_read(l, &read, &saw);
    l->ahead = l->swarm->plan.asks_ahead && !read.exact && below(l, 2);
    return l->ahead && !err
               ? strads_session_prefetch(sti_sim_worker_session(l->worker),
                                         read.table, read.n, read.rows,
                                         read.staleness)
               : err;
}

static strads_err push(life *l, sti_push_end end)
{
    swarm *s = l->swarm;
    strads_session *session = sti_sim_worker_session(l->worker);
    strads_err err = end == STI_PUSH_FLUSH   ? strads_session_flush(session)
                     : end == STI_PUSH_CLOCK ? strads_session_clock(session)
                                             : sti_sim_worker_leave(l->worker);
    if (err)
        return err;
    checker_pushed(s->checker, l->number, end, session->pending);
    checker_clock(s->checker, l->number, sti_sim_worker_clock(l->worker));
    sti_sim_store_log(s->sim, "worker %u %s, it is at clock %" PRIu64,
                      l->number,
                      end == STI_PUSH_FLUSH   ? "has flushed"
                      : end == STI_PUSH_CLOCK ? "has ended a clock"
                                              : "leaves",
                      sti_sim_worker_clock(l->worker));
    return STRADS_OK;
}

static strads_err barrier(life *l)
{
    strads_err err = strads_session_barrier(sti_sim_worker_session(l->worker));
    if (!err)
        checker_barrier(l->swarm->checker, l->number);
    return err;
}

static strads_err think(life *l)
{
    const swarm_plan *plan = &l->swarm->plan;
    uint64_t ns = sti_random_below(&l->random, plan->think_ns + 1);
    return sti_sim_worker_compute(l->worker,
                                  l->number == plan->straggler ? 8 * ns : ns);
}

static strads_err act(life *l)
{
    uint32_t what = below(l, 20);
    if (what < 9)
        return increment(l);
    if (what < 16)
        return look(l, false);
    if (what < 18)
        return look(l, true);
    return what == 18 ? push(l, STI_PUSH_FLUSH) : barrier(l);
}

static strads_err live(life *l)
{
    const swarm_plan *plan = &l->swarm->plan;
    strads_err err = STRADS_OK;
    for (uint32_t clock = 0; !err && clock < plan->clocks; clock++) {
        uint32_t calls = below(l, plan->calls + 1);
        for (uint32_t k = 0; !err && k < calls; k++) {
            err = judge(l, think(l));
            if (!err)
                err = judge(l, act(l));
        }
        if (!err)
            err = judge(l, push(l, STI_PUSH_CLOCK));
    }
    if (!err)
        err = judge(l, look(l, below(l, 2)));
    return err ? err : judge(l, push(l, STI_PUSH_LEAVE));
}

static void body(void *arg, sti_sim_worker *worker)
{
    swarm *s = arg;
    uint32_t number = sti_sim_worker_number(worker);
    life l = {.swarm = s,
              .worker = worker,
              .number = number,
              .random = sti_random_stream(s->plan.setup.seed, PURPOSE, number),
              .values = calloc(MOST_ROWS * (size_t)s->plan.tables[0].cols, 8),
              .batch = calloc(FULL_ROWS * (size_t)s->plan.tables[0].cols, 8)};
    if (l.values && l.batch)
        (void)live(&l);
    else
        sti_sim_store_stop(s->sim, strads_fail(STRADS_ENOMEM, "no memory"));
    free(l.values);
    free(l.batch);
}

/* ---- a seed ------------------------------------------------------------ */

static void finish(swarm *s, strads_err err)
{
    swarm_result *result = s->result;
    for (uint32_t k = 0; !err && k < s->plan.setup.shards; k++)
        checker_end(s->checker, k, sti_sim_store_shard(s->sim, k));
    if (!err && checker_breach(s->checker)[0])
        err = strads_fail(STRADS_EPEER, "%s", checker_breach(s->checker));
    if (err)
        (void)snprintf(result->breach, sizeof result->breach, "%s",
                       strads_error_text());
    result->held = checker_held(s->checker);
    sti_sim_store_outcome_of(s->sim, &result->outcome);
}

/* Runs a swarm with a drawn plan. */
static void run_plan(swarm *s, FILE *tell, uint64_t tell_from)
{
    swarm_result *result = s->result;
    *result = (swarm_result){0};
    sti_sim_store_setup setup = s->plan.setup;
    setup.body = body;
    setup.sends = watch;
    setup.arg = s;
    setup.tell = tell;
    setup.tell_from = tell_from;
    s->checker =
        checker_new(&(checker_setup){.shards = setup.shards,
                                     .clients = setup.clients,
                                     .workers_each = setup.workers_each,
                                     .tables = setup.tables,
                                     .n_tables = setup.n_tables,
                                     .clocks = s->plan.clocks});
    strads_err err = s->checker ? sti_sim_store_new(&setup, &s->sim)
                                : strads_fail(STRADS_ENOMEM, "no memory");
    if (!err)
        finish(s, sti_sim_store_run(s->sim));
    else
        (void)snprintf(result->breach, sizeof result->breach, "%s",
                       strads_error_text());
    sti_sim_store_free(s->sim);
    checker_free(s->checker);
}

static void run_seed(uint64_t seed, swarm_lie lie, FILE *tell,
                     uint64_t tell_from, swarm_result *result)
{
    swarm s = {.lie = lie, .adding = UINT32_MAX, .result = result};
    swarm_plan_draw(seed, &s.plan);
    run_plan(&s, tell, tell_from);
}

void swarm_seed(uint64_t seed, FILE *tell, uint64_t tell_from,
                swarm_result *result)
{
    run_seed(seed, SWARM_HONEST, tell, tell_from, result);
}

void swarm_seed_of_lies(uint64_t seed, swarm_lie lie, swarm_result *result)
{
    run_seed(seed, lie, NULL, 0, result);
}
