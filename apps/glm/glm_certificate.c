/* A certified bound of a model's distance from the minimum.
 *
 * With u_i = -theta_i / c_i and Fenchel's f(z) >= u z - f*(u), and the same
 * inequality for the penalty, every theta gives a lower bound:
 *
 *     P >= D(theta) = - sum c_i f*(y_i, -theta_i / c_i) - theta'o
 *                     - sum_g pen_g*(X_g'theta)
 *
 * over all w in the boxes that free coefficients are assumed to be in: an
 * unpenalised coefficient has pen* = R |q| there instead of infinity, which is
 * negligible once its slope is. At the minimum theta = r. Elsewhere pen* of r
 * may be infinite. theta = s r with the largest feasible s <= 1 makes it
 * finite, because all f* and pen* are convex and 0 at 0. */
#include <math.h>

#include "glm_parts.h"

/* Residuals below this share of a label are rounding error. */
#define ROUNDING 1e-14
#define BOX 10
#define EPS 2.2e-16

static glm_term boxed_term(const glm_state *state, uint32_t g)
{
    glm_term t = glm_term_of(state, g);

    if (glm_is_free(&t)) {
        double box = 0;
        for (uint32_t k = 0; k < t.n; k++) {
            const uint32_t j = glm_column(state, g, k);
            if (state->norm[j] > 0)
                box += BOX * glm_unit(state, g, j) *
                       (fabs(state->w[j]) + state->reach[j]);
        }
        t.high = fmin(t.high, box);
        t.low = fmax(t.low, -box);
    }
    return t;
}

/* sum c f*(y, -s r / c) + s r'o */
static double conjugate_rows(const glm_state *state, double *r, double s)
{
    const glm_loss *loss = state->problem.loss;
    const linear_set *set = &state->set;
    const glm_rows rows = {set->n_rows, set->y, set->c, set->z};
    if (loss->constant)
        return s * s / 2 * state->square - s * state->response;
    double sum = loss->conjugates ? loss->conjugates(&rows, s, r) : 0;

    for (uint64_t i = 0; i < set->n_rows; i++) {
        sum += s * r[i] * state->offset[i];
        if (!loss->conjugates && set->c[i] > 0)
            sum += set->c[i] * loss->conjugate(set->y[i], -s * r[i] / set->c[i],
                                               state->problem.p);
    }
    return sum;
}

void glm_find_active(glm_state *state)
{
    const glm_groups *groups = &state->groups;
    const double l1 = glm_common_l1(state);
    uint32_t n = 0;

    for (uint32_t g = 0; g < groups->n; g++) {
        const bool rests =
            !groups->start && state->w[g] == 0 &&
            fabs(state->slope[g]) <= l1 * glm_column_weight(state, g);
        state->active[n] = g;
        n += !rests;
    }
    state->n_active = n;
}

double glm_conjugates(const glm_state *state, double s)
{
    const glm_groups *groups = &state->groups;
    double sum = 0;

    for (uint32_t i = 0; i < state->n_active; i++) {
        const uint32_t g = state->active[i];
        if (glm_is_within(state, g, s))
            continue;
        const glm_term t = boxed_term(state, g);
        glm_gather(state, g);
        for (uint32_t k = 0; k < t.n; k++)
            groups->q[k] *= s;
        sum += state->problem.penalty->conjugate(&t, groups->q);
    }
    return sum;
}

/* The dual value without the term of the intercept's box. */
static double dual_value(const glm_state *state, double *r, double s)
{
    return -conjugate_rows(state, r, s) - glm_conjugates(state, s);
}

static double box_of_b(const glm_state *state)
{
    return BOX * (fabs(state->b[state->target]) + state->unit + state->shift);
}

/* A dual value minus the term of b's box. */
static double box_dual(const glm_state *state, double dual, double s)
{
    const bool held = state->problem.options.intercept && !glm_centres(state);

    return held
               ? dual - box_of_b(state) * fabs(s * state->slope[state->columns])
               : dual;
}

bool glm_has_free_columns(const glm_state *state)
{
    return state->problem.penalty->off || state->factor ||
           (state->lambda == 0 && !state->alone);
}

