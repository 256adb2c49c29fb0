/* with_rotation_mf METHOD TRAIN TEST RANK SWEEPS WORKERS PART [NS]: matrix
 * factorisation by the same SGD with a schedule and without. Prints a line
 * "SWEEP SECONDS RMSE" per sweep, the error being that of TEST.
 *
 * METHOD: ring, as `strads mf`: blocks of items travel around a ring, and only
 * the holder moves an item. hogwild: workers move all items in shared memory at
 * once, without locks (Niu, Recht, Re and Wright 2011). A staleness or
 * "infinite": data-parallel, all workers process the items at once, on rows of
 * the store that are so many clocks old, and add up PART of their moves; BLOCKS
 * clocks are a sweep. Users always belong to one worker. NS: simulated instead,
 * a node per worker, with NS ns per rating; 10 Gbit/s and 50 us between
 * nodes. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/mf/mf_kernels.h"
#include "bench/rotation_run.h"
#include "strads/mf.h"
#include "strads/policy.h"
#include "strads/strads.h"

enum { BLOCKS = 8, MICRO = 8, MOST_WORKERS = 1024, PHASES = 16 };
enum { DRAW_USER = 1, DRAW_ITEM, DRAW_ORDER };
static const double STEP = 0.08, LAMBDA = 0.035, LAST_STEP = 1.0 / 50;

typedef struct setup {
    uint32_t rank, stride, sweeps, staleness;
    bool hogwild;
    double part, mean, sd;
    const strads_sparse *test;
    uint32_t items, most; /* of a block */
    /* [BLOCKS x most x stride] the items' initial factors, by block; with
     * hogwild the only ones */
    float *start;
    _Atomic double squares[MOST_WORKERS], tested[MOST_WORKERS];
} setup;

/* A worker of the data-parallel loop. Item i is the i / BLOCKS-th of block
 * i % BLOCKS. */
typedef struct worker {
    setup *setup;
    const strads_share *share;
    strads_session *session;
    uint64_t seed;
    mf_kernel kernel;
    uint32_t users, micros;
    mf_rating *rating;
    uint64_t *cell; /* [BLOCKS x micros + 1] where ratings begin */
    float *p;       /* [users x stride] */
    float *q;       /* [BLOCKS x most x stride] as last seen */
    uint32_t *row;  /* [most] */
    double *value;  /* [most x rank] */
    double *change; /* [rank] */
} worker;

/* p'q gets deviation 0.1, as in apps/mf. */
static void draw(const setup *s, uint64_t seed, uint64_t what, uint64_t row,
                 float *out)
{
    const double most = sqrt(.3 / sqrt(s->rank));

    for (uint32_t k = 0; k < s->rank; k++)
        out[k] =
            (float)(most * (2 * strads_random_unit(seed, what, row, k) - 1));
}

static float *item_row(const setup *s, float *q, uint32_t i)
{
    return q + ((size_t)(i % BLOCKS) * s->most + i / BLOCKS) * s->stride;
}

/* ---- ratings ----------------------------------------------------------- */

static uint64_t cell_of(const worker *x, uint64_t user, uint32_t item)
{
    return (uint64_t)(item % BLOCKS) * x->micros + (user >> MICRO);
}

static void shuffle_cell(const worker *x, uint64_t c)
{
    mf_rating *at = x->rating + x->cell[c];

    for (uint64_t n = x->cell[c + 1] - x->cell[c]; n > 1; n--) {
        const uint64_t j = strads_random_bits(x->seed, DRAW_ORDER, c, n) % n;
        const mf_rating kept = at[n - 1];
        at[n - 1] = at[j];
        at[j] = kept;
    }
}

static void make_cells(worker *x)
{
    const strads_sparse *by = &x->share->by_row;
    const uint64_t cells = (uint64_t)BLOCKS * x->micros;
    uint64_t *at = rotation_zeroed(cells + 1, sizeof *at);

    for (uint64_t u = 0; u < by->lines; u++)
        for (uint64_t e = by->start[u]; e < by->start[u + 1]; e++)
            x->cell[cell_of(x, u, by->index[e]) + 1]++;
    for (uint64_t c = 0; c < cells; c++)
        at[c + 1] = x->cell[c + 1] += x->cell[c];
    for (uint64_t u = 0; u < by->lines; u++)
        for (uint64_t e = by->start[u]; e < by->start[u + 1]; e++) {
            const uint32_t i = by->index[e];
            x->rating[at[cell_of(x, u, i)]++] = (mf_rating){
                (uint16_t)(u % (1U << MICRO)), (uint16_t)(i / BLOCKS),
                (float)(((double)by->f32[e] - x->setup->mean) / x->setup->sd)};
        }
    for (uint64_t c = 0; c < cells; c++)
        shuffle_cell(x, c);
    free(at);
}

