/* Several schedulers, each with a range of the parameters: which parameters
 * are chosen, which blocks may be in flight together, when all are idle, and
 * the same bits on any nodes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"
#include "tests/toy_residual.h"

/* ---- the program ------------------------------------------------------- */

/* Least squares by blocks of coordinates on a toy matrix, with probes. Its
 * aggregate corrects for commits that a pipelined round did not see, and checks
 * the engine's promises about pairs. Its state counts the chosen parameters. */
enum { SCHEDULERS_TOY_COLS = 17 };

/* Options of the program. */
typedef struct schedulers_toy_config {
    double threshold;     /* above 0: limit of the dependency between blocks
                           * in flight */
    double rest;          /* level at which its policy is idle */
    bool restless;        /* parameters change in every round, by 1 / (1 +
                           * number) */
    uint32_t prioritised; /* with `restless`: every scan reports that only
                           * these many change; 0: all */
} schedulers_toy_config;

/* State of the result. */
typedef struct schedulers_toy_state {
    uint64_t chosen[SCHEDULERS_TOY_COLS]; /* how often in a policy's block */
    double moved[SCHEDULERS_TOY_COLS];    /* last change */
    uint64_t scans;    /* of all parameters, since the policies were idle */
    double most_left;  /* largest total change of those parameters */
    uint64_t compared; /* pairs of parameters that were in flight together */
    schedulers_toy_config config;
} schedulers_toy_state;

/* Workers hold the residual r = y - X w of their rows; refresh updates it.
 * With G = X'X from the probes and the changes d that were committed since the
 * dispatch,
 *
 *     X_B' (r - X d) = X_B' r - G_Bd d
 *
 * and the block is then solved coordinate by coordinate through G_BB. */
TOY_SHAPE(toy_shape, shape->block_max = 2)

static strads_err toy_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)data, (void)shape;
    schedulers_toy_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory");
    s->config = *(const schedulers_toy_config *)config;
    *state = s;
    return STRADS_OK;
}

/* ---- workers ----------------------------------------------------------- */

static strads_err toy_step(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] +=
            toy_residual_times(task, strads_block_param(&task->block, k));
    return STRADS_OK;
}

static strads_err toy_pairs(strads_task *task)
{
    uint32_t m = task->against.n;
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < m; l++)
            task->partial[k * m + l] =
                toy_column_product(&task->share->by_col,
                                   strads_block_param(&task->block, k),
                                   strads_block_param(&task->against, l));
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

/* Changes committed since the dispatch were in flight together with it. */
static strads_err put_right(strads_commit *commit, double *slope)
{
    schedulers_toy_state *s = commit->state;
    for (uint32_t c = 0; c < commit->n_since; c++)
        for (uint32_t l = 0; l < commit->since[c].n; l++)
            for (uint32_t k = 0; k < commit->block.n; k++) {
                uint32_t i = strads_block_param(&commit->block, k);
                uint32_t j = commit->since[c].param[l];
                double both = strads_commit_pair(commit, i, j);
                double scale = strads_commit_pair(commit, i, i) *
                               strads_commit_pair(commit, j, j);
                TOY_CHECK(!isnan(both));
                if (s->config.threshold > 0)
                    TOY_CHECK(both * both <= s->config.threshold *
                                                 s->config.threshold * scale *
                                                 (1 + 1e-12));
                slope[k] -= both * commit->since[c].change[l];
                s->compared++;
            }
    return STRADS_OK;
}

static strads_err toy_solve(strads_commit *commit)
{
    schedulers_toy_state *s = commit->state;
    uint32_t n = commit->block.n;
    double slope[2];
    TOY_CHECK(n <= 2);
    const double *g = strads_commit_pairs(commit);
    TOY_CHECK(g != NULL);
    memcpy(slope, commit->partial, sizeof *slope * n);
    strads_err err = put_right(commit, slope);
    for (uint32_t k = 0; k < n && !err; k++) {
        uint32_t j = strads_block_param(&commit->block, k);
        for (uint32_t l = 0; l < k; l++)
            slope[k] -= g[k * n + l] * commit->change[l];
        commit->change[k] = s->config.restless ? 1.0 / (1 + j)
                            : g[k * n + k] > 0 ? slope[k] / g[k * n + k]
                                               : 0;
        s->chosen[j]++;
        s->moved[j] = fabs(commit->change[k]);
        if (j >= s->config.prioritised && s->config.prioritised)
            commit->priority[k] = 0;
    }
    return err;
}

