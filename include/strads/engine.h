/* strads/engine.h - runs a program: on threads, on several nodes, or simulated.
 *
 * On one machine:
 *
 *     strads_run_cut(&program, &config, &options, &data_options);
 *     strads_data_read(path, &data_options, &data);
 *     strads_run(&program, &config, data, &options, &result);
 *
 * On several nodes every process makes an engine first, because its part of the
 * data depends on the members of the run:
 *
 *     strads_engine_listen(&program, &config, &options, &engine); // or _join
 *     strads_engine_keep(engine, &data_options);  // fills in its partitions
 *     strads_data_read(path, &data_options, &data);
 *     strads_engine_run(engine, data, &result);
 *     strads_engine_free(engine);
 *
 * If every node has rows of its own, strads_data_from_part replaces
 * strads_data_read.
 *
 * With `regroup` a run continues after the loss of a node: while
 * strads_engine_run returns STRADS_EREGROUP, all remaining processes repeat the
 * steps from strads_engine_keep on.
 */
#ifndef STRADS_ENGINE_H
#define STRADS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/options.h"
#include "strads/plan.h"
#include "strads/policy.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strads_engine strads_engine;
typedef struct strads_result strads_result;

/* The time of one worker so far, in seconds. In programs of rounds a worker is
 * a thread of this process, in loops a partition. */
typedef struct strads_worker_time {
    double callback_seconds; /* inside callbacks */
    double waiting_seconds; /* loops: waiting for clocks of others; rounds: time
                                outside callbacks */
    double network_seconds; /* loops: waiting for other nodes */
    uint64_t clock;         /* loops: clocks ended */
} strads_worker_time;

/* The state of one node, seen from node 0. */
typedef struct strads_node_state {
    const char *url;  /* where it listens */
    uint32_t workers; /* threads; 0 for node 0: see n_workers */
    bool linked;      /* false: its link is broken, or it has left */
    uint64_t bytes_sent, bytes_received; /* to and from it, frame headers
                                            included; 0 for node 0 */
} strads_node_state;

/* Bins of a histogram of priorities: bin 0 counts those below 2^-40, bin k
 * those in [2^(k - 41), 2^(k - 40)), the last one all larger ones. */
#define STRADS_PRIORITY_BINS 64

/* One line of progress: after each report of the program's `objective`, or of
 * its `run`. */
typedef struct strads_progress {
    uint64_t round;     /* rounds committed, probes and scans included; loops:
                           clocks of partition 0 */
    double seconds;     /* wall time of the run so far, reading excluded */
    double cpu_seconds; /* of all threads of this process */
    double objective, gap;
    uint64_t nonzeros;
    double measure[STRADS_MEASURES]; /* as in strads_report */
    uint64_t blocks;                 /* blocks chosen by the policy so far */
    uint64_t updates_policy;         /* coordinate updates committed in them */
    uint64_t updates_other;          /* coordinate updates outside them */
    uint64_t probes;                 /* pairs probed */
    uint64_t bytes_sent, bytes_received; /* between nodes */
    double callback_seconds; /* inside callbacks, summed over workers */
    /* Loops: time in sessions, waiting for clocks of others and for other
     * nodes; callback_seconds excludes it. */
    double waiting_seconds, network_seconds;
    /* For monitoring. The arrays are valid during the call of `progress`, and
     * NULL in a result. */
    uint32_t in_flight; /* most rounds in flight since the last report */
    uint32_t n_workers; /* of this process */
    const strads_worker_time *worker; /* [n_workers] */
    const uint64_t *priorities; /* [STRADS_PRIORITY_BINS] histogram of the new
                                   priorities that the policies of this process
                                   have received; NULL in loops */
    uint32_t n_nodes;           /* 0: a single process or a simulation */
    const strads_node_state *node; /* [n_nodes], by their numbers */
} strads_progress;

