/* Built-in and user-defined policies bring a ridge regression to its closed
 * form at any depth, and the same partitions give the same bits. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"
#include "tests/toy_ridge.h"

enum { ROWS = 60, COLS = 40, K = 4 };
static const double LAMBDA = 3;

typedef struct fit {
    double w[COLS];
    strads_progress progress;
} fit;

static fit train(strads_engine_options options)
{
    const toy_ridge_config config = {.lambda = LAMBDA};
    options.partitions = K;
    options.tolerance = 1e-9;
    options.max_rounds = 200000;
    strads_result *result = NULL;
    expect_ok(toy_run_it(&(toy_run){.program = &toy_ridge,
                                    .config = &config,
                                    .rows = ROWS,
                                    .cols = COLS,
                                    .options = options},
                         &result));
    cr_assert_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "depth %u, W %u, %s: %llu rounds, gap %g", options.depth,
                 options.workers, options.policy,
                 (unsigned long long)strads_result_progress(result)->round,
                 strads_result_progress(result)->gap);
    fit f = {.progress = *strads_result_progress(result)};
    memcpy(f.w, values_of(result), sizeof f.w);
    strads_result_free(result);
    return f;
}

static void check_solution(const fit *f)
{
    double w[COLS];
    cr_assert(toy_ridge_solve(ROWS, COLS, LAMBDA, w));
    for (uint32_t j = 0; j < COLS; j++)
        cr_assert_float_eq(f->w[j], w[j], 1e-8, "w[%u] is %.12g, not %.12g", j,
                           f->w[j], w[j]);
}

static void train_all(const strads_policy *plugin, const char *name,
                      uint32_t blocks, bool deterministic)
{
    for (uint32_t depth = 0; depth <= 4; depth++) {
        fit first;
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            fit f =
                train((strads_engine_options){.workers = workers,
                                              .policy = name,
                                              .policy_plugin = plugin,
                                              .blocks = blocks,
                                              .depth = depth,
                                              .deterministic = deterministic});
            check_solution(&f);
            if (workers == 1)
                first = f;
            if (!deterministic)
                continue;
            cr_assert_arr_eq(f.w, first.w, sizeof f.w,
                             "depth %u: %u workers give other bits", depth,
                             workers);
            cr_assert_eq(f.progress.round, first.progress.round);
        }
    }
}

Test(engine_policy, every_policy_reaches_the_closed_form_at_any_depth)
{
    for (const strads_policy *const *p = strads_policies(); *p; p++)
        train_all(NULL, (*p)->name, 1, true);
    train_all(&toy_sweep_policy, NULL, 1, true); /* user-defined */
}

Test(engine_policy, commits_in_the_order_of_arrival_reach_it_too)
{
    train_all(NULL, "priority", 2, false);
    train_all(NULL, "cyclic", 1, false);
}

/* The same options on threads, then on simulated nodes. */
Test(engine_policy, nodes_give_the_bits_that_threads_give)
{
    fit threads[5];
    for (uint32_t depth = 0; depth <= 4; depth++)
        threads[depth] = train((strads_engine_options){.workers = 2,
                                                       .policy = "priority",
                                                       .blocks = 2,
                                                       .depth = depth,
                                                       .deterministic = true});
    toy_simulate_from_now_on();
    for (uint32_t depth = 0; depth <= 4; depth++) {
        fit f = train((strads_engine_options){.workers = 4,
                                              .policy = "priority",
                                              .blocks = 2,
                                              .depth = depth,
                                              .deterministic = true});
        cr_assert_arr_eq(f.w, threads[depth].w, sizeof f.w, "depth %u", depth);
    }
}

Test(engine_policy, another_seed_is_another_run_to_the_same_solution)
{
    fit a = train((strads_engine_options){
        .workers = 2, .policy = "uniform", .deterministic = true, .seed = 1});
    fit b = train((strads_engine_options){
        .workers = 2, .policy = "uniform", .deterministic = true, .seed = 2});
    check_solution(&a);
    check_solution(&b);
}

Test(engine_policy, a_warm_start_at_the_solution_needs_no_block)
{
    double w[COLS];
    uint32_t param[COLS];
    cr_assert(toy_ridge_solve(ROWS, COLS, LAMBDA, w));
    for (uint32_t j = 0; j < COLS; j++)
        param[j] = j;
    fit f = train((strads_engine_options){.workers = 2,
                                          .policy = "priority",
                                          .n_start = COLS,
                                          .start_param = param,
                                          .start_value = w});
    check_solution(&f);
    cr_assert_eq(f.progress.updates_policy, 0);
    cr_assert_eq(f.progress.round, 1);
}
