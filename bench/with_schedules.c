/* with_schedules FILE RATIO METHOD WIDTH SECONDS: one Lasso, the same kernels,
 * and who is updated next as METHOD says; prints a line "SECONDS UPDATES
 * OBJECTIVE" every now and then, in seconds of the processor on one worker,
 * loading left out. WIDTH columns are updated at once, from one residual.
 *
 *     scheduled      the priority policy; columns of a block that depend on
 *                    each other are solved together, by their pairs
 *     priority       the same policy, each column as if it were alone
 *     shotgun        blocks of random columns, each column as if alone
 *     cyclic         one block after the other, each column as if alone
 *     random-joint,  blocks as of shotgun and cyclic, solved as by `scheduled`
 *     cyclic-joint
 *     lasso          the Lasso that strads has, to the end; WIDTH is its own
 *     sgd            data-parallel: proximal steps along gradients of batches
 *                    of WIDTH rows, through the store
 *
 * Workers hold rows and r = y - X w. With L1 = n lambda, c = x_j'r and a =
 * |x_j|^2 a column alone goes to soft(a w_j + c, L1) / a; "solved together"
 * takes what the columns before it in the block have moved off c first. The
 * priorities are what these steps gain, a/2 step^2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measuring.h"
#include "apps/linear/linear_kernels.h"
#include "strads/lasso.h"
#include "strads/strads.h"

enum { MOMENTS, SCAN, MEASURE, BLOCK, PAIRS };

/* Blocks between two measures: those are of O(rows). */
enum { BLOCKS_MEASURED = 16, SWEEPS = 3 };

typedef struct setup {
    double ratio, limit;
    const char *policy;
    uint32_t width;
    bool joint, scans;
} setup;

typedef struct run_state {
    const setup *how;
    double l1; /* n lambda */
    double rows, entries, columns;
    double begun, updates;
    double rr, most; /* |r|^2 at the last measure, the largest so far */
    double norm_w;   /* |w|_1 */
    uint32_t next, blocks;
    double *squares; /* [columns] */
    double *q;       /* [WIDTH] */
} run_state;

static double soft(double x, double by)
{
    return x > by ? x - by : x < -by ? x + by : 0;
}

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory");
}

static void tell(double seconds, double updates, double objective)
{
    (void)printf("%.6f %.0f %.17g\n", seconds, updates, objective);
}

/* ---- workers ----------------------------------------------------------- */

typedef struct local {
    uint64_t rows;
    const linear_kernels *kernels;
    double *r;     /* [rows] */
    double *dense; /* [rows] zeros: a column while it meets others */
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
    l->kernels = linear_kernels_choose(l->rows);
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
            const linear_column x =
                linear_column_of(task->share, changes[c].param[k]);
            if (change != 0)
                l->kernels->add(&x, -change, l->r);
        }
    return STRADS_OK;
}

