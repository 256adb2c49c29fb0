/* strads/program.h - what a program is: a table of callbacks.
 *
 * A program trains `parameters` rows of `width` numbers each. The engine picks
 * blocks of parameters (or the program's own `schedule` does), has `update`
 * compute on every share of the data, merges the partials, has `aggregate`
 * turn them into a commit, and tells every worker what changed through
 * `refresh`. One such turn is a round; up to depth + 1 of them are in flight.
 *
 * This page reads top to bottom: blocks and shape, what each callback gets and
 * may call (a worker's task, a commit, a turn of `schedule`), phases, payloads,
 * reports, loops; at its end the table itself.
 *
 * A simple program fills `update`, `partial`, `aggregate`, `refresh` and
 * `objective` and has no phases. A program with several kinds of computation
 * lists them as phases instead. examples/ has complete ones.
 *
 * Every callback runs on some worker thread of some node, never inside the
 * engine's own state machines. Callbacks of one partition never run twice at
 * once; `schedule`, `aggregate` and `objective` never run while another of the
 * three does. A callback reports failure by `return strads_fail(...)`, which
 * ends the run on every node with that sentence. */
#ifndef STRADS_PROGRAM_H
#define STRADS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/options.h"
#include "strads/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- blocks of parameters, and what commits change --------------------- */

/* A set of parameters that is scheduled as one. The same id always names the
 * same parameters in the same order, so what is costly to know about a block
 * may be kept under its id. A program's own blocks have ids below
 * STRADS_ALL_PARAMETERS; policies number theirs from 2^63 on. */
#define STRADS_ALL_PARAMETERS ((UINT64_C(1) << 63) - 1)
typedef struct strads_block {
    uint64_t id;
    uint32_t n;            /* parameters in it; 0 for scalars alone */
    uint32_t first;        /* where `param` is NULL: first .. first + n - 1 */
    const uint32_t *param; /* [n], or NULL for a contiguous range */
    uint32_t owner;        /* OWNER: the partition it goes to; RING: the
                              partition where its lap starts and ends, which a
                              run's plan (strads/plan.h) replaces by its own */
} strads_block;

/* Parameter k of a block, k < block->n. */
static inline uint32_t strads_block_param(const strads_block *block, uint32_t k)
{
    return block->param ? block->param[k] : block->first + k;
}

/* What one commit changed: parameter param[k] moved by
 * change[k * width .. (k + 1) * width - 1]. */
typedef struct strads_change {
    uint64_t version; /* 1, 2, 3, ...: the order of commits */
    uint32_t n;
    const uint32_t *param; /* [n] */
    const double *change;  /* [n x width] */
} strads_change;

/* ---- how large a program is, and how that is cut. Any thread ------------ */

/* Sizes, told by `shape`. */
typedef struct strads_shape {
    uint64_t parameters; /* J; preset to the columns of the data */
    uint32_t width;      /* numbers a parameter; preset to 1 */
    uint32_t block_max;  /* parameters a block at most; preset to 64 */
    /* RING: how many blocks there should be, ids 0 .. blocks - 1; preset to
     * what the plan has, or the option `blocks` says, or two a partition. A
     * program may set another number (blocks that fit a cache, say), but not
     * against a plan. */
    uint32_t blocks;
    /* Numbers that all tasks share and no block owns (LDA's topics), f64,
     * preset to 0. They start at 0. An update sees, and adds to, task->total:
     * what is committed of dispatches 1 .. n - 1 - s, the same for all
     * partitions, and all that its own partition has added since; n is its own
     * dispatch, and s how many dispatches before it were in flight when it left
     * (depth at most, 0 when `schedule` waits). So whole numbers below 2^53
     * are exact. They ride with each dispatch: some thousands at most. Their
     * table in the store is "shared totals". `aggregate` may add to them, too.
     * Not with `run`. */
    uint32_t totals;
    /* Told, not to be changed: of the whole data set, whatever of it this
     * process keeps. */
    uint64_t rows, cols;
    uint32_t partitions; /* K */
    uint32_t pools;      /* of partitions; K where the program is not pooled */
    /* How many of the parameters, the first ones, a model holds; preset to 0:
     * all. The rest is the run's own (a dual program's samples, say). */
    uint64_t coefficients;
    /* RING; told: a plan or the option `blocks` says how many blocks, so
     * `blocks` is not a mere preset. */
    bool blocks_given;
    /* About how many bytes of memory the coordinator's process has for each
     * parameter during the run, at the least and without the data: what the
     * program keeps, and values, weights and priorities. Preset to 0: not
     * told. A run whose parameters need more than is free is refused with
     * STRADS_ENOMEM before its first callback. */
    uint32_t param_bytes;
} strads_shape;