typedef struct strads_engine_options {
    size_t size;         /* sizeof(strads_engine_options) */
    uint32_t workers;    /* threads of this process, at most one for each
                            partition; 0: one per core */
    uint32_t partitions; /* K; 0: that of the plan, else of the data; on several
                            nodes the number of all workers, simulated the
                            number of nodes */
    const char *policy;  /* NULL: "priority" */
    const strads_policy *policy_plugin; /* not NULL: used instead */
    uint32_t depth;  /* rounds in flight beside the first, 0 .. 16 */
    uint32_t blocks; /* blocks a round; 0: 1. RING programs without a plan:
                            the preset of shape->blocks; 0 and 1 mean two a
                            partition */
    uint32_t
        schedulers;   /* number of schedulers, at most one a parameter and 256;
                            0: 1. Each has a policy for a range of the
                            parameters. They choose in turn, while rounds of the
                            others are in flight. They are placed on nodes 0, 1,
                            ... in turn. The number affects the draws */
    uint32_t pools;   /* groups of adjacent partitions, each on one node, which
                            work on each other's shares in `pooled` programs; 0:
                            one a node. The number affects the bits */
    double threshold; /* dependency threshold; 0: 0.1 */
    double tolerance; /* relative gap to stop at; 0: 1e-6 */
    uint64_t max_rounds; /* 0: no bound; loops: clocks */
    double time_limit;   /* seconds; 0: none */
    uint64_t seed;       /* 0 is a seed like any other */
    bool deterministic;  /* commit in the order of rounds; block sizes depend on
                               counts, not on measured times */
    const char *trace;   /* file for a Chrome/Perfetto trace, or NULL */
    const char *plan;    /* file with the plan of a program with RING phases;
                            NULL: rotation. Node 0 sends it to the others */
    const strads_plan *plan_given; /* not NULL: used instead */

    /* Several nodes. */
    const char *listen;    /* tcp://HOST:PORT, tls+tcp://HOST:PORT,
                              ws://HOST:PORT/PATH or ipc://PATH, or NULL */
    uint32_t nodes;        /* processes in all, this one included; 0: 1 */
    uint32_t shards;       /* loops: parts of the tables, placed on nodes 0, 1,
                              ... in turn; 0: 1 */
    double reconnect;      /* seconds that a link between nodes may stay broken
                              while it is dialled again; 0: 10 */
    const char *data_path; /* sent to joining nodes */
    bool regroup; /* continue from the last checkpoint when a node is lost, and
                     accept late nodes; see strads_engine_run. No effect on
                     programs without checkpoints */

    /* Authentication (docs/security.md); equal on every node. */
    /* A file with the run's token, the key of its links: 16 to 512 bytes that
     * other users may not read. NULL: the variable STRADS_TOKEN, or no token;
     * then only addresses that no other machine reaches are accepted. */
    const char *token_file;
    bool insecure; /* accept any address without a token: every process that
                      reaches it may join */
    /* PEM files, all three for tls+tcp:// addresses, otherwise NULL: the
     * authorities that signed the certificates of all nodes, this node's
     * certificate, and its key, which other users may not read. */
    const char *tls_ca, *tls_cert, *tls_key;

    /* Tables of a loop on several nodes; sent to joining nodes. The first two
     * apply to table 0 and to tables with `tuned`, if their specs have 0; see
     * strads/store.h. */
    double hold_below;
    uint64_t push_bytes;
    uint32_t window;      /* most unacknowledged pushes of a node to one shard,
                             1 .. 64, of up to 256 KB each; further ones wait.
                             0: 64 and at most 2 MB */
    uint64_t cache_bytes; /* size of a node's cache of rows; 0: 256 MiB */

    /* Start values of table 0: n_start parameters. */
    uint64_t n_start;
    const uint32_t *start_param;
    const double *start_value; /* [n_start x width] */

    /* Called on the thread that called run, never twice at once. */
    void (*progress)(void *arg, const strads_progress *progress);
    void *progress_arg;
    /* Once true, the run ends at the next commit with the model so far. A
     * signal handler may set it directly, another thread by an atomic store.
     * May be NULL. */
    const volatile bool *stop;

    uint64_t
        memory; /* bytes that the run may use in this process: data read with
                        the options of strads_run_cut or strads_engine_keep, and
                        parameters. A run that needs more is refused before it
                        allocates. 0, or more than is free: the free memory */

    /* Checkpoints: states of the run from which another run continues
     * (docs/operations.md). Node 0 writes them. */
    const char *checkpoint; /* a directory for the last two, created if missing;
                               NULL: that of `resume`, or no checkpoints */
    double checkpoint_every; /* seconds between checkpoints; 0: 60, or 10 with
                                `regroup` alone, which keeps them in memory. A
                                last one is made when `stop` or a bound ends the
                                run */
    const char
        *resume; /* continue from the newest checkpoint in this directory,
                           with the same program, options, data, seed and number
                           of partitions; NULL: start afresh */
    /* Receives sentences that do not end the run (for example a checkpoint
     * could not be written). Any thread, one call at a time. May be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    double gather; /* seconds that node 0 waits for the nodes of a run that
                      begins, then STRADS_EIO; 0: no bound */
    const char *advertise; /* the URL at which other nodes reach this one, if it
                              is not `listen`: of a forwarded port (NAT, a
                              container) or of a proxy, also wss://; or NULL */
} strads_engine_options;

