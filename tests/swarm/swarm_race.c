/* Seeds of the swarm under a race detector, which checks the passing of the run
 * token. Each seed runs twice and must give the same run, event for event.
 * Exits with 1 if it does not, or if a guarantee was broken. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/swarm/swarm_run.h"

enum { SEEDS = 60 };

int main(void)
{
    int wrong = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        swarm_result a, b;
        swarm_seed(seed, NULL, 0, &a);
        swarm_seed(seed, NULL, 0, &b);
        bool same = a.outcome.digest == b.outcome.digest &&
                    a.outcome.events == b.outcome.events &&
                    a.outcome.now == b.outcome.now && a.reads == b.reads;
        if (same && !a.breach[0])
            continue;
        wrong = 1;
        (void)fprintf(stderr, "swarm_race: seed %" PRIu64 ": %s\n", seed,
                      same ? a.breach : "two runs differ");
    }
    return wrong;
}
