/* Cox's partial likelihood. A row's label is the time t of its event, or -t if
 * it was last seen without one. The loss is not a sum over rows: at an event of
 * row i
 *
 *     c_i (log sum_{t_j >= t_i} c_j exp(z_j) - z_i)
 *
 * (Breslow, Biometrics 30, 1974). If d events of total weight D are at one
 * time, Efron (J. Am. Stat. Assoc. 72, 1977) takes l/d of their own terms out
 * of the l-th sum, l < d. A constant makes the infimum 0: - D log D at each
 * time, and for Efron also - D/d sum_l log(1 - l/d).
 *
 * Each term is the logarithm of a weighted sum of exponentials, so the Hessian
 * is at most diagonal with the terms' probabilities: these are h.
 *
 * y has ranks of times in place of the times (glm_rank_times). The ranks of a
 * stratum have no gaps, and one unused rank is between two strata, where all
 * sums start again. All sums have positive terms, so none cancels. Margins more
 * than REACH apart count as an infinite loss. */
#include <math.h>
#include <stdlib.h>

#include "glm_loss.h"

/* exp() of it and its inverse, times weights, are normal numbers. */
#define REACH 600

/* Of one time. */
typedef struct instant {
    bool used;            /* a row has this rank */
    double all, own;      /* sums of c exp(z - most): of its rows, its events */
    double weight, n;     /* of its events */
    double log_sum;       /* log of the sum over rows of this time or later */
    double before, after; /* the hazard up to this time, times exp(most): for
                           * its own events, and for rows of this time or later
                           */
} instant;

static uint64_t rank_of(const glm_rows *rows, uint64_t i)
{
    return (uint64_t)fabs(rows->y[i]);
}

static bool has_event(const glm_rows *rows, uint64_t i)
{
    return rows->y[i] > 0 && rows->c[i] > 0;
}

/* The largest margin of a row with a weight; INFINITY if they are too far
 * apart. */
static double largest_margin(const glm_rows *rows)
{
    double most = -INFINITY, least = INFINITY;

    for (uint64_t i = 0; i < rows->n; i++) {
        if (!(rows->c[i] > 0))
            continue;
        if (!isfinite(rows->z[i]))
            return INFINITY;
        most = fmax(most, rows->z[i]);
        least = fmin(least, rows->z[i]);
    }
    return most - least <= REACH ? most : INFINITY;
}

/* The times of some rows, and the loss apart from sum c (log_sum - z) of
 * events; INFINITY if margins are too far apart. */
typedef struct course {
    uint64_t ranks;
    instant *at; /* [ranks + 1], NULL: no memory */
    double most, sum;
} course;

static uint64_t largest_rank(const glm_rows *rows)
{
    uint64_t most = 0;

    for (uint64_t i = 0; i < rows->n; i++)
        most = rank_of(rows, i) > most ? rank_of(rows, i) : most;
    return most;
}

/* Adds up the rows of each time. */
static void add_rows(const glm_rows *rows, double most, instant *at)
{
    for (uint64_t i = 0; i < rows->n; i++) {
        instant *own = &at[rank_of(rows, i)];
        own->used = true;
        if (!(rows->c[i] > 0))
            continue;
        const double e = rows->c[i] * exp(rows->z[i] - most);
        own->all += e;
        if (!has_event(rows, i))
            continue;
        own->own += e;
        own->weight += rows->c[i];
        own->n++;
    }
}

/* The terms of a time's events, apart from sum c (log_sum - z), with the sum
 * over rows of this time or later. */
static double find_hazard(instant *at, double sum, bool efron)
{
    const double share = fmin(at->own / sum, 1), each = at->weight / at->n;
    double all = 0, own = 0, value = at->weight * -log(at->weight);

    for (double l = 0; l < at->n && efron; l++) {
        const double part = l / at->n;
        value += each * (log1p(-part * share) - log1p(-part));
        all += each / (1 - part * share);
        own += each * (1 - part) / (1 - part * share);
    }
    if (!efron)
        all = own = at->weight;
    at->before = own / sum;
    at->after = all / sum;
    return value;
}

