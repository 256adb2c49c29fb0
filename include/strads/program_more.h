/* strads/program_more.h - programs beyond the minimal one of strads/program.h:
 * several phases, probes of dependencies, a `schedule`, blocks that travel, and
 * data-parallel loops.
 *
 * Include strads/program.h; it includes this header at its end. */
#ifndef STRADS_PROGRAM_MORE_H
#define STRADS_PROGRAM_MORE_H

#include <string.h>

#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooled programs ----------------------------------------------------- */

/* A worker's view of a partition of its pool. An update may read a peer's
 * share. It may read the state that `open` made, and state written by updates
 * that were committed before this dispatch, unless this dispatch modifies it.
 * It may modify state that belongs to the parameters of its own block, because
 * no other worker holds them. A partition receives commits with its next
 * dispatch: the state that `receive` makes is visible to all after a later
 * dispatch to ALL. */
typedef struct strads_peer {
    const strads_share *share;
    void *local; /* NULL before the partition is opened */
} strads_peer;

/* ---- calls within aggregate ---------------------------------------------- */

/* These calls are valid within `aggregate`, on its thread. None of them
 * blocks. */

/* Sets the priorities of n parameters of any block (for example the result of a
 * scan). A parameter with priority 0 is idle: a policy draws it at its floor
 * rate only. */
STRADS_API void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                                         const uint32_t *param,
                                         const double *priority);

/* The policy becomes idle when the sum of the remaining priorities is at most
 * `level`. The default is 0. */
STRADS_API void strads_commit_rest(strads_commit *commit, double level);

/* Directs the policy's later blocks to this POLICY phase (default: the first
 * one), with at least `work` entries each (0: enough to pay for a round).
 * STRADS_EINVAL: not a POLICY phase. */
STRADS_API strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                                          double work);

/* Deals later blocks of a pool to its first n partitions only (0, the default:
 * to all), for work so short that waking further threads costs more. Pooled
 * programs only. */
STRADS_API void strads_commit_max_partitions(strads_commit *commit, uint32_t n);

/* Changes n parameters outside the block in the same commit: change[n x width]
 * is added to their committed values. These count as updates that the policy
 * did not choose. STRADS_ENOMEM. */
STRADS_API strads_err strads_commit_also(strads_commit *commit, uint32_t n,
                                         const uint32_t *param,
                                         const double *change);

/* Counts n updates that workers made to parameters of their own in this phase,
 * which no policy chose and which this commit does not show. */
STRADS_API void strads_commit_count_updates(strads_commit *commit, uint64_t n);

/* Returns the merged probe values of all pairs of the commit's block, [n x n],
 * symmetric, with the diagonal. Returns NULL if the program has no PROBE phase
 * or memory is short. Valid during the call; in POLICY phases only. */
STRADS_API const double *strads_commit_pairs(const strads_commit *commit);

/* Returns the merged probe value of parameters i and j, or NaN if the pair was
 * not probed. If the policy chose the block, all pairs within it, and between
 * it and the blocks in flight with it, are known, except in phases to
 * NOBODY. */
STRADS_API double strads_commit_pair(const strads_commit *commit, uint32_t i,
                                     uint32_t j);

/* ---- schedule ------------------------------------------------------------ */

/* The argument of `schedule`, which answers by exactly one of the calls below.
 * None of them blocks. */
typedef struct strads_turn {
    void *state;
    const void *config;
    strads_store *store;
    uint64_t seed;
    uint64_t round;     /* the number of the next dispatch */
    uint32_t in_flight; /* dispatches not yet committed */
    bool idle;          /* the policy is idle: it has nothing to choose */
    bool ends; /* the run is being ended, see `finalises`: dispatch the phases
                  that gather the model, then stop */
    void *engine; /* for the calls below */
} strads_turn;

/* The most calls of `schedule` with `ends` set. A program that has not stopped
 * by then fails with STRADS_EPROGRAM. */
#define STRADS_FINALISE_TURNS (1U << 17)

