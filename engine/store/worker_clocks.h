/* engine/store/worker_clocks.h - the clocks of a group of workers. */
#ifndef STI_STORE_WORKER_CLOCKS_H
#define STI_STORE_WORKER_CLOCKS_H

#include <pthread.h>
#include <stdint.h>

#include "strads/error.h"

typedef enum sti_clock_state {
    STI_CLOCK_AWAITED = 0, /* will join; until then its clock is 0 */
    STI_CLOCK_RUNNING = 1,
    STI_CLOCK_LEFT = 2 /* nobody waits for it any more */
} sti_clock_state;

typedef struct sti_worker_clock {
    uint64_t clock;
    sti_clock_state state;
} sti_worker_clock;

typedef struct sti_clocks {
    pthread_mutex_t lock;     /* guards all below */
    pthread_cond_t moved;     /* a clock grew, or somebody left */
    uint32_t workers;         /* 0: nobody has joined yet */
    uint32_t left;            /* that have left */
    uint32_t waiting;         /* threads in sti_clocks_wait */
    uint64_t group;           /* how many groups have begun */
    sti_worker_clock *worker; /* [workers] */
} sti_clocks;

void sti_clocks_init(sti_clocks *clocks);
void sti_clocks_destroy(sti_clocks *clocks);

/* Worker `worker` of `workers` joins at clock 0. When all have left, a new
 * group may join; its number, from 1, goes to *group. STRADS_EINVAL: not a
 * worker of such a group. STRADS_ESTATE: it is there already, or has been.
 * STRADS_ENOMEM. */
strads_err sti_clocks_join(sti_clocks *clocks, uint32_t worker,
                           uint32_t workers, uint64_t *group);
void sti_clocks_leave(sti_clocks *clocks, uint32_t worker);

/* Ends the worker's clocks below `to`, which it has not reached. */
void sti_clocks_reach(sti_clocks *clocks, uint32_t worker, uint64_t to);

/* Blocks until the clocks of all others that have not left are at least
 * `target`; returns the least of them, UINT64_MAX when there are none. What
 * they did before they ended is then visible to the caller. */
uint64_t sti_clocks_wait(sti_clocks *clocks, uint32_t worker, uint64_t target);

#endif
