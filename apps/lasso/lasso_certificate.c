/* The primal value, a dual value, and so a bound on what is left to gain.
 *
 * Fenchel duality for P of lasso_parts.h (Kim, Koh, Lustig, Boyd, Gorinevsky,
 * IEEE J-STSP 2007, section III): the elastic net is a Lasso on the augmented
 * X~ = [X; sqrt(L2) S], y~ = [y; 0], whose residual r~ is [r; -sqrt(L2) S w].
 * With e = X~' r~ = X' r - L2 s^2 w and m = max_j |e_j| / s_j, every
 * theta = a r~ with a <= L1 / m is feasible, and
 *
 *     D(a) = a y' r - a^2/2 |r~|^2,    best at a = y' r / |r~|^2.
 *
 * With L2 > 0 all of R^n is feasible for the dual in r alone, whose value at r
 * is y' r - |r|^2/2 - sum_j (|x_j' r|/s_j - L1)_+^2 / (2 L2). The better of
 * the two counts, and the best of all scans: each is a lower bound of the
 * same minimum. Under `positive` only upward slopes are bounded. */
#include <math.h>
#include <string.h>

#include "lasso_gram.h"

/* Sums of as many, so that a compiler may make vectors of them. */
enum { LANES = 8 };

/* r'r - (sum r)^2 / n below this share of r'r is rounding. */
#define ROUNDING 1e-14

/* The residual's own part: |r_c|^2, y_c'r_c and the sum of r. */
typedef struct residual {
    double squares, response, sum;
} residual;

/* What one pass over the columns gathers. */
typedef struct sums {
    double steepest; /* m */
    double l1, l2;   /* sum s |w|, sum (s w)^2 */
    double excess;   /* sum (|x'r|/s - L1)_+^2 */
    uint64_t nonzeros;
} sums;

static void take_column(const lasso_state *state, uint64_t j, double gradient,
                        double w, sums *sum)
{
    const double s = lasso_scale(state, j);
    const bool positive = state->options.positive;
    const double slope = gradient / s - state->l2 * s * w, plain = gradient / s;
    const double over = (positive ? plain : fabs(plain)) - state->l1;
    const double size = positive ? slope : fabs(slope);

    if (size > sum->steepest)
        sum->steepest = size;
    sum->excess += over > 0 ? over * over : 0;
    sum->l1 += s * fabs(w);
    sum->l2 += s * w * s * w;
    sum->nonzeros += w != 0;
}

double lasso_steepest(const double *slope, uint64_t n)
{
    double most[LANES] = {0}, all = 0;
    uint64_t j = 0;

    for (; j + LANES <= n; j += LANES)
        for (uint64_t i = 0; i < LANES; i++) {
            const double size = fabs(slope[j + i]);
            most[i] = size > most[i] ? size : most[i];
        }
    for (; j < n; j++)
        most[0] = fmax(most[0], fabs(slope[j]));
    for (uint64_t i = 0; i < LANES; i++)
        all = fmax(all, most[i]);
    return all;
}

