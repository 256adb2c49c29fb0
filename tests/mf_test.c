/* Matrix factorisation is compared with the planted factors. Results are
 * bit-identical on other numbers of workers, over TCP and simulated. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/mf.h"
#include "tests/expect.h"
#include "tests/mf_planted.h"
#include "tests/mf_trial.h"

static char folder[] = "/tmp/strads-mf-XXXXXX";
static char train_path[64], test_path[64];

static void make_files(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(train_path, sizeof train_path, "%s/train", folder);
    (void)snprintf(test_path, sizeof test_path, "%s/test", folder);
    cr_assert_eq(mf_planted_write(train_path, 0, .4), 0);
    cr_assert_eq(mf_planted_write(test_path, .4, .5), 0);
}

static void remove_files(void)
{
    (void)unlink(train_path);
    (void)unlink(test_path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(mf, .init = make_files, .fini = remove_files);

static strads_result *train(const strads_mf_options *config, uint32_t workers,
                            uint32_t partitions)
{
    return mf_trial_run(train_path, config, workers, partitions, false);
}

static double test_error(const strads_result *result)
{
    double fit, held, test;
    strads_mf_errors(strads_result_state(result), &fit, &held, &test);
    return test;
}

/* The error on the test file, computed from the factors alone. */
static double error_of_factors(const strads_result *result)
{
    const void *state = strads_result_state(result);
    const float *p = strads_mf_users(state);
    uint64_t items;
    uint32_t width;
    const double *q = strads_result_values(result, &items, &width);
    FILE *file = fopen(test_path, "r");
    unsigned long u, i;
    double r, sum = 0, n = 0;
    cr_assert(p && file);
    while (fscanf(file, "%lu %lu %lf", &u, &i, &r) == 3) {
        r -= strads_mf_mean(state) + (double)p[u * width] + q[i * width];
        for (uint32_t k = 1; k < width; k++)
            r -= (double)p[u * width + k] * q[i * width + k];
        sum += r * r;
        n++;
    }
    (void)fclose(file);
    return sqrt(sum / n);
}

/* Underestimated biases need a factor each. 48,000 ratings determine 6
 * numbers for each of 700 rows: the error of least squares would be the noise
 * times sqrt(1 + 4,200 / 48,000) = 1.043. If the initial factors lack one of
 * the directions, a run finds it late and ends slightly above: at most 1.086
 * for eight seeds. */
static const strads_mf_options planted = {.rank = PLANTED_RANK + 2,
                                          .sweeps = 40,
                                          .test = test_path};

Test(mf, a_planted_matrix_is_found_to_its_noise)
{
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        strads_result *result = train(&planted, workers, workers);
        double error = test_error(result);
        cr_expect_gt(error, .97 * PLANTED_NOISE, "%g", error);
        cr_expect_lt(error, 1.09 * PLANTED_NOISE, "%u workers: %g", workers,
                     error);
        cr_expect_float_eq(error, error_of_factors(result), 1e-5 * error);
        cr_expect_eq(strads_mf_undone(strads_result_state(result)), 0);
        strads_result_free(result);
    }
}

Test(mf, the_bits_are_the_same_on_any_workers_over_tcp_and_simulated)
{
    const strads_mf_options config = {.rank = 20,
                                      .sweeps = 4,
                                      .test = test_path};
    mf_trial_expect_same_everywhere(train_path, &config, PLANTED_USERS);
}

Test(mf, data_that_are_spent_give_the_same_bits)
{
    const strads_mf_options config = {.rank = 4, .sweeps = 2};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 2,
                                           .partitions = 2,
                                           .seed = 5};
    strads_result *kept = train(&config, 2, 2), *spent = NULL;
    strads_data *data = mf_trial_read(train_path, 2);
    const strads_sparse *x = &strads_data_share(data, 1)->by_row;
    strads_data_spend(data);
    expect_ok(strads_run(&strads_program_mf, &config, data, &options, &spent));
    mf_trial_expect_same(kept, spent, PLANTED_USERS);
    cr_expect_eq(x->index[x->nnz / 2], 0, "nothing was given back");
    strads_result_free(kept);
    strads_result_free(spent);
    strads_data_free(data);
}

Test(mf, held_out_ratings_do_not_depend_on_partitions)
{
    const strads_mf_options config = {.rank = 4, .sweeps = 1};
    double mean[3];
    for (uint32_t k = 0; k < 3; k++) {
        strads_result *result = train(&config, 1, 2 * k + 1);
        mean[k] = strads_mf_mean(strads_result_state(result));
        strads_result_free(result);
    }
    cr_expect_float_eq(mean[0], mean[1], 1e-12);
    cr_expect_float_eq(mean[0], mean[2], 1e-12);
}

Test(mf, a_step_that_explodes_is_undone_and_halved_until_it_holds)
{
    strads_mf_options config = planted;
    config.step = 200;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        strads_result *result = train(&config, workers, 2);
        double error = error_of_factors(result);
        cr_expect_geq(strads_mf_undone(strads_result_state(result)), 3);
        cr_expect_lt(error, 1.15 * PLANTED_NOISE, "%g", error);
        strads_result_free(result);
    }
}

/* ---- the best sweep ---------------------------------------------------- */

typedef struct sweeps {
    uint32_t n;
    double held[32], test[32];
} sweeps;

