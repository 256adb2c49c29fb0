/* One Lasso by blocks that a policy chooses.
 *
 * Workers hold rows and r = y - X w. With L1 = n lambda, c = x_j'r and a =
 * |x_j|^2, a column alone moves to soft(a w_j + c, L1) / a. If a block is
 * solved together, the moves of its earlier columns are subtracted from c
 * first. The priorities are the gains of these steps, a/2 step^2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/column_kernels.h"
#include "bench/measuring.h"
#include "bench/schedules.h"

enum { MOMENTS, SCAN, MEASURE, BLOCK, PAIRS };

/* Blocks between two measurements, which cost O(rows). */
enum { BLOCKS_MEASURED = 16, SWEEPS = 3 };

typedef struct run_state {
    const schedules_setup *how;
    double l1; /* n lambda */
    double rows, entries, columns;
    double begun, updates;
    double rr, most; /* |r|^2 at the last measurement, the largest so far */
    double norm_w;   /* |w|_1 */
    uint32_t next, blocks;
    double *squares; /* [columns] */
    double *q;       /* [WIDTH] */
} run_state;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory");
}

/* ---- workers ----------------------------------------------------------- */

typedef struct local {
    uint64_t rows;
    const column_kernels *kernels;
    double *r; /* [rows] */
    /* [rows] zeros: one column scattered for products with others */
    double *dense;
} local;

static void close_local(void *opened)
{
    local *l = opened;
    if (!l)
        return;
    free(l->r);
    free(l->dense);
    free(l);
}

static strads_err open_local(const strads_task *task, void **out)
{
    const strads_share *share = task->share;
    local *l = calloc(1, sizeof *l);
    if (!l)
        return no_memory();
    l->rows = share->rows.end - share->rows.begin;
    l->kernels = column_kernels_choose(l->rows);
    l->r = calloc(l->rows + 1, sizeof *l->r);
    l->dense = calloc(l->rows + 1, sizeof *l->dense);
    if (!l->r || !l->dense) {
        close_local(l);
        return no_memory();
    }
    memcpy(l->r, share->label, l->rows * sizeof *l->r);
    *out = l;
    return STRADS_OK;
}

static strads_err refresh(strads_task *task, const strads_change *changes,
                          uint32_t n)
{
    const local *l = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            const double change = changes[c].change[k];
            const data_column x =
                data_column_of(task->share, changes[c].param[k]);
            if (change != 0)
                l->kernels->add(&x, -change, l->r);
        }
    return STRADS_OK;
}

static strads_err correlate(strads_task *task)
{
    const local *l = task->local;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const data_column x =
            data_column_of(task->share, strads_block_param(&task->block, k));
        task->partial[k] = l->kernels->dot(&x, l->r);
    }
    return STRADS_OK;
}

/* X'r, then |x|^2; r is y. */
static strads_err moments(strads_task *task)
{
    const uint32_t p = task->block.n;
    const local *l = task->local;
    for (uint32_t j = 0; j < p; j++) {
        const data_column x = data_column_of(task->share, j);
        for (uint64_t e = 0; e < x.n; e++)
            task->partial[p + j] += x.f64[e] * x.f64[e];
    }
    task->partial[2 * (size_t)p] = (double)l->rows;
    return correlate(task);
}

static strads_err measure(strads_task *task)
{
    const local *l = task->local;
    task->partial[0] = l->kernels->dot_dense(l->rows, l->r, l->r);
    return STRADS_OK;
}

static strads_err pairs(strads_task *task)
{
    const local *l = task->local;
    const uint32_t m = task->against.n;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const data_column x =
            data_column_of(task->share, strads_block_param(&task->block, k));
        l->kernels->add(&x, 1, l->dense);
        for (uint32_t i = 0; i < m; i++) {
            const data_column z =
                data_column_of(task->share,
                               strads_block_param(&task->against, i));
            task->partial[(size_t)k * m + i] = l->kernels->dot(&z, l->dense);
        }
        for (uint64_t e = 0; e < x.n; e++)
            l->dense[x.index ? x.index[e] : e] = 0;
    }
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

static strads_err keep_moments(strads_commit *commit)
{
    run_state *s = commit->state;
    const uint32_t p = commit->block.n;
    double most = 0;
    for (uint32_t j = 0; j < p; j++) {
        most = fmax(most, fabs(commit->partial[j]));
        s->squares[j] = commit->partial[p + j];
    }
    s->l1 = s->how->ratio * most;
    s->rows = commit->partial[2 * (size_t)p];
    return STRADS_OK;
}

/* The step of a column alone, and its gain. */
static double step_of(const run_state *s, uint32_t j, double w, double c,
                      double *gain)
{
    const double a = s->squares[j];
    const double step = a > 0 ? schedules_soft(a * w + c, s->l1) / a - w : 0;
    *gain = a / 2 * step * step;
    return step;
}

static strads_err rank(strads_commit *commit)
{
    const run_state *s = commit->state;
    double left = 0;
    for (uint32_t j = 0; j < commit->block.n; j++) {
        (void)step_of(s, j, commit->value[j], commit->partial[j],
                      &commit->priority[j]);
        left += commit->priority[j];
    }
    strads_commit_rest(commit, s->how->scans ? left / 50 : 0);
    return strads_commit_route(commit, BLOCK,
                               s->how->width * s->entries / s->columns);
}

static strads_err keep_measure(strads_commit *commit)
{
    run_state *s = commit->state;
    s->rr = commit->partial[0];
    return STRADS_OK;
}