/* The pool of a partition, and the first partition of a pool; pool == pools
 * gives the end. */
static inline uint32_t strads_pool_of(const strads_shape *shape,
                                      uint32_t partition)
{
    return (uint32_t)((uint64_t)partition * shape->pools / shape->partitions);
}

static inline uint32_t strads_pool_first(const strads_shape *shape,
                                         uint32_t pool)
{
    return (uint32_t)(((uint64_t)pool * shape->partitions + shape->pools - 1) /
                      shape->pools);
}

/* ---- what a worker's callback gets -------------------------------------- */

/* What a pooled program's workers see of a partition of their pool. An update
 * may read its share, and of its state what `open` has made, and what updates
 * of dispatches have that were committed before this one left, if this one
 * changes none of it; commits come to a partition with its next dispatch, so what
 * `receive` makes of a result is there for all after a dispatch to ALL that
 * follows. What belongs to the parameters of its block, which nobody else
 * holds, it may also change. */
typedef struct strads_peer {
    const strads_share *share;
    void *local; /* NULL until it has been opened */
} strads_peer;

/* A worker's callback: one block, on one share. Pointers are valid during the
 * call only, but for `share`, `config` and `store`, which last for the run. */
typedef struct strads_task {
    const strads_share *share; /* this partition's data */
    void *local;               /* this partition's state, made by `open` */
    const void *config;        /* the program's options, read only */
    strads_store *store;       /* tables, by the consistency rule; NULL on
                                  nodes other than the coordinator's, and on
                                  several nodes in `run` */
    uint64_t seed;             /* the run's: name random streams by it */
    uint64_t round;
    uint32_t phase; /* place in `phases`; 0 in a simple program */
    uint32_t step;  /* RING: 0 .. K - 1, partitions that the block has met
                       in this lap so far */
    uint32_t width; /* numbers a parameter */
    strads_block block;
    strads_block against;          /* PROBE: the block to compare with */
    const strads_block *in_flight; /* of earlier dispatches, not yet in what */
    uint32_t n_in_flight;          /* `refresh` has brought */
    double *value;   /* [n x width] the block's committed values at dispatch.
                        OWNER and RING: also the way out, see strads_phase */
    void *object;    /* RING: the block's payload object, or NULL */
    double *partial; /* zeroed; as many bytes as the phase's `partial` said */
    size_t partial_bytes; /* CONCAT: may be lowered to what was written */
    /* Shared totals, [shape->totals], or NULL; what `update` adds is seen by
     * this partition's next update at once and by the others as told at
     * strads_shape. NULL in other callbacks. */
    double *total;
    const struct strads_shape *shape; /* of the run, for its whole life */
    /* [n_peers] the partitions first_peer .. first_peer + n_peers - 1: this
     * one's pool. NULL where the program is not pooled. */
    const strads_peer *peer;
    uint32_t first_peer, n_peers;
    void *state;  /* run, partition 0 alone: what `begin` made, to keep what the
                     result is to tell; elsewhere NULL */
    void *engine; /* run: for strads_loop_ends, _report */
} strads_task;

/* ---- a commit: what `aggregate` gets and gives, and the calls that it may
 * make meanwhile, on its own thread. None of them blocks. */

/* What `aggregate` gets and gives: the merged partial of one block, and the
 * commit that it makes of it. */
typedef struct strads_commit {
    void *state; /* made by `begin` */
    const void *config;
    strads_store *store; /* committed values of everything: its table 0 */
    uint64_t seed;
    uint64_t round;
    uint32_t phase;
    uint32_t width;
    strads_block block;
    strads_block against;  /* PROBE only */
    const double *partial; /* merged over all partitions */
    size_t partial_bytes;
    const double *value;        /* [n x width] committed now */
    const strads_change *since; /* commits that no partition had been told of
                                   when it computed this partial */
    uint32_t n_since;
    double *change;       /* [n x width] out, zeroed: what to add to `value`.
                         OWNER, RING: preset to what the holder changed.
                         PROBE: NULL; see the calls below. A phase that
                         ignores values has it too, one that keeps them
                         not */
    double *priority;     /* [n] out: how urgent each parameter is from now on;
                         preset to a negative number: |change| is taken.
                         NULL where `change` is */
    void *engine;         /* for the calls below */
    double tolerance;     /* the run ends when a report's gap is at most this */
    const double *total;  /* [shape's totals] with what this dispatch added */
    double *total_change; /* [shape's totals] out, zeroed: what to add to them:
                             a step size that all updates read, say */
} strads_commit;

