/* CCD++: its loops against sums in f64, with every kernel table that this
 * processor supports; and at the end each factor is the minimum given all
 * others. mf_rows_test.c checks that the objective falls, that planted factors
 * are found and that the bits are the same everywhere. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/mf/mf_kernels.h"
#include "strads/policy.h"
#include "tests/mf_planted.h"
#include "tests/mf_trial.h"

enum { ITEMS = 300 };

static float draw(uint64_t what, uint64_t k)
{
    return (float)(strads_random_unit(3, what, k, 0) - .5);
}

/* n ratings of distinct items. */
typedef struct trial {
    uint32_t item[ITEMS];
    float left[ITEMS], factor[2 * ITEMS];
    mf_rank_line line;
} trial;

static void make_trial(trial *t, uint32_t n)
{
    for (uint32_t k = 0; k < ITEMS; k++) {
        t->item[k] = k * 7 % ITEMS;
        t->left[k] = draw(1, k);
        t->factor[2 * k] = draw(2, k);
        t->factor[2 * k + 1] = draw(3, k);
    }
    t->line = (mf_rank_line){.item = t->item, .left = t->left, .n = n};
}

static void check_swap(mf_rank_swap swap, uint32_t n)
{
    trial t;
    double want[3] = {0}, left[ITEMS];
    make_trial(&t, n);
    for (uint32_t k = 0; k < ITEMS; k++)
        left[k] = (double)t.left[k];
    for (uint32_t k = 0; k < n; k++) {
        const float *f = t.factor + (size_t)2 * t.item[k];
        left[k] += .75 * (double)f[1] - .25 * (double)f[0];
        want[0] += left[k] * (double)f[1];
        want[1] += (double)f[1] * (double)f[1];
        want[2] += left[k] * left[k];
    }
    const mf_rank_sums sum = swap(&t.line, t.factor, .25F, .75F);
    cr_expect_float_eq((double)sum.side, want[0], 1e-5 * n + 1e-9);
    cr_expect_float_eq((double)sum.square, want[1], 1e-5 * n + 1e-9);
    cr_expect_float_eq((double)sum.left, want[2], 1e-5 * n + 1e-9);
    for (uint32_t k = 0; k < ITEMS; k++)
        cr_expect_float_eq((double)t.left[k], left[k], 1e-6,
                           "%u ratings, rating %u", n, k);
}

Test(mf_ranks, a_swap_agrees_with_the_sums_on_every_processor)
{
    const mf_rank_swap swap[] = {mf_rank_swap_portable, mf_rank_swap_avx2(),
                                 mf_rank_swap_avx512(), mf_rank_swap_neon()};
    for (int k = 0; k < 4; k++)
        for (uint32_t n = 0; swap[k] && n <= ITEMS; n += n < 40 ? 1 : 65)
            check_swap(swap[k], n);
}

Test(mf_ranks, sums_of_items_are_added)
{
    trial t;
    double sums[2 * ITEMS];
    make_trial(&t, 50);
    for (uint32_t k = 0; k < 2 * ITEMS; k++)
        sums[k] = k;
    mf_rank_add(&t.line, .5F, sums);
    for (uint32_t k = 0; k < 50; k++) {
        const uint32_t i = t.item[k];
        cr_expect_float_eq(sums[2 * i], 2 * i + .5 * (double)t.left[k], 1e-12);
        cr_expect_float_eq(sums[2 * i + 1], 2 * i + 1.25, 1e-12);
    }
    cr_expect_float_eq(sums[2 * t.item[50]], 2 * t.item[50], 0);
}

/* ---- the end ----------------------------------------------------------- */

/* Slopes of the objective by every factor of one side, and the sums of the
 * absolute values of their terms. */
typedef struct slopes {
    double *sum, *size;
} slopes;

static slopes slopes_new(uint64_t rows, uint32_t rank)
{
    return (slopes){calloc(rows * rank, sizeof(double)),
                    calloc(rows * rank, sizeof(double))};
}

static void add(slopes *s, uint64_t at, double x)
{
    s->sum[at] += x;
    s->size[at] += fabs(x);
}

static void expect_flat(slopes *s, uint64_t rows, uint32_t rank)
{
    for (uint64_t k = 0; k < rows * rank; k++)
        cr_expect_leq(fabs(s->sum[k]), 2e-3 * s->size[k], "row %d, factor %d",
                      (int)(k / rank), (int)(k % rank));
    free(s->sum);
    free(s->size);
}

/* d/dp of sum e^2 / 2 + penalty |p|^2 / 2, and likewise for q */
static void check_slopes(const char *path, const strads_mf_options *o)
{
    strads_result *result = mf_trial_run(path, o, 2, 2, false);
    const void *state = strads_result_state(result);
    strads_data *data = mf_trial_read(path, 1);
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    uint64_t items;
    uint32_t width;
    const double *q = strads_result_values(result, &items, &width);
    const float *p = strads_mf_users(state);
    const uint32_t rank = width - 1;
    const double lambda = strads_mf_penalty(state);
    slopes user = slopes_new(x->lines, rank), item = slopes_new(items, rank);
    double *n = calloc(items, sizeof *n);
    for (uint64_t u = 0; u < x->lines; u++) {
        const float *pu = p + u * width;
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const uint64_t i = x->index[e];
            double left = (double)x->f32[e] - strads_mf_mean(state) -
                          (double)pu[0] - q[i * width];
            n[i]++;
            for (uint32_t k = 1; k < width; k++)
                left -= (double)pu[k] * q[i * width + k];
            for (uint32_t k = 0; k < rank; k++) {
                add(&user, u * rank + k, -left * q[i * width + k + 1]);
                add(&item, i * rank + k, -left * (double)pu[k + 1]);
            }
        }
        const double m = (double)(x->start[u + 1] - x->start[u]);
        for (uint32_t k = 0; k < rank; k++)
            add(&user, u * rank + k,
                lambda * (o->unweighted ? 1 : m) * (double)pu[k + 1]);
    }
    for (uint64_t i = 0; i < items; i++)
        for (uint32_t k = 0; k < rank; k++)
            add(&item, i * rank + k,
                lambda * (o->unweighted ? 1 : n[i]) * q[i * width + k + 1]);
    expect_flat(&user, x->lines, rank);
    expect_flat(&item, items, rank);
    free(n);
    strads_data_free(data);
    strads_result_free(result);
}

Test(mf_ranks, at_the_end_every_factor_is_the_minimum_for_all_others)
{
    char path[] = "/tmp/strads-mf-ranks-XXXXXX";
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    (void)close(file);
    cr_assert_eq(mf_planted_write(path, 0, .4), 0);
    strads_mf_options config = {.method = "ccd++",
                                .rank = PLANTED_RANK,
                                .sweeps = 200,
                                .patience = 200,
                                .holdout = 1e-9,
                                .lambda = .05};
    check_slopes(path, &config);
    config.unweighted = true;
    config.lambda = 5;
    check_slopes(path, &config);
    (void)unlink(path);
}
