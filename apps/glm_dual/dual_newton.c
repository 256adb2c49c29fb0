/* Newton's steps in w, for problems of few columns: partitions tell where the
 * losses pull, how they bend, and how far along a direction it goes downhill;
 * the coordinator solves, goes, and looks how far that was.
 *
 * With few columns the last digits come from the primal problem. The loss of a
 * row, made smooth around the b that is known of it (the augmented Lagrangian;
 * sigma = infinity for losses that are smooth already), is
 *
 *     max over low <= b <= high of
 *         b r - e |b| - d/2 b^2 - 1/(2 sigma) (b - a)^2
 *
 * with its maximum at c(r), so that the gradient in w is w - X'c and the
 * generalised Hessian I + X_J' diag(h) X_J, J the rows whose c is inside its
 * bounds. X. Li, D. Sun, K.-C. Toh, SIAM J. Optimization 28, 2018, solve the
 * Lasso's dual so; Y. Yan, Q. Li, Optimization Methods and Software 35, 2020,
 * SVMs. When next to nothing of the gap is what a smooth problem still has to
 * give, the c are taken over as the rows' b, and sigma changes. w is not X'b
 * meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "apps/kernels/outer_kernels.h"
#include "apps/linear/linear_cholesky.h"
#include "dual.h"

/* ---- partitions: the curve at w ----------------------------------------- */

/* Rows with fewer entries than this share of the columns are multiplied entry
 * by entry. */
#define DENSE .3

/* What an average row adds to the diagonal at most, times this, is there at
 * least: the lengths of a step that are looked at go down as far. */
#define LEAST 1e-3

struct dual_curve {
    double *z;            /* [rows] x'w where it was taken */
    double *bend, *panel; /* X_J' diag(h) X_J, and workspace; */
    double *h, *held;     /* [rows] h of now, and that `bend` is made of; */
    double *stiff;        /* [columns + 1] what an average row adds */
    double sigma;
};

void dual_curve_free(dual_curve *curve)
{
    if (!curve)
        return;
    free(curve->z);
    free(curve->bend);
    free(curve->panel);
    free(curve->h);
    free(curve->held);
    free(curve->stiff);
    free(curve);
}

/* The largest h that a row of weight 1 may have, of losses whose h changes:
 * steps of the others are never far too long. */
static double largest_h(const dual_local *local)
{
    return local->loss->smooth ? local->loss->bend * local->problem.options.c
                               : local->curve->sigma;
}

size_t dual_partial_curve(const strads_task *task)
{
    const size_t n = task->shape->cols + 1;

    return 2 * n + n * (n + 1) / 2 + DUAL_SUMS;
}

static strads_err reserve_curve(dual_local *local)
{
    const size_t p = local->columns, n = local->rows;
    const size_t line = outer_product_line((uint32_t)p + 1);
    dual_curve *c = local->curve;

    if (c)
        return STRADS_OK;
    local->curve = c = calloc(1, sizeof(*c));
    if (c) {
        c->z = calloc(n + 1, sizeof(double));
        c->bend = calloc(line * line, sizeof(double));
        c->panel = calloc(line * OUTER_PANEL, sizeof(double));
        c->h = calloc(n + 1, sizeof(double));
        c->held = calloc(n + 1, sizeof(double));
        c->stiff = calloc(p + 1, sizeof(double));
    }
    return c && c->z && c->bend && c->panel && c->h && c->held && c->stiff
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the square of %llu columns",
                             (unsigned long long)p);
}

/* sum x^2 of each column over the number of all rows: what an average row adds
 * to the diagonal. */
static void measure_columns(dual_local *local, const strads_share *share,
                            double all)
{
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        for (uint64_t k = 0; k < x.n; k++)
            local->curve->stiff[dual_index(&x, k)] +=
                dual_entry(&x, k) * dual_entry(&x, k) / all;
    }
    local->curve->stiff[local->columns] =
        local->bias * local->bias * (double)local->rows / all;
}