/* The sums and hazards of all times. The caller frees `at`. */
static course find_course(const glm_rows *rows, bool efron)
{
    const uint64_t n = largest_rank(rows);
    instant *at = calloc(n + 1, sizeof(*at));
    const double most = at ? largest_margin(rows) : INFINITY;
    double later = 0, hazard = 0, sum = 0;

    if (!isfinite(most))
        return (course){n, at, INFINITY, INFINITY};
    add_rows(rows, most, at);
    for (uint64_t k = n; k > 0; k--) {
        later = at[k].used ? later + at[k].all : 0;
        if (at[k].n == 0)
            continue;
        at[k].log_sum = most + log(later);
        sum += find_hazard(&at[k], later, efron);
    }
    for (uint64_t k = 1; k <= n; k++) {
        hazard = at[k].used ? hazard : 0;
        at[k].before += hazard;
        hazard += at[k].after;
        at[k].after = hazard;
    }
    return (course){n, at, most, sum};
}

static double cox_evaluate(const glm_rows *rows, bool efron, double *r,
                           double *h)
{
    const course all = find_course(rows, efron);
    const bool finite = isfinite(all.sum);
    const double most = all.most;
    double sum = all.sum;

    for (uint64_t i = 0; i < rows->n; i++) {
        const double c = finite ? rows->c[i] : 0;
        const instant *own = finite ? &all.at[rank_of(rows, i)] : NULL;
        const bool event = finite && has_event(rows, i);
        double expected = 0;
        if (c > 0)
            expected =
                c * exp(rows->z[i] - most) * (event ? own->before : own->after);
        if (event)
            sum += c * (own->log_sum - rows->z[i]);
        if (r)
            r[i] = (event ? c : 0) - expected;
        if (h)
            h[i] = expected;
    }
    free(all.at);
    return sum;
}

static void cox_hazards(const glm_rows *rows, bool efron, double *hazard)
{
    const course all = find_course(rows, efron);

    for (uint64_t k = 1; k <= all.ranks; k++)
        hazard[k] = isfinite(all.sum) ? all.at[k].after * exp(-all.most) : NAN;
    free(all.at);
}

static void hazards_breslow(const glm_rows *rows, double *hazard)
{
    cox_hazards(rows, false, hazard);
}

static void hazards_efron(const glm_rows *rows, double *hazard)
{
    cox_hazards(rows, true, hazard);
}

static double evaluate_breslow(const glm_rows *rows, double p, double *r,
                               double *h)
{
    (void)p;
    return cox_evaluate(rows, false, r, h);
}

static double evaluate_efron(const glm_rows *rows, double p, double *r,
                             double *h)
{
    (void)p;
    return cox_evaluate(rows, true, r, h);
}

/* At the slopes u = -r the conjugate is u'z - f(z), and at 0 it is - inf f = 0.
 * It is convex, so at s u it is at most s times that. */
static double bound_conjugate(const glm_rows *rows, double s, const double *r,
                              bool efron)
{
    double sum = -cox_evaluate(rows, efron, NULL, NULL);

    for (uint64_t i = 0; i < rows->n; i++)
        sum -= r[i] * rows->z[i];
    return isfinite(sum) ? s * sum : INFINITY;
}

static double conjugates_breslow(const glm_rows *rows, double s, double *r)
{
    return bound_conjugate(rows, s, r, false);
}

static double conjugates_efron(const glm_rows *rows, double s, double *r)
{
    return bound_conjugate(rows, s, r, true);
}

static double cox_mean(double z)
{
    return exp(z);
}

static double cox_link(double mean)
{
    (void)mean;
    return 0;
}

#define COX                                                                  \
    .labels = GLM_TIMES, .whole = true, .majorises = true, .mean = cox_mean, \
    .link = cox_link

const glm_loss glm_loss_cox = {COX, .evaluate = evaluate_breslow,
                               .conjugates = conjugates_breslow,
                               .hazards = hazards_breslow};
const glm_loss glm_loss_cox_efron = {COX, .evaluate = evaluate_efron,
                                     .conjugates = conjugates_efron,
                                     .hazards = hazards_efron};
