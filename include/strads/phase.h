/* strads/phase.h - a kind of computation: whom it goes to, how partials become
 * one, and its callbacks. */
#ifndef STRADS_PHASE_H
#define STRADS_PHASE_H

#include <stdbool.h>
#include <stddef.h>

#include "strads/commit.h"
#include "strads/error.h"
#include "strads/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whom the blocks of a dispatch go to. */
typedef enum strads_to {
    STRADS_TO_ALL = 0,   /* every partition gets every block; partials merge */
    STRADS_TO_OWNER = 1, /* each block goes to its `owner` alone, who may write
                            task->value: the commit is what it changed */
    STRADS_TO_RING = 2,  /* each block starts at its `owner` and visits every
                            partition once, with its object, in the order of
                            the run's plan, or without one round and round;
                            each holder may write task->value; partials merge
                            over the lap. A partition takes blocks in an order
                            that is fixed beforehand, and each as soon as it is
                            there: there is no barrier. Dispatches are in their
                            order on every partition, so a run with a RING
                            gives the same bits however it is spread, and
                            commits go in the order of rounds */
    STRADS_TO_NOBODY = 3 /* no partition computes: `aggregate` has all that it
                            needs in its state and the committed values, and
                            gets no partial. Costs no message */
} strads_to;

/* How partials become one, always in the order of partitions, by a tree whose
 * shape depends on the number of partitions and on the partial's size alone:
 * the same bits wherever the partitions are. */
typedef enum strads_merge {
    STRADS_MERGE_SUM = 0,    /* f64, element by element */
    STRADS_MERGE_MAX = 1,    /* f64, element by element */
    STRADS_MERGE_CONCAT = 2, /* bytes, one partition's after the other's */
    STRADS_MERGE_OWN = 3     /* the phase's `merge_with` */
} strads_merge;

/* Who gets the merged partial. It always goes through `aggregate` first. */
typedef enum strads_route {
    STRADS_RESULT_COORDINATOR = 0, /* aggregate, and nobody else */
    STRADS_RESULT_SCHEDULERS = 1,  /* meant for priorities, which are dealt out
                                      to the schedulers by range. In this
                                      version aggregated as above */
    STRADS_RESULT_WORKERS = 2      /* also every partition's `receive` */
} strads_route;

/* When the engine dispatches a phase of a program without `schedule`. */
typedef enum strads_when {
    STRADS_WHEN_POLICY = 0, /* with the blocks that the policy chooses */
    STRADS_WHEN_START = 1,  /* once, before all others, all parameters */
    STRADS_WHEN_REST = 2,   /* all parameters: at the start, and whenever the
                               policy is at rest; drains the pipeline first */
    STRADS_WHEN_PROBE = 3,  /* when pairs must be known before a block may run:
                               the update fills partial[n x against.n] with the
                               share's part of how the parameters of `block`
                               (lines) and `against` depend on each other */
    STRADS_WHEN_CALLED = 4  /* only when `schedule` names it */
} strads_when;

typedef struct strads_phase {
    const char *name;
    strads_to to;
    strads_merge merge;
    strads_route result;
    strads_when when;
    bool drains;  /* true: runs alone, nothing else is in flight with it */
    bool reports; /* `objective` is asked after its aggregate; of several
                     blocks in one dispatch, after the last one's */
    bool blind; /* update does not look at task->value: it is NULL, and nothing
                   is sent for it (PROBE phases are always blind) */
    bool still; /* CALLED and blind: its aggregate does not look at its blocks'
                   values either, and changes none. value, change and priority
                   of the commit are NULL, and nothing is copied for them */

    /* The size of one block's partial in f64 (CONCAT, OWN: in bytes; CONCAT:
     * at most). Known before the dispatch: may look at block, against, width,
     * config and shape only. NULL: n x width numbers (PROBE: n x against.n). */
    size_t (*partial)(const strads_task *task);
    /* Computes on one share. Reads what the task holds; writes task->partial,
     * local state that belongs to this phase, and task->value where the phase
     * is OWNER or RING. */
    strads_err (*update)(strads_task *task);
    /* OWN: into += from; both hold `bytes` bytes. Must be associative. */
    void (*merge_with)(void *into, const void *from, size_t bytes);
    /* Makes the commit. NULL: OWNER and RING commit what the holders changed,
     * ALL commits nothing (a PROBE's values are kept by the engine). */
    strads_err (*aggregate)(strads_commit *commit);
    /* RESULT_WORKERS: task->partial is the merged one, read only. */
    strads_err (*receive)(strads_task *task);
    bool outdates; /* every probe value merged before its aggregate is wrong
                      after it (new weights, say): they are probed again */
    /* RING, with depth: a dispatch of the same blocks as the one before it, in
     * the same order, leaves before that one has been committed. Each block
     * goes on from its home as soon as it is back there, with the values and
     * the object that its last holder left, so laps overlap. What aggregate
     * does to commit->change then comes to nothing: the change is what the
     * holders changed; and no other commit may touch these parameters. Where
     * laps do not overlap the bits are the same. */
    bool flows;
} strads_phase;

#ifdef __cplusplus
}
#endif

#endif