/* The tables behind the command's common options: those of programs of rounds,
 * and those of data-parallel loops. */
STRADS_API const strads_option *strads_engine_option_table(void);
STRADS_API const strads_option *strads_engine_loop_option_table(void);

/* The reason for the end of a run. */
typedef enum strads_end {
    STRADS_END_CONVERGED = 0, /* the gap reached the tolerance */
    STRADS_END_STOPPED = 1,   /* the program stopped it */
    STRADS_END_ROUNDS = 2,    /* max_rounds */
    STRADS_END_TIME = 3,      /* time_limit */
    STRADS_END_CANCELED = 4   /* options.stop */
} strads_end;

/* Fills in the options for reading the data of strads_run: split, layout, kind,
 * named_labels, values (if the program fixes them), partitions and
 * partition_entries. The number of partitions is that of `options` or of the
 * plan. Otherwise there is one for each worker, or the program's
 * `partitions_each` for each of several workers, but none with fewer entries
 * than the program's `partition_entries`. Other members of *cut are unchanged.
 * `config` and `options` as for strads_run. Errors as strads_plan_read. */
STRADS_API strads_err strads_run_cut(const strads_program *program,
                                     const void *config,
                                     const strads_engine_options *options,
                                     strads_data_options *cut);

/* Trains `program` on the partitions of `data` with threads of this process.
 * `config` points to the struct that the program's options table describes
 * (NULL: defaults). It, `data` and `options` (NULL: defaults) must outlive the
 * call. The caller frees *out. Blocks.
 *
 * Errors of the program are returned with their sentence. STRADS_EINVAL: an
 * option, or a program that contradicts itself. STRADS_EFORMAT,
 * STRADS_EMISMATCH: options->resume has no complete checkpoint, or one of
 * another program, other data or other options. STRADS_EIO, STRADS_ESTATE:
 * options->checkpoint cannot be written, or another run uses it. STRADS_ENOMEM.
 * If only the end of options->trace fails, the error is returned and *out has
 * the result; after any other error *out is unchanged. */
STRADS_API strads_err strads_run(const strads_program *program,
                                 const void *config, const strads_data *data,
                                 const strads_engine_options *options,
                                 strads_result **out);