static void note_sweep(void *arg, const strads_progress *progress)
{
    sweeps *s = arg;
    cr_assert_lt(s->n, 32);
    s->held[s->n] = progress->measure[4];
    s->test[s->n++] = progress->measure[5];
}

/* Almost no penalty: the model overfits, and held-out ratings get worse. */
static const strads_mf_options overfits = {.rank = 32,
                                           .sweeps = 12,
                                           .patience = 1000,
                                           .lambda = 1e-3,
                                           .holdout = .1,
                                           .test = test_path};
static const char *const methods[] = {"sgd", "als", "cd", "ccd++"};

Test(mf, the_result_is_the_sweep_of_the_least_held_out_error)
{
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        strads_mf_options config = overfits;
        config.method = methods[m];
        sweeps s = {0};
        const strads_engine_options options = {.size = sizeof options,
                                               .workers = 2,
                                               .partitions = 2,
                                               .seed = 5,
                                               .progress = note_sweep,
                                               .progress_arg = &s};
        strads_data *data = mf_trial_read(train_path, 2);
        strads_result *result = NULL;
        expect_ok(
            strads_run(&strads_program_mf, &config, data, &options, &result));
        uint32_t best = 0;
        for (uint32_t k = 1; k < s.n; k++)
            best = s.held[k] < s.held[best] ? k : best;
        const void *state = strads_result_state(result);
        double fit, held, test;
        strads_mf_errors(state, &fit, &held, &test);
        cr_assert_eq(s.n, 12);
        cr_expect_lt(s.held[best], s.held[11], "%s never got worse",
                     config.method);
        cr_expect_eq(strads_mf_best_sweep(state), best + 1, "%s",
                     config.method);
        cr_expect_eq(held, s.held[best], "%s", config.method);
        cr_expect_eq(test, s.test[best], "%s", config.method);
        cr_expect_float_eq(error_of_factors(result), s.test[best],
                           1e-5 * s.test[best], "%s: %g, %g after sweep %u",
                           config.method, error_of_factors(result),
                           s.test[best], best + 1);
        strads_result_free(result);
        strads_data_free(data);
    }
}

Test(mf, the_best_sweep_has_the_same_bits_everywhere)
{
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        strads_mf_options config = overfits;
        config.method = methods[m];
        config.sweeps = 8;
        mf_trial_expect_same_everywhere(train_path, &config, PLANTED_USERS);
    }
}

/* There is nothing to learn: the first sweeps add noise and do not end the
 * run. */
Test(mf, equal_ratings_are_predicted)
{
    FILE *file = fopen(test_path, "w");
    cr_assert(file);
    for (int k = 0; k < 60; k++)
        (void)fprintf(file, "%d %d 3\n", k / 10, k % 10);
    (void)fclose(file);
    const strads_mf_options config = {.rank = 2, .no_clip = true};
    strads_result *result = mf_trial_run(test_path, &config, 1, 1, false);
    double fit, held, test;
    strads_mf_errors(strads_result_state(result), &fit, &held, &test);
    cr_expect_lt(fit, .05);
    cr_expect_eq(strads_mf_undone(strads_result_state(result)), 0);
    strads_result_free(result);
}

Test(mf, biases_alone_are_worth_leaving_in)
{
    strads_mf_options config = planted;
    config.sweeps = 2;
    strads_result *with = train(&config, 1, 1);
    config.no_biases = true;
    strads_result *without = train(&config, 1, 1);
    cr_expect_lt(test_error(with), test_error(without));
    strads_result_free(with);
    strads_result_free(without);
}

/* ---- invalid input ------------------------------------------------------- */

static void refuse(const strads_mf_options *config, const char *says)
{
    strads_data *data = mf_trial_read(train_path, 1);
    strads_result *result = NULL;
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1};
    strads_err err =
        strads_run(&strads_program_mf, config, data, &options, &result);
    cr_expect_neq(err, STRADS_OK);
    cr_expect_not_null(strstr(strads_error_text(), says),
                       "'%s' does not say '%s'", strads_error_text(), says);
    strads_data_free(data);
}

Test(mf, options_out_of_their_range_and_files_that_are_not_there_are_refused)
{
    refuse(&(strads_mf_options){.rank = 1025}, "rank is 1025");
    refuse(&(strads_mf_options){.step = -1}, "step is -1");
    refuse(&(strads_mf_options){.lambda = NAN}, "lambda nan");
    refuse(&(strads_mf_options){.holdout = 1}, "holdout is 1");
    refuse(&(strads_mf_options){.method = "newton"}, "method is \"newton\"");
    refuse(&(strads_mf_options){.method = "cd", .implicit = true},
           "method is cd");
    refuse(&(strads_mf_options){.method = "sgd", .nonnegative = true},
           "not sgd");
    refuse(&(strads_mf_options){.method = "ccd++", .implicit = true},
           "method is ccd++");
    refuse(&(strads_mf_options){.implicit = true, .alpha = -1}, "alpha is -1");
    refuse(&(strads_mf_options){.implicit = true, .holdout = .1},
           "holdout has no effect on implicit");
    refuse(&(strads_mf_options){.implicit = true, .tune = 5},
           "tune has no effect on implicit");
    refuse(&(strads_mf_options){.implicit = true, .no_clip = true},
           "no-clip has no effect on implicit");
    refuse(&(strads_mf_options){.test = "/nowhere/test"}, "/nowhere/test");
}
