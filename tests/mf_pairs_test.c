/* Ranking losses: steps against differences, planted groups, bits, refusals. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/mf/mf_parts.h"
#include "strads/policy.h"
#include "strads/recommend.h"
#include "tests/expect.h"
#include "tests/mf_planted.h"
#include "tests/mf_trial.h"

/* ---- steps --------------------------------------------------------------- */

enum { STRIDE = 16, ROWS = 3 };

/* p, q_had, q_other, in f64. */
static double loss_of(bool warp, double weight, double lambda,
                      double x[ROWS][STRIDE])
{
    double margin = 0, squares = 0;
    for (int k = 0; k < STRIDE; k++) {
        margin += x[0][k] * (x[1][k] - x[2][k]);
        for (int r = 0; r < ROWS; r++)
            squares += x[r][k] * x[r][k];
    }
    return (warp ? weight * fmax(0, 1 - margin) : log1p(exp(-margin))) +
           lambda / 2 * squares;
}

static void check_step(bool warp, uint64_t seed)
{
    static const double size = .5, weight = .7, lambda = .3, h = 1e-5;
    float row[ROWS][STRIDE] __attribute__((aligned(64)));
    double x[ROWS][STRIDE];
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t k = 0; k < STRIDE; k++) {
            row[r][k] = (float)(strads_random_unit(seed, r, k, 0) - .5);
            x[r][k] = (double)row[r][k];
        }
    const mf_pair pair = {.p = row[0],
                          .had = row[1],
                          .other = row[2],
                          .stride = STRIDE,
                          .size = size,
                          .lambda = lambda};
    const double margin = mf_pair_margin(&pair);
    const double found =
        warp ? mf_pair_warp(&pair, margin, weight) : mf_pair_bpr(&pair, margin);
    cr_assert_float_eq(found, loss_of(warp, weight, 0, x), 1e-5);
    const bool moves = !warp || margin < 1; /* else there is no violation */
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < STRIDE; k++) {
            const double was = x[r][k];
            if (!moves)
                cr_assert_float_eq(was, (double)row[r][k], 0);
            if (!moves)
                continue;
            x[r][k] = was + h;
            const double above = loss_of(warp, weight, lambda, x);
            x[r][k] = was - h;
            const double below = loss_of(warp, weight, lambda, x);
            x[r][k] = was;
            cr_assert_float_eq((was - (double)row[r][k]) / size,
                               (above - below) / (2 * h), 2e-4);
        }
}

Test(mf_pairs, a_step_is_down_the_gradient_by_differences)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        check_step(false, seed);
        check_step(true, seed);
    }
}

Test(mf_pairs, large_margins_do_not_overflow)
{
    float row[ROWS][STRIDE] __attribute__((aligned(64))) = {{0}};
    const mf_pair pair = {.p = row[0],
                          .had = row[1],
                          .other = row[2],
                          .stride = STRIDE,
                          .size = .1};
    cr_expect_float_eq(mf_pair_bpr(&pair, 1e4), 0, 1e-12);
    cr_expect_float_eq(mf_pair_bpr(&pair, -1e4), 1e4, 1e-8);
    cr_expect_eq(mf_pair_warp(&pair, 1, 1), 0);
}

/* ---- planted groups ------------------------------------------------------ */

enum { USERS = 200, ITEMS = 120, GROUPS = 4 };

/* Users had half of the items of their group and a twentieth of the others; a
 * fifth of the pairs is for the test. */
typedef struct groups {
    uint64_t start[2][USERS + 1];
    uint32_t item[2][USERS * ITEMS];
    double count[2][USERS * ITEMS];
    strads_sparse x[2]; /* train, test */
} groups;

static void make_groups(groups *g, uint64_t seed, const char *path)
{
    uint64_t n[2] = {0, 0};
    FILE *out = fopen(path, "w");
    cr_assert(out);
    for (uint32_t u = 0; u < USERS; u++) {
        for (uint32_t i = 0; i < ITEMS; i++) {
            const double share = u % GROUPS == i % GROUPS ? .5 : .05;
            const int test = strads_random_unit(seed, u, i, 1) < .2;
            if (strads_random_unit(seed, u, i, 0) >= share)
                continue;
            g->item[test][n[test]] = i;
            g->count[test][n[test]++] = 1;
            if (!test)
                (void)fprintf(out, "%u %u 1\n", u, i);
        }
        g->start[0][u + 1] = n[0];
        g->start[1][u + 1] = n[1];
    }
    cr_assert_eq(fclose(out), 0);
    for (int k = 0; k < 2; k++)
        g->x[k] = (strads_sparse){.lines = USERS,
                                  .nnz = n[k],
                                  .start = g->start[k],
                                  .index = g->item[k],
                                  .f64 = g->count[k]};
}

