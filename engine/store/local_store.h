/* engine/store/local_store.h - a store in one process: its tables, the clocks
 * of a group of workers, and the exact snapshots that their sessions read. */
#ifndef STI_STORE_LOCAL_STORE_H
#define STI_STORE_LOCAL_STORE_H

#include <pthread.h>

#include "engine/store/peer_vector.h"
#include "engine/store/snapshot.h"

typedef enum sti_clock_state {
    STI_CLOCK_AWAITED = 0, /* will join; its clock counts as 0 until then */
    STI_CLOCK_RUNNING = 1,
    STI_CLOCK_LEFT = 2 /* has left; other workers no longer wait for it */
} sti_clock_state;

typedef struct sti_worker_clock {
    uint64_t clock;
    sti_clock_state state;
} sti_worker_clock;

/* Clocks only grow, and a worker that left never returns, so the result of a
 * wait stays a lower bound. One mutex and one condition serve all: they are
 * used once per clock, that is once per batch of work. */
typedef struct sti_clocks {
    pthread_mutex_t lock;     /* guards all below */
    pthread_cond_t moved;     /* signalled when a clock grew or a worker left */
    uint32_t workers;         /* 0: no worker has joined */
    uint32_t left;            /* number of workers that have left */
    uint32_t waiting;         /* number of threads that wait */
    uint64_t group;           /* number of groups that have begun */
    sti_worker_clock *worker; /* [workers] */
    sti_receive_queue *received; /* [workers] */
} sti_clocks;

typedef struct sti_exact {
    /* guards all below, and the sessions' commits to tables that keep
     * snapshots */
    pthread_mutex_t lock;
    uint64_t group;     /* the group of workers that `images` belongs to */
    sti_images *images; /* [n] by table number */
    uint32_t n;
} sti_exact;

struct strads_store {
    sti_budget budget;
    sti_table **tables; /* [n_tables]; fixed while other threads use it */
    uint32_t n_tables;
    sti_clocks clocks; /* clocks of the sessions */
    sti_exact exact;   /* snapshots for the sessions */
};

/* Table `number`. STRADS_EINVAL: there is none. */
strads_err sti_store_table(const strads_store *store, uint32_t number,
                           sti_table **out);

#endif