/* Sets priorities of any parameters (a scan's result, say): n pairs. Within
 * `aggregate` only. Parameters at priority 0 are at rest: a policy draws them
 * by its floor at most. */
STRADS_API void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                                         const uint32_t *param,
                                         const double *priority);

/* The policy rests as soon as the priorities left sum to at most `level`
 * (0 at first: until nothing moves any more). Within `aggregate` only. */
STRADS_API void strads_commit_rest(strads_commit *commit, double level);

/* The policy's blocks go to this POLICY phase from now on (at first to the
 * first one), and should have at least `work` entries each (0: what pays for a
 * round). Within `aggregate` only. STRADS_EINVAL: not a POLICY phase. */
STRADS_API strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                                          double work);

/* Blocks of a pool are dealt out among its first n partitions from now on
 * (0, as at first: among all of them), where waking the others costs more than
 * they would do. Within `aggregate` only; of pooled programs alone. */
STRADS_API void strads_commit_max_partitions(strads_commit *commit, uint32_t n);

/* Changes parameters outside the block in the same commit: n of them,
 * change[n x width], added to committed values. They count as updates that the
 * policy did not choose. Within `aggregate` only. STRADS_ENOMEM. */
STRADS_API strads_err strads_commit_also(strads_commit *commit, uint32_t n,
                                         const uint32_t *param,
                                         const double *change);

/* Workers have moved n parameters of their own in this phase, which no policy
 * chose and this commit does not show: they count as such updates, too. Within
 * `aggregate` only. */
STRADS_API void strads_commit_count_updates(strads_commit *commit, uint64_t n);

/* Merged probe values of all pairs in the commit's block, [n x n], symmetric,
 * diagonal included; NULL when the program has no PROBE phase, or no memory is
 * left to gather them. Valid during the call. Within `aggregate` of a POLICY
 * phase only. */
STRADS_API const double *strads_commit_pairs(const strads_commit *commit);

/* The merged probe value of parameters i and j; NaN when it was not probed. Of
 * blocks that the policy chose every pair in a block, and between it and what
 * was in flight with it, has been, but for phases to NOBODY. Within `aggregate`
 * only. */
STRADS_API double strads_commit_pair(const strads_commit *commit, uint32_t i,
                                     uint32_t j);

/* ---- a turn: what `schedule` is asked with, and how it answers, on its own
 * thread. None of these calls blocks. */

/* What `schedule` is asked with: answer by exactly one of the calls below. */
typedef struct strads_turn {
    void *state;
    const void *config;
    strads_store *store;
    uint64_t seed;
    uint64_t round;     /* the number that the next dispatch gets */
    uint32_t in_flight; /* dispatches not yet committed */
    bool at_rest;       /* the policy said that nothing is left to choose */
    bool ends; /* the run has been cut short, see `finalises`: dispatch what is
                  left to bring the model together, then stop */
    void *engine; /* for the calls below */
} strads_turn;

/* Calls of `schedule` with `ends` set, at most; a program that has not stopped
 * by then ends with STRADS_EPROGRAM. */
#define STRADS_FINALISE_TURNS (1U << 17)

/* Dispatch these blocks to this phase. Copied: the arrays are the caller's. */
STRADS_API strads_err strads_turn_dispatch(strads_turn *turn, uint32_t phase,
                                           uint32_t n,
                                           const strads_block *blocks);
/* Dispatch one block of all parameters to this phase. */
STRADS_API strads_err strads_turn_all(strads_turn *turn, uint32_t phase);
/* Dispatch what the policy chooses to this phase; when it is at rest,
 * `schedule` is asked again with at_rest set. STRADS_ESTATE: the run ends. */
STRADS_API strads_err strads_turn_policy(strads_turn *turn, uint32_t phase);
/* Nothing before something in flight has been committed (and at least one is;
 * otherwise STRADS_ESTATE). */
