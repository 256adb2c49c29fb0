/* Information that a policy receives: sizes and weights when it is opened,
 * priorities after every commit, and with each request the blocks in flight and
 * the level at which it may be idle. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/toy_data.h"
#include "tests/toy_policy.h"

enum { COLS = 17, ROWS = 23, ROUNDS = 60, BLOCK_MAX = 4 };

/* Filled by the callbacks of policy and program, which never run
 * concurrently. */
static struct {
    strads_policy_setup setup;
    float weight[COLS];
    double priority[COLS];
    double rest;
    uint32_t depth, want;
    uint64_t draws, chosen; /* blocks chosen and committed so far */
    uint64_t committed;
    bool own_priorities;
} told;

static double change_of(uint32_t param, uint64_t round)
{
    return strads_random_unit(2, param, round, 0) - 0.5;
}

/* ---- the policy -------------------------------------------------------- */

static strads_err told_open(const strads_policy_setup *setup, void **state)
{
    told.setup = *setup;
    memcpy(told.weight, setup->weight, sizeof told.weight);
    for (uint32_t j = 0; j < COLS; j++)
        told.priority[j] = 1;
    return toy_sweep_policy.open(setup, state);
}

static void told_prioritise(void *state, uint32_t n, const uint32_t *param,
                            const double *priority)
{
    (void)state;
    for (uint32_t k = 0; k < n; k++)
        told.priority[param[k]] = priority[k];
}

static double expected[COLS];

static strads_err check_request(const strads_choice_request *r)
{
    TOY_CHECK(r->want == told.want);
    TOY_CHECK(r->draw > told.draws);
    TOY_CHECK(r->work > 0);
    TOY_CHECK(r->n_in_flight == told.chosen - told.committed);
    TOY_CHECK(r->n_in_flight <= told.depth * told.want);
    TOY_CHECK(r->rest == (told.committed ? 1e-30 : 0));
    for (uint32_t k = 0; k < r->n_in_flight; k++)
        TOY_CHECK(r->in_flight[k].id >= STRADS_POLICY_BLOCK_IDS);
    for (uint32_t j = 0; j < COLS; j++)
        TOY_CHECK(told.priority[j] == (told.committed ? expected[j] : 1));
    TOY_CHECK(r->dependency == NULL);
    told.draws = r->draw;
    return STRADS_OK;
}

static strads_err told_choose(void *state, const strads_choice_request *request,
                              strads_choice *choice)
{
    strads_err err = check_request(request);
    if (!err)
        err = toy_sweep_policy.choose(state, request, choice);
    told.chosen += choice->n;
    return err;
}

/* ---- the program ------------------------------------------------------- */

TOY_SHAPE(small_blocks, shape->block_max = BLOCK_MAX)

static double own_weight(const void *config, const strads_data *data,
                         uint32_t j)
{
    (void)config, (void)data;
    return j % 3 ? 10.5 * j : 0.25;
}

/* The default priority of a parameter is its absolute change. */
static strads_err move(strads_commit *commit)
{
    if (told.committed == 0)
        for (uint32_t j = 0; j < COLS; j++)
            expected[j] = 1;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        uint32_t j = strads_block_param(&commit->block, k);
        commit->change[k] = change_of(j, commit->round);
        expected[j] = fabs(commit->change[k]);
        if (told.own_priorities && j % 2)
            expected[j] = commit->priority[k] = 5.0 * j;
    }
    strads_commit_rest(commit, 1e-30);
    told.committed++;
    return STRADS_OK;
}

static void run(uint32_t depth, uint32_t want, bool own)
{
    strads_policy policy = toy_sweep_policy;
    policy.open = told_open;
    policy.prioritise = told_prioritise;
    policy.choose = told_choose;
    const strads_program program = {.size = sizeof program,
                                    .name = "told",
                                    .shape = small_blocks,
                                    .weight = own ? own_weight : NULL,
                                    .update = toy_does_nothing,
                                    .aggregate = move};
    memset(&told, 0, sizeof told);
    told.depth = depth;
    told.want = want;
    told.own_priorities = own;
    strads_err err =
        toy_run_it(&(toy_run){.program = &program,
                              .options = {.workers = 2,
                                          .policy_plugin = &policy,
                                          .depth = depth,
                                          .blocks = want,
                                          .threshold = own ? 0.25 : 0,
                                          .seed = 77,
                                          .max_rounds = ROUNDS}},
                   NULL);
    cr_assert_eq(err, STRADS_OK, "depth %u: %s", depth, strads_error_text());
    cr_assert_eq(told.setup.parameters, COLS);
    cr_assert_eq(told.setup.block_max, BLOCK_MAX);
    cr_assert_eq(told.setup.threshold, own ? 0.25 : 0.1);
    cr_assert_not(told.setup.probes);
    cr_assert_eq(told.setup.seed, 77);
    cr_assert_geq(told.committed, ROUNDS);
    for (uint32_t j = 0; j < COLS; j++) {
        double entries = 0;
        for (uint64_t i = 0; i < ROWS; i++)
            entries += toy_entry(i, j) != 0;
        double want_weight = own ? own_weight(NULL, NULL, j) : entries;
        cr_assert_eq(told.weight[j], (float)fmax(want_weight, 1));
    }
}

Test(engine_request, a_policy_receives_weights_changes_and_blocks_in_flight)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t want = 1; want <= 3; want++)
            run(depth, want, false);
}

Test(engine_request, weights_and_priorities_may_be_the_programs_own)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        run(depth, 1, true);
}

static strads_err halve(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = (1 - commit->value[k]) / 2;
    return STRADS_OK;
}

Test(engine_request, built_in_policies_run_programs_without_probes)
{
    const strads_program program = {.size = sizeof program,
                                    .name = "no values",
                                    .shape = small_blocks,
                                    .update = toy_does_nothing,
                                    .aggregate = halve};
    for (const strads_policy *const *p = strads_policies(); *p; p++)
        for (uint32_t depth = 0; depth <= 3; depth++) {
            strads_result *result = NULL;
            strads_err err =
                toy_run_it(&(toy_run){.program = &program,
                                      .options = {.workers = 2,
                                                  .policy = (*p)->name,
                                                  .depth = depth,
                                                  .blocks = 1 + depth,
                                                  .max_rounds = 500}},
                           &result);
            cr_assert_eq(err, STRADS_OK, "%s: %s", (*p)->name,
                         strads_error_text());
            uint64_t n;
            uint32_t width;
            const double *value = strads_result_values(result, &n, &width);
            for (uint32_t j = 0; j < n; j++)
                cr_assert_float_eq(value[j], 1, 1e-3, "%s: parameter %u is %g",
                                   (*p)->name, j, value[j]);
            strads_result_free(result);
        }
}
