/* tests/store_swarm.h - clients and shards of a spread store in a bag of
 * messages that a seed reorders, loses and doubles, with restarts of shards
 * from what their journals held. Every read is held against what workers did.
 */
#ifndef TESTS_STORE_SWARM_H
#define TESTS_STORE_SWARM_H

#include <stdbool.h>
#include <stdint.h>

/* What the world does wrong, for the test of the checks. */
typedef enum swarm_wrong {
    SWARM_RIGHT = 0,
    SWARM_ACK_OF_MORE,   /* an ACK tells of a push that did not arrive */
    SWARM_OLD_AS_NEW,    /* ROWS say that they are newer than they are */
    SWARM_TWICE,         /* a push is delivered as the next one, too */
    SWARM_FORGETS,       /* journals do not sync what they are told to */
    SWARM_APPLIED_EARLY, /* ROWS claim own pushes that they do not hold */
    SWARM_WRONGS
} swarm_wrong;

typedef struct swarm_result {
    bool ended;        /* everything came to its end within the steps */
    char breach[1280]; /* "": every promise was kept */
    uint64_t steps;    /* what was done: deliveries, jobs, calls */
    uint64_t reads, incs, restarts, lost, doubled, snapshots;
} swarm_result;

/* One seed, one world: the same seed does the same. */
void swarm_run(uint64_t seed, swarm_wrong wrong, swarm_result *result);

#endif
