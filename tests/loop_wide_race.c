/* For a race detector: loops that read wide rows of other nodes, and add to
 * some in batches. Some runs end by themselves, a time limit ends others. Exits
 * with 1 if an end is wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/loop_wide.h"
#include "tests/nodes_team.h"

static int wrong;

static void run(const team *t)
{
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(t, &result, end);
    for (uint32_t k = 0; k < t->nodes; k++)
        if (end[k].err) {
            wrong = 1;
            fprintf(stderr, "node %u: %s\n", k, end[k].text);
        }
    if (atomic_load(&wide.wrong)) {
        wrong = 1;
        fprintf(stderr, "rows that cannot be\n");
    }
    strads_result_free(result);
}

int main(void)
{
    for (uint32_t k = 0; k < 4; k++) {
        team t = {.program = &wide_program,
                  .nodes = 2,
                  .options = {.shards = 1 + k / 2}};
        const bool batches = k % 2;
        wide = (wide_plan){.clocks = 8, .batches = batches};
        run(&t);
        wide =
            (wide_plan){.clocks = 1000000, .endless = true, .batches = batches};
        t.options.time_limit = 0.1;
        run(&t);
    }
    return wrong;
}
