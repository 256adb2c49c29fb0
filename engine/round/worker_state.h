/* engine/round/worker_state.h - what the files of the worker share: worker.c
 * takes dispatches up and merges partials, worker_ring.c moves blocks. */
#ifndef STI_WORKER_STATE_H
#define STI_WORKER_STATE_H

#include "engine/round/tree.h"
#include "engine/round/roles.h"

/* A chunk of a partition's partial on its way up. */
struct sti_reduce {
    sti_place place; /* in the tree of the chunk */
    uint32_t merged; /* children taken in */
    bool sent;
    sti_msg *child; /* [n_children] as they arrived; kind 0: not yet */
};

/* One partition's part of one round. */
struct sti_partition_state {
    sti_worker_job job;
    bool busy;       /* the job is out */
    bool started;    /* the updates are being told, or more */
    bool worked;     /* its own partial is complete */
    uint32_t n_sent; /* chunks */
    uint64_t ready;  /* a bit for each chunk that may have something to do, in
                        the order in which the partition looks at them */
    sti_buffer *partial;
    struct sti_reduce *reduce; /* [chunks.n] from when it is taken up: `whole`,
                                  or a list of its own */
    struct sti_reduce whole;
    uint64_t busy_ns;
    /* RING; the arrays are there once the updates have been told. */
    uint32_t *order; /* [n_blocks] places, as this partition takes them */
    sti_ring_step *
        *waiting; /* [n_blocks] by place: arrived and not yet taken up */
    uint32_t steps_done;
    sti_ring_step *homing;  /* blocks back home and not yet taken in */
    bool *is_home;          /* [n_blocks] by place: taken in */
    uint32_t n_home, homes; /* those to come back, those that are */
};

struct sti_round_slot {
    uint64_t seq; /* of its dispatch */
    bool used;
    sti_dispatch
        *dispatch; /* NULL: only pieces, partials or ring steps came so far */
    sti_pieces *pieces; /* of the dispatch; NULL: none have come */
    bool taken_up;
    sti_chunks chunks;                  /* once it is taken up */
    struct sti_partition_state *states; /* [n_partitions] */
    sti_msg *ahead; /* partials that came before it was taken up */
    uint32_t n_ahead, cap_ahead;
    sti_ring_step **early; /* those that came before the dispatch */
    uint32_t *early_to;
    uint32_t n_early;
};

struct sti_worker {
    sti_run *run;
    uint32_t index;
    uint32_t first, n;   /* partitions hosted */
    uint32_t most_ahead; /* partials that can come before their dispatch */
    uint32_t window;
    uint64_t next;                /* round to be taken up next */
    uint64_t *turn;               /* [n] the round that a partition is at */
    struct sti_round_slot *slots; /* [window] */
    bool failed;
    sti_job_text *said; /* [n] */
};

/* ---- worker.c ---------------------------------------------------------- */

/* Tells the coordinator, once. */
void sti_worker_fail(sti_worker *w, strads_err err, const char *text,
                     sti_effects *out);
/* The slot of a sequence number; NULL for one that only a broken peer names. */
struct sti_round_slot *sti_worker_slot(sti_worker *w, uint64_t seq);
sti_address sti_worker_host(const sti_worker *w, uint32_t partition);
bool sti_worker_is_ring(const sti_worker *w, const sti_dispatch *d);
/* Asks for state k's job. */
void sti_worker_compute(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        sti_call call, sti_effects *out);
/* Has partition k go on with the rounds that have been taken up, one after the
 * other: the next one's updates are told when it has held all blocks of a RING. */
void sti_worker_go_on(sti_worker *w, uint32_t k, sti_effects *out);
/* Whether nothing of a slot's round is left to do here. */
bool sti_worker_is_over(const sti_worker *w, const struct sti_round_slot *s);

/* OPEN and CLOSE: their partials have no bytes. */
static inline bool sti_worker_is_internal(const sti_dispatch *d)
{
    return d->phase == STI_PHASE_OPEN || d->phase == STI_PHASE_CLOSE;
}

/* ---- worker.c ---------------------------------------------------- */

/* Takes in what has come, of each chunk child after child, and sends chunks on
 * that are complete. */
void sti_worker_reduce(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                       sti_effects *out);

/* ---- worker_ring.c ----------------------------------------------------- */

void sti_worker_take_ring_step(sti_worker *w, const sti_msg *msg,
                               sti_effects *out);
/* The partition knows the updates: those that came early find their state. */
void sti_worker_start_ring(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                           sti_effects *out);
/* Takes up the block that is next, if it is there; true when the partition has
 * held them all. */
bool sti_worker_ring_on(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        sti_effects *out);
void sti_worker_finish_ring_step(sti_worker *w, struct sti_round_slot *s,
                                 uint32_t k, sti_effects *out);

#endif
