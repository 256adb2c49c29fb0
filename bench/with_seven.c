/* with_seven METHOD TRAIN TEST LAMBDA PASSES WORKERS [NS]: one linear SVM;
 * METHOD selects how workers share its weights. Prints lines "SECONDS OBJECTIVE
 * ERROR", ERROR being that of the test rows, and last "bytes N" sent (0: on
 * threads). Snapshots are evaluated after the run, which pays only for a copy.
 * With NS, on simulated nodes that take NS nanoseconds per entry, 50 us apart,
 * at 10 Gbit/s.
 *
 *     minimise lambda / 2 |w|^2 + 1/n sum_i max(0, 1 - y_i x_i'w)
 *
 * All except the last step along the same batches of rows with the same kernel,
 *
 *     w <- (1 - eta lambda) w + eta y x [y w'x < 1],  eta = P / (1 + lambda P
 *     t),
 *
 * t being a worker's rows so far and P the number of workers; each batch moves
 * the shared weights by 1/P of its worker's move.
 *
 *     0, 4, ...     through the store, staleness 0 (synchronous), 4, ...
 *     all-reduce    rounds; the merged moves return to all workers
 *     hogwild       on one copy of w without locks, eta = 1 / (1 + lambda P t)
 *     all, exponential   peers along that graph, which take the mean
 *     scheduled     strads' dual ascent on scheduled blocks of rows, a run for
 *                   each tolerance; PASSES is ignored */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ending.h"
#include "strads/peers.h"
#include "strads/strads.h"
#include "strads/svm.h"

enum { BATCHES = 120, /* of all workers in a pass */ LINE = 1024, MOST = 80 };

typedef enum way { STORE, REDUCE, HOGWILD, PEERS } way;

typedef struct setup {
    way way;
    const char *graph;
    uint32_t staleness, batch, columns, lines, workers;
    uint64_t clocks, next; /* `next`: the clock of the next snapshot */
    double lambda;
    uint32_t n, timed; /* snapshots, and the timed ones */
    double *snapshot[MOST], seconds[MOST];
} setup;

typedef struct worker {
    const setup *s;
    const strads_share *share;
    double *w, *before; /* [lines x LINE] */
    uint64_t t;
} worker;

/* Whether the weights after clock c are kept: at growing distances. */
static bool is_due(setup *s, uint64_t c)
{
    if ((c < s->next && c < s->clocks) || s->n == MOST)
        return false;
    s->next = c + 1 + c / 8;
    return true;
}

static double *keep(setup *s, const double *w)
{
    double *copy = bench_reserve(s->columns, sizeof *copy);
    memcpy(copy, w, s->columns * sizeof *copy);
    s->snapshot[s->n++] = copy;
    return copy;
}

static void note_time(void *arg, const strads_progress *p)
{
    setup *s = arg;
    if (s->timed < s->n)
        s->seconds[s->timed++] = p->seconds;
}

/* ---- the kernel -------------------------------------------------------- */

static uint64_t draw(const worker *x, uint64_t t)
{
    return strads_random_bits(1, 0, x->share->partition, t) %
           x->share->by_row.lines;
}

/* Steps along a batch of rows from w on. */
static void descend(worker *x)
{
    const strads_sparse *rows = &x->share->by_row;
    const double p = x->s->workers, lambda = x->s->lambda;
    double scale = 1; /* w is scale x x->w */
    for (uint32_t b = 0; b < x->s->batch && rows->lines; b++) {
        const uint64_t i = draw(x, x->t);
        const double y = x->share->label[i] > 0 ? 1 : -1;
        const double eta = p / (1 + lambda * p * (double)++x->t);
        const bool inside = y * scale * strads_sparse_dot(rows, i, x->w) < 1;
        scale *= 1 - eta * lambda;
        if (inside)
            strads_sparse_add(rows, i, eta * y / scale, x->w);
    }
    for (uint32_t j = 0; j < x->s->columns; j++)
        x->w[j] *= scale;
}

/* The batch's change of the shared weights. */
static void descend_from(worker *x, double *change)
{
    memcpy(x->before, x->w, x->s->columns * sizeof *x->w);
    descend(x);
    for (uint32_t j = 0; j < x->s->columns; j++)
        change[j] = (x->w[j] - x->before[j]) / x->s->workers;
}