static strads_err toy_scan(strads_commit *commit)
{
    schedulers_toy_state *s = commit->state;
    double left = 0, priority[SCHEDULERS_TOY_COLS];
    uint32_t all[SCHEDULERS_TOY_COLS];
    for (uint32_t j = 0; j < SCHEDULERS_TOY_COLS; j++) {
        left += s->moved[j];
        all[j] = j;
        priority[j] = s->config.prioritised
                          ? j < s->config.prioritised
                          : fmax(s->moved[j], s->scans ? 1e-9 : 1);
    }
    if (s->scans++ && left > s->most_left)
        s->most_left = left;
    strads_commit_prioritise(commit, SCHEDULERS_TOY_COLS, all, priority);
    strads_commit_rest(commit, s->config.rest);
    return STRADS_OK;
}

static size_t nothing(const strads_task *task)
{
    (void)task;
    return 0;
}

static const strads_phase phases[] = {
    {.name = "look",
     .when = STRADS_WHEN_REST,
     .ignores_values = true,
     .partial = nothing,
     .update = toy_does_nothing,
     .aggregate = toy_scan},
    {.name = "pairs", .when = STRADS_WHEN_PROBE, .update = toy_pairs},
    {.name = "step",
     .ignores_values = true,
     .update = toy_step,
     .aggregate = toy_solve},
};

static const strads_program schedulers_toy = {
    .size = sizeof(strads_program),
    .name = "schedulers-toy",
    .config_size = sizeof(schedulers_toy_config),
    .shape = toy_shape,
    .begin = toy_begin,
    .end = free,
    .open = toy_residual_open,
    .close = free,
    .refresh = toy_residual_refresh,
    .phases = phases,
    .n_phases = sizeof phases / sizeof *phases,
};

/* ---- runs -------------------------------------------------------------- */

enum { COLS = SCHEDULERS_TOY_COLS };

static strads_result *run(const schedulers_toy_config *config,
                          strads_engine_options options)
{
    strads_result *result = NULL;
    options.partitions = 5;
    strads_err err = toy_run_it(&(toy_run){.program = &schedulers_toy,
                                           .config = config,
                                           .rows = 23,
                                           .cols = COLS,
                                           .options = options},
                                &result);
    cr_assert_eq(err, STRADS_OK, "%u schedulers, depth %u: %s",
                 options.schedulers, options.depth, strads_error_text());
    return result;
}

static const schedulers_toy_state *state_of(const strads_result *result)
{
    return strads_result_state(result);
}

/* ---- choice of parameters ---------------------------------------------- */

Test(engine_schedulers, whoever_moves_is_chosen_however_many_choose)
{
    const schedulers_toy_config config = {.restless = true, .threshold = 0.9};
    for (uint32_t schedulers = 1; schedulers <= 4; schedulers *= 2)
        for (uint32_t depth = 0; depth <= 2; depth++) {
            strads_result *result =
                run(&config, (strads_engine_options){.workers = 2,
                                                     .schedulers = schedulers,
                                                     .depth = depth,
                                                     .threshold = 0.9,
                                                     .deterministic = true,
                                                     .seed = 3,
                                                     .max_rounds = 1500});
            for (uint32_t j = 0; j < COLS; j++)
                cr_expect_gt(state_of(result)->chosen[j], 5,
                             "%u schedulers, depth %u: parameter %u was "
                             "chosen %llu times",
                             schedulers, depth, j,
                             (unsigned long long)state_of(result)->chosen[j]);
            strads_result_free(result);
        }
}