/* Tests a program on the data at `path` and finds mistakes in it. It runs the
 * program with one and with three partitions, on one and on two workers, and
 * simulated, and compares the results. Callbacks write between guard zones.
 * Some commit must set each number of commit->change. The objective may not end
 * above its start, and must be reproduced by a run that starts from the
 * parameters. All runs are in a child process, so that a crash is reported as a
 * sentence.
 *
 * `config` as for strads_run; `how`: labels and other reading options, NULL:
 * the program's. Blocks, up to half a minute on small data. One thread at a
 * time. STRADS_EPROGRAM: the sentence names callback, phase, block and
 * partition, and the remedy. STRADS_EINVAL: a table that contradicts itself.
 * Errors of the program and of strads_data_read. */
STRADS_API strads_err strads_program_check(const strads_program *program,
                                           const void *config, const char *path,
                                           const strads_data_options *how);

/* ---- several nodes ----------------------------------------------------- */

/* Opens options->listen for options->nodes - 1 other processes and returns at
 * once; strads_engine_url then has the real port. `program`, `config` and
 * `options` must outlive the engine. STRADS_EIO: the address is in use or does
 * not exist, or the token's file cannot be read. STRADS_EINVAL: an option, or
 * the token; or more than one node for a program of rounds with tables of its
 * own, which this version runs in one process only. */
STRADS_API strads_err strads_engine_listen(const strads_program *program,
                                           const void *config,
                                           const strads_engine_options *options,
                                           strads_engine **out);

/* Options of a joining node. */
typedef struct strads_join_options {
    size_t size;
    uint32_t workers;   /* threads of this process; 0: one per core */
    bool shard;         /* no workers: this node only holds shards of a loop's
                           tables. If such nodes exist, they hold all shards */
    const char *listen; /* where other nodes reach this one; NULL: a free port
                           of the interface that reaches node 0 */
    double timeout; /* seconds for node 0 to answer; 0: 30. After the answer a
                           node waits as long as the coordinator */
    const char *trace;
    /* Finds the coordinator's program by name. */
    const strads_program *(*find)(void *arg, const char *name);
    void *find_arg;
    const volatile bool *stop;
    /* As strads_engine_options. */
    const char *token_file;
    bool insecure;
    const char *tls_ca, *tls_cert, *tls_key;
    /* Continue when nodes are lost or join, see strads_engine_run. A node that
     * joins a run with all its nodes present waits until it is needed. */
    bool regroup;
    /* With `regroup`: seconds to wait for a lost node 0 to return by `resume`;
     * 0: its loss ends this node. */
    double wait;
    /* Called once if this node has to wait for admission. May be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    const char *advertise; /* as strads_engine_options; needs `listen` */
} strads_join_options;

/* Joins the run at `url` (as `listen` of strads_engine_options, or
 * wss://HOST:PORT/PATH of a proxy) and waits, as long as the coordinator does,
 * until all nodes have joined. ws and wss need nng: STRADS_EINVAL without it,
 * STRADS_ESTATE in a process that was forked after its first use. With
 * `regroup` everything that `options` points to must outlive the engine.
 * STRADS_EMISMATCH: another version, program or token; a certificate that one
 * side does not accept; a second join; or a full run that accepts no late
 * nodes. STRADS_EIO: no answer. STRADS_EPEER: the coordinator or another node
 * was lost or failed. STRADS_ECANCELED. */
STRADS_API strads_err strads_engine_join(const char *url,
                                         const strads_join_options *options,
                                         strads_engine **out);

/* Returns the address at which other nodes reach this engine: `advertise`, or
 * that of `listen` with its real port; "" after a failed run.
 * Valid until strads_engine_run or strads_engine_free. */
STRADS_API const char *strads_engine_url(const strads_engine *engine);
/* Returns the coordinator's data path, or NULL. Valid until the next
 * strads_engine_keep. */
STRADS_API const char *strads_engine_data_path(const strads_engine *engine);
/* Returns the program of the run. */
STRADS_API const strads_program *
strads_engine_program(const strads_engine *engine);