/* H += h x x' over the entries of a sparse row, lower half. */
static void add_sparse(const dual_local *local, const data_column *x, double h)
{
    const uint32_t p = (uint32_t)local->columns;
    const size_t stride = outer_product_line(p + 1);

    for (uint64_t k = 0; k < x->n; k++) {
        const double v = dual_entry(x, k);
        const uint64_t j = dual_index(x, k);
        double *line = local->curve->bend + j * stride;
        data_column before = *x;
        before.n = k + 1;
        local->kernels->add(&before, h * v, line);
    }
    double *line = local->curve->bend + p * stride;
    local->kernels->add(x, h * local->bias, line);
    line[p] += h * local->bias * local->bias;
}

/* A dense row, times sqrt(h), into the panel. */
static void put_row(const dual_local *local, const data_column *x, double root,
                    double *line)
{
    local->kernels->add(x, root, line);
    line[local->columns] = root * local->bias;
}

static void flush(const dual_local *local, uint32_t *n)
{
    const uint32_t columns = (uint32_t)local->columns + 1;

    if (*n)
        outer_product_choose()(*n, columns, local->curve->panel,
                               local->curve->bend);
    memset(local->curve->panel, 0,
           outer_product_line(columns) * (size_t)*n * sizeof(double));
    *n = 0;
}

/* bend += (h - held) x x' of all rows in which that is above 0; with `less` of
 * all in which it is below 0, and bend is taken the other way round. */
static void add_rows(const strads_task *task, bool less)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);
    uint32_t n = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        const double more = local->curve->h[i] - local->curve->held[i];
        const double h = less ? -more : more;
        if (!(h > 0))
            continue;
        const data_column x = dual_row_of(share, i);
        local->curve->held[i] = local->curve->h[i];
        if ((double)x.n < DENSE * (double)local->columns) {
            add_sparse(local, &x, h);
            continue;
        }
        put_row(local, &x, sqrt(h), local->curve->panel + stride * n);
        if (++n == OUTER_PANEL)
            flush(local, &n);
    }
    flush(local, &n);
}

static void turn_round(dual_local *local)
{
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);

    for (size_t k = 0; k < stride * stride; k++)
        local->curve->bend[k] = -local->curve->bend[k];
}

/* Brings `bend` from the h that it is made of to those of now. From one step to
 * the next few rows come into J or leave it, and the h of all others stay: of
 * most losses they are one number. */
static void bring_up(const strads_task *task)
{
    dual_local *local = task->local;
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);
    uint64_t now = 0, changed = 0, fewer = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        now += local->curve->h[i] != 0;
        changed += local->curve->h[i] != local->curve->held[i];
        fewer += local->curve->h[i] < local->curve->held[i];
    }
    if (changed >= now) {
        memset(local->curve->bend, 0, stride * stride * sizeof(double));
        memset(local->curve->held, 0, local->rows * sizeof(double));
        fewer = 0;
    }
    add_rows(task, false);
    if (fewer == 0)
        return;
    turn_round(local);
    add_rows(task, true);
    turn_round(local);
}

static void pack(const dual_local *local, double *out)
{
    const size_t n = local->columns + 1;
    const size_t stride = outer_product_line((uint32_t)n);
    const double least = LEAST * largest_h(local);

    for (size_t j = 0; j < n; j++)
        out[j] = least * local->curve->stiff[j];
    out += n;

    for (size_t i = 0; i < n; i++) {
        memcpy(out, local->curve->bend + i * stride, (i + 1) * sizeof(double));
        out += i + 1;
    }
}

/* X'c; what the diagonal should have at least; X_J' diag(h) X_J, lower half,
 * line by line; and what P at w and D at c are made of. */
strads_err dual_update_curve(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const bool first = !local->curve;
    const strads_err err = reserve_curve(local);
    double *sums = task->partial + dual_partial_curve(task) - DUAL_SUMS;

    if (err)
        return err;
    local->curve->sigma =
        local->loss->smooth ? INFINITY : task->total[DUAL_SIGMA];
    if (first && largest_h(local) > 0)
        measure_columns(local, share, (double)task->shape->rows);
    local->level = task->total[DUAL_LEVEL];
    for (uint64_t i = 0; i < local->rows; i++) {
        const dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        const double z = local->curve->z[i] =
            dual_dot(local, &row, local->base);
        const dual_answer asked =
            local->loss->answer(x, local->curve->sigma, local->anchor[i], z);
        local->curve->h[i] = asked.h;
        dual_add_sums(local, x, asked.b, z, sums);
        if (asked.b != 0)
            dual_add(local, &row, asked.b, task->partial);
    }
    bring_up(task);
    pack(local, task->partial + local->columns + 1);
    return STRADS_OK;
}