STRADS_API strads_err strads_turn_wait(strads_turn *turn);
/* The run is over when what is in flight has been committed. */
STRADS_API strads_err strads_turn_stop(strads_turn *turn);

/* ---- a phase, a kind of computation: whom it goes to, how partials become
 * one, and its callbacks. */

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
    STRADS_MERGE_CONCAT = 2, /* bytes, one partition's after the other's */
    STRADS_MERGE_OWN = 3     /* the phase's `merge_with` */
} strads_merge;

/* Who gets the merged partial. It always goes through `aggregate` first. */
typedef enum strads_route {
    STRADS_RESULT_COORDINATOR = 0, /* aggregate, and nobody else */
    STRADS_RESULT_WORKERS = 2      /* also every partition's `receive` */
} strads_route;

/* When the engine dispatches a phase of a program without `schedule`. */
typedef enum strads_when {
    STRADS_WHEN_POLICY = 0, /* with the blocks that the policy chooses */
    STRADS_WHEN_REST = 2,   /* all parameters: at the start, and whenever the
                               policy is at rest, with nothing else in flight */
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
    bool exclusive; /* true: runs alone, nothing else is in flight with it */
    bool reports;   /* `objective` is asked after its aggregate; of several
                     blocks in one dispatch, after the last one's */
    bool ignores_values; /* update does not look at task->value: it is NULL, and
                            nothing is sent for it (PROBE phases: always) */
    bool keeps_values;   /* CALLED, and ignores_values: its aggregate does not
                            look at its blocks' values either, and changes none.
                            value, change and priority of the commit are NULL,
                            and nothing is copied for them */

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
} strads_phase;

/* ---- what travels with a block of a RING phase -------------------------- */

/* Bytes that grow, for `pack`: adds `size` bytes, copied. Within `pack` only.
 * STRADS_ENOMEM. */
typedef struct strads_bytes strads_bytes;
STRADS_API strads_err strads_bytes_append(strads_bytes *bytes, const void *from,
                                          size_t size);

/* A walk over the fields of a state that packs them, where `out` is there, or
 * reads them back from `from`: one function names them for `pack` and `unpack`,
 * and neither can forget what the other has. Begin with {.out = out} or {.from =
 * bytes, .end = bytes + size}; look at `err` and `is_short` when all has been
 * passed. */
typedef struct strads_walk {
    strads_bytes *out; /* NULL: reads */
    const char *from, *end;
    strads_err err; /* of packing */
    bool is_short;  /* what is read does not fit; the program may set it, too */
} strads_walk;

/* Passes the next `size` bytes, which are at x. Nothing after an error. */
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

/* Whether what was read was all there is, and fits. */
static inline bool strads_walk_fits(const strads_walk *w)
{
    return !w->is_short && (w->out || w->from == w->end);
}

/* A RING block's payload: an object of the program's that travels with its
 * block. On one node the pointer travels; between nodes pack's bytes
 * do, and a cut holds them. */
typedef struct strads_payload {
    /* Makes a block's object when its first lap starts, on the partition where
     * it does (task->block; no partial, no value). The object rests there
     * between laps: all laps of a block start at the same owner. */
    strads_err (*open)(strads_task *task, void **object);
    void (*close)(void *object);
    strads_err (*pack)(const void *object, strads_bytes *out);
    strads_err (*unpack)(const void *bytes, size_t size, void **object);
} strads_payload;

/* ---- what a program says of its progress -------------------------------- */

/* How many figures of its own a program may report, at most. */
#define STRADS_MEASURES 9

/* What `objective` fills. */
typedef struct strads_report {
    double objective;  /* what is minimised; NaN when not known */
    double gap;        /* relative duality gap, or another certificate that is
                         0 at the optimum; NaN when there is none. The run ends
                         when it is at most the tolerance */
    uint64_t nonzeros; /* parameters that are not 0 */
    bool stop;         /* end the run whatever the gap says */
    /* By the program's `measures`: a likelihood, an error on other data, a
     * rate. NaN where it is not known, which `objective` finds preset. */
    double measure[STRADS_MEASURES];
} strads_report;

/* ---- what a data-parallel loop calls beside its session ----------------- */

/* Clocks that a loop may go on for after the run's end, see below. */
#define STRADS_LOOP_GRACE 8