/* Fills in the reading options of this node: partitions, keep_first,
 * keep_count, split, layout, kind, named_labels, and values if the program
 * fixes them. Other members of *options are unchanged. The listening node waits
 * here until all others have joined. After STRADS_EREGROUP every node waits,
 * and its range of partitions may change. STRADS_ECANCELED. STRADS_EINVAL:
 * fewer partitions than workers. STRADS_ESTATE: the engine has run. After
 * STRADS_EREGROUP also errors of strads_engine_join. */
STRADS_API strads_err strads_engine_keep(strads_engine *engine,
                                         strads_data_options *options);

/* Makes one data set from the rows that the nodes hold. `part` has this node's
 * rows (samples, documents, users), possibly none. All nodes call it after
 * strads_engine_keep, with the same columns and with the options that
 * strads_engine_keep filled in. Rows are numbered in the order of nodes, which
 * is the order of joining.
 *
 * The rows of a node are cut into the partitions that it hosts. Entries and
 * labels stay where they are; only sizes, counts of columns (and of rows, if
 * the layout has rows) and parts of the checksum travel. The run has the bits
 * of one process with the same row_bounds. `part` is copied, or borrowed as in
 * strads_data_from_arrays; columns of a node with one partition are borrowed as
 * well. *out describes the whole data set; the caller handles names of rows. A
 * program's own arrays over rows (for example weights) do not travel.
 *
 * Blocks until all nodes have called it. One call at a time for an engine.
 * STRADS_ESTATE: before strads_engine_keep. STRADS_EMISMATCH: parts differ in
 * columns, names or kind of labels, or another node has read the data itself.
 * STRADS_EINVAL: as strads_data_from_arrays; no part has a row; the program
 * cuts columns; `regroup`. STRADS_EPEER: a node was lost or failed.
 * STRADS_ELIMIT, STRADS_ENOMEM, STRADS_ECANCELED. After an error free the
 * engine. */
STRADS_API strads_err strads_data_from_part(strads_engine *engine,
                                            const strads_arrays *part,
                                            const strads_data_options *options,
                                            strads_data **out);

/* Runs the program together with the other nodes, once. The coordinator
 * receives the result in *out, as after strads_run; on a joined node *out stays
 * NULL. STRADS_EREGROUP (with `regroup`): a node was lost, or one waits for
 * admission. Call strads_engine_keep, read the data that it names and call this
 * function again; the run continues from its last checkpoint. STRADS_EMISMATCH:
 * the data differs from the coordinator's. STRADS_EPEER: a node was lost or
 * failed. STRADS_ESTATE: before strads_engine_keep, or a second call. */
STRADS_API strads_err strads_engine_run(strads_engine *engine,
                                        const strads_data *data,
                                        strads_result **out);

/* Frees an engine. If the run is not over, this node leaves it, and the others
 * end with STRADS_EPEER. NULL is allowed. */
STRADS_API void strads_engine_free(strads_engine *engine);

/* ---- simulated --------------------------------------------------------- */

/* The cost of one phase's callbacks, in seconds. */
typedef struct strads_sim_phase {
    double update_cost; /* of one update, independent of its blocks */
    double entry_cost;  /* in addition for each entry of its blocks (weight) */
    double aggregate_cost; /* of one commit */
} strads_sim_phase;

/* The cost model of a simulated run. The callbacks run on one thread; their
 * virtual durations come from this model. Times in seconds. */
typedef struct strads_sim_options {
    size_t size;
    uint32_t nodes;      /* simulated processes, one worker each */
    double latency;      /* of a message between two nodes */
    double bandwidth;    /* bytes a second of a link; 0: infinite */
    double message_cost; /* at sender and receiver, each */
    double receive_cost; /* at the receiver instead; 0: message_cost */
    /* As in strads_sim_phase, for phases beyond n_phases. */
    double update_cost, entry_cost, aggregate_cost;
    const strads_sim_phase *phases; /* [n_phases] by phase, or NULL */
    uint32_t n_phases;
    double choose_cost;
    double refresh_cost;       /* of the commits that arrive with a dispatch */
    double refresh_entry_cost; /* in addition for each entry that they change */
    double merge_cost;         /* of merging one byte of a partial */
    double jitter;             /* each time is multiplied by 1 + jitter u, u in
                                  [0, 1) from the seed, so messages overtake */
    /* Stragglers: worker w takes slow[w] times as long; w >= n_slow: 1. */
    const double *slow;
    uint32_t n_slow;
} strads_sim_options;