/* ---- along a direction ------------------------------------------------- */

/* Lengths of a step that are looked at, the whole one first. They cost little
 * beside the matrix, and the slope between two of them is nearly straight. */
enum { STEPS = 64 };

static double step_at(int t)
{
    return pow(.9, t);
}

size_t dual_partial_slope(const strads_task *task)
{
    (void)task;
    return STEPS;
}

/* The c that a row's z would have. */
static double answer_at(const dual_local *local, uint64_t i, double z)
{
    return local->loss
        ->answer(&local->sample[i], local->curve->sigma, local->anchor[i], z)
        .b;
}

/* sum c(t) x_i'd for steps t: w is at the end of the direction now, and z was
 * taken at its beginning. As c falls with z, it is one number all along where
 * it is at both ends: most rows stay at their bound. */
strads_err dual_update_slope(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    double step[STEPS], still = 0;

    local->level = task->total[DUAL_LEVEL];
    for (int t = 0; t < STEPS; t++)
        step[t] = step_at(t);
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        const double z = local->curve->z[i];
        const double along = dual_dot(local, &x, local->base) - z;
        const double c = answer_at(local, i, z);
        if (c == answer_at(local, i, z + along)) {
            still += along * c;
            continue;
        }
        for (int t = 0; t < STEPS; t++)
            task->partial[t] +=
                along * answer_at(local, i, z + step[t] * along);
    }
    for (int t = 0; t < STEPS; t++)
        task->partial[t] += still;
    return STRADS_OK;
}

/* ---- the coordinator: steps --------------------------------------------- */

/* Steps of one smooth problem; takes in vain before dual ascent goes on; scans
 * that come before the first step. */
enum { INNER_MAX = 35, VAIN_MAX = 12, SCANS = 2 };

/* From take to take sigma grows: a little where the gap falls, since the next problem begins near its end, and more where it
 * does not. It falls where a problem was too hard, or rounding ended it. */
#define SIGMA_UP 2
#define SIGMA_FAR_UP 4
#define SIGMA_DOWN (1. / 16)

/* This share of the gap at most is the unsolved rest of a smooth problem when
 * its c are taken. */
#define REST .03

/* Where a step takes less than this share off P, slopes along it are rounding;
 * it is gone as a whole then. The gap still gains by it, since that goes by
 * distances from the optimum and not by their squares. */
#define ROUNDING 1e-16

/* A step that goes no further than this was far too long, and the diagonal's
 * ballast is to be as many times heavier; lighter, where the slope at a whole
 * step's end is still that share of the one at its beginning. */
#define TOO_LONG 1e-3
#define TOO_SHORT .5
#define BALLAST 10
#define BALLAST_MIN 1e-6
#define BALLAST_MAX 1e6

static strads_err reserve_matrix(dual_state *state)
{
    const size_t n = state->columns + 1;

    if (state->matrix)
        return STRADS_OK;
    state->matrix = malloc(n * n * sizeof(double));
    state->direction = malloc(n * sizeof(double));
    return state->matrix && state->direction
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the square of %llu columns",
                             (unsigned long long)state->columns);
}

/* Where hardly a row of J has column i, only the penalty bends there, and a
 * step would lead as much too far as the column is large: ballast, a share of
 * what all rows would add, holds it (as Levenberg and Marquardt do). */
static void unpack(const dual_state *state, const double *stiff,
                   const double *packed)
{
    const size_t n = state->columns + 1;

    for (size_t i = 0; i < n; i++) {
        const double least = state->ballast * stiff[i];
        double *line = state->matrix + i * n;
        memcpy(line, packed, (i + 1) * sizeof(double));
        line[i] += line[i] < least ? least : 0;
        line[i] += i < dual_penalised(state);
        packed += i + 1;
    }
}

/* What the penalty has to pull back of coefficient j. */
static double penalised_at(const strads_commit *commit, uint32_t j)
{
    const dual_state *state = commit->state;

    return j < dual_penalised(state) ? commit->value[dual_place(state, j)] : 0;
}

