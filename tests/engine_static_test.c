/* The static engine: whatever the plan, the number of workers and the runtime,
 * a run gives the bits of one plain loop over the plan. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/static_toy.h"
#include "tests/toy_data.h"

static void expect_same(const strads_result *result, const static_toy_end *want,
                        const char *what)
{
    static_toy_end got;
    static_toy_take(result, &got);
    for (uint32_t j = 0; j < STATIC_TOY_PARAMETERS; j++)
        cr_assert_eq(got.value[j], want->value[j],
                     "%s: parameter %u is %g, "
                     "not %g",
                     what, j, got.value[j], want->value[j]);
    cr_assert_eq(got.told, want->told, "%s: totals or partials", what);
}

static strads_engine_options options_of(const strads_plan *plan, bool given,
                                        uint32_t workers, uint32_t depth)
{
    return (strads_engine_options){.workers = workers,
                                   .partitions = plan->partitions,
                                   .depth = depth,
                                   .plan_given = given ? plan : NULL};
}

/* One plan, told to the engine or (`given` false) what it does by itself. */
static void run_it(const strads_plan *plan, bool given, uint32_t workers,
                   uint32_t depth, static_toy_config config)
{
    config.blocks = plan->blocks;
    char what[100];
    (void)snprintf(what, sizeof what, "K %u, B %u, %u workers, depth %u",
                   plan->partitions, plan->blocks, workers, depth);
    static_toy_end want;
    static_toy_walk(plan, &config, &want);
    strads_result *result = NULL;
    cr_assert_eq(toy_run_it(&(toy_run){.program = static_toy(&config),
                                       .config = &config,
                                       .options = options_of(plan, given,
                                                             workers, depth)},
                            &result),
                 STRADS_OK, "%s: %s", what, strads_error_text());
    expect_same(result, &want, what);
    strads_result_free(result);
}

static const uint32_t SIZES[][2] = {{1, 1}, {1, 5},  {2, 2},  {2, 4}, {3, 2},
                                    {4, 9}, {5, 10}, {5, 30}, {8, 3}};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

typedef enum plan_kind { ROTATION, WEIGHTED, STAIRS, NO_PLAN } plan_kind;

static strads_plan *make(plan_kind kind, uint32_t K, uint32_t B)
{
    strads_plan *plan = NULL;
    double weight[64];
    for (uint32_t b = 0; b < B; b++)
        weight[b] = 1 + b * b % 7;
    if (kind == STAIRS)
        plan = static_toy_stairs(K, B);
    else if (kind == WEIGHTED)
        cr_assert_eq(strads_plan_weighted(K, B, weight, NULL, &plan),
                     STRADS_OK);
    else
        cr_assert_eq(strads_plan_rotation(K, B, &plan), STRADS_OK);
    cr_assert_not_null(plan);
    return plan;
}

static void run_all(plan_kind kind, static_toy_config config)
{
    for (uint32_t s = 0; s < N_SIZES; s++) {
        strads_plan *plan = make(kind, SIZES[s][0], SIZES[s][1]);
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t depth = 0; depth <= 3; depth++)
                run_it(plan, kind != NO_PLAN, workers, depth, config);
        strads_plan_free(plan);
    }
}

static void run_ways(plan_kind kind)
{
    run_all(kind, (static_toy_config){.objects = 1});
    run_all(kind, (static_toy_config){.objects = 0});
}

Test(engine_static, without_a_plan_blocks_rotate_from_their_owners)
{
    run_ways(NO_PLAN);
}

Test(engine_static, a_rotation_gives_the_bits_of_a_loop)
{
    run_ways(ROTATION);
}

Test(engine_static, a_plan_by_work_gives_the_bits_of_a_loop)
{
    run_ways(WEIGHTED);
}

Test(engine_static, a_plan_by_hand_with_idle_entries_gives_the_bits_of_a_loop)
{
    run_ways(STAIRS);
}

Test(engine_static, so_it_does_in_virtual_time_with_messages_that_overtake)
{
    toy_simulate_from_now_on();
    run_ways(NO_PLAN);
    run_ways(WEIGHTED);
    run_ways(STAIRS);
}

static void run_on_nodes(const strads_plan *plan, bool given, uint32_t nodes,
                         uint32_t workers, uint32_t depth)
{
    const static_toy_config config = {.blocks = plan->blocks, .objects = 1};
    static_toy_end want;
    static_toy_walk(plan, &config, &want);
    team t = {.program = static_toy(&config),
              .config = &config,
              .options = options_of(plan, given, workers, depth),
              .nodes = nodes};
    for (uint32_t k = 0; k < nodes; k++)
        t.workers[k] = workers;
    strads_result *result = expect_team(&t);
    expect_same(result, &want, "nodes");
    strads_result_free(result);
}

Test(engine_static, nodes_are_told_the_plan_and_give_the_same_bits)
{
    for (uint32_t kind = ROTATION; kind <= NO_PLAN; kind++)
        for (uint32_t s = 4; s < N_SIZES; s++) {
            strads_plan *plan = make(kind, SIZES[s][0], SIZES[s][1]);
            run_on_nodes(plan, kind != NO_PLAN, 2, 1, 0);
            run_on_nodes(plan, kind != NO_PLAN, 3, 1, 2);
            strads_plan_free(plan);
        }
    strads_plan *plan = make(WEIGHTED, 4, 9);
    run_on_nodes(plan, true, 2, 2, 1);
    strads_plan_free(plan);
}

/* ---- plans that do not fit --------------------------------------------- */

static void expect_refused(const strads_plan *plan, uint32_t partitions,
                           uint32_t blocks, const char *says)
{
    const static_toy_config config = {.blocks = blocks};
    strads_err err = toy_run_it(&(toy_run){.program = static_toy(&config),
                                           .config = &config,
                                           .options = {.partitions = partitions,
                                                       .plan_given = plan}},
                                NULL);
    cr_assert_eq(err, STRADS_EINVAL);
    cr_assert_str_eq(strads_error_text(), says);
}

Test(engine_static, a_plan_for_others_is_refused)
{
    strads_plan *plan = make(ROTATION, 3, 6);
    expect_refused(plan, 2, 6,
                   "the plan is for 3 partitions, the run has 2: give both "
                   "the same number");
    expect_refused(plan, 3, 5,
                   "the plan has 6 blocks, program static-toy makes 5: give "
                   "it a plan made for as many");
    strads_plan_free(plan);
}

Test(engine_static, the_blocks_that_are_preset_are_the_plans_or_two_each)
{
    const static_toy_config config = {0};
    strads_plan *plan = make(STAIRS, 3, 5);
    for (uint32_t given = 0; given < 2; given++) {
        strads_plan *twice = make(ROTATION, 3, 6);
        static_toy_end want;
        static_toy_walk(given ? plan : twice, &config, &want);
        strads_result *result = expect_run(static_toy(&config), &config,
                                           options_of(plan, given, 2, 0));
        expect_same(result, &want, "preset");
        strads_result_free(result);
        strads_plan_free(twice);
    }
    strads_plan_free(plan);
}