Test(engine_schedulers, all_of_them_skip_idle_parameters)
{
    const schedulers_toy_config config = {.restless = true,
                                          .threshold = 0.9,
                                          .prioritised = 5};
    for (uint32_t schedulers = 1; schedulers <= 4; schedulers *= 2) {
        strads_result *result =
            run(&config, (strads_engine_options){.workers = 2,
                                                 .schedulers = schedulers,
                                                 .threshold = 0.9,
                                                 .seed = 3,
                                                 .max_rounds = 300});
        for (uint32_t j = 0; j < COLS; j++)
            cr_expect_eq(state_of(result)->chosen[j] > 0, j < 5,
                         "%u schedulers: parameter %u was chosen %llu times",
                         schedulers, j,
                         (unsigned long long)state_of(result)->chosen[j]);
        strads_result_free(result);
    }
}

/* ---- blocks in flight together ------------------------------------------- */

Test(engine_schedulers, dependent_parameters_are_not_in_flight_together)
{
    for (uint32_t schedulers = 1; schedulers <= 4; schedulers++)
        for (uint32_t depth = 1; depth <= 3; depth++)
            for (uint32_t blocks = 1; blocks <= 2; blocks++) {
                const schedulers_toy_config config = {.threshold = 0.4};
                strads_result *result =
                    run(&config,
                        (strads_engine_options){.workers = 2,
                                                .schedulers = schedulers,
                                                .depth = depth,
                                                .blocks = blocks,
                                                .threshold = 0.4,
                                                .max_rounds = 400});
                cr_expect_gt(state_of(result)->compared, 0,
                             "%u schedulers, depth %u: nothing was in flight "
                             "together",
                             schedulers, depth);
                strads_result_free(result);
            }
}

/* ---- idle ---------------------------------------------------------------- */

Test(engine_schedulers,
     all_are_idle_when_the_remaining_priority_is_at_the_level)
{
    const schedulers_toy_config config = {.threshold = 0.9, .rest = 1e-3};
    for (uint32_t schedulers = 1; schedulers <= 4; schedulers *= 2)
        for (uint32_t depth = 0; depth <= 2; depth += 2) {
            strads_result *result =
                run(&config, (strads_engine_options){.workers = 2,
                                                     .schedulers = schedulers,
                                                     .depth = depth,
                                                     .threshold = 0.9,
                                                     .max_rounds = 3000});
            cr_expect_gt(state_of(result)->scans, 1,
                         "%u schedulers never came to rest", schedulers);
            cr_expect_leq(state_of(result)->most_left, 1e-3,
                          "%u schedulers rested with %g left", schedulers,
                          state_of(result)->most_left);
            strads_result_free(result);
        }
}

Test(engine_schedulers, sweeps_go_over_all_ranges)
{
    const schedulers_toy_config config = {.restless = true};
    const strads_policy *const policies[] = {strads_policy_find("cyclic"),
                                             strads_policy_find("uniform"),
                                             &toy_sweep_policy};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (uint32_t depth = 0; depth <= 2; depth++) {
            strads_result *result =
                run(&config,
                    (strads_engine_options){.workers = 2,
                                            .schedulers = 3,
                                            .policy_plugin = policies[p],
                                            .depth = depth,
                                            .max_rounds = 900});
            for (uint32_t j = 0; j < COLS; j++)
                cr_expect_gt(state_of(result)->chosen[j], 5, "%s: %u",
                             policies[p]->name, j);
            strads_result_free(result);
        }
}

/* ---- the same bits ----------------------------------------------------- */

static void expect_same(const strads_result *a, const strads_result *b,
                        uint32_t schedulers, const char *where)
{
    cr_expect_neq(values_of(a)[0], 0);
    cr_expect(toy_same_values(a, b), "%u schedulers: other bits %s", schedulers,
              where);
    cr_expect_eq(strads_result_progress(a)->round,
                 strads_result_progress(b)->round, "%u schedulers: %s",
                 schedulers, where);
}