typedef struct strads_sim_traffic {
    uint64_t messages, bytes;
} strads_sim_traffic;

typedef struct strads_sim_outcome {
    double makespan; /* virtual seconds from first event to last */
    uint64_t events, messages, bytes;
    uint64_t digest; /* of every event in order: same seed, same digest */
    strads_sim_traffic dispatches, partials, ring_steps; /* of the messages */
    strads_sim_traffic pushes, asks, rows; /* the same, of a loop */
    uint32_t workers; /* of a loop: partitions, each with a core of its own */
    /* Busy seconds: of all workers together, of the coordinator, of all
     * schedulers together. */
    double workers_busy, coordinator_busy, schedulers_busy;
    uint32_t schedulers; /* of a loop: 0 */
} strads_sim_outcome;

/* Runs the program on simulated nodes. `data` must hold all partitions.
 * `outcome` may be NULL. Otherwise as strads_run.
 *
 * A data-parallel loop has its tables in options->shards parts, on nodes 0, 1,
 * ... in turn, and its partitions distributed over all nodes. The virtual time
 * of its computing passes when a clock ends: the update_cost of phase 0, and
 * entry_cost for each entry of the partition. A shard takes merge_cost for each
 * pushed byte. Each partition is a thread with a stack of 512 KiB; one runs at
 * a time. STRADS_EINVAL: a loop with options->trace, which it does not have. */
STRADS_API strads_err strads_simulate(
    const strads_program *program, const void *config, const strads_data *data,
    const strads_engine_options *options, const strads_sim_options *sim,
    strads_result **out, strads_sim_outcome *outcome);

/* Measures the cost of the program's callbacks on this machine, by a run with
 * one worker on this thread that spends at most `seconds` in callbacks. Fills
 * in phases[n_phases] and the costs of callbacks in *sim; other members of *sim
 * are unchanged. `data` should have two partitions (options->partitions): with
 * one, merging is not measured. Phases that did not run cost 0. For a loop
 * update_cost is the mean time of a clock with the partitions of `data`.
 * Otherwise as strads_simulate. */
STRADS_API strads_err strads_sim_measure(
    const strads_program *program, const void *config, const strads_data *data,
    const strads_engine_options *options, double seconds,
    strads_sim_options *sim, strads_sim_phase *phases, uint32_t n_phases);

/* ---- results ----------------------------------------------------------- */

/* The result of a run. Any thread; no call blocks. Pointers are valid as long
 * as the result. */

/* Frees a result, and its state by the program's `end`. NULL is allowed. */
STRADS_API void strads_result_free(strads_result *result);
STRADS_API strads_end strads_result_end(const strads_result *result);
/* Returns the figures of the last report, and totals. */
STRADS_API const strads_progress *
strads_result_progress(const strads_result *result);
/* Returns K of the run. */
STRADS_API uint32_t strads_result_partitions(const strads_result *result);
/* Returns table 0 after the last commit, [parameters x width]. */
STRADS_API const double *strads_result_values(const strads_result *result,
                                              uint64_t *parameters,
                                              uint32_t *width);
/* Returns the number of parameters, counted from the first, that a model
 * contains. */
STRADS_API uint64_t strads_result_coefficients(const strads_result *result);
/* Returns the program's coordinator state, made by `begin` (with an intercept,
 * say). */
STRADS_API void *strads_result_state(const strads_result *result);

#ifdef __cplusplus
}
#endif

#endif
