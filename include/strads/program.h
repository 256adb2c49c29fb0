/* strads/program.h - a program: a table of callbacks that the engine runs.
 *
 * A program trains `parameters` rows of `width` numbers each. In each round the
 * engine chooses a block of parameters and calls five callbacks:
 *
 *   partial    the size of one partition's result for the block
 *   update     computes that result from one partition of the data; runs on
 *              all partitions in parallel
 *   aggregate  receives the sum of the results and sets the change of the
 *              block's parameters; runs on the coordinator
 *   refresh    applies committed changes to a partition's own state
 *   objective  reports progress
 *
 * A minimal program fills these five, with `open` and `close` for a partition's
 * state and `begin` and `end` for the coordinator's. examples/ridge is one, and
 * docs/writing-a-program.md explains it line by line. This header covers such
 * programs. strads/program_more.h, included at the end, covers programs with
 * several phases, blocks that travel, a scheduler of their own, and
 * data-parallel loops.
 *
 * Threads: the coordinator is a role of the first process, not a thread. Its
 * callbacks (`schedule`, `aggregate`, `objective`) run on any of that process's
 * worker threads, one at a time. Callbacks of one partition run one at a time,
 * those of different partitions concurrently.
 *
 * Errors: a callback reports a failure by `return strads_fail(...)`. The run
 * then ends on every node with that sentence. */
#ifndef STRADS_PROGRAM_H
#define STRADS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/options.h"
#include "strads/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In strads/program_more.h. */
struct strads_phase;
struct strads_payload;
struct strads_peer;
struct strads_turn;
typedef struct strads_bytes strads_bytes;

/* ---- blocks of parameters, and changes ----------------------------------- */

/* A set of parameters that is scheduled as one unit. An id always names the
 * same parameters in the same order, so a program may cache facts about a block
 * under its id. A program's own blocks have ids below STRADS_ALL_PARAMETERS;
 * policies number theirs from 2^63 on. */
#define STRADS_ALL_PARAMETERS ((UINT64_C(1) << 63) - 1)
typedef struct strads_block {
    uint64_t id;
    uint32_t n;            /* parameters in the block; 0: scalars only */
    uint32_t first;        /* with `param` NULL: first .. first + n - 1 */
    const uint32_t *param; /* [n], or NULL for a contiguous range */
    uint32_t owner;        /* OWNER phases: the partition that receives the
                              block. RING phases: the partition where its sweep
                              starts and ends; a plan (strads/plan.h) replaces
                              it */
} strads_block;

/* Parameter k of a block, k < block->n. */
static inline uint32_t strads_block_param(const strads_block *block, uint32_t k)
{
    return block->param ? block->param[k] : block->first + k;
}

/* The effect of one commit: parameter param[k] moved by
 * change[k * width .. (k + 1) * width - 1]. */
typedef struct strads_change {
    uint64_t version; /* 1, 2, 3, ...: the order of commits */
    uint32_t n;
    const uint32_t *param; /* [n] */
    const double *change;  /* [n x width] */
} strads_change;

/* ---- sizes --------------------------------------------------------------- */

/* The sizes of a program. The engine presets them; `shape` corrects them. */
typedef struct strads_shape {
    uint64_t parameters; /* J; preset to the columns of the data */
    uint32_t width;      /* numbers a parameter; preset to 1 */
    uint32_t block_max;  /* most parameters in a block; preset to 64 */
    /* RING: the number of blocks, with ids 0 .. blocks - 1. Preset to that of
     * the plan, or to the option `blocks`, or to two a partition. A program may
     * set another number (for example blocks that fit a cache) unless a plan is
     * given. */
    uint32_t blocks;
    /* The number of shared totals: f64 numbers that every update reads and adds
     * to, and that no block owns (LDA's topic counts). Preset to 0; at most
     * some thousands, because they travel with each dispatch. They start at 0.
     *
     * The update of dispatch n reads task->total: the commits of dispatches
     * 1 .. n - 1 - s, equal for all partitions, plus everything that its own
     * partition has added since. s is the number of dispatches that were in
     * flight when n left: at most `depth`, 0 when `schedule` waits. Whole
     * numbers below 2^53 are exact. `aggregate` may add to totals as well. The
     * store holds them in the table "shared totals". Not with `run`. */
    uint32_t totals;
    /* Read only: the sizes of the whole data set, independent of the part that
     * this process keeps. */
    uint64_t rows, cols;
    uint32_t partitions; /* K */
    uint32_t pools;      /* groups of partitions; K if the program is not
                            pooled */
    /* The number of parameters, counted from the first, that a model contains;
     * preset to 0: all. The others exist during the run only (for example the
     * samples of a dual program). */
    uint64_t coefficients;
    /* RING, read only: a plan or the option `blocks` fixes `blocks`. */
    bool blocks_given;
    /* The least memory, in bytes, that the coordinator's process uses for each
     * parameter during the run, data excluded: the program's state, values,
     * weights and priorities. Preset to 0: unknown. If memory for all
     * parameters is not available, the run fails with STRADS_ENOMEM before the
     * first callback. */
    uint32_t param_bytes;
    /* The memory, in bytes, that this process uses at the peak of the run for
     * its data and for the program's state that depends on them: tokens,
     * ratings, factors, copies, the result. Preset to the bytes of the data.
     * Together with param_bytes it is compared with the option `memory`, or
     * with the free memory, before the first callback of a worker; a run that
     * needs more fails with STRADS_ENOMEM. */
    uint64_t run_bytes;
    /* Read only, valid from `begin` on: the bytes that the option `memory`
     * leaves for caches and working sets that grow during the run; UINT64_MAX:
     * no limit. */
    uint64_t spare_bytes;
} strads_shape;