/* Keeps the best dual point of all scans for the current box. The boxes of
 * free columns grow with their coefficients, so older points are then no longer
 * bounds. Returns the improvement over all others, bounds or not. */
static double keep_best(glm_state *state, double unboxed, double share)
{
    const bool held = state->problem.options.intercept && !glm_centres(state);
    const double box = box_of_b(state);
    const double dual = box_dual(state, unboxed, share);
    const double before =
        glm_has_free_columns(state)
            ? 0
            : fmax(state->unboxed - box * state->intercept_slope, 0);
    const double gained = dual - state->best_dual;

    state->best_dual = fmax(state->best_dual, dual);
    state->dual = fmax(dual, before);
    if (dual > before) {
        state->unboxed = unboxed;
        state->intercept_slope =
            held ? fabs(share * state->slope[state->columns]) : 0;
    }
    return gained;
}

glm_totals glm_add_up(glm_state *state)
{
    const glm_penalty *pen = state->problem.penalty;
    const glm_groups *groups = &state->groups;
    glm_totals sum = {.widest = 1, .tight = 1};

    state->nonzeros = 0;
    for (uint32_t i = 0; i < state->n_active; i++) {
        const uint32_t g = state->active[i];
        glm_term t = boxed_term(state, g);
        glm_gather(state, g);
        sum.penalty += pen->value(&t, groups->v);
        for (uint32_t k = 0; k < t.n; k++)
            state->nonzeros += groups->v[k] != 0;
        if (pen->tangent)
            continue;
        sum.widest = fmin(sum.widest, pen->shrink(&t, groups->q));
        t.l2 = 0;
        if (t.l1 > 0)
            sum.tight = fmin(sum.tight, pen->shrink(&t, groups->q));
    }
    return sum;
}

/* sum r^2 / c */
static double residual_square(const glm_state *state, const double *r)
{
    const linear_set *set = &state->set;
    double sum = 0;

    if (state->problem.loss->constant)
        return state->square;
    for (uint64_t i = 0; i < set->n_rows; i++)
        sum += set->c[i] > 0 ? r[i] * r[i] / set->c[i] : 0;
    return sum;
}

/* The share of a slope's error `off`, for a column of this norm, in its
 * largest possible value including the penalty's, apart from rounding. */
static double violation_share(const glm_state *state, double off, double norm,
                              double l1, double square)
{
    off -= ROUNDING * state->unit * sqrt(norm) * sqrt(state->weight);
    if (isnan(off))
        return INFINITY;
    return off > 0 ? off / (l1 + sqrt(norm) * sqrt(square)) : 0;
}

/* Used if there is no dual. */
double glm_worst_violation(const glm_state *state, double square)
{
    const glm_penalty *pen = glm_convex(state);
    const glm_groups *groups = &state->groups;
    double worst = 0;

    if (state->problem.options.intercept)
        worst = violation_share(state, fabs(state->slope[state->columns]),
                                state->weight, 0, square);
    for (uint32_t i = 0; i < state->n_active; i++) {
        const uint32_t g = state->active[i];
        const glm_term t = glm_tangent_of(state, g);
        glm_gather(state, g);
        const double off = pen->violation(&t, groups->v, groups->q);
        worst =
            fmax(worst, violation_share(state, off, glm_group_norm(state, g),
                                        glm_term_of(state, g).l1, square));
    }
    return worst;
}

/* The slope of column j in the direction in which its bounds let it leave 0. */
static double free_slope(const glm_state *state, uint64_t j)
{
    const strads_glm_options *o = &state->problem.options;

    return o->lower == 0   ? state->slope[j]
           : o->upper == 0 ? -state->slope[j]
                           : fabs(state->slope[j]);
}

/* An upper estimate of the root mean square of f'' over the rows. `r` is the
 * norm of the slopes. A loss that flattens has small f'' where its slopes are
 * small. */
static double mean_bend(const glm_state *state, double r)
{
    return state->problem.loss->constant   ? 0
           : state->problem.loss->smooth   ? 1 / state->smoothing.width
           : state->problem.loss->flattens ? fmin(1, r / sqrt(state->weight))
                                           : 1;
}