static void make_worker(worker *x)
{
    const setup *s = x->setup;
    const size_t items = (size_t)BLOCKS * s->most * s->stride;

    x->kernel = mf_kernel_choose(s->stride);
    x->users = (uint32_t)(x->share->rows.end - x->share->rows.begin);
    x->micros = (x->users >> MICRO) + 1;
    x->rating = rotation_zeroed(x->share->by_row.nnz + 1, sizeof *x->rating);
    x->cell = rotation_zeroed((size_t)BLOCKS * x->micros + 1, sizeof *x->cell);
    x->p = rotation_zeroed((size_t)x->users * s->stride, sizeof *x->p);
    x->q = s->hogwild ? s->start : rotation_zeroed(items, sizeof *x->q);
    x->row = rotation_zeroed(s->most, sizeof *x->row);
    x->value = rotation_zeroed((size_t)s->most * s->rank, sizeof *x->value);
    x->change = rotation_zeroed(s->rank, sizeof *x->change);
    make_cells(x);
    for (uint32_t u = 0; u < x->users; u++)
        draw(s, x->seed, DRAW_USER, x->share->rows.begin + u,
             x->p + (size_t)u * s->stride);
}

static void free_worker(worker *x)
{
    free(x->rating);
    free(x->cell);
    free(x->p);
    if (!x->setup->hogwild)
        free(x->q);
    free(x->row);
    free(x->value);
    free(x->change);
}

/* ---- moving ------------------------------------------------------------ */

static mf_step step_of(const worker *x, uint32_t sweep)
{
    const setup *s = x->setup;
    const double through = (double)sweep / s->sweeps;
    const double size = STEP * (1 - through * (1 - LAST_STEP));

    return (mf_step){.stride = s->stride,
                     .size = (float)size,
                     .decay = (float)(1 - size * LAMBDA)};
}

/* Moves a cell. With hogwild others move the same items meanwhile, and a reader
 * may see a half-moved row, as the method allows. */
static void move_cell(worker *x, uint32_t block, uint32_t micro, mf_step step)
{
    const setup *s = x->setup;
    const uint64_t c = (uint64_t)block * x->micros + micro;

    step.q = x->q + (size_t)block * s->most * s->stride;
    step.p = x->p + ((size_t)micro << MICRO) * s->stride;
    (void)x->kernel(x->rating + x->cell[c], x->cell[c + 1] - x->cell[c], &step);
}

/* All cells, in an order that differs between workers. */
static void sweep_hogwild(worker *x, uint32_t sweep)
{
    const uint32_t cells = BLOCKS * x->micros;
    const mf_step step = step_of(x, sweep);
    uint32_t *order = rotation_zeroed(cells, sizeof *order);

    for (uint32_t k = 0; k < cells; k++) {
        const uint32_t j =
            (uint32_t)(strads_random_bits(x->seed + x->share->partition,
                                          DRAW_ORDER, sweep, k) %
                       (k + 1));
        order[k] = order[j];
        order[j] = k;
    }
    for (uint32_t k = 0; k < cells; k++)
        move_cell(x, order[k] / x->micros, order[k] % x->micros, step);
    free(order);
}

/* The rows of a block as the store has them; their number goes to *n. */
static strads_err pull(worker *x, uint32_t block, uint32_t *n)
{
    const setup *s = x->setup;

    *n = 0;
    for (uint32_t i = block; i < s->items; i += BLOCKS)
        x->row[(*n)++] = i;
    strads_err err = strads_session_read_rows(x->session, 0, *n, x->row,
                                              s->staleness, x->value);
    for (uint32_t j = 0; j < *n && !err; j++) {
        float *q = item_row(s, x->q, x->row[j]);
        const float *start = item_row(s, s->start, x->row[j]);
        for (uint32_t k = 0; k < s->rank; k++)
            q[k] = (float)(start[k] + x->value[(size_t)j * s->rank + k]);
    }
    return err;
}

