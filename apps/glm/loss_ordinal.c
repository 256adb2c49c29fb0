/* Proportional odds (cumulative logit; McCullagh, J. R. Stat. Soc. B 42, 1980)
 * of levels 1 .. K. With thresholds t_1 < ... < t_{K-1}, t_0 = -inf, t_K = inf,
 *
 *     P(y <= k) = s(t_k - z),   s(a) = 1 / (1 + exp(-a)),
 *     f(y, z, t) = - log (s(t_y - z) - s(t_{y-1} - z)),
 *
 * which is jointly convex in z and t. The loss of all rows is the minimum of
 * sum c f over t, so it is convex in z; with p = s(t_y - z), q = s(t_{y-1} - z)
 * its slope is c (1 - p - q), and its Hessian is at most diagonal with
 * c (p (1 - p) + q (1 - q)): these are h. Newton's method finds the best t; its
 * Hessian is tridiagonal.
 *
 * With A = - df/dt_y and B = df/dt_{y-1}, both at least 0, the conjugate of f
 * is
 *
 *     - A log(p / (1 - p)) + B log(q / (1 - q)) + log(p - q),
 *     u = (sqrt(1 + 4 A B) - 1) / 2, p = 1 - A + u, q = B - u.
 *
 * At the best t, sums of c A and c B agree at each threshold, and so do those
 * of s A and s B: a dual point.
 *
 * A level without weight has no threshold of its own: its probability is 0. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_loss.h"

enum { NEWTON_MAX = 100, HALVINGS_MAX = 60 };

/* Margins that are further apart count as an infinite loss. */
#define ORDINAL_REACH 600

/* The thresholds of the levels that have a weight. */
typedef struct cumulative {
    uint32_t n;       /* thresholds of them */
    uint32_t levels;  /* of all rows */
    uint32_t *rank;   /* [levels + 1] of a level among those used, from 0 */
    double *at;       /* [n] */
    double *gradient; /* [n], and workspace: */
    double *diagonal, *beside, *step, *trial;
} cumulative;

static void cumulative_free(cumulative *t)
{
    free(t->rank);
    free(t->at);
}

static double logistic_of(double a)
{
    return a > 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
}

/* p, 1 - p, q, 1 - q and p - q of a row. */
typedef struct cell {
    double p, not_p, q, not_q, share;
} cell;

static cell cell_of(const cumulative *t, const double *at, double y, double z)
{
    const uint32_t k = t->rank[(uint32_t)y];
    const bool first = k == 0, last = k == t->n;
    const double a = last ? 0 : at[k] - z, b = first ? 0 : at[k - 1] - z;
    const double p = last ? 1 : logistic_of(a);
    const double not_p = last ? 0 : logistic_of(-a);
    const double q = first ? 0 : logistic_of(b);
    const double not_q = first ? 1 : logistic_of(-b);

    /* s(a) - s(b) = s(a) s(-b) (1 - exp(b - a)) */
    return (cell){p, not_p, q, not_q,
                  first  ? p
                  : last ? not_q
                         : p * not_q * -expm1(b - a)};
}

/* sum c f at thresholds; INFINITY unless they ascend. */
static double sum_cells(const glm_rows *rows, const cumulative *t,
                        const double *at)
{
    double sum = 0;

    for (uint32_t k = 1; k < t->n; k++)
        if (!(at[k] > at[k - 1]))
            return INFINITY;
    for (uint64_t i = 0; i < rows->n; i++)
        if (rows->c[i] > 0)
            sum -=
                rows->c[i] * log(cell_of(t, at, rows->y[i], rows->z[i]).share);
    return isnan(sum) ? INFINITY : sum;
}

/* Gradient and Hessian of sum c f; beside[k] couples k and k + 1. */
static void find_curvatures(const glm_rows *rows, cumulative *t)
{
    memset(t->gradient, 0, 3 * (size_t)t->n * sizeof(double));
    for (uint64_t i = 0; i < rows->n; i++) {
        const double c = rows->c[i];
        if (!(c > 0))
            continue;
        const uint32_t k = t->rank[(uint32_t)rows->y[i]];
        const cell x = cell_of(t, t->at, rows->y[i], rows->z[i]);
        const double u = x.not_p * x.q / x.share;
        if (k < t->n) {
            t->gradient[k] -= c * (x.not_p + u);
            t->diagonal[k] += c * (x.p * x.not_p + u * (1 + u));
        }
        if (k > 0) {
            t->gradient[k - 1] += c * (x.q + u);
            t->diagonal[k - 1] += c * (x.q * x.not_q + u * (1 + u));
        }
        if (k > 0 && k < t->n)
            t->beside[k - 1] -= c * u * (1 + u);
    }
}