/* In norms over rows, |v|^2 = sum v_i^2 / c_i of slopes and sum c_i v_i^2 of
 * margins, the rounding errors are:
 *
 *     z    EPS |x_j| times each move of a w_j, so that P is off by |r| times
 *          this. Slopes are off by f'' times this, if the coordinator keeps its
 *          own margins.
 *     X'r  EPS |x_j| |r|, so that D is off by |w_j| times this; and by its
 *          share of the slope of the penalty, if that slope scales theta.
 *
 * A slope that points out of the column's bounds does not scale theta. Errors
 * of columns, and those of rows, are nearly independent: their squares are
 * added, and a sum over n rows has the root of n of them. */
double glm_rounding(const glm_state *state, double square, double penalty)
{
    const double r = sqrt(square);
    const double b = state->b[state->target] - state->level;
    double square_reach = b * b * state->weight, steep = 0;

    for (uint64_t j = 0; j < state->columns; j++)
        square_reach += state->w[j] * state->norm[j] * state->w[j];
    const double reach = sqrt(square_reach);
    const double rows = sqrt((double)state->set.rows + 1);
    const double z = EPS * fmax(reach, sqrt(state->travel)) / rows;
    const double off = EPS * r + mean_bend(state, r) * z;
    for (uint64_t j = 0; j < state->columns; j++) {
        const double l1 = glm_own_l1(state, (uint32_t)j);
        const double slope = free_slope(state, j);
        if (l1 > 0 && slope > l1 / 2)
            steep = fmax(steep, off * sqrt(state->norm[j]) / fmax(slope, l1));
    }
    return r * z + z * z / 2 + off * reach + fmin(steep, 1) * penalty;
}

/* A descent that does not halve the excess in this many scans has ended:
 * dependent columns would continue forever. */
static void watch_progress(glm_state *state)
{
    enum { PROGRESS_SCANS = 2000 };

    if (++state->watched % PROGRESS_SCANS > 0)
        return;
    if (state->excess > state->excess_before / 2)
        state->watch.stalled = true;
    state->excess_before = state->excess;
}

/* A P up to this is 0. Only P at w = 0 and the labels count: P at the start
 * may be as large as the start values are. */
static double smallest_primal(const glm_state *state)
{
    return glm_has_infimum(state)
               ? 0
               : fmax(GLM_NOTHING * state->null,
                      state->weight * pow(ROUNDING * state->unit, 2));
}

/* What gaps are relative to. Where P may tend to 0 without a minimum, it is P
 * alone: all values below a constant would pass for the minimum. */
static double gap_unit(const glm_state *state)
{
    if (glm_has_infimum(state))
        return state->primal;
    return fmax(state->primal, state->path && state->path->gaps_of_null
                                   ? state->null
                                   : GLM_LEAST * state->null);
}

/* The least share of a column's curvature that is its own, as assumed of a
 * working set, which has no factor of all columns that could show it: that of
 * columns 3e-9 of their size apart. */
#define UNSEEN_BEND 1e-17

/* An estimate of P - P* for a working set of columns without a penalty, as
 * their boxes are only assumed: a column may nearly depend on others. */
static double dependent_left(const glm_state *state, double square)
{
    const glm_penalty *pen = state->problem.penalty;
    const glm_groups *groups = &state->groups;
    double most = 0;

    if (!pen->off || state->alone)
        return 0;
    for (uint32_t j = 0; j < groups->n; j++) {
        const glm_term t = glm_term_of(state, j);
        const double blur =
            LINEAR_SLOPE_ROUNDING * sqrt(state->norm[j] * square);
        glm_gather(state, j);
        const double off = pen->violation(&t, groups->v, groups->q) - blur;
        if (off > 0 && state->norm[j] > 0)
            most = fmax(most, off / (2 * UNSEEN_BEND * state->norm[j]) * off);
    }
    return most;
}

