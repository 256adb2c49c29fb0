/* Runs that end before they converge, and the progress that they report. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"
#include "tests/toy_ridge.h"

enum { COLS = 17, LINES_MAX = 4096 };

/* ---- a program that counts and never converges ------------------------- */

/* Every commit adds 1 to each parameter of its block. */
typedef struct counter {
    uint64_t updates, asked;
    volatile bool *stop;
    uint64_t stop_at;
} counter;

typedef struct counter_config {
    counter *counter;
} counter_config;

static strads_err counter_begin(const void *config, const strads_data *data,
                                const strads_shape *shape, void **state)
{
    (void)data, (void)shape;
    *state = ((const counter_config *)config)->counter;
    return STRADS_OK;
}

static strads_err counter_aggregate(strads_commit *commit)
{
    counter *c = commit->state;
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = 1;
    c->updates += commit->block.n;
    if (c->stop && c->updates >= c->stop_at)
        __atomic_store_n(c->stop, true, __ATOMIC_RELAXED);
    return STRADS_OK;
}

static strads_err counter_objective(void *state, strads_report *report)
{
    counter *c = state;
    c->asked++;
    report->objective = (double)c->updates;
    report->gap = 1.0 / (double)(c->updates + 1);
    report->nonzeros = c->updates < COLS ? c->updates : COLS;
    cr_assert(isnan(report->measure[1]));
    report->measure[1] = 2 * (double)c->updates;
    return STRADS_OK;
}

TOY_SHAPE(three_a_block, shape->block_max = 3)

static const strads_program counting = {.size = sizeof(strads_program),
                                        .name = "counting",
                                        .shape = three_a_block,
                                        .begin = counter_begin,
                                        .update = toy_does_nothing,
                                        .aggregate = counter_aggregate,
                                        .objective = counter_objective};

static strads_result *count_until(counter *c, strads_engine_options options)
{
    const counter_config config = {.counter = c};
    options.policy_plugin = &toy_sweep_policy;
    if (options.tolerance <= 0)
        options.tolerance = 1e-300;
    strads_result *result = expect_run(&counting, &config, options);
    return result;
}

/* The model contains every committed update. */
static void check_model(const strads_result *result, const counter *c)
{
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    double sum = 0;
    for (uint64_t j = 0; j < n; j++)
        sum += value[j];
    cr_assert_eq(n, COLS);
    cr_assert_eq(sum, (double)c->updates);
    cr_assert_eq(strads_result_progress(result)->updates_policy, c->updates);
    cr_assert_eq(strads_result_progress(result)->updates_other, 0);
    cr_assert_eq(strads_result_state(result), c);
}

Test(engine_end, max_rounds_ends_it_with_the_model_so_far)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            counter c = {0};
            strads_result *r =
                count_until(&c, (strads_engine_options){.workers = workers,
                                                        .depth = depth,
                                                        .max_rounds = 50});
            cr_assert_eq(strads_result_end(r), STRADS_END_ROUNDS);
            uint64_t rounds = strads_result_progress(r)->round;
            cr_assert(rounds >= 50 && rounds <= 50 + depth, "%llu rounds",
                      (unsigned long long)rounds);
            cr_assert_eq(strads_result_progress(r)->blocks, rounds);
            check_model(r, &c);
            cr_assert_eq(strads_result_progress(r)->objective,
                         (double)c.updates, "the report is not the model's");
            strads_result_free(r);
        }
}

Test(engine_end, a_time_limit_ends_it_with_the_model_so_far)
{
    counter c = {0};
    strads_result *r =
        count_until(&c,
                    (strads_engine_options){.workers = 2, .time_limit = 0.02});
    cr_assert_eq(strads_result_end(r), STRADS_END_TIME);
    cr_assert_geq(strads_result_progress(r)->seconds, 0.02);
    check_model(r, &c);
    strads_result_free(r);
}

Test(engine_end, the_stop_flag_ends_it_with_the_model_so_far)
{
    for (uint32_t depth = 0; depth <= 4; depth++) {
        volatile bool stop = false;
        counter c = {.stop = &stop, .stop_at = 300};
        strads_result *r =
            count_until(&c, (strads_engine_options){.workers = 2,
                                                    .depth = depth,
                                                    .stop = &stop});
        cr_assert_eq(strads_result_end(r), STRADS_END_CANCELED);
        cr_assert_geq(c.updates, 300);
        check_model(r, &c);
        strads_result_free(r);
    }
}

Test(engine_end, a_stop_flag_that_is_set_beforehand_ends_it_at_once)
{
    volatile bool stop = true;
    counter c = {0};
    strads_result *r =
        count_until(&c, (strads_engine_options){.workers = 2, .stop = &stop});
    cr_assert_eq(strads_result_end(r), STRADS_END_CANCELED);
    cr_assert_leq(strads_result_progress(r)->round, 1);
    check_model(r, &c);
    strads_result_free(r);
}