/* Dispatches n blocks to a phase. The arrays are copied. */
STRADS_API strads_err strads_turn_dispatch(strads_turn *turn, uint32_t phase,
                                           uint32_t n,
                                           const strads_block *blocks);
/* Dispatches one block of all parameters to a phase. */
STRADS_API strads_err strads_turn_all(strads_turn *turn, uint32_t phase);
/* Dispatches the policy's next blocks to a phase. If the policy is idle, the
 * engine calls `schedule` again with idle set. STRADS_ESTATE: the run is
 * ending. */
STRADS_API strads_err strads_turn_policy(strads_turn *turn, uint32_t phase);
/* Waits for the next commit. STRADS_ESTATE: nothing is in flight. */
STRADS_API strads_err strads_turn_wait(strads_turn *turn);
/* Ends the run after everything in flight has been committed. */
STRADS_API strads_err strads_turn_stop(strads_turn *turn);

/* ---- phases -------------------------------------------------------------- */

/* The receivers of a dispatch. */
typedef enum strads_to {
    STRADS_TO_ALL = 0,   /* every partition receives every block; partials are
                            merged */
    STRADS_TO_OWNER = 1, /* a block goes to its `owner` only, which may write
                            task->value; the commit is its change */
    STRADS_TO_RING = 2,  /* a block starts at its `owner` and visits every
                            partition once, together with its object, in the
                            order of the plan (default: rotation). Each holder
                            may write task->value; partials are merged over the
                            sweep. A partition takes its blocks in a fixed
                            order, each as soon as it arrives; there is no
                            barrier. Dispatches keep their order on every
                            partition and commits follow the order of rounds, so
                            that the bits do not depend on workers and nodes */
    STRADS_TO_NOBODY =
        3 /* no partition computes: `aggregate` works on its state
                            and the committed values, without a partial. Sends
                            no message */
} strads_to;

/* How partials are merged: in the order of partitions, along a tree. Its
 * shape depends on the number of partitions and the size of the partial only.
 * The bits do not depend on where partitions are. */
typedef enum strads_merge {
    STRADS_MERGE_SUM = 0,    /* f64, element by element */
    STRADS_MERGE_CONCAT = 2, /* bytes, in the order of partitions */
    STRADS_MERGE_OWN = 3     /* the phase's `merge_with` */
} strads_merge;

/* The receivers of the merged partial. `aggregate` always comes first. */
typedef enum strads_route {
    STRADS_RESULT_COORDINATOR = 0, /* `aggregate` only */
    STRADS_RESULT_WORKERS = 2      /* also `receive` on every partition */
} strads_route;

/* When the engine dispatches a phase of a program without `schedule`. */
typedef enum strads_when {
    STRADS_WHEN_POLICY = 0, /* with the blocks that the policy chooses */
    STRADS_WHEN_REST = 2,   /* all parameters: at the start, and whenever the
                               policy is idle and nothing is in flight */
    STRADS_WHEN_PROBE = 3,  /* when pairs must be known before a block may run.
                               The update fills partial[n x against.n] with this
                               share's contribution to the dependency of the
                               parameters of `block` (lines) on `against` */
    STRADS_WHEN_CALLED = 4  /* only when `schedule` names it */
} strads_when;

typedef struct strads_phase {
    const char *name;
    strads_to to;
    strads_merge merge;
    strads_route result;
    strads_when when;
    bool exclusive;      /* true: runs with nothing else in flight */
    bool reports;        /* `objective` is called after its aggregate; with
                            several blocks in a dispatch, after the last
                            one's */
    bool ignores_values; /* `update` does not read task->value: it is NULL and
                            is not sent (always so in PROBE phases) */
    bool keeps_values;   /* with CALLED and ignores_values: `aggregate` neither
                            reads nor changes the block's values. The commit's
                            value, change and priority are NULL and nothing is
                            copied for them */

    /* Returns the size of one block's partial: numbers (f64), or bytes for
     * CONCAT (the most) and OWN. Called before the dispatch; may read block,
     * against, width, config and shape only. NULL: n x width numbers (PROBE:
     * n x against.n). */
    size_t (*partial)(const strads_task *task);
    /* Computes on one share. Reads the task; writes task->partial, local state
     * of this phase, and task->value in OWNER and RING phases. */
    strads_err (*update)(strads_task *task);
    /* OWN: into += from, `bytes` bytes each. Must be associative. */
    void (*merge_with)(void *into, const void *from, size_t bytes);
    /* Makes the commit. NULL: OWNER and RING phases commit the holders'
     * changes, ALL phases commit nothing (the engine keeps the values of a
     * PROBE). */
    strads_err (*aggregate)(strads_commit *commit);
    /* RESULT_WORKERS: task->partial is the merged partial, read only. */
    strads_err (*receive)(strads_task *task);
} strads_phase;