void glm_certify(strads_commit *commit)
{
    glm_state *state = commit->state;
    linear_set *set = &state->set;
    const glm_rows rows = {set->n_rows, set->y, set->c, set->z};
    double *r = set->trial; /* no model is open */

    glm_find_active(state);
    if (!state->problem.loss->constant)
        state->loss = set->loss =
            glm_evaluate(&state->problem, &state->smoothing, &rows, r, NULL);
    const glm_totals sum = glm_add_up(state);
    const double smoothed = state->loss + sum.penalty;
    if (state->problem.loss->smooth)
        state->loss =
            state->problem.loss->evaluate(&rows, state->problem.p, NULL, NULL);
    state->primal = state->loss + sum.penalty;
    const double floor = smallest_primal(state);
    if (state->bounds.unscanned > state->lambda) { /* may be too steep */
        state->excess = state->primal;
        state->gap = 1;
        return;
    }
    if (state->problem.penalty->tangent) {
        const double square = residual_square(state, r);
        state->gap = state->primal <= floor ? 0
                     : isfinite(state->primal)
                         ? glm_worst_violation(state, square)
                         : INFINITY;
        linear_watch_scan(&state->watch, state->primal, 0);
        return;
    }
    double unboxed = dual_value(state, r, sum.widest), share = sum.widest;
    if (sum.tight < sum.widest) {
        const double other = dual_value(state, r, sum.tight);
        if (box_dual(state, other, sum.tight) >
            box_dual(state, unboxed, share)) {
            unboxed = other;
            share = sum.tight;
        }
    }
    const double gained = keep_best(state, unboxed, share);
    state->excess = glm_excess(state->primal, state->dual);
    const double unit = gap_unit(state);
    state->gap = state->primal <= floor ? 0 : state->excess / unit;
    const double square = residual_square(state, r);
    const double rounding = glm_rounding(state, square, sum.penalty);
    if (!(state->primal <= floor || rounding <= GLM_ROUNDING_MIN * unit))
        state->gap += rounding / unit;
    const double left = state->ridge.used ? glm_whole_left(state, square)
                                          : dependent_left(state, square);
    if (state->primal > floor && left > state->excess)
        state->gap += fmin((left - state->excess) / unit, 1);
    if (state->ridge.used) /* its steps detect stalls themselves */
        return;
    linear_watch_scan(&state->watch, smoothed, gained);
    watch_progress(state);
    if (!state->problem.loss->smooth)
        return;
    const double other = unboxed - glm_smoothing_term(state, r, share);
    glm_judge_smoothed(state,
                       glm_excess(smoothed, box_dual(state, other, share)),
                       commit->tolerance / 2 * unit);
}

double glm_square(glm_state *state)
{
    linear_set *set = &state->set;
    const glm_rows rows = {set->n_rows, set->y, set->c, set->z};

    if (!state->problem.loss->constant)
        (void)glm_evaluate(&state->problem, &state->smoothing, &rows,
                           set->trial, NULL);
    return residual_square(state, set->trial);
}

double glm_critical(const glm_state *state, double square)
{
    const strads_glm_options *o = &state->problem.options;
    const glm_penalty *pen = state->problem.penalty;
    const double nothing = ROUNDING * sqrt(square);
    double most = 0;

    for (uint32_t g = 0; g < state->groups.n; g++) {
        const uint32_t n = glm_size(state, g), first = glm_column(state, g, 0);
        const double weight = state->weight *
                              fmax(glm_limit(&state->problem, n), 1e-3) *
                              (state->factor ? state->factor[first] : 1);
        const bool stays = !pen->grouped &&
                           (state->slope[first] > 0 ? o->upper : o->lower) == 0;
        const glm_term t = {.n = n,
                            .low = o->lower,
                            .share = glm_group_share(&state->problem, n)};
        double *q = state->groups.q;
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t j = glm_column(state, g, k);
            const double slope = state->slope[j];
            q[k] = fabs(slope) > nothing * sqrt(state->norm[j])
                       ? slope / state->scale[j]
                       : 0;
        }
        const double steep = pen->grouped ? pen->dual_norm(&t, q) : fabs(*q);
        if (weight > 0 && !stays)
            most = fmax(most, steep / weight);
    }
    return most;
}
