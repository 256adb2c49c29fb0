/* strads/program.h - what a program is: a table of callbacks.
 *
 * A program trains `parameters` rows of `width` numbers each. The engine picks
 * blocks of parameters (or the program's own `schedule` does), has `update`
 * compute on every share of the data, merges the partials, has `aggregate`
 * turn them into a commit, and tells every worker what changed through
 * `refresh`. One such turn is a round; up to depth + 1 of them are in flight.
 *
 * What a callback gets and may call stands in a header of its own: blocks
 * (block.h), a worker's task, a commit, a turn of `schedule`, a report, a loop;
 * what a program tells of itself: its shape, its phases, its payload.
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

#include "strads/block.h"
#include "strads/commit.h"
#include "strads/data.h"
#include "strads/error.h"
#include "strads/loop.h"
#include "strads/options.h"
#include "strads/payload.h"
#include "strads/phase.h"
#include "strads/report.h"
#include "strads/shape.h"
#include "strads/store.h"
#include "strads/task.h"
#include "strads/turn.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    /* Local state to bytes and back, for checkpoints and for a partition that
     * moves. NULL: it can be made again by open and refresh. */
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
    bool winds_up;

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
     * strads_loop_report. The model is table 0 when all have returned. */
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
} strads_program;

/* What a round of a partition's own and the merge of one more partial cost, in
 * entries that updates read meanwhile, with some to spare. */
#define STRADS_PARTITION_ENTRIES 1000000

/* A program in a shared object for `strads run`: put this at file level.
 * STRADS_PROGRAM_ABI changes when a slot's meaning does. */
#define STRADS_PROGRAM_ABI 1
#define STRADS_EXPORT_PROGRAM(program)                            \
    __attribute__((visibility("default"))) const strads_program * \
    strads_program_entry(uint32_t abi)                            \
    {                                                             \
        return abi == STRADS_PROGRAM_ABI ? &(program) : NULL;     \
    }

#ifdef __cplusplus
}
#endif

#endif