/* Pushes this worker's moves of them. */
static strads_err push(worker *x, uint32_t n)
{
    const setup *s = x->setup;
    strads_err err = STRADS_OK;

    for (uint32_t j = 0; j < n && !err; j++) {
        const float *q = item_row(s, x->q, x->row[j]);
        const float *start = item_row(s, s->start, x->row[j]);
        for (uint32_t k = 0; k < s->rank; k++)
            x->change[k] =
                s->part *
                (q[k] - (start[k] + x->value[(size_t)j * s->rank + k]));
        err = strads_session_inc_row(x->session, 0, x->row[j], x->change);
    }
    return err ? err : strads_session_clock(x->session);
}

static strads_err sweep_store(worker *x, uint32_t sweep)
{
    const mf_step step = step_of(x, sweep);
    strads_err err = STRADS_OK;

    for (uint32_t b = 0; b < BLOCKS && !err; b++) {
        uint32_t n;
        err = pull(x, b, &n);
        for (uint32_t m = 0; m < x->micros && !err; m++)
            move_cell(x, b, m, step);
        if (!err)
            err = push(x, n);
    }
    return err;
}

/* ---- measuring --------------------------------------------------------- */

/* Measures this worker's users. */
static void measure(worker *x)
{
    const setup *s = x->setup;
    const uint64_t first = x->share->rows.begin;
    double squares = 0, n = 0;

    for (uint64_t u = 0; u < x->users && first + u < s->test->lines; u++)
        for (uint64_t e = s->test->start[first + u];
             e < s->test->start[first + u + 1]; e++) {
            if (s->test->index[e] >= s->items)
                continue;
            const float *p = x->p + u * s->stride;
            const float *q = item_row(s, x->q, s->test->index[e]);
            double left = ((double)s->test->f32[e] - s->mean) / s->sd;
            for (uint32_t k = 0; k < s->rank; k++)
                left -= (double)p[k] * (double)q[k];
            squares += left * left;
            n++;
        }
    x->setup->squares[x->share->partition] = squares;
    x->setup->tested[x->share->partition] = n;
}

/* The items as this worker sees them by the consistency rule; the others'
 * errors at their last measurement. Reports nothing before all have
 * measured. */
static strads_err report(worker *x, const strads_task *task, uint32_t sweep)
{
    setup *s = x->setup;
    strads_err err = STRADS_OK;
    double squares = 0, n = 0;
    bool all = true;

    for (uint32_t b = 0; b < BLOCKS && !err && !s->hogwild; b++) {
        uint32_t rows;
        err = pull(x, b, &rows);
    }
    measure(x);
    for (uint32_t w = 0; w < task->share->partitions; w++) {
        squares += s->squares[w];
        n += s->tested[w];
        all = all && s->tested[w] > 0;
    }
    if (!err && all && task->share->partition == 0)
        strads_loop_report(task, &(strads_report){.objective =
                                                      s->sd * sqrt(squares / n),
                                                  .gap = NAN,
                                                  .measure = {sweep + 1}});
    return err;
}

static strads_err run(strads_task *task, strads_session *session)
{
    worker x = {.setup = *(setup *const *)task->config,
                .share = task->share,
                .session = session,
                .seed = task->seed};
    strads_err err = STRADS_OK;

    make_worker(&x);
    for (uint32_t sweep = 0; sweep < x.setup->sweeps && !err; sweep++) {
        if (strads_loop_ends(task))
            break;
        if (x.setup->hogwild) {
            sweep_hogwild(&x, sweep);
            err = strads_session_clock(session);
        } else {
            err = sweep_store(&x, sweep);
        }
        if (!err)
            err = report(&x, task, sweep);
    }
    free_worker(&x);
    return err;
}

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *out)
{
    (void)data;
    out->width = (*(setup *const *)config)->rank;
    return STRADS_OK;
}

static const char *const measures[] = {"sweep", NULL};

static const strads_program loop = {.size = sizeof loop,
                                    .name = "data-parallel mf",
                                    .split = STRADS_SPLIT_ROWS,
                                    .layout = STRADS_LAYOUT_ROWS,
                                    .kind = STRADS_KIND_RATINGS,
                                    .values = STRADS_F32,
                                    .config_size = sizeof(setup *),
                                    .shape = shape,
                                    .measures = measures,
                                    .run = run};

/* ---- runs -------------------------------------------------------------- */

static double error_of_loop(const strads_progress *p)
{
    return p->objective;
}

