/* engine/store/local_store.h - a store in one process: its tables, the clocks of a
 * group of workers, and what their sessions put aside as exact snapshots. */
#ifndef STI_STORE_LOCAL_STORE_H
#define STI_STORE_LOCAL_STORE_H

#include <pthread.h>

#include "engine/store/peer_vector.h"
#include "engine/store/snapshot.h"

typedef enum sti_clock_state {
    STI_CLOCK_AWAITED = 0, /* will join; until then its clock is 0 */
    STI_CLOCK_RUNNING = 1,
    STI_CLOCK_LEFT = 2 /* nobody waits for it any more */
} sti_clock_state;

typedef struct sti_worker_clock {
    uint64_t clock;
    sti_clock_state state;
} sti_worker_clock;

/* Clocks only grow, and a worker that left never returns, so what a wait
 * returned stays a lower bound. One mutex and one condition for all: they are
 * touched once a clock, which stands for a batch of work. */
typedef struct sti_clocks {
    pthread_mutex_t lock;        /* guards all below */
    pthread_cond_t moved;        /* a clock grew, or somebody left */
    uint32_t workers;            /* 0: nobody has joined yet */
    uint32_t left;               /* that have left */
    uint32_t waiting;            /* threads that wait */
    uint64_t group;              /* how many groups have begun */
    sti_worker_clock *worker;    /* [workers] */
    sti_receive_queue *received; /* [workers] */
} sti_clocks;

typedef struct sti_exact {
    pthread_mutex_t lock; /* guards all below, and commits of sessions to tables
                             that keep snapshots */
    uint64_t group;       /* of workers, whose clocks these are */
    sti_images *images;   /* [n] by number of the table */
    uint32_t n;
} sti_exact;

struct strads_store {
    sti_budget budget;
    sti_table **tables; /* [n_tables]; fixed while other threads use it */
    uint32_t n_tables;
    sti_clocks clocks; /* of its sessions; knows nothing of tables */
    sti_exact exact;   /* snapshots for its sessions */
};

/* Table `number`. STRADS_EINVAL: there is none. */
strads_err sti_store_table(const strads_store *store, uint32_t number,
                           sti_table **out);

#endif
