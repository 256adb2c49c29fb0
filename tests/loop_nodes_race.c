/* Loops on several nodes inside one process, for a race detector: ones that end
 * well, ones that a time limit ends, and ones that fail. Exits with 1 when an
 * end is wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/loop_tally.h"
#include "tests/nodes_team.h"

static int wrong;

static void run(const team *t, strads_err err)
{
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(t, &result, end);
    for (uint32_t k = 0; k < t->nodes; k++)
        if (!end[k].err != !err) {
            wrong = 1;
            fprintf(stderr, "node %u: %s\n", k, end[k].text);
        }
    if (!result != (err != STRADS_OK) || atomic_load(&tally.wrong)) {
        wrong = 1;
        fprintf(stderr, "a result, or reads against the rule\n");
    }
    strads_result_free(result);
}

int main(void)
{
    static const uint32_t staleness[] = {0, 2, STRADS_STALENESS_INFINITE};
    for (int s = 0; s < 3; s++) {
        team t = {.program = &tally_program,
                  .nodes = 3,
                  .workers = {2, 1, 2},
                  .options = {.shards = 2}};
        tally = (tally_plan){.clocks = 25,
                             .staleness = staleness[s],
                             .reporter = 4,
                             .reports = 20,
                             .snapshots = 3,
                             .flushes = 2};
        run(&t, STRADS_OK);
        tally = (tally_plan){.clocks = 1000000, .staleness = staleness[s]};
        t.options.time_limit = 0.05;
        run(&t, STRADS_OK);
        t.options.time_limit = 0;
        tally = (tally_plan){.clocks = 1000000,
                             .staleness = staleness[s],
                             .fails = 7};
        run(&t, STRADS_EPROGRAM);
    }
    return wrong;
}
