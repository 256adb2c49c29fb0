/* Ratings with times: a planted drift of all ratings, which biases of users and
 * items cannot fit, is found; the last ratings of each user are held out. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/mf.h"
#include "tests/expect.h"
#include "tests/mf_trial.h"

enum { USERS = 240, ITEMS = 60, EACH = 25, N = USERS * EACH };
static const double NOISE = .2, FIRST = 1e9, LAST = 1.3e9;

typedef struct drifting {
    uint64_t start[USERS + 1];
    uint32_t index[N];
    double rating[N], time[N];
} drifting;

static double unit(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double drift_at(double share)
{
    return 1.5 * sin(6 * share);
}

/* Each user rates during the whole time. */
static void plant(drifting *d, uint64_t seed)
{
    uint64_t state = seed;
    double of_item[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++)
        of_item[i] = 2 * unit(&state) - 1;
    for (uint32_t u = 0, n = 0; u < USERS; u++) {
        const double of_user = 2 * unit(&state) - 1;
        const uint32_t from = (uint32_t)(unit(&state) * (ITEMS - 2 * EACH));
        for (uint32_t k = 0; k < EACH; k++, n++) {
            const double share = unit(&state);
            const uint32_t i = from + 2 * k + (uint32_t)(2 * unit(&state));
            double noise = -6;
            for (uint32_t j = 0; j < 12; j++)
                noise += unit(&state);
            d->index[n] = i;
            d->time[n] = FIRST + share * (LAST - FIRST);
            d->rating[n] =
                3 + of_user + of_item[i] + drift_at(share) + NOISE * noise;
        }
        d->start[u + 1] = n;
    }
}

static strads_data *data_of(const drifting *d, const double *value,
                            uint32_t partitions)
{
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions,
                                         .layout = STRADS_LAYOUT_ROWS};
    const strads_rows rows = {.rows = USERS,
                              .cols = ITEMS,
                              .start = d->start,
                              .index = d->index,
                              .value = value};
    strads_data *data = NULL;
    expect_ok(strads_data_from_rows(&rows, &options, &data));
    return data;
}

static strads_result *run(const drifting *d, const strads_mf_options *config,
                          uint32_t workers, uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = workers,
                                          .seed = 3};
    strads_data *data = data_of(d, d->rating, partitions);
    strads_result *result = NULL;
    expect_ok(strads_data_time(data, data_of(d, d->time, partitions)));
    expect_ok(strads_run(&strads_program_mf, config, data, &engine, &result));
    strads_data_free(data);
    return result;
}

static double held_error(const strads_result *result)
{
    double train, held, test;
    strads_mf_errors(strads_result_state(result), &train, &held, &test);
    return held;
}

Test(mf_time, a_planted_drift_is_found_that_biases_cannot_fit)
{
    static drifting d;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        plant(&d, seed);
        strads_mf_options config = {.rank = STRADS_MF_BIASES, .holdout = .1};
        strads_result *plain = run(&d, &config, 2, 2);
        config.time = "time";
        strads_result *timed = run(&d, &config, 2, 2);
        /* The drift has a deviation of about 1. */
        cr_expect_gt(held_error(plain), .7);
        cr_expect_lt(held_error(timed), 1.25 * NOISE);
        const strads_mf_periods *p =
            strads_mf_times(strads_result_state(timed));
        cr_expect_not(strads_mf_times(strads_result_state(plain))->any);
        cr_assert(p->any);
        double off = 0, worst = 0;
        for (uint32_t k = 0; k < STRADS_MF_PERIODS; k++)
            off += (p->bias[k] - drift_at((k + .5) / STRADS_MF_PERIODS)) /
                   STRADS_MF_PERIODS;
        for (uint32_t k = 0; k < STRADS_MF_PERIODS; k++)
            worst = fmax(worst, fabs(p->bias[k] - off -
                                     drift_at((k + .5) / STRADS_MF_PERIODS)));
        cr_expect_lt(worst, .15, "a period is off by %g", worst);
        strads_result_free(plain);
        strads_result_free(timed);
    }
}

Test(mf_time, periods_are_those_of_the_range_and_clamped)
{
    const strads_mf_periods p = {.any = true, .first = 10, .last = 30};
    for (uint32_t k = 0; k < STRADS_MF_PERIODS; k++)
        cr_expect_eq(strads_mf_period(&p, 10 + k + .5), k);
    cr_expect_eq(strads_mf_period(&p, -1e300), 0);
    cr_expect_eq(strads_mf_period(&p, 10), 0);
    cr_expect_eq(strads_mf_period(&p, 30), STRADS_MF_PERIODS - 1);
    cr_expect_eq(strads_mf_period(&p, 1e300), STRADS_MF_PERIODS - 1);
    const strads_mf_periods one = {.any = true, .first = 7, .last = 7};
    cr_expect_eq(strads_mf_period(&one, 7), 0);
}