static double error_of_ring(const strads_progress *p)
{
    return p->measure[5];
}

static strads_err read_ratings(const char *path, uint32_t partitions,
                               strads_data **out)
{
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .kind = STRADS_KIND_RATINGS,
                                         .values = STRADS_F32};
    return strads_data_read(path, &options, out);
}

/* Mean, deviation and sizes of all shares; the items' first factors. */
static void prepare(setup *s, const strads_data *data, uint32_t workers,
                    uint64_t seed)
{
    double n = 0, sum = 0, squares = 0;

    for (uint32_t w = 0; w < workers; w++) {
        const strads_sparse *x = &strads_data_share(data, w)->by_row;
        n += (double)x->nnz;
        for (uint64_t e = 0; e < x->nnz; e++) {
            sum += (double)x->f32[e];
            squares += (double)x->f32[e] * (double)x->f32[e];
        }
    }
    s->mean = sum / n;
    s->sd = sqrt(squares / n - s->mean * s->mean);
    s->items = (uint32_t)strads_data_cols(data);
    s->most = s->items / BLOCKS + 1;
    s->start =
        rotation_zeroed((size_t)BLOCKS * s->most * s->stride, sizeof(float));
    for (uint32_t i = 0; i < s->items; i++)
        draw(s, seed, DRAW_ITEM, i, item_row(s, s->start, i));
}

/* Each hop of a sweep costs as much as their mean, a clock of the loop a
 * BLOCKS-th of its entries. */
static strads_err train(const char *test, bool ring, setup *s,
                        const strads_data *data, uint32_t workers, double ns)
{
    enum { EPOCH = 4, RING_BLOCKS = 4 };
    const double sweep = 1e-9 * ns * (double)strads_data_nnz(data) / workers;
    const strads_mf_options mf = {.rank = s->rank,
                                  .sweeps = s->sweeps,
                                  .patience = s->sweeps,
                                  .test = test,
                                  .step = STEP,
                                  .lambda = LAMBDA,
                                  .holdout = 1e-9,
                                  .no_biases = true};
    strads_sim_phase phases[PHASES] = {{.entry_cost = 1e-9 * ns / BLOCKS}};
    if (ring) {
        phases[0].entry_cost = 0;
        phases[EPOCH].update_cost = sweep / (RING_BLOCKS * workers);
    }
    return rotation_run_print(
        &(rotation_run){.program = ring ? &strads_program_mf : &loop,
                        .config = ring ? (const void *)&mf : (const void *)&s,
                        .data = data,
                        .workers = workers,
                        .blocks = ring ? RING_BLOCKS * workers : 0,
                        .phases = ns > 0 ? phases : NULL,
                        .n_phases = ring ? strads_program_mf.n_phases : 1,
                        .value = ring ? error_of_ring : error_of_loop});
}

int main(int argc, char **argv)
{
    static setup s;
    if (argc != 8 && argc != 9) {
        (void)fprintf(stderr, "with_rotation_mf METHOD TRAIN TEST RANK SWEEPS "
                              "WORKERS PART [NS]\n");
        return 2;
    }
    const char *method = argv[1];
    const uint32_t workers = (uint32_t)atoi(argv[6]);
    s.rank = (uint32_t)atoi(argv[4]);
    s.stride = (s.rank + MF_LANES - 1) / MF_LANES * MF_LANES;
    s.sweeps = (uint32_t)atoi(argv[5]);
    s.hogwild = strcmp(method, "hogwild") == 0;
    s.staleness = rotation_staleness(method);
    s.part = strtod(argv[7], NULL);
    const double ns = argc == 9 ? strtod(argv[8], NULL) : 0;
    if (workers < 1 || workers > MOST_WORKERS || (s.hogwild && ns > 0))
        return 2;
    strads_data *data = NULL, *test = NULL;
    strads_err err = read_ratings(argv[2], workers, &data);
    if (!err)
        err = read_ratings(argv[3], 1, &test);
    if (!err) {
        s.test = &strads_data_share(test, 0)->by_row;
        prepare(&s, data, workers, 1);
        err =
            train(argv[3], strcmp(method, "ring") == 0, &s, data, workers, ns);
    }
    if (err)
        (void)fprintf(stderr, "with_rotation_mf: %s\n", strads_error_text());
    free(s.start);
    strads_data_free(data);
    strads_data_free(test);
    return err ? 1 : 0;
}