/* step = - H^-1 gradient; changes the Hessian. Returns the decrement. */
static double solve_tridiagonal(cumulative *t)
{
    double decrement = 0;

    for (uint32_t k = 0; k < t->n; k++) {
        t->step[k] = -t->gradient[k];
        if (k > 0) {
            const double factor = t->beside[k - 1] / t->diagonal[k - 1];
            t->diagonal[k] -= factor * t->beside[k - 1];
            t->step[k] -= factor * t->step[k - 1];
        }
        t->diagonal[k] = fmax(t->diagonal[k], DBL_MIN);
    }
    for (uint32_t k = t->n; k-- > 0;) {
        const double next = k + 1 < t->n ? t->beside[k] * t->step[k + 1] : 0;
        t->step[k] = (t->step[k] - next) / t->diagonal[k];
        decrement -= t->step[k] * t->gradient[k];
    }
    return decrement;
}

/* The thresholds at which levels have their shares if all margins are `z`. */
static void start_thresholds(const glm_rows *rows, cumulative *t, double z)
{
    double all = 0, sum = 0;

    memset(t->step, 0, t->n * sizeof(double));
    for (uint64_t i = 0; i < rows->n; i++) {
        const uint32_t k = rows->c[i] > 0 ? t->rank[(uint32_t)rows->y[i]] : 0;
        all += rows->c[i];
        if (rows->c[i] > 0 && k < t->n)
            t->step[k] += rows->c[i];
    }
    for (uint32_t k = 0; k < t->n; k++) {
        sum += t->step[k];
        t->at[k] = z + log(sum / (all - sum));
    }
}

static bool cumulative_new(const glm_rows *rows, cumulative *t)
{
    uint32_t levels = 0, used = 0;

    *t = (cumulative){0};
    for (uint64_t i = 0; i < rows->n; i++)
        levels = rows->y[i] > levels ? (uint32_t)rows->y[i] : levels;
    t->levels = levels;
    t->rank = calloc((size_t)levels + 2, sizeof(*t->rank));
    t->at = calloc(6 * ((size_t)levels + 1), sizeof(*t->at));
    if (!t->rank || !t->at)
        return false;
    for (uint64_t i = 0; i < rows->n; i++)
        if (rows->c[i] > 0)
            t->rank[(uint32_t)rows->y[i]] = 1;
    for (uint32_t k = 1; k <= levels; k++) {
        const uint32_t own = t->rank[k];
        t->rank[k] = own ? used : UINT32_MAX;
        used += own;
    }
    t->n = used > 0 ? used - 1 : 0;
    t->gradient = t->at + levels;
    t->diagonal = t->gradient + t->n;
    t->beside = t->diagonal + t->n;
    t->step = t->beside + t->n;
    t->trial = t->step + t->n;
    return true;
}

/* The best thresholds at margins z, and the loss there. INFINITY: margins are
 * too far apart, or no memory. The caller frees `t`. */
static double find_thresholds(const glm_rows *rows, cumulative *t)
{
    double most = -INFINITY, least = INFINITY, mean = 0, all = 0;

    if (!cumulative_new(rows, t))
        return INFINITY;
    for (uint64_t i = 0; i < rows->n; i++) {
        if (!(rows->c[i] > 0))
            continue;
        most = fmax(most, rows->z[i]);
        least = fmin(least, rows->z[i]);
        mean += rows->c[i] * rows->z[i];
        all += rows->c[i];
        if (!isfinite(rows->z[i]))
            return INFINITY;
    }
    if (!(most - least <= ORDINAL_REACH))
        return INFINITY;
    start_thresholds(rows, t, mean / all);
    double loss = sum_cells(rows, t, t->at);
    for (uint32_t step = 0; step < NEWTON_MAX && t->n > 0; step++) {
        double share = 1, to = INFINITY;
        find_curvatures(rows, t);
        const double decrement = solve_tridiagonal(t);
        for (uint32_t half = 0; half < HALVINGS_MAX; half++, share /= 2) {
            for (uint32_t k = 0; k < t->n; k++)
                t->trial[k] = t->at[k] + share * t->step[k];
            to = sum_cells(rows, t, t->trial);
            if (to <= loss - .25 * share * decrement ||
                (share == 1 && decrement <= 1e-9 * loss && isfinite(to)))
                break;
            to = INFINITY;
        }
        if (!isfinite(to))
            break;
        memcpy(t->at, t->trial, t->n * sizeof(double));
        loss = to;
        if (decrement <= 1e-26 * all)
            break;
    }
    return loss;
}