static worker make_worker(const setup *s, const strads_share *share)
{
    const size_t n = (size_t)s->lines * LINE;
    worker x = {.s = s,
                .share = share,
                .w = bench_reserve(2 * n, sizeof(double))};
    x.before = x.w + n;
    return x;
}

/* ---- loops ------------------------------------------------------------- */

static void tell(setup *s, const strads_task *task, uint64_t c, const double *w)
{
    if (task->share->partition != 0 || !is_due(s, c))
        return;
    keep(s, w);
    strads_loop_report(task, &(strads_report){.gap = NAN});
}

static strads_err loop_store(setup *s, strads_task *task,
                             strads_session *session)
{
    worker x = make_worker(s, task->share);
    uint32_t *all = bench_reserve(s->lines, sizeof *all);
    double *change = bench_reserve((size_t)s->lines * LINE, sizeof *change);
    for (uint32_t k = 0; k < s->lines; k++)
        all[k] = k;
    strads_err err =
        strads_session_read_rows(session, 0, s->lines, all, 0, x.w);
    for (uint64_t c = 0; !err && c < s->clocks && !strads_loop_ends(task);
         c++) {
        descend_from(&x, change);
        err = strads_session_inc_rows(session, 0, s->lines, all, change);
        if (!err)
            err = strads_session_clock_and_read(session, 0, s->lines, all,
                                                s->staleness, x.w);
        if (!err)
            tell(s, task, c + 1, x.w);
    }
    free(change);
    free(all);
    free(x.w);
    return err;
}

static inline double load(const double *from)
{
    double value;
    __atomic_load(from, &value, __ATOMIC_RELAXED);
    return value;
}

static inline void store(double *to, double value)
{
    __atomic_store(to, &value, __ATOMIC_RELAXED);
}

/* The same steps on the one w; each worker shrinks its slice of w for all. */
static void race(worker *x, double *w)
{
    const strads_sparse *rows = &x->share->by_row;
    const uint32_t p = x->s->workers, me = x->share->partition;
    double shrunk = 0;
    for (uint32_t b = 0; b < x->s->batch && rows->lines; b++) {
        const uint64_t i = draw(x, x->t);
        const double y = x->share->label[i] > 0 ? 1 : -1;
        const double eta = 1 / (1 + x->s->lambda * p * (double)++x->t);
        double dot = 0;
        for (uint64_t e = rows->start[i]; e < rows->start[i + 1]; e++)
            dot += strads_sparse_value(rows, e) * load(&w[rows->index[e]]);
        shrunk += p * eta * x->s->lambda;
        for (uint64_t e = rows->start[i]; y * dot < 1 && e < rows->start[i + 1];
             e++)
            store(&w[rows->index[e]],
                  load(&w[rows->index[e]]) +
                      eta * y * strads_sparse_value(rows, e));
    }
    const uint64_t columns = x->s->columns, end = columns * (me + 1) / p;
    for (uint64_t j = columns * me / p; j < end; j++)
        store(&w[j], load(&w[j]) * exp(-shrunk));
}

static strads_err loop_race(setup *s, strads_task *task,
                            strads_session *session)
{
    worker x = make_worker(s, task->share);
    void *w;
    strads_err err = strads_session_racy(session, 0, &w);
    for (uint64_t c = 0; !err && c < s->clocks && !strads_loop_ends(task);
         c++) {
        race(&x, w);
        tell(s, task, c + 1, w);
        err = strads_session_clock(session);
    }
    free(x.w);
    return err;
}

static strads_err loop_peers(setup *s, strads_task *task,
                             strads_session *session)
{
    const strads_peers_options options = {.size = sizeof options,
                                          .graph = s->graph,
                                          .length = s->columns,
                                          .mode = STRADS_PEERS_SSP,
                                          .staleness = s->staleness};
    worker x = make_worker(s, task->share);
    strads_peers *peers = NULL;
    strads_err err = strads_peers_open(session, &options, &peers);
    for (uint64_t c = 0; !err && c < s->clocks && !strads_loop_ends(task);
         c++) {
        descend(&x);
        err = strads_session_clock(session);
        if (!err)
            err = strads_peers_scatter(peers, x.w);
        if (!err)
            err = strads_peers_gather(peers, NULL, NULL, x.w, NULL);
        if (!err)
            tell(s, task, c + 1, x.w);
    }
    strads_peers_close(peers);
    free(x.w);
    return err;
}