static void note_step(run_state *s, strads_commit *commit, uint32_t k)
{
    const double before = commit->value[k];
    s->norm_w += fabs(before + commit->change[k]) - fabs(before);
}

static strads_err solve_alone(strads_commit *commit)
{
    run_state *s = commit->state;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        commit->change[k] =
            step_of(s, strads_block_param(&commit->block, k), commit->value[k],
                    commit->partial[k], &commit->priority[k]);
        note_step(s, commit, k);
    }
    s->updates += commit->block.n;
    return STRADS_OK;
}

static strads_err solve_together(strads_commit *commit)
{
    run_state *s = commit->state;
    const uint32_t n = commit->block.n;
    const double *pair = strads_commit_pairs(commit);
    double gain;
    if (!pair)
        return no_memory();
    memcpy(s->q, commit->partial, n * sizeof *s->q);
    memset(commit->priority, 0, n * sizeof *commit->priority);
    for (uint32_t i = 0; i < SWEEPS * n; i++) {
        const uint32_t k = i % n;
        const double step =
            step_of(s, strads_block_param(&commit->block, k),
                    commit->value[k] + commit->change[k], s->q[k], &gain);
        commit->change[k] += step;
        commit->priority[k] += gain;
        for (uint32_t l = 0; l < n && step != 0; l++)
            s->q[l] -= step * pair[(size_t)k * n + l];
    }
    for (uint32_t k = 0; k < n; k++)
        note_step(s, commit, k);
    s->updates += SWEEPS * n;
    return STRADS_OK;
}

/* MOMENTS, MEASURE and SCAN, then blocks with measurements in between. When the
 * policy rests, all columns are scanned again. Only some policies use that; the
 * others are asked to continue. */
static strads_err schedule(strads_turn *turn)
{
    run_state *s = turn->state;
    if (turn->idle && s->next == BLOCK)
        s->next = SCAN;
    else if (s->next == BLOCK && s->blocks == BLOCKS_MEASURED)
        s->next = MEASURE;
    const uint32_t phase = s->next;
    if (phase == BLOCK) {
        s->blocks++;
        return strads_turn_policy(turn, BLOCK);
    }
    s->blocks = 0;
    const bool first = s->begun <= 0;
    s->next = phase == MOMENTS            ? MEASURE
              : phase == MEASURE && first ? SCAN
                                          : BLOCK;
    if (phase == MEASURE)
        return strads_turn_dispatch(turn, MEASURE, 1, &(strads_block){0});
    return strads_turn_all(turn, phase);
}

static strads_err objective(void *state, strads_report *report)
{
    run_state *s = state;
    const double value = (s->rr / 2 + s->l1 * s->norm_w) / s->rows;
    if (s->begun <= 0)
        s->begun = bench_cpu();
    s->most = s->most > 0 ? s->most : value;
    schedules_tell(bench_cpu() - s->begun, s->updates, value);
    report->objective = value;
    report->gap = NAN;
    report->stop =
        !(value < 1e3 * s->most) || bench_cpu() - s->begun > s->how->limit;
    return STRADS_OK;
}

static strads_err begin(const void *config, const strads_data *data,
                        const strads_shape *shape, void **out)
{
    const schedules_setup *how = *(const schedules_setup *const *)config;
    run_state *s = calloc(1, sizeof *s);
    if (!s)
        return no_memory();
    s->how = how;
    s->columns = (double)shape->parameters;
    for (uint64_t j = 0; j < shape->parameters; j++)
        s->entries += (double)strads_data_col_nnz(data, j);
    s->squares = calloc(shape->parameters, sizeof *s->squares);
    s->q = calloc(how->width, sizeof *s->q);
    *out = s;
    return s->squares && s->q ? STRADS_OK : no_memory();
}

static void end(void *state)
{
    run_state *s = state;
    free(s->squares);
    free(s->q);
    free(s);
}

static strads_err shape_blocks(const void *config, const strads_data *data,
                               strads_shape *shape)
{
    (void)data;
    shape->block_max = (*(const schedules_setup *const *)config)->width;
    return STRADS_OK;
}

static size_t twice(const strads_task *task)
{
    return 2 * (size_t)task->block.n + 1;
}

static size_t one(const strads_task *task)
{
    (void)task;
    return 1;
}

#define LOOKS(what, size, computes, keeps)                           \
    {                                                                \
        .name = what, .when = STRADS_WHEN_CALLED, .exclusive = true, \
        .ignores_values = true, .partial = size, .update = computes, \
        .aggregate = keeps                                           \
    }

static strads_phase phases[] = {
    [MOMENTS] = LOOKS("moments", twice, moments, keep_moments),
    [SCAN] = LOOKS("scan", NULL, correlate, rank),
    [MEASURE] = LOOKS("measure", one, measure, keep_measure),
    [BLOCK] = {.name = "block",
               .when = STRADS_WHEN_POLICY,
               .update = correlate},
    [PAIRS] = {.name = "pairs", .when = STRADS_WHEN_PROBE, .update = pairs},
};

static strads_program rounds = {.size = sizeof rounds,
                                .name = "schedules",
                                .config_size = sizeof(schedules_setup *),
                                .shape = shape_blocks,
                                .begin = begin,
                                .end = end,
                                .open = open_local,
                                .close = close_local,
                                .refresh = refresh,
                                .schedule = schedule,
                                .objective = objective,
                                .phases = phases};

const strads_program *schedules_rounds(bool joint)
{
    phases[MEASURE].reports = true;
    phases[BLOCK].aggregate = joint ? solve_together : solve_alone;
    rounds.n_phases = joint ? PAIRS + 1 : PAIRS;
    return &rounds;
}