/* ---- states as bytes: checkpoints and blocks that travel ----------------- */

/* Appends a copy of `size` bytes. Within `pack` and `pack_state` only.
 * STRADS_ENOMEM. */
STRADS_API strads_err strads_bytes_append(strads_bytes *bytes, const void *from,
                                          size_t size);

/* Packs or unpacks the fields of a state: one function lists the fields for
 * both, so that the two cannot differ. Start with {.out = out} to pack, or with
 * {.from = bytes, .end = bytes + size} to unpack. Check `err` and `is_short`
 * after the last field. */
typedef struct strads_walk {
    strads_bytes *out; /* NULL: unpack */
    const char *from, *end;
    strads_err err; /* of packing */
    bool is_short;  /* the bytes do not fit; the program may set it as well */
} strads_walk;

/* Passes the next field of `size` bytes at x. Does nothing after an error. */
static inline void strads_walk_pass(strads_walk *w, void *x, size_t size)
{
    if (w->err || w->is_short || size == 0)
        return;
    if (w->out) {
        w->err = strads_bytes_append(w->out, x, size);
        return;
    }
    w->is_short = (size_t)(w->end - w->from) < size;
    if (w->is_short)
        return;
    memcpy(x, w->from, size);
    w->from += size;
}

/* Returns whether unpacking used all bytes and every field fitted. */
static inline bool strads_walk_fits(const strads_walk *w)
{
    return !w->is_short && (w->out || w->from == w->end);
}

/* The payload of a RING block: an object of the program that travels with the
 * block. Within a node the pointer moves; between nodes, and into a checkpoint,
 * the bytes of `pack`. */
typedef struct strads_payload {
    /* Makes a block's object when its first sweep starts, on the partition
     * where it starts (task->block; no partial, no value). Between sweeps the
     * object stays there: all sweeps of a block start at the same owner. */
    strads_err (*open)(strads_task *task, void **object);
    void (*close)(void *object);
    strads_err (*pack)(const void *object, strads_bytes *out);
    strads_err (*unpack)(const void *bytes, size_t size, void **object);
} strads_payload;

/* ---- calls within a data-parallel loop (`run`) --------------------------- */

/* The clocks that a loop may continue for after the end of the run. */
#define STRADS_LOOP_GRACE 8

/* Returns whether the run is to end: a bound (max_rounds counts this
 * partition's clocks), `stop`, a report that ends it, or a failure of another
 * partition. A loop calls it once a clock.
 *
 * After true a loop computes no more. It may finish work that all partitions
 * share: they learn of the end at different clocks, so each one advances its
 * session to the clock at which a complete run ends, and all of them meet
 * there.
 *
 * A loop that has not asked by STRADS_LOOP_GRACE clocks after the end is cut
 * off: clock and advance of its session return STRADS_ECANCELED. If `run`
 * returns that, the run ends normally, with the model so far. Does not
 * block. */
STRADS_API bool strads_loop_ends(const strads_task *task);

/* Reports progress from any partition, as a line of progress. The last report
 * is the result's. The run ends when the gap is at most the tolerance, or when
 * `stop` is set. Blocks until the previous report has been delivered. */
STRADS_API void strads_loop_report(const strads_task *task,
                                   const strads_report *report);

#ifdef __cplusplus
}
#endif

#endif
