/* Newton's steps in w, for problems of few columns, or of a loss without
 * kinks. Partitions compute gradients and curvatures of the losses, and slopes
 * along a direction (dual_curve.c). The coordinator solves for a step, takes it
 * and checks its length.
 *
 * The last digits then come from the primal problem. The loss of a row, made
 * smooth around its known b (the augmented Lagrangian; sigma = infinity for
 * losses that are already smooth), is
 *
 *     max over low <= b <= high of
 *         b r - e |b| - d/2 b^2 - 1/(2 sigma) (b - a)^2
 *
 * with its maximum at c(r), so that the gradient in w is w - X'c and the
 * generalised Hessian I + X_J' diag(h) X_J, J the rows with c inside its
 * bounds. X. Li, D. Sun, K.-C. Toh, SIAM J. Optimization 28, 2018, solve the
 * Lasso's dual like this; Y. Yan, Q. Li, Optimization Methods and Software 35,
 * 2020, SVMs. When the remaining gain of a smooth problem is a negligible part
 * of the gap, the c become the rows' b, and sigma changes. Meanwhile w is not
 * X'b. */
#include <stdlib.h>
#include <string.h>

#include "numeric/linear_cholesky.h"
#include "dual.h"

/* ---- the coordinator: steps --------------------------------------------- */

/* Steps of one smooth problem; unsuccessful takes before dual ascent
 * continues; scans before the first step: by then the policy has chosen nine
 * times as many b as a take moves. */
enum { INNER_MAX = 35, VAIN_MAX = 12, SCANS = 2 };
/* With many columns the first step requires a gap below this share of P:
 * further away, if J has fewer rows than columns, a step's model holds for a
 * thousandth of it. */
#define NEAR .8

/* From take to take sigma grows: a little if the gap decreases, because the
 * next problem begins near its end, and more otherwise. It decreases if a
 * problem was too hard, or if rounding ended it. */
#define SIGMA_UP 2
#define SIGMA_FAR_UP 4
#define SIGMA_DOWN (1. / 16)

/* The remaining error of a smooth problem when its c are taken, as a share
 * of the gap. */
#define REST .03

/* If a step lowers P by less than this share, slopes along it are rounding
 * error, and the full step is taken. The gap still gains by it, because it
 * depends on distances from the optimum and not on their squares. */
#define ROUNDING 1e-16

/* A step that is shortened to this or less was far too long: the ballast of
 * the diagonal is multiplied by the inverse. It becomes lighter if the slope at
 * the end of a full step is still this share of the one at its beginning. */
#define TOO_LONG 1e-3
#define TOO_SHORT .5
#define BALLAST 10
#define BALLAST_MIN 1e-6
#define BALLAST_MAX 1e6

static strads_err reserve_direction(dual_state *state)
{
    if (!state->direction)
        state->direction = calloc(state->columns + 1, sizeof(double));
    return state->direction
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                             (unsigned long long)state->columns);
}

static strads_err reserve_matrix(dual_state *state)
{
    const size_t n = state->columns + 1;

    if (!state->matrix)
        state->matrix = malloc(n * n * sizeof(double));
    return state->matrix
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the square of %llu columns",
                             (unsigned long long)state->columns);
}

/* If hardly any row of J has column i, only the penalty gives curvature
 * there, and a step would be too long by a factor that grows with the column's
 * size. The ballast, a share of the contribution of all rows, limits it (as
 * Levenberg and Marquardt do). */
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

/* The gradient of the penalty in coefficient j. */
static double penalised_at(const strads_commit *commit, uint32_t j)
{
    const dual_state *state = commit->state;

    return j < dual_penalised(state) ? commit->value[dual_place(state, j)] : 0;
}

/* A direction for the next step; -slope is the descent of the quadratic
 * model. */
static void solve_step(strads_commit *commit, uint32_t n)
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

/* If J has fewer rows than there are columns, and columns are large, the
 * matrix is almost singular: the remaining pivots are the penalty's, or
 * rounding error, and so is the model. It shows: the model promises more gain
 * than is possible, or none for a long gradient. */
static bool is_singular(const dual_state *state)
{
    return -state->slope > 2 * state->primal ||
           (-state->slope <= ROUNDING * state->primal &&
            state->gradient * state->gradient > state->primal);
}

/* True if the last step was within rounding, and has not even halved the
 * gradient. */
static bool leads_nowhere(const dual_state *state, double gradient)
{
    return state->inner > 0 && -state->slope <= ROUNDING * state->primal &&
           gradient > state->gradient / 2;
}

