/* The primal value, a dual value, and so a bound on what is left to gain.
 *
 * With H(a) = -a log a - (1 - a) log(1 - a), the dual of P in logistic_parts.h
 * is (Koh, Kim, Boyd, JMLR 2007, section 2)
 *
 *     D(a) = sum c_i H(a_i) - sum_j (|x_j' g| / s_j - L1)_+^2 / (2 L2),
 *     g_i = c_i y_i a_i,   0 <= a_i <= 1,
 *
 * without L2 every |x_j' g| <= L1 s_j instead, and with an intercept
 * sum g_i = 0. A scan knows g = r, that is a = u; of a = t u it knows all that
 * is needed where t is one number for each class:
 *
 *   sum g = 0: the class with the larger sum of c u gets the share `fair` that
 *   makes the sums equal. As x_j' g is then that of the centred column, which
 *   is x_j' r - mean_j sum r before, this moves it by at most
 *   (1 - fair) sqrt(sum c (x_j - mean_j)^2) sqrt(sum c u^2 of that class).
 *
 *   |x_j' g| <= L1 s_j: one factor t for both, if L2 = 0. */
#include <math.h>

#include "logistic_parts.h"

/* How far u has to shrink in each class so that sum g = 0. */
static void make_fair(const logistic_state *state, const logistic_sides *sides,
                      double fair[2])
{
    const double negative = sides->of[0].sum, positive = sides->of[1].sum;

    fair[0] = fair[1] = 1;
    if (!state->options.intercept)
        return;
    if (positive > negative)
        fair[1] = negative / positive;
    else if (negative > positive)
        fair[0] = positive / negative;
}

/* What shrinking does to x'g, in units of the column's norm. */
static double drift_of(const logistic_sides *sides, const double fair[2])
{
    return (1 - fair[0]) * sqrt(sides->of[0].squares) +
           (1 - fair[1]) * sqrt(sides->of[1].squares);
}

typedef struct sums {
    double steepest; /* max |x_j' g| / s_j */
    double l1, l2;   /* sum s |w|, sum (s w)^2 */
    double excess;   /* sum (|x_j' g| / s_j - L1)_+^2 */
    uint64_t nonzeros;
} sums;

static inline void add_steep(const logistic_state *state, double steep,
                             sums *sum)
{
    const double over = steep > state->l1 ? steep - state->l1 : 0;

    sum->steepest = steep > sum->steepest ? steep : sum->steepest;
    sum->excess += over * over;
}

static void take_column(logistic_state *state, uint64_t j, double slope,
                        double drift, double w, sums *sum)
{
    const double s = state->scale[j];
    const double own = s == 1 ? fabs(slope) : fabs(slope) / s;
    const double steep =
        drift > 0 ? own + drift * sqrt(state->norm[j]) / s : own;

    state->steep[j] = steep;
    state->slope[j] = slope - state->l2 * s * s * w;
    add_steep(state, steep, sum);
    if (w == 0)
        return;
    sum->l1 += s * fabs(w);
    sum->l2 += s * w * s * w;
    sum->nonzeros++;
}

static double entropies(const logistic_sides *sides, const double fair[2],
                        double t)
{
    return logistic_entropy(&sides->of[0], t * fair[0]) +
           logistic_entropy(&sides->of[1], t * fair[1]);
}

/* The better of the two dual points; *share: t there. */
static double dual_value(const logistic_state *state,
                         const logistic_sides *sides, const double fair[2],
                         const sums *sum, double *share)
{
    const double t = sum->steepest > state->l1 ? state->l1 / sum->steepest : 1;
    const double strict = entropies(sides, fair, t);
    const double loose = state->l2 > 0 ? entropies(sides, fair, 1) -
                                             sum->excess / (2 * state->l2)
                                       : -INFINITY;

    *share = loose > strict ? 1 : t;
    return fmax(loose, strict);
}

void logistic_certify(logistic_state *state, const strads_block *block,
                      const double *merged, const double *w)
{
    const logistic_sides *sides =
        (const logistic_sides *)(const void *)(merged + block->n);
    double fair[2];
    sums sum = {0};

    make_fair(state, sides, fair);
    const double drift = drift_of(sides, fair);
    const double level =
        state->options.intercept ? sides->of[1].sum - sides->of[0].sum : 0;
    state->level = level;
    for (uint32_t k = 0; k < block->n; k++) {
        const uint32_t j = strads_block_param(block, k);
        take_column(state, j, merged[k] - state->mean[j] * level, drift,
                    w[logistic_at(state, k)], &sum);
    }
    state->loss = sides->of[0].loss + sides->of[1].loss;
    state->primal = state->loss + state->l1 * sum.l1 + state->l2 / 2 * sum.l2;
    const double dual = dual_value(state, sides, fair, &sum, &state->share);
    state->dual = fmax(state->dual, dual);
    state->sphere = sqrt(fmax(state->primal - dual, 0) * LOGISTIC_REACH);
    state->gap = fmax(state->primal - state->dual, 0);
    state->nonzeros = sum.nonzeros;
}
