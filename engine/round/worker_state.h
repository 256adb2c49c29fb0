/* engine/round/worker_state.h - state that the files of the worker share.
 * worker.c starts dispatches and merges partials, worker_ring.c moves
 * blocks. */
#ifndef STI_WORKER_STATE_H
#define STI_WORKER_STATE_H

#include "engine/round/tree.h"
#include "engine/round/roles.h"

/* A chunk of a partition's partial on the way up. */
struct sti_reduce {
    sti_place place; /* in the tree of the chunk */
    uint32_t merged; /* number of children merged */
    bool sent;
    sti_msg *child; /* [n_children] as they arrived; kind 0: missing */
};

/* One partition's part of one round. */
struct sti_partition_state {
    sti_worker_job job;
    bool busy;       /* the job is running */
    bool started;    /* the updates are being delivered, or have been */
    bool worked;     /* its own partial is complete */
    uint32_t n_sent; /* number of chunks sent */
    /* one bit for each chunk that may have work, in the partition's order of
     * checking */
    uint64_t ready;
    sti_buffer *partial;
    /* [chunks.n] from the start of the round: `whole`, or an array of its
     * own */
    struct sti_reduce *reduce;
    struct sti_reduce whole;
    uint64_t busy_ns;
    /* RING; the arrays exist once the updates have been delivered. */
    uint32_t *order;         /* [n_blocks] indices in this partition's order */
    sti_ring_step **waiting; /* [n_blocks] by index: arrived and not started */
    uint32_t steps_done;
    sti_ring_step *homing;  /* blocks back home, not yet recorded */
    bool *is_home;          /* [n_blocks] by index: recorded */
    uint32_t n_home, homes; /* blocks expected home, and recorded */
};

struct sti_round_slot {
    uint64_t seq; /* of its dispatch */
    bool used;
    sti_dispatch
        *dispatch; /* NULL: only pieces, partials or ring steps have arrived */
    sti_pieces *pieces; /* of the dispatch; NULL: none have arrived */
    bool taken_up;
    sti_chunks chunks;                  /* once the round is started */
    struct sti_partition_state *states; /* [n_partitions] */
    sti_msg *ahead; /* partials that arrived before the round was started */
    uint32_t n_ahead, cap_ahead;
    sti_ring_step **early; /* ring steps that arrived before the dispatch */
    uint32_t *early_to;
    uint32_t n_early;
};

struct sti_worker {
    sti_run *run;
    uint32_t index;
    uint32_t first, n; /* partitions hosted */
    /* limit of partials that arrive before their dispatch */
    uint32_t most_ahead;
    uint32_t window;
    uint64_t next;                /* the next round to start */
    uint64_t *turn;               /* [n] the round that each partition is at */
    struct sti_round_slot *slots; /* [window] */
    bool failed;
    sti_job_text *said; /* [n] */
};

/* ---- worker.c ---------------------------------------------------------- */

/* Reports the failure to the coordinator, once. */
void sti_worker_fail(sti_worker *w, strads_err err, const char *text,
                     sti_effects *out);
/* The slot of a sequence number; NULL for a number that only a broken peer
 * sends. */
struct sti_round_slot *sti_worker_slot(sti_worker *w, uint64_t seq);
sti_address sti_worker_host(const sti_worker *w, uint32_t partition);
bool sti_worker_is_ring(const sti_worker *w, const sti_dispatch *d);
/* Requests state k's job. */
void sti_worker_compute(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        sti_call call, sti_effects *out);
/* Lets partition k continue with the started rounds, one after the other. The
 * next round's updates are delivered once the partition has held all blocks of
 * a RING. */
void sti_worker_go_on(sti_worker *w, uint32_t k, sti_effects *out);
/* Whether the worker has finished a slot's round. */
bool sti_worker_is_over(const sti_worker *w, const struct sti_round_slot *s);

/* OPEN and CLOSE: their partials have no bytes. */
static inline bool sti_worker_is_internal(const sti_dispatch *d)
{
    return d->phase == STI_PHASE_OPEN || d->phase == STI_PHASE_CLOSE;
}

/* ---- worker.c ---------------------------------------------------- */

/* Merges the partials that have arrived, for each chunk child after child, and
 * sends complete chunks up. */
void sti_worker_reduce(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                       sti_effects *out);

/* ---- worker_ring.c ----------------------------------------------------- */

void sti_worker_take_ring_step(sti_worker *w, const sti_msg *msg,
                               sti_effects *out);
/* Starts a RING after the updates; early ring steps are delivered. */
void sti_worker_start_ring(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                           sti_effects *out);
/* Processes the next block if it has arrived; true if the partition has held
 * them all. */
bool sti_worker_ring_on(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        sti_effects *out);
void sti_worker_finish_ring_step(sti_worker *w, struct sti_round_slot *s,
                                 uint32_t k, sti_effects *out);

#endif