/* The pool of a partition, and the first partition of a pool. pool == pools
 * returns the number of partitions. */
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

/* ---- the argument of a worker's callback --------------------------------- */

/* One block on one partition. `share`, `config` and `store` stay valid for the
 * run, all other pointers for the call. */
typedef struct strads_task {
    const strads_share *share; /* the partition's data */
    void *local;               /* the partition's state, made by `open` */
    const void *config;        /* the program's options, read only */
    strads_store *store;       /* tables, under the consistency rule. NULL on
                                  nodes other than the coordinator's, and on
                                  several nodes in `run` */
    uint64_t seed;             /* of the run; use it to name random streams */
    uint64_t round;
    uint32_t phase; /* index into `phases`; 0 in a program without phases */
    uint32_t step;  /* RING: partitions that the block has visited in this
                       sweep, 0 .. K - 1 */
    uint32_t width; /* numbers a parameter */
    strads_block block;
    strads_block against; /* PROBE: the block to compare with */
    /* Blocks of earlier dispatches; `refresh` has not yet delivered their
     * changes. */
    const strads_block *in_flight;
    uint32_t n_in_flight;
    double *value;   /* [n x width] the block's values, committed before the
                        dispatch. OWNER and RING: also the output, see
                        strads_phase */
    void *object;    /* RING: the block's payload object, or NULL */
    double *partial; /* output, zeroed; the size is what `partial` returned */
    size_t partial_bytes; /* CONCAT: may be lowered to the bytes written */
    /* Shared totals [shape->totals], or NULL. What `update` adds is visible to
     * this partition's next update at once, and to other partitions as
     * strads_shape states. NULL in other callbacks. */
    double *total;
    const struct strads_shape *shape; /* valid for the run */
    /* [n_peers] the partitions of this one's pool, from first_peer on. NULL if
     * the program is not pooled. */
    const struct strads_peer *peer;
    uint32_t first_peer, n_peers;
    void *state;  /* `run` on partition 0: the state that `begin` made, for
                     values that the result reports; elsewhere NULL */
    void *engine; /* `run`: for strads_loop_ends and strads_loop_report */
    /* Becomes true, at any time, when the user of this process stops the run
     * (strads_engine_options.stop); NULL: never. An update that takes long may
     * look at it and return early, with a result that `aggregate` knows to be
     * of a part: the run ends with the commits so far. */
    const volatile bool *stop;
} strads_task;

/* ---- the argument of aggregate ------------------------------------------- */

/* The merged partial of one block, and the commit that `aggregate` makes of it.
 * strads/program_more.h has further calls: priorities, probed pairs, changes
 * outside the block. */
typedef struct strads_commit {
    void *state; /* made by `begin` */
    const void *config;
    strads_store *store; /* committed values; parameters are table 0 */
    uint64_t seed;
    uint64_t round;
    uint32_t phase;
    uint32_t width;
    strads_block block;
    strads_block against;  /* PROBE only */
    const double *partial; /* merged over all partitions */
    size_t partial_bytes;
    const double *value;        /* [n x width] committed values of the block */
    const strads_change *since; /* commits that no partition had received when
                                   it computed this partial */
    uint32_t n_since;
    double *change;       /* [n x width] output, zeroed: added to `value`.
                         OWNER and RING: preset to the holder's changes. NULL
                         in PROBE phases and in phases with keeps_values */
    double *priority;     /* [n] output: the new priority of each parameter.
                         Preset to a negative number, which means |change|.
                         NULL if `change` is */
    void *engine;         /* for the calls of strads/program_more.h */
    double tolerance;     /* the run ends when a report's gap is at most this */
    const double *total;  /* [shape's totals] including this dispatch's */
    double *total_change; /* [shape's totals] output, zeroed: added to the
                             totals (for example a step size that all updates
                             read) */
} strads_commit;

/* ---- reports of progress ------------------------------------------------- */

/* The most measures of its own that a program may report. */
#define STRADS_MEASURES 9