Test(engine_end, a_gap_below_the_tolerance_ends_it)
{
    counter c = {0};
    strads_result *r =
        count_until(&c,
                    (strads_engine_options){.workers = 2, .tolerance = 1e-3});
    cr_assert_eq(strads_result_end(r), STRADS_END_CONVERGED);
    cr_assert_leq(strads_result_progress(r)->gap, 1e-3);
    cr_assert_geq(c.updates, 999);
    cr_assert_leq(c.updates, 999 + 3 * COLS);
    check_model(r, &c);
    strads_result_free(r);
}

/* ---- progress ---------------------------------------------------------- */

typedef struct lines {
    uint32_t n;
    strads_progress at[LINES_MAX];
} lines;

static void keep_line(void *arg, const strads_progress *progress)
{
    lines *l = arg;
    if (l->n < LINES_MAX)
        l->at[l->n++] = *progress;
}

static void check_order(const strads_progress *a, const strads_progress *b)
{
    cr_assert(a->round <= b->round);
    cr_assert(a->seconds <= b->seconds);
    cr_assert(a->cpu_seconds <= b->cpu_seconds);
    cr_assert(a->blocks <= b->blocks);
    cr_assert(a->updates_policy <= b->updates_policy);
    cr_assert(a->updates_other <= b->updates_other);
    cr_assert(a->probes <= b->probes);
    cr_assert(a->callback_seconds <= b->callback_seconds);
}

Test(engine_end, progress_counts_upward_and_agrees_with_the_result)
{
    static lines l;
    counter c = {0};
    strads_result *r =
        count_until(&c, (strads_engine_options){.workers = 2,
                                                .depth = 1,
                                                .max_rounds = 300,
                                                .progress = keep_line,
                                                .progress_arg = &l});
    cr_assert_gt(l.n, 10);
    cr_assert_eq(l.n, c.asked);
    for (uint32_t k = 0; k < l.n; k++) {
        const strads_progress *p = &l.at[k];
        cr_assert_eq(p->objective, (double)p->updates_policy);
        cr_assert_eq(p->gap, 1.0 / (double)(p->updates_policy + 1));
        cr_assert_eq(p->nonzeros,
                     p->updates_policy < COLS ? p->updates_policy : COLS);
        cr_assert(isnan(p->measure[0]));
        cr_assert_eq(p->measure[1], 2 * (double)p->updates_policy);
        cr_assert(p->blocks >= p->round && p->blocks <= p->round + 1);
        cr_assert_eq(p->bytes_sent + p->bytes_received, 0);
        if (k)
            check_order(&l.at[k - 1], p);
    }
    const strads_progress *last = strads_result_progress(r);
    check_order(&l.at[l.n - 1], last);
    cr_assert_eq(last->objective, l.at[l.n - 1].objective);
    strads_result_free(r);
}

Test(engine_end, a_run_cut_short_reports_the_model_that_it_gives_back)
{
    static lines l;
    const toy_ridge_config config = {.lambda = 2};
    strads_result *r = expect_run(&toy_ridge, &config,
                                  (strads_engine_options){.workers = 2,
                                                          .max_rounds = 5,
                                                          .tolerance = 1e-300,
                                                          .progress = keep_line,
                                                          .progress_arg = &l});
    cr_assert_eq(strads_result_end(r), STRADS_END_ROUNDS);
    uint64_t n;
    uint32_t width;
    const double *w = strads_result_values(r, &n, &width);
    double objective = 0;
    for (uint64_t i = 0; i < 23; i++) {
        double rest = toy_label(i);
        for (uint64_t j = 0; j < n; j++)
            rest -= toy_entry(i, j) * w[j];
        objective += rest * rest / 2;
    }
    for (uint64_t j = 0; j < n; j++)
        objective += config.lambda * w[j] * w[j] / 2;
    cr_assert_float_eq(strads_result_progress(r)->objective, objective,
                       1e-9 * objective);
    cr_assert_gt(l.n, 1);
    strads_result_free(r);
}

/* ---- edges ------------------------------------------------------------- */

TOY_SHAPE(no_parameters, shape->parameters = 0)

Test(engine_end, a_program_without_parameters_ends_at_once)
{
    strads_program program = counting;
    counter c = {0};
    const counter_config config = {.counter = &c};
    program.shape = no_parameters;
    strads_result *result =
        expect_run(&program, &config,
                   (strads_engine_options){.workers = 2,
                                           .policy_plugin = &toy_sweep_policy});
    uint64_t n;
    uint32_t width;
    (void)strads_result_values(result, &n, &width);
    cr_assert_eq(n, 0);
    cr_assert_eq(c.updates, 0);
    cr_assert_eq(strads_result_end(result), STRADS_END_STOPPED);
    strads_result_free(result);
}

Test(engine_end, more_partitions_than_rows_and_workers_than_partitions_run)
{
    for (uint32_t partitions = 1; partitions <= 40; partitions += 13) {
        counter c = {0};
        const counter_config config = {.counter = &c};
        strads_result *result = NULL;
        expect_ok(toy_run_it(&(toy_run){.program = &counting,
                                        .config = &config,
                                        .rows = 2,
                                        .cols = 3,
                                        .options = {.workers = 5,
                                                    .partitions = partitions,
                                                    .depth = 2,
                                                    .max_rounds = 30}},
                             &result));
        cr_assert_eq(strads_result_partitions(result), partitions);
        strads_result_free(result);
    }
}