static double auc_of(const strads_result *result, const groups *g,
                     double *popular)
{
    uint64_t items;
    uint32_t width;
    const double *value = strads_result_values(result, &items, &width);
    float *item = calloc(items * width, sizeof *item);
    for (size_t k = 0; k < items * width; k++)
        item[k] = (float)value[k];
    const strads_mf_factors m = {.users = USERS,
                                 .items = items,
                                 .rank = width - 1,
                                 .user = strads_mf_users(
                                     strads_result_state(result)),
                                 .item = item};
    strads_recommender *r = NULL;
    strads_ranking ours, theirs;
    expect_ok(strads_recommender_new(&m, &r));
    expect_ok(strads_recommender_judge(r, &m, &g->x[0], &g->x[1], 1, 10, &ours,
                                       &theirs));
    strads_recommender_free(r);
    free(item);
    *popular = theirs.auc;
    return ours.auc;
}

Test(mf_pairs, planted_groups_are_found)
{
    static groups g;
    char path[] = "/tmp/strads-mf-pairs-XXXXXX";
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    (void)close(file);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        make_groups(&g, seed, path);
        for (int warp = 0; warp < 2; warp++)
            for (uint32_t partitions = 1; partitions <= 3; partitions += 2) {
                const strads_mf_options o = {.loss = warp ? "warp" : "bpr",
                                             .rank = 8,
                                             .sweeps = 40};
                double popular;
                strads_result *result =
                    mf_trial_run(path, &o, 1, partitions, false);
                const double auc = auc_of(result, &g, &popular);
                /* The groups themselves give .81. */
                cr_expect_gt(auc, .72, "%s, %u partitions: %g", o.loss,
                             partitions, auc);
                cr_expect_gt(auc, popular + .2, "%g by popularity", popular);
                strads_result_free(result);
            }
    }
    (void)unlink(path);
}

/* ---- runs ---------------------------------------------------------------- */

static char counts[] = "/tmp/strads-mf-pairs-XXXXXX";

static void make_counts(void)
{
    const int file = mkstemp(counts);
    cr_assert_geq(file, 0);
    (void)close(file);
    cr_assert_eq(mf_planted_counts_write(counts), 0);
}

static void remove_counts(void)
{
    (void)unlink(counts);
}

Test(mf_pairs, the_bits_are_the_same_everywhere, .init = make_counts,
     .fini = remove_counts)
{
    for (int warp = 0; warp < 2; warp++) {
        const strads_mf_options o = {.loss = warp ? "warp" : "bpr",
                                     .rank = 6,
                                     .sweeps = 3};
        mf_trial_expect_same_everywhere(counts, &o, COUNTED_USERS);
    }
}

Test(mf_pairs, sweeps_of_an_infinite_loss_are_undone, .init = make_counts,
     .fini = remove_counts)
{
    for (int warp = 0; warp < 2; warp++) {
        const strads_mf_options o = {.loss = warp ? "warp" : "bpr",
                                     .rank = 6,
                                     .sweeps = 3,
                                     .step = 1e6};
        strads_result *result = mf_trial_run(counts, &o, 1, 1, false);
        cr_expect_gt(strads_mf_undone(strads_result_state(result)), 0);
        strads_result_free(result);
    }
}

Test(mf_pairs, what_has_no_effect_is_refused, .init = make_counts,
     .fini = remove_counts)
{
    static const struct {
        strads_mf_options o;
        const char *text;
    } bad[] = {
        {{.loss = "bpr", .method = "als"}, "method has no effect on loss bpr"},
        {{.loss = "warp", .alpha = 2}, "alpha has no effect"},
        {{.loss = "bpr", .nonnegative = true}, "factors from 0 up need method"},
        {{.loss = "bpr", .unweighted = true}, "unweighted has no effect"},
        {{.loss = "bpr", .no_clip = true}, "no-clip has no effect"},
        {{.loss = "warp", .holdout = .1}, "holdout has no effect"},
        {{.loss = "bpr", .test = counts}, "measure with mf evaluate"},
        {{.loss = "bpr", .cg_steps = 3}, "cg-steps is for"},
        {{.loss = "hinge"}, "expected squared, bpr or warp"},
        {{.loss = "bpr", .rank = STRADS_MF_BIASES}, "rank 0 is mean"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        strads_data *data = mf_trial_read(counts, 1);
        strads_result *result = NULL;
        const strads_engine_options engine = {.size = sizeof engine,
                                              .workers = 1};
        expect_error(strads_run(&strads_program_mf, &bad[k].o, data, &engine,
                                &result),
                     STRADS_EINVAL, bad[k].text);
        strads_data_free(data);
    }
}
