/* See loop_tally.h. */
#include "tests/loop_tally.h"
#include "tests/toy_data.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

tally_plan tally;

enum { MODEL, SPARSE, N_TABLES };

TOY_SHAPE(tally_shape, shape->parameters = TALLY_ROWS,
          shape->width = shape->partitions)

static strads_err tally_tables(const void *config, const strads_shape *shape,
                               strads_store *store)
{
    const strads_table_spec spec = {.name = "sparse",
                                    .type = STRADS_I64,
                                    .rows = TALLY_ROWS,
                                    .cols = shape->partitions,
                                    .sparse = true,
                                    .snapshot_every = tally.snapshots};
    (void)config;
    return strads_store_create(store, &spec, &(uint32_t){0});
}

/* Values that one partition has read, and its progress. */
typedef struct reader {
    strads_task *task;
    strads_session *session;
    uint32_t partitions;
    double *model;   /* [rows x partitions] */
    int64_t *sparse; /* the same */
} reader;

static strads_err read_all(reader *r, uint32_t staleness)
{
    uint32_t rows[TALLY_ROWS];
    for (uint32_t k = 0; k < TALLY_ROWS; k++)
        rows[k] = k;
    strads_err err = strads_session_read_rows(r->session, MODEL, TALLY_ROWS,
                                              rows, staleness, r->model);
    for (uint32_t k = 0; !err && k < TALLY_ROWS; k++)
        err = strads_session_read_row(r->session, SPARSE, k, staleness,
                                      r->sparse + k * r->partitions);
    return err;
}

/* The least count of partition v that a read must contain: all clocks below
 * c - s, except those in which v no longer counted. */
static double least_of(uint32_t v, uint64_t c, uint32_t staleness)
{
    const uint32_t ended = atomic_load(&tally.ended[v]);
    const uint64_t least = c > staleness ? c - staleness : 0;
    return (double)(ended && ended - 1 < least ? ended - 1 : least);
}

/* At clock c a partition has added c times itself. Of the others it sees at
 * least c - s clocks, and none that they cannot have begun yet. */
static void check_all(const reader *r, uint64_t c, uint32_t staleness)
{
    const double most = staleness == STRADS_STALENESS_INFINITE
                            ? INFINITY
                            : (double)c + staleness + 1;
    for (uint32_t k = 0; k < TALLY_ROWS * r->partitions; k++) {
        const uint32_t v = k % r->partitions;
        bool own = v == r->task->share->partition;
        const double least = least_of(v, c, staleness);
        double both[2] = {r->model[k], (double)r->sparse[k]};
        for (int t = 0; t < 2; t++)
            if (own ? both[t] != (double)c : both[t] < least || both[t] > most)
                atomic_fetch_add(&tally.wrong, 1);
    }
}

/* A snapshot of clock t has exactly t clocks of every partition, or all
 * clocks in which it counted. */
static strads_err check_snapshot(reader *r, uint64_t c)
{
    uint64_t t = 0;
    if (!tally.snapshots || c < tally.snapshots)
        return STRADS_OK;
    for (uint32_t k = 0; k < TALLY_ROWS; k++) {
        strads_err err =
            strads_session_read_snapshot(r->session, SPARSE, 1, &k,
                                         r->sparse + k * r->partitions, &t);
        if (err)
            return err;
        if (t != c / tally.snapshots * tally.snapshots)
            atomic_fetch_add(&tally.wrong, 1);
    }
    for (uint32_t k = 0; k < TALLY_ROWS * r->partitions; k++)
        if ((double)r->sparse[k] != least_of(k % r->partitions, t, 0))
            atomic_fetch_add(&tally.wrong, 1);
    return STRADS_OK;
}

static strads_err add_all(const reader *r)
{
    const uint32_t p = r->task->share->partition;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < TALLY_ROWS; k++) {
        err = strads_session_inc(r->session, MODEL, k, p, 1);
        if (!err)
            err = strads_session_inc_sparse(r->session, SPARSE, k, 1, &p,
                                            &(int64_t){1});
    }
    return err;
}

static strads_err do_as_planned(const reader *r, uint64_t c)
{
    const uint32_t p = r->task->share->partition;
    if (p == tally.reporter && c < tally.reports)
        strads_loop_report(r->task,
                           &(strads_report){.objective = (double)c,
                                            .gap = c + 1 == tally.converges
                                                       ? 0
                                                       : NAN});
    if (p == 0 && tally.stops && c + 1 == tally.stops)
        __atomic_store_n(tally.stop, true, __ATOMIC_RELAXED);
    if (p + 1 == r->partitions && tally.fails && c + 1 == tally.fails)
        return strads_fail(STRADS_EPROGRAM, "the last partition gave up");
    if (p == 0 && tally.slow_us)
        (void)usleep(tally.slow_us);
    return STRADS_OK;
}

static strads_err one_clock(reader *r, uint64_t c)
{
    strads_err err = do_as_planned(r, c);
    if (!err)
        err = read_all(r, tally.staleness);
    if (!err)
        check_all(r, c, tally.staleness);
    if (!err)
        err = add_all(r);
    if (!err)
        err = check_snapshot(r, c);
    if (!err && tally.flushes && c % tally.flushes == 0)
        err = strads_session_flush(r->session);
    return err ? err : strads_session_clock(r->session);
}

/* All partitions join at the clock after the last one. Every cell then
 * equals the number that its partition reports to have added. */
static strads_err meet(reader *r, uint64_t added)
{
    strads_err err =
        strads_session_advance(r->session, (uint64_t)tally.clocks + 1);
    if (!err)
        err = read_all(r, 0);
    for (uint32_t k = 0; !err && k < TALLY_ROWS * r->partitions; k++) {
        bool own = k % r->partitions == r->task->share->partition;
        if (r->model[k] != (double)r->sparse[k] ||
            (own && r->sparse[k] != (int64_t)added))
            atomic_fetch_add(&tally.wrong, 1);
    }
    return err ? err : strads_session_barrier(r->session);
}

static strads_err tally_run(strads_task *task, strads_session *session)
{
    const uint32_t partitions = task->shape->partitions;
    reader r = {.task = task,
                .session = session,
                .partitions = partitions,
                .model = calloc((size_t)TALLY_ROWS * partitions, 8),
                .sparse = calloc((size_t)TALLY_ROWS * partitions, 8)};
    strads_err err = r.model && r.sparse
                         ? STRADS_OK
                         : strads_fail(STRADS_ENOMEM, "no memory for a tally");
    uint64_t c = 0;
    while (!err && c < tally.clocks &&
           (tally.careless || !strads_loop_ends(task)))
        err = one_clock(&r, c++);
    atomic_store(&tally.ended[task->share->partition], (uint32_t)c + 1);
    if (!err)
        err = meet(&r, c);
    if (!err)
        atomic_fetch_add(&tally.partitions_met, 1);
    free(r.model);
    free(r.sparse);
    return err;
}

const strads_program tally_program = {
    .size = sizeof(strads_program),
    .name = "tally",
    .shape = tally_shape,
    .tables = tally_tables,
    .run = tally_run,
};