static strads_engine_options options_of(uint32_t schedulers, uint32_t depth)
{
    return (strads_engine_options){.workers = 1,
                                   .partitions = 5,
                                   .schedulers = schedulers,
                                   .depth = depth,
                                   .threshold = 0.4,
                                   .deterministic = true,
                                   .seed = 11,
                                   .max_rounds = 150};
}

static const schedulers_toy_config plain = {0};

static strads_result *over_tcp(const strads_engine_options *options,
                               uint32_t nodes)
{
    const team t = {.program = &schedulers_toy,
                    .config = &plain,
                    .options = *options,
                    .nodes = nodes,
                    .workers = {1, 2, 1, 1}};
    return expect_team(&t);
}

Test(engine_schedulers, nodes_and_workers_do_not_change_the_bits)
{
    for (uint32_t schedulers = 1; schedulers <= 4; schedulers++)
        for (uint32_t depth = 0; depth <= 2; depth += 2) {
            strads_engine_options options = options_of(schedulers, depth);
            strads_result *alone = run(&plain, options);
            for (options.workers = 2; options.workers <= 4;
                 options.workers *= 2) {
                strads_result *many = run(&plain, options);
                expect_same(alone, many, schedulers, "on threads");
                strads_result_free(many);
            }
            for (uint32_t nodes = 2; nodes <= 4; nodes += 2) {
                strads_result *spread = over_tcp(&options, nodes);
                expect_same(alone, spread, schedulers, "over TCP");
                strads_result_free(spread);
            }
            strads_result_free(alone);
        }
}

Test(engine_schedulers, a_simulation_has_the_bits_of_threads)
{
    strads_result *alone[4];
    for (uint32_t k = 0; k < 4; k++)
        alone[k] = run(&plain, options_of(1 + k % 4, k));
    toy_simulate_from_now_on();
    for (uint32_t k = 0; k < 4; k++) {
        strads_engine_options options = options_of(1 + k % 4, k);
        for (options.workers = 1; options.workers <= 4; options.workers *= 2) {
            strads_result *many = run(&plain, options);
            expect_same(alone[k], many, 1 + k % 4, "simulated");
            strads_result_free(many);
        }
        strads_result_free(alone[k]);
    }
}

Test(engine_schedulers, another_number_of_schedulers_draws_otherwise)
{
    strads_result *one = run(&plain, options_of(1, 0));
    strads_result *two = run(&plain, options_of(2, 0));
    cr_expect_not(toy_same_values(one, two));
    strads_result_free(one);
    strads_result_free(two);
}

/* ---- refused options ----------------------------------------------------- */

Test(engine_schedulers, too_many_are_refused_and_surplus_ones_left_out)
{
    strads_err err =
        toy_run_it(&(toy_run){.program = &schedulers_toy,
                              .config = &plain,
                              .options = {.workers = 1, .schedulers = 257}},
                   NULL);
    cr_expect_eq(err, STRADS_EINVAL);
    expect_says("257 schedulers");
    strads_result *result = run(&plain, options_of(200, 0));
    strads_result_free(result);
}

static strads_err far_id(void *state, const strads_choice_request *request,
                         strads_choice *choice)
{
    static strads_block block = {.id = UINT64_MAX, .n = 1};
    (void)state, (void)request;
    *choice =
        (strads_choice){.kind = STRADS_CHOOSE_BLOCKS, .n = 1, .blocks = &block};
    return STRADS_OK;
}

Test(engine_schedulers, a_policy_with_another_policys_ids_ends_the_run)
{
    strads_policy policy = toy_sweep_policy;
    policy.choose = far_id;
    strads_err err =
        toy_run_it(&(toy_run){.program = &schedulers_toy,
                              .config = &plain,
                              .options = {.workers = 1,
                                          .schedulers = 2,
                                          .policy_plugin = &policy}},
                   NULL);
    cr_expect_eq(err, STRADS_EPROGRAM);
    expect_says("numbered from 2^63");
}