/* Whether the run is to end: a bound (max_rounds counts this partition's
 * clocks), `stop`, a report that ends it, another partition's failure. To be
 * asked once a clock, within `run`. A loop that ends STRADS_LOOP_GRACE clocks
 * after the run's end and has not asked since is cut off: its session's clock
 * and advance return STRADS_ECANCELED, and when `run` returns that, the run
 * ends as for all others, with the model so far.
 * Who is told true computes no more, but may finish what all partitions do
 * together: the others hear of it at other clocks, so each one advances its
 * session to the clock at which a whole run ends, and all meet there. Does not
 * block. */
STRADS_API bool strads_loop_ends(const strads_task *task);

/* Hands progress over, from any partition, within `run`: it becomes a line of
 * progress, and the last one is the result's. The run is to end when the gap
 * is at most the tolerance, or when `stop` is set. Waits until the report
 * before this one has been told. */
STRADS_API void strads_loop_report(const strads_task *task,
                                   const strads_report *report);

/* ---- the table ---------------------------------------------------------- */

typedef struct strads_program {
    size_t size;         /* sizeof(strads_program) */
    const char *name;    /* lower case, as in model files and logs */
    const char *summary; /* one line for --help */

    strads_split split;   /* how the data is cut */
    strads_layout layout; /* what the shares hold; 0: STRADS_LAYOUT_COLS */
    strads_kind kind;     /* what the data are; 0: samples */
    strads_scalar values; /* STRADS_F32: the program wants values of 4 bytes;
                             0: as the user says */

    /* The program's options: a table that ends with a NULL name, the struct
     * that it describes, and its defaults (may be NULL: all zero). */
    const strads_option *options;
    size_t config_size;
    const void *defaults;

    /* Corrects the preset shape. NULL: a parameter a column, one number each.
     * STRADS_EINVAL: options that do not fit this data. */
    strads_err (*shape)(const void *config, const strads_data *data,
                        strads_shape *shape);
    /* Adds the program's own tables to the store, whose table 0 is the
     * parameters [J x width] in f64. NULL: none. With `run` on several nodes
     * each of them asks for the specs; what is added to tables counts on node
     * 0. */
    strads_err (*tables)(const void *config, const strads_shape *shape,
                         strads_store *store);
    /* How much work parameter j is in one update, in entries read; told to
     * policies. NULL: the entries of column j, or 1. */
    double (*weight)(const void *config, const strads_data *data, uint32_t j);

    /* Coordinator: state for schedule, aggregate and objective. `data` is what
     * the coordinator's process keeps of the data. `end` follows a `begin` that
     * succeeded, when the result is freed: the store is gone by then. */
    strads_err (*begin)(const void *config, const strads_data *data,
                        const strads_shape *shape, void **state);
    void (*end)(void *state);

    /* Worker: state of one partition. The task has share, config, store, seed
     * and width; parameters are at 0 until `refresh` brings start values. */
    strads_err (*open)(const strads_task *task, void **local);
    void (*close)(void *local);
    /* Committed changes, each once, in the order of commits, before any update
     * that was dispatched after them. NULL: the program does not need them. */
    strads_err (*refresh)(strads_task *task, const strads_change *changes,
                          uint32_t n);

    /* Local state to bytes and back, for cuts, which pack_state makes possible
     * where there is a `begin`. `unpack` comes instead of `open`,
     * and no `refresh` of earlier commits follows it. NULL: it can be made again
     * by open and refresh. */
    strads_err (*pack)(const void *local, strads_bytes *out);
    strads_err (*unpack)(strads_task *task, const void *bytes, size_t size,
                         void **local);

    /* Chooses the next dispatch. NULL: phases run by their `when`. Otherwise
     * probes alone run by themselves, START and REST phases do not; and a run
     * that a bound cuts short ends without a last report. */
    strads_err (*schedule)(strads_turn *turn);
    /* With `schedule`: a run that a bound, `stop` or a report cuts short goes
     * on asking it, with turn->ends set, until it stops: a model that is spread
     * over the partitions can then be brought together. These dispatches do not
     * count as rounds; a bound does not end them, a failure does. */
    bool finalises;

    /* A simple program: one phase to ALL, sums merged, policy's blocks. */
    size_t (*partial)(const strads_task *task);
    strads_err (*update)(strads_task *task);
    strads_err (*aggregate)(strads_commit *commit);

    /* A program of several phases: leave the three above NULL. */
    const strads_phase *phases;
    uint32_t n_phases;

    /* Progress, from merged numbers that aggregate has put into the state:
     * never a scan of its own. Asked after each aggregate of a phase that
     * `reports`, and in a simple program after every J parameters' worth of
     * commits. */
    strads_err (*objective)(void *state, strads_report *report);
    /* Names of what report->measure holds, lower case, as keys of a log; a
     * list that ends with NULL. NULL: none. */
    const char *const *measures;

    const strads_payload *payload; /* RING: what travels; NULL: values alone */

    /* Instead of all the above from `schedule` on: a data-parallel loop,
     * {read_row, inc, clock} on the tables, until it returns. Every partition
     * has a thread and a session of its own, whatever `workers` says. It asks
     * strads_loop_ends once a clock, and tells its progress by
     * strads_loop_report. The model is table 0 when all have returned.
     *
     * With `pack` and `unpack` the run keeps cuts. One is made when a clock
     * begins: all sessions stop there, within the call that ends the clock
     * before, what they have added is in the tables, and each one's thread has
     * its task->local packed; where one appends nothing, no cut is made of that
     * clock, and one of the next is tried. A run that goes on unpacks that, and calls this with sessions that
     * are at the cut's clock (strads_session_now), the tables as they were then.
     */
    strads_err (*run)(strads_task *task, strads_session *session);

    /* The parameters that belong to a partition, told on the coordinator: there
     * the policy is opened once for each partition, on these alone, and chooses
     * --blocks blocks for each, with their `owner` set, to be worked on at
     * once. Ranges ascend with the partitions. What nobody owns is no policy's,
     * and follows from what is owned: its changes count as no updates. Not
     * together with a PROBE phase. NULL: policies choose among all. */
    strads_range (*owned)(const void *config, const strads_data *data,
                          const strads_shape *shape, uint32_t partition);
    /* Owned parameters may be worked on by any partition of their owner's pool:
     * partitions that follow each other on one node (the engine's option
     * `pools`). The policy is opened once for each pool. The parameters of its
     * blocks are dealt out among the pool's partitions, by draws made anew each
     * time, evenly by weight; these reach the rows through task->peer. `owned`
     * leaves no gaps inside a pool. */
    bool pooled;

    /* Whether labels may be names (strads_data_options.named_labels), with
     * these options. NULL: no, they are numbers. Any thread. */
    bool (*named_labels)(const void *config);

    /* Entries of the data that a second partition must have to be worth its
     * worker; where nobody says how many partitions there are, none has less
     * (strads_run_cut). 0: STRADS_PARTITION_ENTRIES. Programs that have a RING
     * phase or `run` are spread over all workers, however little there is. */
    uint64_t partition_entries;

    /* Partitions for each of several workers of a process where nobody says how
     * many there are (strads_run_cut), and blocks travel: with two, one on a
     * slow processor has something that another can take off its hands. 0: one,
     * which suits programs that converge slower the more there are. */
    uint32_t partitions_each;

    /* With the split GRID: how many ranges the columns are cut into; it divides
     * the number of partitions. NULL: one. Any thread. */
    uint32_t (*grid)(const void *config);

    /* The coordinator's state to bytes and back, for cuts (options.checkpoint).
     * Packed when nothing is in flight, before `schedule` is asked, and only
     * then: a state that appends nothing is in the midst of something, and is
     * asked again before the next dispatch. `unpack_state` follows a `begin`
     * and comes before anything else. NULL: `begin` and the committed values
     * make it again, as for a run that starts from a model. */
    strads_err (*pack_state)(const void *state, strads_bytes *out);
    strads_err (*unpack_state)(void *state, const void *bytes, size_t size);
} strads_program;

/* What a round of a partition's own and the merge of one more partial cost, in
 * entries that updates read meanwhile, with some to spare. */
#define STRADS_PARTITION_ENTRIES 1000000

/* A program in a shared object for `strads run`: put this at file level.
 * STRADS_PROGRAM_ABI changes when a slot's meaning does. */
#define STRADS_PROGRAM_ABI 2
#define STRADS_EXPORT_PROGRAM(program)                            \
    __attribute__((visibility("default"))) const strads_program * \
    strads_program_entry(uint32_t abi)                            \
    {                                                             \
        return abi == STRADS_PROGRAM_ABI ? &(program) : NULL;     \
    }

/* The built-in program of that name ("lasso", "svm", ...), or NULL: none. It
 * is static. Any thread; does not block. */
STRADS_API const strads_program *strads_program_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