static strads_err run_loop(strads_task *task, strads_session *session)
{
    setup *s = *(setup *const *)task->config;
    return s->way == HOGWILD ? loop_race(s, task, session)
           : s->way == PEERS ? loop_peers(s, task, session)
                             : loop_store(s, task, session);
}

/* ---- all-reduce -------------------------------------------------------- */

static strads_err reduce_open(const strads_task *task, void **local)
{
    worker *x = bench_reserve(1, sizeof *x);
    *x = make_worker(*(setup *const *)task->config, task->share);
    *local = x;
    return STRADS_OK;
}

static void reduce_close(void *local)
{
    free(((worker *)local)->w);
    free(local);
}

static strads_err reduce_update(strads_task *task)
{
    worker *x = task->local;
    memcpy(x->w, task->value, x->s->columns * sizeof *x->w);
    descend_from(x, task->partial);
    return STRADS_OK;
}

static strads_err reduce_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)data;
    (void)shape;
    *state = *(setup *const *)config;
    return STRADS_OK;
}

static strads_err reduce_aggregate(strads_commit *commit)
{
    setup *s = commit->state;
    memcpy(commit->change, commit->partial, s->columns * sizeof(double));
    if (!is_due(s, commit->round + 1))
        return STRADS_OK;
    double *w = keep(s, commit->value);
    for (uint32_t j = 0; j < s->columns; j++)
        w[j] += commit->partial[j];
    return STRADS_OK;
}

static strads_err reduce_objective(void *state, strads_report *report)
{
    (void)state;
    *report = (strads_report){.gap = NAN};
    return STRADS_OK;
}

static strads_err reduce_schedule(strads_turn *turn)
{
    const setup *s = *(setup *const *)turn->config;
    return turn->round >= s->clocks ? strads_turn_stop(turn)
                                    : strads_turn_all(turn, 0);
}

/* ---- both -------------------------------------------------------------- */

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *out)
{
    const setup *s = *(setup *const *)config;
    (void)data;
    out->parameters = s->way == REDUCE ? 1 : s->lines;
    out->width = s->way == REDUCE ? s->columns : LINE;
    return STRADS_OK;
}

static const strads_phase phase = {.name = "batch",
                                   .when = STRADS_WHEN_CALLED,
                                   .reports = true,
                                   .update = reduce_update,
                                   .aggregate = reduce_aggregate};

static const strads_program loops = {.size = sizeof loops,
                                     .name = "ways",
                                     .layout = STRADS_LAYOUT_ROWS,
                                     .config_size = sizeof(setup *),
                                     .shape = shape,
                                     .run = run_loop};

static const strads_program reduce = {.size = sizeof reduce,
                                      .name = "all-reduce",
                                      .layout = STRADS_LAYOUT_ROWS,
                                      .config_size = sizeof(setup *),
                                      .shape = shape,
                                      .begin = reduce_begin,
                                      .open = reduce_open,
                                      .close = reduce_close,
                                      .schedule = reduce_schedule,
                                      .objective = reduce_objective,
                                      .phases = &phase,
                                      .n_phases = 1};

/* ---- runs -------------------------------------------------------------- */

typedef struct problem {
    const strads_data *train, *test;
    double lambda, ns;
    uint32_t workers, batch;
} problem;

static void print(const problem *q, double seconds, const double *w)
{
    double loss = 0, wrong = 0, squares = 0;
    for (uint32_t p = 0; p < q->workers; p++) {
        const strads_share *share = strads_data_share(q->train, p);
        for (uint64_t i = 0; i < share->by_row.lines; i++) {
            const double m = strads_sparse_dot(&share->by_row, i, w);
            loss += fmax(0, 1 - (share->label[i] > 0 ? m : -m));
        }
    }
    const strads_share *test = strads_data_share(q->test, 0);
    for (uint64_t i = 0; i < test->by_row.lines; i++)
        wrong += (strads_sparse_dot(&test->by_row, i, w) > 0) !=
                 (test->label[i] > 0);
    for (uint64_t j = 0; j < strads_data_cols(q->train); j++)
        squares += w[j] * w[j];
    (void)printf("%.6f %.9g %.6f\n", seconds,
                 q->lambda / 2 * squares +
                     loss / (double)strads_data_rows(q->train),
                 wrong / (double)strads_data_rows(q->test));
}