Test(mf_time, the_bits_are_the_same_on_1_2_and_4_workers)
{
    static drifting d;
    static const char *const methods[] = {"sgd", "als", "ccd++"};
    plant(&d, 4);
    for (size_t k = 0; k < 3; k++) {
        const strads_mf_options config = {.method = methods[k],
                                          .rank = 3,
                                          .sweeps = 3,
                                          .time = "time",
                                          .holdout = .1,
                                          .holdout_by = k ? "time" : NULL};
        strads_result *alone = run(&d, &config, 1, 4);
        for (uint32_t workers = 2; workers <= 4; workers += 2) {
            strads_result *more = run(&d, &config, workers, 4);
            mf_trial_expect_same(alone, more, USERS);
            cr_expect_arr_eq(strads_mf_times(strads_result_state(alone))->bias,
                             strads_mf_times(strads_result_state(more))->bias,
                             sizeof(double) * STRADS_MF_PERIODS);
            strads_result_free(more);
        }
        cr_expect_lt(held_error(alone), .5);
        strads_result_free(alone);
    }
}

/* The mean of the training ratings tells which ones are held out. */
Test(mf_time, the_last_ratings_of_each_user_are_held_out)
{
    static drifting d;
    plant(&d, 5);
    const strads_mf_options config = {.rank = STRADS_MF_BIASES,
                                      .time = "time",
                                      .holdout = .2,
                                      .holdout_by = "time"};
    double sum = 0, n = 0;
    for (uint32_t u = 0; u < USERS; u++)
        for (uint64_t e = d.start[u]; e < d.start[u + 1]; e++) {
            uint32_t later = 0;
            for (uint64_t f = d.start[u]; f < d.start[u + 1]; f++)
                later += d.time[f] > d.time[e];
            if (later >= EACH / 5) { /* 5 of 25 */
                sum += d.rating[e];
                n++;
            }
        }
    for (uint32_t partitions = 1; partitions <= 3; partitions += 2) {
        strads_result *result = run(&d, &config, 1, partitions);
        cr_expect_float_eq(strads_mf_mean(strads_result_state(result)), sum / n,
                           1e-9);
        strads_result_free(result);
    }
}

Test(mf_time, a_search_holds_out_by_time_and_keeps_the_times)
{
    static drifting d;
    strads_mf_tuning tuning;
    plant(&d, 6);
    strads_mf_options config = {.time = "time",
                                .holdout_by = "time",
                                .tune = 3};
    strads_data *data = data_of(&d, d.rating, 2);
    expect_error(strads_mf_tune(&config, data, NULL, &tuning), STRADS_EINVAL,
                 "no times");
    expect_ok(strads_data_time(data, data_of(&d, d.time, 2)));
    expect_ok(strads_mf_tune(&config, data, NULL, &tuning));
    cr_expect_str_eq(tuning.options.time, "time");
    cr_expect_null(tuning.options.holdout_by);
    cr_expect_lt(tuning.trial[tuning.best].rmse, .45);
    strads_data_free(data);
}

Test(mf_time, what_has_no_effect_or_no_times_is_refused)
{
    static drifting d;
    const struct {
        strads_mf_options config;
        const char *says;
    } bad[] = {{{.time = "t", .implicit = true}, "implicit"},
               {{.time = "t", .no_biases = true}, "no-biases"},
               {{.time = "t", .scratch = "/"}, "scratch"},
               {{.holdout_by = "time"}, "add time"},
               {{.holdout_by = "luck"}, "random or time"},
               {{.time = "t"}, "no times"}};
    strads_result *result = NULL;
    plant(&d, 7);
    strads_data *data = data_of(&d, d.rating, 1), *other;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        expect_error(strads_run(&strads_program_mf, &bad[k].config, data, NULL,
                                &result),
                     STRADS_EINVAL, bad[k].says);
    other = data_of(&d, d.time, 2);
    expect_error(strads_data_time(data, other), STRADS_EMISMATCH, "one time");
    strads_data_free(other);
    d.index[0] ^= 1;
    other = data_of(&d, d.time, 1);
    expect_error(strads_data_time(data, other), STRADS_EMISMATCH, "one time");
    strads_data_free(other);
    strads_data_free(data);
}