static strads_err correlate(strads_task *task)
{
    const local *l = task->local;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const linear_column x =
            linear_column_of(task->share, strads_block_param(&task->block, k));
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
        const linear_column x = linear_column_of(task->share, j);
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
        const linear_column x =
            linear_column_of(task->share, strads_block_param(&task->block, k));
        l->kernels->add(&x, 1, l->dense);
        for (uint32_t i = 0; i < m; i++) {
            const linear_column z =
                linear_column_of(task->share,
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

/* The step of a column alone, and what it gains. */
static double step_of(const run_state *s, uint32_t j, double w, double c,
                      double *gain)
{
    const double a = s->squares[j];
    const double step = a > 0 ? soft(a * w + c, s->l1) / a - w : 0;
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

/* MOMENTS, MEASURE and SCAN, then blocks; measures in between. When the policy
 * rests everything is looked at again, which only some policies make use of;
 * the others ask for it to go on. */
static strads_err schedule(strads_turn *turn)
{
    run_state *s = turn->state;
    if (turn->at_rest && s->next == BLOCK)
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
    tell(bench_cpu() - s->begun, s->updates, value);
    report->objective = value;
    report->gap = NAN;
    report->stop =
        !(value < 1e3 * s->most) || bench_cpu() - s->begun > s->how->limit;
    return STRADS_OK;
}

static strads_err begin(const void *config, const strads_data *data,
                        const strads_shape *shape, void **out)
{
    const setup *how = *(const setup *const *)config;
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
    shape->block_max = (*(const setup *const *)config)->width;
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

#define LOOKS(what, size, computes, keeps)                                     \
    {                                                                          \
        .name = what, .when = STRADS_WHEN_CALLED, .drains = true,              \
        .blind = true, .partial = size, .update = computes, .aggregate = keeps \
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
                                .config_size = sizeof(setup *),
                                .shape = shape_blocks,
                                .begin = begin,
                                .end = end,
                                .open = open_local,
                                .close = close_local,
                                .refresh = refresh,
                                .schedule = schedule,
                                .objective = objective,
                                .phases = phases};

/* ---- data-parallel ----------------------------------------------------- */

enum { LINE = 1024 }; /* weights of a row of the table */

typedef struct sgd {
    const strads_share *share;
    const setup *how;
    uint32_t lines, columns;
    uint64_t rows;
    double *w, *g, *change; /* [lines x LINE] */
    double l1, flat;        /* lambda; 1 / the largest |x_i|^2 of a row */
    double penalty;
} sgd;

static double row_times(const sgd *s, uint64_t i)
{
    const strads_sparse *x = &s->share->by_row;
    double sum = 0;
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        sum += x->f64[e] * s->w[x->index[e]];
    return sum;
}

static double whole_objective(const sgd *s)
{
    double squares = 0, norm = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        const double r = s->share->label[i] - row_times(s, i);
        squares += r * r;
    }
    for (uint32_t j = 0; j < s->columns; j++)
        norm += fabs(s->w[j]);
    return squares / (2 * (double)s->rows) + s->l1 * norm;
}

static void add_gradient(sgd *s, uint64_t i, double weight)
{
    const strads_sparse *x = &s->share->by_row;
    const double r = s->share->label[i] - row_times(s, i);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        s->g[x->index[e]] -= weight * x->f64[e] * r;
}

/* lambda, and the longest row. */
static void survey(sgd *s)
{
    const strads_sparse *x = &s->share->by_row;
    double longest = 0, most = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        double squares = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            squares += x->f64[e] * x->f64[e];
        longest = fmax(longest, squares);
        add_gradient(s, i, 1 / (double)s->rows);
    }
    for (uint32_t j = 0; j < s->columns; j++)
        most = fmax(most, fabs(s->g[j]));
    s->l1 = s->how->ratio * most;
    s->flat = 1 / longest;
}

/* Clock c's batch: rows drawn with replacement, and a proximal step that gets
 * shorter as 1 / sqrt(passes). Of the powers of 4 in its place 4 is the largest
 * that does not diverge on the benchmark's design. */
static void take_batch(sgd *s, uint64_t c)
{
    const double passes = (double)c * s->how->width / (double)s->rows;
    const double step = 4 * s->how->width * s->flat / sqrt(1 + passes);
    memset(s->g, 0, (size_t)s->lines * LINE * sizeof *s->g);
    for (uint32_t k = 0; k < s->how->width; k++) {
        const uint64_t i =
            (uint64_t)(strads_random_unit(1, 1, c, k) * (double)s->rows);
        add_gradient(s, i, 1 / (double)s->how->width);
    }
    for (uint32_t j = 0; j < s->columns; j++)
        s->change[j] = soft(s->w[j] - step * s->g[j], step * s->l1) - s->w[j];
}

static strads_err turn_clock(sgd *s, strads_session *session, uint64_t c)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < s->lines && !err; k++)
        err = strads_session_read_row(session, 1, k, 0, s->w + k * LINE);
    take_batch(s, c);
    for (uint32_t k = 0; k < s->lines && !err; k++)
        err = strads_session_inc_row(session, 1, k, s->change + k * LINE);
    return err ? err : strads_session_clock(session);
}

/* Measures take time of their own, which is left out. */
static strads_err descend(sgd *s, const strads_task *task,
                          strads_session *session)
{
    double spent = 0, updates = 0, told = 0;
    strads_err err = STRADS_OK;
    for (uint64_t c = 0; !err && spent < s->how->limit; c++) {
        const double begun = bench_cpu();
        err = turn_clock(s, session, c);
        spent += bench_cpu() - begun;
        updates += s->columns;
        if (spent > 1.05 * told) {
            tell(spent, updates, whole_objective(s));
            told = spent;
        }
    }
    strads_loop_report(task, &(strads_report){.stop = true, .gap = NAN});
    return err;
}

static strads_err run_sgd(strads_task *task, strads_session *session)
{
    const strads_share *share = task->share;
    const uint32_t p = (uint32_t)task->shape->parameters;
    sgd s = {.share = share,
             .how = *(const setup *const *)task->config,
             .lines = (p + LINE - 1) / LINE,
             .columns = p,
             .rows = share->rows.end - share->rows.begin};
    const size_t n = (size_t)s.lines * LINE;
    double *room = calloc(3 * n, sizeof *room);
    if (!room)
        return no_memory();
    s.w = room;
    s.g = room + n;
    s.change = room + 2 * n;
    survey(&s);
    const strads_err err = descend(&s, task, session);
    free(room);
    return err;
}

static strads_err sgd_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    const strads_table_spec weights = {.name = "weights",
                                       .rows = (shape->parameters + LINE - 1) /
                                               LINE,
                                       .cols = LINE};
    (void)config;
    return strads_store_create(store, &weights, &(uint32_t){0});
}

