/* Static runs on 1, 2 and 4 threads and on two nodes, for a race detector to
 * watch: plans, laps that flow, shared totals. Exits with 1
 * when a result is not that of a plain loop. */
#include <stdio.h>
#include <string.h>

#include "tests/nodes_team.h"
#include "tests/static_toy.h"
#include "tests/toy_data.h"

enum { K = 4, B = 9 };

static int wrong;

static void judge(strads_err err, strads_result *result,
                  const static_toy_end *want, const char *what)
{
    static_toy_end got = {.told = -1};
    if (!err && result)
        static_toy_take(result, &got);
    if (err || !result || got.told != want->told ||
        memcmp(got.value, want->value, sizeof got.value) != 0) {
        fprintf(stderr, "%s: %s\n", what,
                err ? strads_error_text() : "another result");
        wrong = 1;
    }
    strads_result_free(result);
}

static void run_all(const strads_plan *plan, const static_toy_config *config,
                    uint32_t depth)
{
    static_toy_end want;
    static_toy_walk(plan, config, &want);
    strads_engine_options options = {.partitions = K,
                                     .depth = depth,
                                     .plan_given = plan};
    for (options.workers = 1; options.workers <= 4; options.workers *= 2) {
        strads_result *result = NULL;
        strads_err err = toy_run_it(&(toy_run){.program = static_toy(config),
                                               .config = config,
                                               .options = options},
                                    &result);
        judge(err, result, &want, "threads");
    }
    options.workers = 2;
    const team t = {.program = static_toy(config),
                    .config = config,
                    .options = options,
                    .nodes = 2,
                    .workers = {2, 2}};
    team_end end[TEAM_MAX];
    strads_result *result = NULL;
    team_run(&t, &result, end);
    judge(end[0].err ? end[0].err : end[1].err, result, &want, "nodes");
}

int main(void)
{
    strads_plan *plan = NULL;
    if (strads_plan_weighted(K, B, NULL, NULL, &plan))
        return 1;
    for (uint32_t depth = 0; depth <= 3; depth++)
        run_all(plan, &(static_toy_config){.blocks = B, .objects = 1}, depth);
    strads_plan_free(plan);
    return wrong;
}