/* A direction for the next step, -slope downhill by the quadratic model. */
static void solve(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;
    const column_kernels *kernels = column_kernels_choose(0);
    double *d = state->direction;

    for (uint32_t j = 0; j < n; j++)
        d[j] = commit->partial[j] - penalised_at(commit, j);
    unpack(state, commit->partial + n, commit->partial + 2 * (size_t)n);
    linear_factor(kernels, n, state->matrix);
    linear_solve(kernels, n, state->matrix, d);
    state->slope = state->along = state->reach = 0;
    for (uint32_t j = 0; j < n; j++) {
        const double w = penalised_at(commit, j);
        state->slope += d[j] * (w - commit->partial[j]);
        state->along += d[j] * w;
        state->reach += j < dual_penalised(state) ? d[j] * d[j] : 0;
    }
}

/* Large columns of which J has fewer rows than there are columns are all but
 * singular: the pivots that are left are the penalty's, or nothing but
 * rounding, and so is the model. It tells, by more to gain than there is, or by
 * nothing where the gradient is long. */
static bool is_singular(const dual_state *state)
{
    return -state->slope > 2 * state->primal ||
           (-state->slope <= ROUNDING * state->primal &&
            state->gradient * state->gradient > state->primal);
}

/* Whether the last step was within rounding, and has not even halved the
 * gradient. */
static bool leads_nowhere(const dual_state *state, double gradient)
{
    return state->inner > 0 && -state->slope <= ROUNDING * state->primal &&
           gradient > state->gradient / 2;
}

static void find_direction(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;

    solve(commit, n);
    while (state->ballast < BALLAST_MAX && is_singular(state)) {
        state->ballast *= BALLAST;
        solve(commit, n);
    }
}

static void go(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;

    for (uint32_t j = 0; j < n; j++)
        commit->change[dual_place(state, j)] = state->direction[j];
    dual_take_intercept(commit);
    state->step = DUAL_SLOPE;
}

/* Where w and X'c are. */
static dual_point point_of(const strads_commit *commit, uint32_t n)
{
    const dual_state *state = commit->state;
    double gradient = 0;
    dual_point at = {0};

    for (uint32_t j = 0; j < n; j++) {
        const double w = penalised_at(commit, j), other = commit->partial[j];
        gradient += (other - w) * (other - w);
        if (j < dual_penalised(state)) {
            at.square += w * w;
            at.dual_square += other * other;
        }
    }
    at.apart = sqrt(gradient);
    return at;
}

/* A problem that so many steps do not solve is too near to one with kinks. */
static void soften(strads_commit *commit)
{
    dual_state *state = commit->state;

    commit->total_change[DUAL_SIGMA] =
        (SIGMA_DOWN - 1) * commit->total[DUAL_SIGMA];
    state->inner = 0;
    state->step = DUAL_CURVE;
}

/* The next step, or what is to be done where there is none. Each problem with
 * kinks has a step at least, or nothing would change with sigma. */
static void go_on(strads_commit *commit, uint32_t n, double gradient,
                  bool steep)
{
    dual_state *state = commit->state;
    const bool smooth = state->problem.loss->smooth;

    if (!steep && (smooth || state->inner > 0))
        return;
    state->blunt = leads_nowhere(state, gradient);
    if (state->blunt)
        return;
    if (++state->inner > INNER_MAX) {
        if (!smooth)
            soften(commit);
        return;
    }
    state->gradient = gradient;
    find_direction(commit, n);
    go(commit, n);
}

strads_err dual_aggregate_curve(strads_commit *commit)
{
    dual_state *state = commit->state;
    const uint32_t n = (uint32_t)state->columns + 1;
    const double *sums =
        commit->partial + 2 * (size_t)n + (size_t)n * (n + 1) / 2;
    const dual_point at = point_of(commit, n);
    strads_err err = reserve_matrix(state);

    if (!err)
        err = dual_certify(state, sums, at);
    if (err)
        return err;
    state->step = DUAL_TAKE;
    if (state->gap > commit->tolerance * state->primal) {
        const double rest = at.apart * at.apart / 2 + dual_excess(state, sums);
        go_on(commit, n, at.apart, rest > REST * state->gap);
    }
    if (state->step == DUAL_TAKE)
        state->inner = 0;
    return STRADS_OK;
}