static const strads_program loop = {.size = sizeof loop,
                                    .name = "sgd",
                                    .layout = STRADS_LAYOUT_ROWS,
                                    .config_size = sizeof(setup *),
                                    .tables = sgd_tables,
                                    .run = run_sgd};

/* ---- the whole --------------------------------------------------------- */

typedef struct method {
    const char *name, *policy;
    bool joint, scans;
} method;

static const method methods[] = {{"scheduled", "priority", true, true},
                                 {"priority", "priority", false, true},
                                 {"shotgun", "uniform", false, false},
                                 {"cyclic", "cyclic", false, false},
                                 {"random-joint", "uniform", true, false},
                                 {"cyclic-joint", "cyclic", true, false}};

/* Makes `rounds` what the method asks for; false: there is no such method. */
static bool choose_rounds(const char *name, setup *how)
{
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        if (strcmp(methods[k].name, name) != 0)
            continue;
        how->policy = methods[k].policy;
        how->joint = methods[k].joint;
        how->scans = methods[k].scans;
        phases[MEASURE].reports = true;
        phases[BLOCK].aggregate = how->joint ? solve_together : solve_alone;
        rounds.n_phases = how->joint ? PAIRS + 1 : PAIRS;
        return true;
    }
    return false;
}

static void tell_progress(void *begun, const strads_progress *p)
{
    tell(bench_cpu() - *(const double *)begun, (double)p->updates_policy,
         p->objective);
}

static strads_err run_lasso(const setup *how, const strads_data *data,
                            strads_result **result)
{
    double begun = bench_cpu();
    const strads_lasso_options config = {.lambda_ratio = how->ratio};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .tolerance = 1e-12,
                                           .time_limit = how->limit,
                                           .progress = tell_progress,
                                           .progress_arg = &begun};
    return strads_run(&strads_program_lasso, &config, data, &options, result);
}

static strads_err run(const char *method_name, setup *how,
                      const strads_data *data, strads_result **result)
{
    const strads_program *program = &loop;
    const setup *config = how;
    if (strcmp(method_name, "lasso") == 0)
        return run_lasso(how, data, result);
    if (choose_rounds(method_name, how))
        program = &rounds;
    else if (strcmp(method_name, "sgd") != 0)
        return strads_fail(STRADS_EINVAL, "no such method: %s", method_name);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .policy = how->policy};
    return strads_run(program, &config, data, &options, result);
}

int main(int argc, char **argv)
{
    if (argc != 6 || strtoul(argv[4], NULL, 10) == 0) {
        (void)fprintf(stderr,
                      "with_schedules FILE RATIO METHOD WIDTH SECONDS\n");
        return 2;
    }
    setup how = {.ratio = strtod(argv[2], NULL),
                 .width = (uint32_t)strtoul(argv[4], NULL, 10),
                 .limit = strtod(argv[5], NULL)};
    const bool by_rows = strcmp(argv[3], "sgd") == 0;
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = 1,
                                     .layout = by_rows ? STRADS_LAYOUT_ROWS
                                                       : STRADS_LAYOUT_COLS};
    strads_data *data = NULL;
    strads_result *result = NULL;
    strads_err err = strads_data_read(argv[1], &cut, &data);
    if (!err)
        err = run(argv[3], &how, data, &result);
    if (err)
        (void)fprintf(stderr, "with_schedules: %s\n", strads_error_text());
    strads_result_free(result);
    strads_data_free(data);
    return err ? 1 : 0;
}