static double ordinal_evaluate(const glm_rows *rows, double p, double *r,
                               double *h)
{
    cumulative t;
    const double loss = find_thresholds(rows, &t);

    (void)p;
    for (uint64_t i = 0; i < rows->n && (r || h); i++) {
        const bool counts = rows->c[i] > 0 && isfinite(loss);
        const cell x =
            counts ? cell_of(&t, t.at, rows->y[i], rows->z[i]) : (cell){.p = 1};
        if (r)
            r[i] = counts ? rows->c[i] * (x.q - x.not_p) : 0;
        if (h)
            h[i] = counts ? rows->c[i] * (x.p * x.not_p + x.q * x.not_q) : 0;
    }
    cumulative_free(&t);
    return loss;
}

/* a log(b), 0 for a of 0. */
static double times_log(double a, double b)
{
    return a > 0 ? a * log(b) : 0;
}

/* The conjugate at slopes -s r of these margins' rows. */
static double ordinal_conjugates(const glm_rows *rows, double s, double *r)
{
    cumulative t;
    double sum = isfinite(find_thresholds(rows, &t)) ? 0 : INFINITY;

    (void)r;
    for (uint64_t i = 0; i < rows->n && isfinite(sum); i++) {
        if (!(rows->c[i] > 0))
            continue;
        const cell x = cell_of(&t, t.at, rows->y[i], rows->z[i]);
        const double u = x.not_p * x.q / x.share;
        const double A = s * (x.not_p + u), B = s * (x.q + u);
        const double root = sqrt(1 + 4 * A * B);
        const double not_p = A * (1 - 2 * B / (1 + root));
        const double q = B * (1 - 2 * A / (1 + root));
        const double share = (1 - (A - B) * (A - B)) / (root + A + B);
        sum +=
            rows->c[i] * (times_log(A, not_p) - times_log(A, 1 - not_p) +
                          times_log(B, q) - times_log(B, 1 - q) + log(share));
    }
    cumulative_free(&t);
    return isnan(sum) ? INFINITY : sum;
}

static void ordinal_thresholds(const glm_rows *rows, uint32_t levels,
                               double *out)
{
    cumulative t;
    const bool known = isfinite(find_thresholds(rows, &t));
    double last = -INFINITY;

    for (uint32_t k = 1; k < levels; k++) {
        const uint32_t own = known && k <= t.levels ? t.rank[k] : UINT32_MAX;
        if (own < UINT32_MAX)
            last = own < t.n ? t.at[own] : INFINITY;
        out[k - 1] = known ? last : NAN;
    }
    cumulative_free(&t);
}

static double ordinal_apart(const glm_rows *rows, const double *held)
{
    cumulative t;
    double sum = isfinite(find_thresholds(rows, &t)) ? 0 : INFINITY;

    for (uint64_t i = 0; i < rows->n && isfinite(sum); i++) {
        const uint32_t k = (uint32_t)rows->y[i];
        if (!(held[i] > 0))
            continue;
        sum -= t.rank[k] == UINT32_MAX
                   ? -INFINITY
                   : held[i] *
                         log(cell_of(&t, t.at, rows->y[i], rows->z[i]).share);
    }
    cumulative_free(&t);
    return sum;
}

static double ordinal_mean(double z)
{
    return z;
}

static double ordinal_link(double mean)
{
    (void)mean;
    return 0;
}

const glm_loss glm_loss_ordinal = {.labels = GLM_LEVELS,
                                   .whole = true,
                                   .majorises = true,
                                   .evaluate = ordinal_evaluate,
                                   .conjugates = ordinal_conjugates,
                                   .thresholds = ordinal_thresholds,
                                   .apart = ordinal_apart,
                                   .mean = ordinal_mean,
                                   .link = ordinal_link};