static strads_result *run(const problem *q, const strads_program *program,
                          const void *config, strads_engine_options *options,
                          uint64_t *bytes)
{
    const strads_sim_options sim = {
        .size = sizeof sim,
        .nodes = q->workers,
        .latency = 50e-6,
        .bandwidth = 1.25e9,
        .message_cost = 2e-6,
        /* A batch of a loop or a round; entries of the scheduled blocks. */
        .update_cost = program == &strads_program_svm
                           ? 0
                           : 1e-9 * q->ns * q->batch *
                                 (double)strads_data_nnz(q->train) /
                                 (double)strads_data_rows(q->train),
        .entry_cost = program == &strads_program_svm ? 1e-9 * q->ns : 0};
    strads_sim_outcome outcome = {0};
    strads_result *result = NULL;
    options->size = sizeof *options;
    options->workers = q->ns > 0 ? 1 : q->workers;
    options->partitions = q->workers;
    options->shards = q->ns > 0 ? q->workers : 1;
    bench_check(q->ns > 0
                    ? strads_simulate(program, config, q->train, options, &sim,
                                      &result, &outcome)
                    : strads_run(program, config, q->train, options, &result));
    *bytes = outcome.bytes;
    return result;
}

static uint64_t run_scheduled(const problem *q)
{
    const strads_svm_options svm = {
        .loss = "hinge",
        .c = 1 / (q->lambda * (double)strads_data_rows(q->train))};
    uint64_t bytes = 0;
    for (double gap = 1; gap > 5e-7; gap /= sqrt(10)) {
        strads_engine_options options = {.tolerance = gap};
        strads_result *result =
            run(q, &strads_program_svm, &svm, &options, &bytes);
        uint64_t parameters;
        uint32_t width;
        print(q, strads_result_progress(result)->seconds,
              strads_result_values(result, &parameters, &width));
        strads_result_free(result);
    }
    return bytes;
}

static uint64_t run_steps(const problem *q, const char *method, double passes)
{
    static setup s;
    const double rows = (double)strads_data_rows(q->train);
    setup *config = &s;
    s = (setup){.way = STORE, .columns = (uint32_t)strads_data_cols(q->train)};
    s.lines = (s.columns + LINE - 1) / LINE;
    s.workers = q->workers;
    s.lambda = q->lambda;
    s.batch = q->batch;
    s.clocks = (uint64_t)ceil(passes * rows / q->batch / q->workers);
    s.next = 1;
    if (strcmp(method, "all-reduce") == 0)
        s.way = REDUCE;
    else if (strcmp(method, "hogwild") == 0)
        s.way = HOGWILD;
    else if (method[0] < '0' || method[0] > '9')
        s.way = PEERS;
    else
        s.staleness = (uint32_t)strtoul(method, NULL, 10);
    s.graph = method;
    uint64_t bytes;
    strads_engine_options options = {.progress = note_time, .progress_arg = &s};
    strads_result_free(
        run(q, s.way == REDUCE ? &reduce : &loops, &config, &options, &bytes));
    for (uint32_t k = 0; k < s.n; k++) {
        if (k < s.timed)
            print(q, s.seconds[k], s.snapshot[k]);
        free(s.snapshot[k]);
    }
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 7 && argc != 8) {
        (void)fprintf(stderr, "with_seven METHOD TRAIN TEST LAMBDA PASSES "
                              "WORKERS [NS]\n");
        return 2;
    }
    problem q = {.lambda = strtod(argv[4], NULL),
                 .workers = (uint32_t)strtoul(argv[6], NULL, 10),
                 .ns = argc == 8 ? strtod(argv[7], NULL) : 0};
    strads_data_options cut = {.size = sizeof cut,
                               .partitions = q.workers,
                               .layout = STRADS_LAYOUT_ROWS};
    strads_data *train = NULL, *test = NULL;
    bench_check(strads_data_read(argv[2], &cut, &train));
    cut.partitions = 1;
    cut.min_cols = cut.most_cols = strads_data_cols(train);
    bench_check(strads_data_read(argv[3], &cut, &test));
    q.train = train;
    q.batch = (uint32_t)(strads_data_rows(train) / BATCHES) + 1;
    q.test = test;
    const uint64_t bytes = strcmp(argv[1], "scheduled") == 0
                               ? run_scheduled(&q)
                               : run_steps(&q, argv[1], strtod(argv[5], NULL));
    (void)printf("bytes %llu\n", (unsigned long long)bytes);
    strads_data_free(train);
    strads_data_free(test);
    return 0;
}