/* Filled by `objective`. */
typedef struct strads_report {
    double objective;  /* the minimised function; NaN if unknown */
    double gap;        /* relative duality gap, or another certificate that is
                         0 at the optimum; NaN if there is none. The run ends
                         when it is at most the tolerance */
    uint64_t nonzeros; /* parameters that differ from 0 */
    bool stop;         /* true ends the run, independent of the gap */
    /* Values named by the program's `measures`: a likelihood, an error on
     * held-out data, a rate. Preset to NaN: unknown. */
    double measure[STRADS_MEASURES];
} strads_report;

/* ---- the table ----------------------------------------------------------- */

typedef struct strads_program {
    size_t size;         /* sizeof(strads_program) */
    const char *name;    /* lower case, as in model files and logs */
    const char *summary; /* one line for --help */

    strads_split split;   /* how the data is cut into partitions */
    strads_layout layout; /* what a share holds; 0: STRADS_LAYOUT_COLS */
    strads_kind kind;     /* kind of data; 0: samples */
    strads_scalar values; /* STRADS_F32: values of 4 bytes; 0: the user
                             chooses */

    /* The program's options: a table that ends with a NULL name, the size of
     * the struct that it describes, and its defaults (NULL: all zero). */
    const strads_option *options;
    size_t config_size;
    const void *defaults;

    /* ---- the slots of a minimal program */

    /* A program with one phase: its blocks go to all partitions, and partials
     * are added. strads/program_more.h documents the three under
     * strads_phase. */
    size_t (*partial)(const strads_task *task);
    strads_err (*update)(strads_task *task);
    strads_err (*aggregate)(strads_commit *commit);

    /* Worker: makes the state of one partition. The task has share, config,
     * store, seed and width. Parameters are 0 until `refresh` delivers start
     * values. */
    strads_err (*open)(const strads_task *task, void **local);
    void (*close)(void *local);
    /* Delivers committed changes, each once, in the order of commits, before
     * any update that was dispatched after them. NULL: not needed. */
    strads_err (*refresh)(strads_task *task, const strads_change *changes,
                          uint32_t n);

    /* Coordinator: makes the state for schedule, aggregate and objective.
     * `data` is the part that the coordinator's process keeps. `end` frees the
     * state together with the result, after the store. */
    strads_err (*begin)(const void *config, const strads_data *data,
                        const strads_shape *shape, void **state);
    void (*end)(void *state);

    /* Reports progress from numbers that `aggregate` stored in the state; it
     * never scans data. Called after each aggregate of a phase that `reports`;
     * in a program without phases, once J parameters have been committed since
     * the last call. */
    strads_err (*objective)(void *state, strads_report *report);
    /* Names of report->measure, lower case, as keys of a log; the list ends
     * with NULL. NULL: none. */
    const char *const *measures;

    /* ---- sizes, tables, work */

    /* Corrects the preset shape. NULL: a parameter for each column, one number
     * each. STRADS_EINVAL: the options do not fit this data. */
    strads_err (*shape)(const void *config, const strads_data *data,
                        strads_shape *shape);
    /* Adds the program's own tables to the store; table 0 holds the parameters
     * [J x width] in f64. NULL: none. With `run` on several nodes every node
     * calls it for the specs; increments that it makes count on node 0 only. */
    strads_err (*tables)(const void *config, const strads_shape *shape,
                         strads_store *store);
    /* The work of parameter j in one update, in entries read, for policies.
     * NULL: the entries of column j, or 1. */
    double (*weight)(const void *config, const strads_data *data, uint32_t j);

    /* ---- several phases (strads/program_more.h) */

    /* A program with several phases leaves the three above NULL. */
    const struct strads_phase *phases;
    uint32_t n_phases;

    /* Chooses the next dispatch (strads/program_more.h). NULL: the engine
     * dispatches phases by their `when`. Otherwise the engine dispatches PROBE
     * phases only, and a run that a bound ends has no last report. */
    strads_err (*schedule)(struct strads_turn *turn);
    /* With `schedule`: after a bound, `stop` or a report ends the run, the
     * engine calls `schedule` with turn->ends set until it stops, so that a
     * model that is spread over partitions can be gathered. These dispatches do
     * not count as rounds. A bound does not end them; a failure does. */
    bool finalises;

    const struct strads_payload *payload; /* RING: travels with a block; NULL:
                                             values only */

    /* ---- checkpoints */

    /* Checkpoints: a partition's state to bytes and back. `unpack` replaces
     * `open`; no `refresh` of earlier commits follows. A program with a `begin`
     * needs pack_state as well. NULL: `open` and `refresh` make the state
     * again. */
    strads_err (*pack)(const void *local, strads_bytes *out);
    strads_err (*unpack)(strads_task *task, const void *bytes, size_t size,
                         void **local);

    /* Checkpoints: the coordinator's state to bytes and back. The engine calls
     * pack_state before `schedule`, when nothing is in flight. A state that
     * appends nothing is inside a step of several phases: the engine asks again
     * before the next dispatch. unpack_state follows `begin` and comes before
     * any other callback. NULL: `begin` and the committed values make the state
     * again, as for a run that starts from a model; shared totals begin at
     * 0. */
    strads_err (*pack_state)(const void *state, strads_bytes *out);
    strads_err (*unpack_state)(void *state, const void *bytes, size_t size);

    /* ---- a loop instead of rounds */

    /* A data-parallel loop {read_row, inc, clock} on tables, instead of all
     * slots from `schedule` to `payload`. Each partition has a thread and a
     * session of its own, independent of `workers`. The loop calls
     * strads_loop_ends once a clock and reports progress by strads_loop_report.
     * The model is table 0 when all loops have returned.
     *
     * A program with `pack` and `unpack` has checkpoints. The engine makes one
     * at the start of a clock: all sessions stop inside the call that ended the
     * clock before, their increments are in the tables, and `pack` saves each
     * task->local. If a `pack` appends nothing, the engine tries again at a
     * later clock. A resumed run unpacks these states and calls `run` with
     * sessions at the checkpoint's clock (strads_session_now) and the tables of
     * that clock. */
    strads_err (*run)(strads_task *task, strads_session *session);

    /* ---- parameters that belong to partitions */

    /* The parameters that belong to a partition. The coordinator opens the
     * policy once for each partition, on these parameters; it chooses
     * `--blocks` blocks for each, sets their `owner`, and dispatches them
     * together. Ranges ascend with the partitions. A parameter outside all
     * ranges follows from owned ones: no policy chooses it and its changes do
     * not count as updates. Not together with a PROBE phase. NULL: policies
     * choose among all parameters. */
    strads_range (*owned)(const void *config, const strads_data *data,
                          const strads_shape *shape, uint32_t partition);
    /* Any partition of the owner's pool may update an owned parameter. A pool
     * is a group of adjacent partitions on one node (the engine's option
     * `pools`). The coordinator opens the policy once for each pool. A new draw
     * deals the parameters of each block to the pool's partitions, with equal
     * weight; a partition reaches the rows through task->peer. `owned` leaves
     * no gaps inside a pool. */
    bool pooled;

    /* ---- data and partitions */

    /* Whether labels may be names (strads_data_options.named_labels) with these
     * options. NULL: labels are numbers. Any thread. */
    bool (*named_labels)(const void *config);

    /* The least entries that make a further partition worth its worker. If the
     * number of partitions is not given, no partition has fewer
     * (strads_run_cut). 0: STRADS_PARTITION_ENTRIES. Programs with a RING phase
     * or `run` use all workers, independent of the size of the data. */
    uint64_t partition_entries;

    /* Partitions for each worker, if there are several workers, blocks travel,
     * and the number of partitions is not given (strads_run_cut). With two, a
     * fast thread can take over a partition of a slow one. 0: one, for programs
     * that converge slower with more partitions. */
    uint32_t partitions_each;

    /* With the split GRID: the number of column ranges; it divides the number
     * of partitions. NULL: one. Any thread. */
    uint32_t (*grid)(const void *config);

    /* With the split COLS: a file that is a pack stays packed
     * (strads_data_options.packed), and updates read it chunk by chunk. */
    bool packed;

    /* `schedule` never asks a policy, and waits for each round. The options
     * `policy`, `policy_plugin`, `blocks`, `schedulers`, `threshold` and
     * `depth` are refused. The engine keeps no weights and priorities, some
     * 20 bytes a parameter. */
    bool no_policy;

    /* Its callbacks can read lines without index: see strads_sparse. A dense
     * matrix then takes a third less memory, or none if it is borrowed. */
    bool unindexed;
} strads_program;

/* Entries with an update cost equal to that of a further partition's round and
 * the merge of its partial, with some margin. */
#define STRADS_PARTITION_ENTRIES 1000000

/* Exports a program from a shared object to `strads run`; stands at file level.
 * STRADS_PROGRAM_ABI changes when the meaning of a slot changes. */
#define STRADS_PROGRAM_ABI 2
#define STRADS_EXPORT_PROGRAM(program)                            \
    __attribute__((visibility("default"))) const strads_program * \
    strads_program_entry(uint32_t abi)                            \
    {                                                             \
        return abi == STRADS_PROGRAM_ABI ? &(program) : NULL;     \
    }

/* Finds a built-in program by name ("lasso", "svm", ...). Returns NULL if there
 * is none. The program is static. Any thread; does not block. */
STRADS_API const strads_program *strads_program_find(const char *name);

#ifdef __cplusplus
}
#endif

#include "strads/program_more.h"

#endif