/* |w|_1, and how many of w[n] are not 0. */
static double sum_sizes(const double *w, uint64_t n, uint64_t *nonzeros)
{
    double s[LANES] = {0};
    uint64_t j = 0;

    for (; j + LANES <= n; j += LANES)
        for (uint64_t i = 0; i < LANES; i++) {
            s[i] += fabs(w[j + i]);
            *nonzeros += w[j + i] != 0;
        }
    for (; j < n; j++) {
        s[0] += fabs(w[j]);
        *nonzeros += w[j] != 0;
    }
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* All columns where they are neither centred nor scaled and the penalty is
 * L1 |w|_1 alone: a scan's cost, where columns have few entries. */
static void take_plain(lasso_state *state, const double *gradient,
                       const double *w, sums *sum)
{
    const uint64_t p = state->columns;

    memcpy(state->slope, gradient, p * sizeof(*gradient));
    sum->steepest = lasso_steepest(gradient, p);
    sum->l1 = sum_sizes(w, p, &sum->nonzeros);
}

static void take_all(lasso_state *state, const double *gradient,
                     const double *w, double residual_sum, sums *sum)
{
    for (uint64_t j = 0; j < state->columns; j++) {
        const double s = lasso_scale(state, j);
        const double g = state->norm[j] > 0
                             ? gradient[j] - state->mean[j] * residual_sum
                             : 0;
        state->slope[j] = g - state->l2 * s * s * w[j];
        take_column(state, j, g, w[j], sum);
    }
}

static bool is_plain(const lasso_state *state)
{
    const strads_lasso_options *o = &state->options;

    return !o->intercept && !o->standardize && !o->positive && state->l2 == 0;
}

static double dual_value(const lasso_state *state, const residual *r,
                         const sums *sum)
{
    const double squares = r->squares + state->l2 * sum->l2;
    double a = squares > 0 ? r->response / squares : 0;

    if (a * sum->steepest > state->l1)
        a = state->l1 / sum->steepest;
    a = fmax(a, 0);
    const double lasso = a * r->response - a * a / 2 * squares;
    if (state->l2 == 0)
        return lasso;
    return fmax(lasso,
                r->response - r->squares / 2 - sum->excess / (2 * state->l2));
}

static double primal_value(const lasso_state *state, const residual *r,
                           const sums *sum)
{
    return r->squares / 2 + state->l1 * sum->l1 + state->l2 / 2 * sum->l2;
}

static residual centre(const lasso_state *state, const double *merged)
{
    residual r = {.squares = merged[0], .response = merged[1]};

    if (!state->options.intercept || state->rows == 0)
        return r;
    /* The labels sum to 0 up to rounding: workers have taken the mean off. */
    r.sum = merged[2];
    r.squares -= r.sum * r.sum / state->rows;
    if (r.squares < ROUNDING * merged[0])
        r.squares = 0;
    return r;
}

/* The columns of a look. All others are at 0, and none is steeper than what is
 * `unseen`: so the bound holds. */
static void take_look(const strads_commit *commit, double residual_sum,
                      sums *sum)
{
    lasso_state *state = commit->state;
    const uint32_t n = commit->block.n;
    const double over = fmax(state->unseen - state->l1, 0);

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t j = commit->block.param[k];
        const double s = lasso_scale(state, j), w = commit->value[k];
        const double g = state->norm[j] > 0 ? commit->partial[k] -
                                                  state->mean[j] * residual_sum
                                            : 0;
        state->slope[j] = g - state->l2 * s * s * w;
        take_column(state, j, g, w, sum);
    }
    sum->steepest = fmax(sum->steepest, state->unseen);
    sum->excess += (double)(state->columns - n) * over * over;
}

void lasso_certify(const strads_commit *commit)
{
    lasso_state *state = commit->state;
    const residual r = centre(state, commit->partial + commit->block.n);
    sums sum = {0};

    if (commit->phase == LASSO_LOOK)
        take_look(commit, r.sum, &sum);
    else if (is_plain(state))
        take_plain(state, commit->partial, commit->value, &sum);
    else
        take_all(state, commit->partial, commit->value, r.sum, &sum);
    state->squares = r.squares;
    state->primal = primal_value(state, &r, &sum);
    state->dual = fmax(state->dual, dual_value(state, &r, &sum));
    state->gap = fmax(state->primal - state->dual, 0);
    state->nonzeros = sum.nonzeros;
    if (state->options.intercept && state->rows > 0)
        state->intercept = state->shift + r.sum / state->rows;
}

double lasso_gap_within(const lasso_state *state)
{
    const lasso_gram *gram = state->gram;
    residual r = {.squares = gram->squares, .response = gram->squares};
    sums sum = {0};

    /* y_c'r_c = (r_c + X_c w)'r_c */
    for (uint32_t k = 0; k < gram->n; k++) {
        take_column(state, gram->member[k], gram->q[k], gram->w[k], &sum);
        r.response += gram->q[k] * gram->w[k];
    }
    return primal_value(state, &r, &sum) - dual_value(state, &r, &sum);
}
