/* Stochastic subgradients through the store keep the regret bound of SSP (Ho
 * et al., NIPS 2013, theorem 1): for convex f_t that are L-Lipschitz, on points
 * with |x - x'|^2 / 2 <= F^2 for any two of them, with steps sigma / sqrt(t),
 * sigma = F / (L sqrt(2 (s + 1) P)),
 *
 *     1/T sum f_t(x~_t) - f(x*) <= 4 F L sqrt(2 (s + 1) P / T).
 *
 * f_t(x) = |x_j - b_t|, j = t mod COLS: L is 1, and x* are medians. The start
 * is so far from them that a run that learns nothing breaks the bound. A run
 * that learns from reads staler than declared also breaks it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "strads/strads.h"
#include "tests/expect.h"

enum { COLS = 2, CLOCKS = 4000, MOST_WORKERS = 4, DRAW = 1 };

static const double F = 2;

typedef struct problem {
    uint32_t workers, staleness;   /* the steps are computed for these */
    bool unbounded;                /* reads use infinite staleness instead */
    uint32_t lag;                  /* additional delay of reads, in clocks */
    double at[COLS], least;        /* x* and f(x*) */
    double paid[MOST_WORKERS];     /* sum of f_t(x~_t) */
    double farthest[MOST_WORKERS]; /* max |x~ - x*|^2 / 2 */
} problem;

static double target(uint64_t t)
{
    return 1 + strads_random_unit(5, DRAW, 0, t) / 2;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Computes the medians of the targets and the loss there. */
static void solve(problem *p)
{
    const uint64_t n = (uint64_t)CLOCKS * p->workers;
    double *b = malloc(sizeof *b * n);
    p->least = 0;
    for (uint32_t j = 0; j < COLS; j++) {
        uint64_t m = 0;
        for (uint64_t t = j; t < n; t += COLS)
            b[m++] = target(t);
        qsort(b, m, sizeof *b, ascending);
        p->at[j] = b[m / 2];
        for (uint64_t k = 0; k < m; k++)
            p->least += fabs(b[k] - p->at[j]) / (double)n;
    }
    free(b);
}

/* ---- the loop ---------------------------------------------------------- */

static void note(problem *p, uint32_t me, uint64_t t, const double x[COLS])
{
    double far = 0;
    for (uint32_t j = 0; j < COLS; j++)
        far += (x[j] - p->at[j]) * (x[j] - p->at[j]) / 2;
    p->farthest[me] = fmax(p->farthest[me], far);
    p->paid[me] += fabs(x[t % COLS] - target(t));
}

static strads_err regret_run(strads_task *task, strads_session *session)
{
    problem *p = *(problem *const *)task->config;
    const uint32_t me = task->share->partition;
    const double sigma = F / sqrt(2.0 * (p->staleness + 1) * p->workers);
    double(*seen)[COLS] = calloc(p->lag + 1, sizeof *seen);
    strads_err err = STRADS_OK;
    for (uint64_t c = 0; !err && c < CLOCKS; c++) {
        const uint64_t t = c * p->workers + me;
        double *fresh = seen[c % (p->lag + 1)];
        err = strads_session_read_row(session, 0, 0,
                                      p->unbounded ? STRADS_STALENESS_INFINITE
                                                   : p->staleness,
                                      fresh);
        const double *x = seen[(c + 1) % (p->lag + 1)]; /* the oldest copy */
        note(p, me, t, x);
        const double down = x[t % COLS] > target(t) ? -1 : 1;
        if (!err)
            err = strads_session_inc(session, 0, 0, t % COLS,
                                     down * sigma / sqrt((double)t + 1));
        if (!err)
            err = strads_session_clock(session);
    }
    free(seen);
    return err;
}

static strads_err regret_shape(const void *config, const strads_data *data,
                               strads_shape *shape)
{
    (void)config;
    (void)data;
    shape->parameters = 1;
    shape->width = COLS;
    return STRADS_OK;
}

static const strads_program regret_program = {
    .size = sizeof regret_program,
    .name = "regret",
    .shape = regret_shape,
    .config_size = sizeof(problem *),
    .run = regret_run,
};

static void run(problem *p)
{
    uint32_t index[MOST_WORKERS];
    double value[MOST_WORKERS] = {0};
    for (uint32_t i = 0; i < p->workers; i++)
        index[i] = i;
    const uint64_t start[2] = {0, p->workers};
    const strads_columns columns = {p->workers, 1, start, index, value, value};
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = p->workers};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .partitions = p->workers};
    strads_data *data;
    strads_result *result;
    solve(p);
    cr_assert_eq(strads_data_from_columns(&columns, &cut, &data), STRADS_OK);
    expect_ok(strads_run(&regret_program, &p, data, &options, &result));
    strads_result_free(result);
    strads_data_free(data);
}

static double regret(const problem *p)
{
    double paid = 0;
    for (uint32_t k = 0; k < p->workers; k++)
        paid += p->paid[k];
    return paid / ((double)CLOCKS * p->workers) - p->least;
}

static double bound(const problem *p)
{
    return 4 * F *
           sqrt(2.0 * (p->staleness + 1) * p->workers /
                ((double)CLOCKS * p->workers));
}

/* ---- tests ------------------------------------------------------------- */

Test(loop_regret, the_average_regret_keeps_the_theorems_bound)
{
    static const uint32_t workers[] = {1, 2, 4}, staleness[] = {0, 2, 8};
    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = 0; b < 3; b++) {
            problem p = {.workers = workers[a], .staleness = staleness[b]};
            run(&p);
            for (uint32_t k = 0; k < p.workers; k++)
                cr_assert_leq(p.farthest[k], F * F, "the premise: F is %g", F);
            cr_expect_leq(regret(&p), bound(&p), "P %u, s %u: %g > %g",
                          p.workers, p.staleness, regret(&p), bound(&p));
            /* A run that stays at 0 pays this, so the bound requires
             * learning. */
            cr_expect_lt(bound(&p), 1.25 - p.least);
        }
}

/* Without a staleness bound there is no regret bound, but no increment is
 * lost: the weights are the sum of all steps, and far better than the start. */
Test(loop_regret, an_infinite_staleness_learns_too)
{
    problem p = {.workers = 4, .staleness = 8, .unbounded = true};
    run(&p);
    cr_expect_lt(regret(&p), (1.25 - p.least) / 2);
}

Test(loop_regret, reads_staler_than_promised_break_the_bound)
{
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        problem p = {.workers = workers, .staleness = 0, .lag = 60};
        run(&p);
        cr_expect_gt(regret(&p), bound(&p), "P %u: %g <= %g", p.workers,
                     regret(&p), bound(&p));
    }
}