static void find_direction(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;

    solve_step(commit, n);
    while (state->ballast < BALLAST_MAX && is_singular(state)) {
        state->ballast *= BALLAST;
        solve_step(commit, n);
    }
}

static void go_along(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;

    for (uint32_t j = 0; j < n; j++)
        commit->change[dual_place(state, j)] = state->direction[j];
    state->off = state->direction;
    state->step = DUAL_SLOPE;
}

/* ---- a direction by products -------------------------------------------- */

/* The matrix gives all directions at once, and takes as long as many
 * products. So a step is found by conjugate gradients (Hestenes and Stiefel,
 * 1952), scaled by the diagonal, until a problem's products have taken as long
 * as its matrix would. Workers multiply p: meanwhile w is displaced by p, so z
 * gives X p. */

/* Relative residuals at which a step is accurate enough. */
#define LOOSEST .25
enum { PRODUCTS_MAX = 500, LINES = 9 };
/* With too many columns for a matrix, the limit on products of a problem's
 * steps before dual ascent continues. */
enum { PRODUCTS_ALL = 1000 };

/* An estimate of the number of products that take as long as a matrix: from
 * nanoseconds per entry and per round. */
static double products_of(const dual_state *state)
{
    const double p = (double)state->columns, n = (double)state->rows;
    const double entries = (double)strads_data_nnz(state->data);
    const double row = fmin(entries / (n + 1), p);
    const double dense = n * p * p / 20, sparse = n * row * row / 2;
    const double matrix = fmin(dense, sparse) + p * p * p / 24;

    return matrix / (2 * entries + 2e4);
}

void dual_begin_conjugate(dual_state *state)
{
    state->off = NULL;
    state->conjugate.left =
        state->by_matrix ? products_of(state) : PRODUCTS_ALL;
    state->conjugate.used = state->conjugate.left >= 10;
}

/* True if products did not suffice, and there is no matrix. */
static bool is_spent(const dual_state *state)
{
    return !state->conjugate.used && !state->by_matrix;
}

/* The phase that computes the curve. */
static uint32_t next_curve(const dual_state *state)
{
    return state->conjugate.used || is_spent(state) ? DUAL_GRADIENT
                                                    : DUAL_CURVE;
}

static strads_err reserve_conjugate(dual_state *state)
{
    const size_t n = state->columns + 1;
    dual_conjugate *c = &state->conjugate;
    double **lines[LINES] = {&c->gradient, &c->rest,     &c->inverse,
                             &c->shrink,   &c->diagonal, &c->least,
                             &c->step,     &c->p,        &c->product};

    if (c->line)
        return STRADS_OK;
    c->line = calloc(LINES * n, sizeof(double));
    if (!c->line)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                           (unsigned long long)state->columns);
    for (size_t k = 0; k < LINES; k++)
        *lines[k] = c->line + k * n;
    return STRADS_OK;
}

static double fall_of(const dual_conjugate *c, uint32_t n)
{
    double sum = 0;

    for (uint32_t j = 0; j < n; j++)
        sum += c->rest[j] * c->rest[j] * c->inverse[j];
    return sum;
}

/* p = inverse rest + beta p, and the parameters hold w + p. */
static void turn_to(strads_commit *commit, uint32_t n, double beta)
{
    dual_state *state = commit->state;
    dual_conjugate *c = &state->conjugate;

    for (uint32_t j = 0; j < n; j++) {
        const double p = c->inverse[j] * c->rest[j] + beta * c->p[j];
        commit->change[dual_place(state, j)] = p - c->p[j];
        c->p[j] = p;
    }
    state->off = c->p;
    state->step = DUAL_PRODUCT;
}

/* Starts from a step of 0. */
static void begin_steps(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;
    dual_conjugate *c = &state->conjugate;

    for (uint32_t j = 0; j < n; j++) {
        const double ballast = state->ballast * c->least[j];
        c->shrink[j] = (c->diagonal[j] < ballast ? ballast : 0) +
                       (j < dual_penalised(state));
        c->inverse[j] = c->diagonal[j] + c->shrink[j];
        c->inverse[j] = c->inverse[j] > 0 ? 1 / c->inverse[j] : 0;
        c->rest[j] = c->gradient[j];
        c->step[j] = 0;
    }
    c->fall = c->first = fall_of(c, n);
    c->products = 0;
    turn_to(commit, n, 0);
}

