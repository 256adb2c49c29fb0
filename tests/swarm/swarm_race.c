/* Seeds of the swarm, for a race detector to watch how the run token goes round;
 * each twice: the same seed is the same run, event for event. Exits with 1 when
 * it is not, or a promise was broken. */
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