/* The slope after a step t: it rises with t, from below 0. */
static double slope_at(const dual_state *state, const double *merged, int t)
{
    return state->along + step_at(t) * state->reach - merged[t];
}

/* The whole step if it does not lead far uphill again; otherwise the lowest
 * point along it, as the slopes on both sides tell. */
static double choose_step(const dual_state *state, const double *merged)
{
    double above = slope_at(state, merged, 0);

    if (above <= -.3 * state->slope ||
        -state->slope <= ROUNDING * state->primal)
        return 1;
    for (int t = 1; t < STEPS; t++) {
        const double below = slope_at(state, merged, t);
        if (below <= 0)
            return step_at(t) +
                   (step_at(t - 1) - step_at(t)) * -below / (above - below);
        above = below;
    }
    return step_at(STEPS - 1) * state->slope / (state->slope - above);
}

/* The ballast of the next step, by this one's length and the slope at its whole
 * length's end. */
static void weigh(dual_state *state, double step, double end)
{
    const bool short_of_it = end < TOO_SHORT * state->slope;

    if (short_of_it || (step == 1 && state->ballast > 1))
        state->ballast = fmax(state->ballast / BALLAST, BALLAST_MIN);
    else if (step < TOO_LONG)
        state->ballast = fmin(state->ballast * BALLAST, BALLAST_MAX);
}

strads_err dual_aggregate_slope(strads_commit *commit)
{
    dual_state *state = commit->state;
    const double step = choose_step(state, commit->partial);

    for (uint64_t j = 0; j <= state->columns && step < 1; j++)
        commit->change[dual_place(state, j)] = (step - 1) * state->direction[j];
    dual_take_intercept(commit);
    weigh(state, step, slope_at(state, commit->partial, 0));
    state->step = DUAL_CURVE;
    return STRADS_OK;
}

/* Whether passes at the rate of those since the last scan reach the tolerance
 * before steps would: these take as long as some p/8 passes. */
static bool passes_do(const dual_state *state, double tolerance)
{
    const double passes = (double)(state->visits - state->judged_visits) /
                          ((double)state->rows + 1);
    const double fall = log(state->judged_gap / state->gap);
    const double left = log(state->gap / (tolerance * state->primal));

    return left * passes < fall * (double)state->columns / 8;
}

/* Few columns, and a start that is not too far off. */
void dual_newton_judge(dual_state *state, double tolerance)
{
    const bool suits = state->columns < DUAL_NEWTON_COLUMNS &&
                       !state->gave_up && state->scans >= SCANS;

    if (state->step == DUAL_ASCEND && suits && passes_do(state, tolerance))
        state->next_scan = state->visits + state->visits / 2;
    else
        state->step = suits ? DUAL_CURVE : DUAL_ASCEND;
    state->judged_gap = state->gap;
    state->judged_visits = state->visits;
}

/* Whether the take has bettered the gap, and if not, what comes of it; sigma,
 * times what, for the next problem. */
static double judge_take(dual_state *state)
{
    if (state->gap < .9 * state->nearest) {
        state->vain = 0;
        return SIGMA_UP;
    }
    if (++state->vain >= VAIN_MAX) {
        if (state->blunt) /* by rounding: nothing leads on */
            state->stalled = true;
        else
            state->gave_up = true;
    }
    return state->blunt ? SIGMA_DOWN : SIGMA_FAR_UP;
}

strads_err dual_aggregate_take(strads_commit *commit)
{
    dual_state *state = commit->state;

    strads_commit_count_updates(commit, commit->block.n);
    if (commit->block.owner != state->partitions - 1)
        return STRADS_OK;
    dual_watch(state);
    commit->total_change[DUAL_SIGMA] =
        (judge_take(state) - 1) * commit->total[DUAL_SIGMA];
    state->blunt = false;
    state->nearest = fmin(state->nearest, state->gap);
    if (state->gave_up)
        dual_level_take(commit);
    /* Dual ascent needs w = X'b, and new priorities. */
    state->moved = state->spread = state->scan_due = state->gave_up;
    state->joined = false;
    dual_judge(state, commit->tolerance);
    return STRADS_OK;
}