static void begin_conjugate(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;
    dual_conjugate *c = &state->conjugate;

    for (uint32_t j = 0; j < n; j++) {
        c->gradient[j] = commit->partial[j] - penalised_at(commit, j);
        c->p[j] = 0;
    }
    memcpy(c->least, commit->partial + n, n * sizeof(double));
    memcpy(c->diagonal, commit->partial + 2 * (size_t)n, n * sizeof(double));
    begin_steps(commit, n);
}

/* step += a p, rest -= a A p. False: A has no curvature along p. */
static bool advance_products(dual_state *state, const double *merged,
                             uint32_t n)
{
    dual_conjugate *c = &state->conjugate;
    const column_kernels *kernels = column_kernels_choose(0);

    for (uint32_t j = 0; j < n; j++)
        c->product[j] = merged[j] + c->shrink[j] * c->p[j];
    const double bend = kernels->dot_dense(n, c->product, c->p);
    if (!(bend > 0))
        return false;
    kernels->add_dense(n, c->fall / bend, c->p, c->step);
    kernels->add_dense(n, -c->fall / bend, c->product, c->rest);
    return true;
}

/* Makes the step the direction, from the undisplaced w. */
static void take_step(const strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;
    const dual_conjugate *c = &state->conjugate;

    state->slope = state->along = state->reach = 0;
    for (uint32_t j = 0; j < n; j++) {
        const double d = state->direction[j] = c->step[j];
        state->slope -= d * c->gradient[j];
        if (j >= dual_penalised(state))
            continue;
        state->along += d * (penalised_at(commit, j) - c->p[j]);
        state->reach += d * d;
    }
}

/* The residual to reach: near the optimum steps are solved more exactly, but
 * not beyond the tolerance. */
static double small_enough(const dual_state *state, double tolerance)
{
    const double gap = state->gap / state->primal;

    return fmin(fmax(sqrt(gap), .3 * sqrt(tolerance / gap)), LOOSEST);
}

strads_err dual_aggregate_product(strads_commit *commit)
{
    dual_state *state = commit->state;
    dual_conjugate *c = &state->conjugate;
    const uint32_t n = (uint32_t)state->columns + 1;
    const double small = small_enough(state, commit->tolerance);
    const double before = c->fall;
    const bool advanced = advance_products(state, commit->partial, n);

    c->left--;
    c->fall = advanced ? fall_of(c, n) : 0;
    if (c->fall > small * small * c->first && c->left > 0 &&
        ++c->products < PRODUCTS_MAX) {
        turn_to(commit, n, c->fall / before);
        return STRADS_OK;
    }
    c->used = c->left > 0;
    take_step(commit, n);
    if (state->ballast < BALLAST_MAX && is_singular(state)) {
        state->ballast *= BALLAST;
        begin_steps(commit, n);
        return STRADS_OK;
    }
    for (uint32_t j = 0; j < n; j++)
        commit->change[dual_place(state, j)] = c->step[j] - c->p[j];
    state->off = state->direction;
    state->step = DUAL_SLOPE;
    return STRADS_OK;
}

/* ---- from curve to curve ------------------------------------------------- */

/* The point of w and X'c. */
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

/* A problem that is not solved by this many steps is too close to one with
 * kinks. */
static void soften(strads_commit *commit)
{
    dual_state *state = commit->state;

    commit->total_change[DUAL_SIGMA] =
        (SIGMA_DOWN - 1) * commit->total[DUAL_SIGMA];
    state->inner = 0;
    state->step = next_curve(state);
}

/* Dual ascent continues from the better b: those of the last scan, or those
 * for w. */
static void give_up(strads_commit *commit)
{
    dual_state *state = commit->state;

    state->gave_up = true;
    state->keeps = state->gap >= state->judged_gap;
    if (state->keeps)
        commit->total_change[DUAL_SIGMA] =
            DUAL_SIGMA_KEEP - commit->total[DUAL_SIGMA];
}

/* Takes the next step, or handles the end of steps. Each problem with kinks
 * has at least one step; otherwise a new sigma would change nothing. */
static void go_on(strads_commit *commit, uint32_t n, double gradient,
                  bool steep)
{
    dual_state *state = commit->state;
    const bool smooth = state->problem.loss->smooth;

    if (is_spent(state)) {
        give_up(commit);
        return;
    }
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
    if (state->conjugate.used) {
        begin_conjugate(commit, n);
        return;
    }
    find_direction(commit, n);
    go_along(commit, n);
}

/* After the curve; its sums give P at w and D at the c. */
static strads_err judge_curve(strads_commit *commit, const double *sums)
{
    dual_state *state = commit->state;
    const uint32_t n = (uint32_t)state->columns + 1;
    const dual_point at = point_of(commit, n);
    strads_err err = reserve_direction(state);

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

strads_err dual_aggregate_curve(strads_commit *commit)
{
    dual_state *state = commit->state;
    const size_t n = state->columns + 1;
    const strads_err err = reserve_matrix(state);

    return err ? err
               : judge_curve(commit, commit->partial + 2 * n + n * (n + 1) / 2);
}

strads_err dual_aggregate_gradient(strads_commit *commit)
{
    dual_state *state = commit->state;
    const strads_err err = reserve_conjugate(state);

    return err ? err
               : judge_curve(commit,
                             commit->partial + 3 * (state->columns + 1));
}

/* The slope after a step t: it increases with t, from a value below 0. */
static double slope_at(const dual_state *state, const double *merged, int t)
{
    return state->along + dual_step_at(state->problem.loss, t) * state->reach -
           merged[t];
}

/* The full step, unless it leads far uphill again; otherwise the lowest
 * point along it, interpolated between slopes. */
static double choose_step(const dual_state *state, const double *merged)
{
    const dual_loss *loss = state->problem.loss;
    const int last = dual_steps(loss) - 1;
    double above = slope_at(state, merged, 0);

    if (above <= -.3 * state->slope ||
        -state->slope <= ROUNDING * state->primal)
        return 1;
    for (int t = 1; t <= last; t++) {
        const double below = slope_at(state, merged, t);
        const double low = dual_step_at(loss, t);
        if (below <= 0)
            return low +
                   (dual_step_at(loss, t - 1) - low) * -below / (above - below);
        above = below;
    }
    return dual_step_at(loss, last) * state->slope / (state->slope - above);
}

/* The ballast of the next step, from this one's length and the slope at the
 * end of its full length. */
static void weigh_ballast(dual_state *state, double step, double end)
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
    state->off = NULL;
    weigh_ballast(state, step, slope_at(state, commit->partial, 0));
    state->step = next_curve(state);
    return STRADS_OK;
}

/* The cost factor of a row's best b if it needs logarithms. */
#define LOGARITHMS 4

/* True if passes at the rate since the last scan reach the tolerance before
 * steps would: steps take as long as about p/8 passes by their matrix, and as
 * about 40 by products. */
static bool passes_do(const dual_state *state, double tolerance)
{
    const double passes = (double)(state->visits - state->judged_visits) /
                          ((double)state->rows + 1);
    const double fall = log(state->judged_gap / state->gap);
    const double left = log(state->gap / (tolerance * state->primal));
    const double matrix = (double)state->columns / 8;
    const double steps = state->conjugate.used ? fmin(matrix, 40) : matrix;
    const double cost = state->problem.loss->quadratic ? 1 : LOGARITHMS;

    return left * passes * cost < fall * steps;
}

/* Few columns, or a smooth loss, and a start that is not too far off. Once
 * steps have begun, only give_up ends them: before that w is not X'b, and
 * neither passes nor the bound D may start from there. */
void dual_newton_judge(dual_state *state, double tolerance)
{
    const bool few = state->columns < DUAL_NEWTON_COLUMNS;
    const bool near =
        state->step == DUAL_TAKE || state->gap < NEAR * state->primal;
    const bool suits = (few || (state->problem.loss->smooth && near)) &&
                       !state->gave_up && state->scans >= SCANS;

    if (state->step == DUAL_ASCEND && suits && passes_do(state, tolerance))
        state->next_scan = state->visits + state->visits / 2;
    else
        state->step = suits ? next_curve(state) : DUAL_ASCEND;
    state->judged_gap = state->gap;
    state->judged_visits = state->visits;
}

/* Checks whether the take improved the gap, and reacts if not; returns the
 * factor of sigma for the next problem. */
static double judge_take(dual_state *state)
{
    if (state->gave_up)
        return 1;
    if (state->gap < .9 * state->nearest) {
        state->vain = 0;
        return SIGMA_UP;
    }
    if (++state->vain >= VAIN_MAX) {
        /* Within rounding, no step helps. */
        if (state->blunt || state->gap < 2 * state->rounding)
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
    if (state->gave_up && !state->keeps)
        dual_level_take(commit);
    /* Dual ascent needs w = X'b, and new priorities. */
    state->moved = state->spread = state->scan_due = state->gave_up;
    state->joined = false;
    dual_judge(state, commit->tolerance);
    return STRADS_OK;
}
