/* strads/engine.h - running a program: on threads, on nodes, or simulated.
 *
 * On one machine:
 *
 *     strads_run_cut(&program, &config, &options, &data_options);
 *     strads_data_read(path, &data_options, &data);
 *     strads_run(&program, &config, data, &options, &result);
 *
 * On several nodes every process makes an engine first, because what part of
 * the data it keeps depends on who takes part:
 *
 *     strads_engine_listen(&program, &config, &options, &engine); // or _join
 *     strads_engine_keep(engine, &data_options);  // fills in its partitions
 *     strads_data_read(path, &data_options, &data);
 *     strads_engine_run(engine, data, &result);
 *     strads_engine_free(engine);
 *
 * Where every node has rows of its own, strads_data_from_part takes the place of
 * strads_data_read.
 *
 * With `regroup` a run goes on without a node that is lost: as long as
 * strads_engine_run returns STRADS_EREGROUP, the steps from strads_engine_keep
 * on are repeated, by all processes that are left.
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

/* What one worker did so far, in seconds: of rounds a thread of this process, of
 * a loop a partition of it. */
typedef struct strads_worker_time {
    double callback_seconds; /* inside callbacks */
    double waiting_seconds;  /* of a loop: for others' clocks; of rounds the
                                time without a callback */
    double network_seconds;  /* of a loop: for other nodes */
    uint64_t clock;          /* of a loop: clocks that it has ended */
} strads_worker_time;

/* What one node of a run was for the one that leads it. */
typedef struct strads_node_state {
    const char *url;  /* where it listens */
    uint32_t workers; /* threads; 0 for the node that leads, which knows its
                         own by n_workers */
    bool linked;      /* false: its link is broken, or it has gone */
    uint64_t bytes_sent, bytes_received; /* to it and from it, frames' heads
                                            included; 0 for the leading one */
} strads_node_state;

/* Priorities by their size: in place 0 those that are 0 or below 2^-40, in place
 * k those from 2^(k - 41) up to below 2^(k - 40), in the last all above. */
#define STRADS_PRIORITY_BINS 64

/* One line of progress: after each report of the program's `objective`, or of
 * its `run`. */
typedef struct strads_progress {
    uint64_t round;     /* rounds committed, probes and scans included; of a
                           loop: clocks of partition 0 before its end */
    double seconds;     /* wall time of the run so far, without loading */
    double cpu_seconds; /* of all threads of this process */
    double objective, gap;
    uint64_t nonzeros;
    double measure[STRADS_MEASURES]; /* as in strads_report */
    uint64_t blocks;                 /* blocks that the policy chose, so far */
    uint64_t updates_policy;         /* coordinate updates committed in them */
    uint64_t updates_other;          /* and outside them */
    uint64_t probes;                 /* pairs probed */
    uint64_t bytes_sent, bytes_received; /* between nodes */
    double callback_seconds; /* inside callbacks, summed over workers */
    /* Of a loop, whose callback_seconds are without them: in sessions, for the
     * clocks of others and for other nodes. */
    double waiting_seconds, network_seconds;
    /* For who watches; the arrays are there during the call of `progress`, and
     * NULL in a result. */
    uint32_t in_flight; /* rounds dispatched and not yet committed: the most
                           since the last report */
    uint32_t n_workers; /* of this process */
    const strads_worker_time *worker; /* [n_workers] */
    const uint64_t *priorities; /* [STRADS_PRIORITY_BINS]: how many new ones
                                   the policies of this process were told so
                                   far; NULL: of a loop */
    uint32_t n_nodes; /* 0: there is only this process, or a simulation */
    const strads_node_state *node; /* [n_nodes], by their numbers */
} strads_progress;

typedef struct strads_engine_options {
    size_t size;         /* sizeof(strads_engine_options) */
    uint32_t workers;    /* threads of this process; 0: one per core. No more
                            of them run than there are partitions */
    uint32_t partitions; /* K; 0: as many as the plan has, or else as the data
                            has been cut into; on several nodes as workers on
                            all of them, and where simulated, as nodes */
    const char *policy;  /* NULL: "priority" */
    const strads_policy *policy_plugin; /* not NULL: used instead */
    uint32_t depth;      /* rounds in flight beside the first, 0 .. 16 */
    uint32_t blocks;     /* blocks a round, 0: 1; without a plan also what a
                            RING's program is told as shape->blocks, where up
                            to 1 stands for two a partition */
    uint32_t schedulers; /* each has a policy of its own for a range of the
                            parameters; they choose in turn, while rounds of
                            the others are in flight. One on each of the first
                            nodes, and so on in turn. Another number, other
                            draws. At most one a parameter, and 256; 0: 1 */
    uint32_t pools;      /* of partitions that follow each other and work on
                            each other's shares, where a program can: its own
                            `pooled`. Each is on one node. Another number,
                            other bits. 0: one a node */
    double threshold;    /* dependency threshold; 0: 0.1 */
    double tolerance;    /* relative gap to stop at; 0: 1e-6 */
    uint64_t max_rounds; /* 0: no bound; of a loop: clocks */
    double time_limit;   /* seconds; 0: none */
    uint64_t seed;       /* 0 is a seed like any other */
    bool deterministic;  /* commits in the order of rounds, block sizes from
                               counts and not from clocks */
    const char *trace;   /* file for a Chrome/Perfetto trace, or NULL */
    const char *plan;    /* file with the plan of a program with RING phases;
                            NULL: rotation. Node 0 tells it to the others */
    const strads_plan *plan_given; /* not NULL: used instead */

    /* Several nodes. */
    const char *listen;    /* tcp://HOST:PORT, tls+tcp://HOST:PORT or
                              ipc://PATH, or NULL */
    uint32_t nodes;        /* processes in all, this one too; 0: 1 */
    uint32_t shards;       /* of a loop's tables: that many parts, one on each
                              of the first nodes, and so on in turn; 0: 1 */
    double reconnect;      /* seconds that a link between nodes may stay
                              broken: it is dialled again; 0: 10 */
    const char *data_path; /* told to joining nodes */
    bool regroup; /* go on, from the last cut, without nodes that are lost and
                     with those that come late; see strads_engine_run. Of
                     programs that have cuts; the others leave it alone */

    /* Who may take part (docs/security.md); the same on every node. */
    const char
        *token_file; /* a file with the run's token, 16 to 512 bytes, that
                               others may not read; NULL: the environment's
                               STRADS_TOKEN, or no token: then only addresses
                               that no other machine reaches are taken */
    bool insecure; /* no token, and any address: whoever reaches it may join */
    /* PEM files, all three for tls+tcp:// addresses and otherwise NULL: the
     * authority (or several) that has signed the certificates of all nodes, this
     * node's certificate, and its key, which others may not read. */
    const char *tls_ca, *tls_cert, *tls_key;

    /* A loop's tables over several nodes; told to joining nodes. The first
     * two are for table 0 and for those that are `tuned`, where a spec leaves
     * them at 0; strads/store.h says what they mean. */
    double hold_below;
    uint64_t push_bytes;
    uint32_t window;      /* pushes of a node to one shard that are not yet
                             acknowledged, 1 .. 64, of 256 KB each or less; 0:
                             64, and 2 MB of them. More of them wait */
    uint64_t cache_bytes; /* a node's cache of rows; 0: 256 MiB */

    /* Start values of table 0: n_start parameters. */
    uint64_t n_start;
    const uint32_t *start_param;
    const double *start_value; /* [n_start x width] */

    /* Called on the thread that called run, never twice at once. */
    void (*progress)(void *arg, const strads_progress *progress);
    void *progress_arg;
    /* Set to true from anywhere: the run ends at the next commit, with the
     * model so far. A signal handler just sets it; a thread of its own stores
     * it atomically. May be NULL. */
    const volatile bool *stop;

    uint64_t memory; /* bytes that the whole run may take in this process: data
                        that are read as strads_run_cut or strads_engine_keep
                        say, and the parameters beside them; what needs more is
                        refused before it is taken. 0, or more than that: what
                        is free */

    /* Cuts: the state of the run, from which another one goes on
     * (docs/operations.md). Node 0 writes them. */
    const char *checkpoint; /* a directory that keeps the last two, made when it
                               is not there; NULL: `resume`, or none are made */
    double checkpoint_every; /* seconds from one to the next; 0: 60, or with
                                `regroup` alone, where they are kept in memory,
                                10. One more is made when `stop` or a bound ends
                                the run */
    const char *resume; /* goes on from the newest cut in this directory, with
                           the same program, options, data and seed, and as many
                           partitions; NULL: from the start */
    /* Told sentences that end no run: that a cut could not be written, say. Any
     * thread, one at a time. May be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
} strads_engine_options;

/* The tables behind the command's common options: those of programs of rounds,
 * and those of data-parallel loops. */
STRADS_API const strads_option *strads_engine_option_table(void);
STRADS_API const strads_option *strads_engine_loop_option_table(void);

/* Why a run ended. */
typedef enum strads_end {
    STRADS_END_CONVERGED = 0, /* the gap reached the tolerance */
    STRADS_END_STOPPED = 1,   /* the program said so */
    STRADS_END_ROUNDS = 2,    /* max_rounds */
    STRADS_END_TIME = 3,      /* time_limit */
    STRADS_END_CANCELED = 4   /* options.stop */
} strads_end;

/* Fills in how the data is to be read for strads_run: split, layout, kind,
 * named_labels, values where the program says which, and partitions with
 * partition_entries: as many as `options` or their plan say, or else one a
 * worker, as far as each has the entries that pay (the program's
 * `partition_entries`), and as many for each of several workers as the program
 * wants (`partitions_each`). The rest of *cut is left alone. `config` and
 * `options` as for strads_run. Any error of strads_plan_read. */
STRADS_API strads_err strads_run_cut(const strads_program *program,
                                     const void *config,
                                     const strads_engine_options *options,
                                     strads_data_options *cut);

/* Trains `program` on the partitions of `data` with threads of this process.
 * `config` is what the program's options table describes (NULL: defaults); it,
 * `data` and `options` (NULL: defaults) must outlive the call. *out is the
 * caller's to free. Blocks. Errors of the program come back as they are, with
 * their sentence. STRADS_EINVAL: an option, or a program that contradicts
 * itself. STRADS_EFORMAT, STRADS_EMISMATCH: options->resume has no cut that is
 * whole, or one of another program, other data or other options. STRADS_EIO,
 * STRADS_ESTATE: options->checkpoint cannot be written to, or another run keeps
 * its cuts there. STRADS_ENOMEM. When all that fails is the end of options->trace, the
 * result is in *out although an error is returned; after any other error *out
 * is as it was. */
STRADS_API strads_err strads_run(const strads_program *program,
                                 const void *config, const strads_data *data,
                                 const strads_engine_options *options,
                                 strads_result **out);

/* Tries a program on the data at `path`, to find what is wrong with it; for
 * whoever writes one. Runs go on with one partition and with three, on one
 * worker and on two, and simulated: their results must agree. Callbacks write
 * between guard zones; every number of commit->change must be set in some
 * commit; the objective may not end worse than it began, and must come out the
 * same when a run starts anew from the parameters. All this goes on in a child
 * process, so that a crash becomes a sentence, too. `config` as for strads_run;
 * `how`: labels and the like, NULL: as the program says. Blocks, up to half a
 * minute on small data. One thread at a time. STRADS_EPROGRAM: the sentence
 * says which callback, phase, block and partition, and what to do.
 * STRADS_EINVAL: a table that contradicts itself, as every run refuses. Any
 * error of the program, and of strads_data_read. */
STRADS_API strads_err strads_program_check(const strads_program *program,
                                           const void *config, const char *path,
                                           const strads_data_options *how);

/* ---- several nodes ----------------------------------------------------- */

/* Opens options->listen for options->nodes - 1 others and returns at once: the
 * URL with its real port can be told to them now. `program`, `config` and
 * `options` must outlive the engine. STRADS_EIO: the address is in use or not
 * there; or the token's file. STRADS_EINVAL: an option, or the token; or on
 * more than one node a program of
 * rounds with tables of its own, which runs in one process in this version. */
STRADS_API strads_err strads_engine_listen(const strads_program *program,
                                           const void *config,
                                           const strads_engine_options *options,
                                           strads_engine **out);

/* What a joining node needs to know beforehand. */
typedef struct strads_join_options {
    size_t size;
    uint32_t workers;   /* threads of this process; 0: one per core */
    bool shard;         /* no workers: shards of a loop's tables. Where there
                           are such nodes, all shards are on them */
    const char *listen; /* where the other nodes reach this one; NULL: a free
                           port of the loopback, for one machine */
    double timeout;     /* seconds for node 0 to answer; 0: 30. Once it has an
                           answer, a node waits as long as the coordinator */
    const char *trace;
    /* Finds a program by the name that the coordinator runs. */
    const strads_program *(*find)(void *arg, const char *name);
    void *find_arg;
    const volatile bool *stop;
    /* As strads_engine_options. */
    const char *token_file;
    bool insecure;
    const char *tls_ca, *tls_cert, *tls_key;
    /* Go on when nodes are lost or come, see strads_engine_run; and wait as long
     * as a run goes on that has all its nodes already. */
    bool regroup;
    double
        wait; /* with `regroup`: seconds for node 0 to come back, by `resume`,
                    when it is lost; 0: its loss ends this node, too */
    /* Told once that this node waits to be taken in. May be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
} strads_join_options;

/* Joins the run at `url`: waits until all nodes have joined, however long the
 * coordinator waits for them. With `regroup` what `options` point to must outlive
 * the engine. STRADS_EMISMATCH: another version, no such
 * program, another token, a certificate
 * that one side does not accept, joined already, or a full run that takes nobody
 * in (told at once). STRADS_EIO: nobody
 * answers. STRADS_EPEER: the coordinator or another node was lost or failed.
 * STRADS_ECANCELED. */
STRADS_API strads_err strads_engine_join(const char *url,
                                         const strads_join_options *options,
                                         strads_engine **out);

/* Where this engine listens (with the real port); "" after a run that has
 * failed. Valid until strads_engine_run or strads_engine_free. */
STRADS_API const char *strads_engine_url(const strads_engine *engine);
/* The data path that the coordinator told, or NULL. Valid until the next
 * strads_engine_keep. */
STRADS_API const char *strads_engine_data_path(const strads_engine *engine);
/* The program of the run. */
STRADS_API const strads_program *
strads_engine_program(const strads_engine *engine);

/* Fills in what this node has to read: partitions, keep_first, keep_count,
 * split, layout, kind, named_labels, and values where the program says which.
 * The rest of *options is left alone. On the listening node this waits until
 * all others have joined; behind STRADS_EREGROUP every node does, and the
 * range that it keeps may be another one. STRADS_ECANCELED; STRADS_EINVAL: fewer
 * partitions than workers; STRADS_ESTATE: the engine has run. Behind
 * STRADS_EREGROUP also any error of strads_engine_join. */
STRADS_API strads_err strads_engine_keep(strads_engine *engine,
                                         strads_data_options *options);

/* Makes one data set of the rows that the nodes hold: `part` are this node's
 * (samples, documents, users), which may be none. All nodes call it, after
 * strads_engine_keep, with the same columns and with the options that it has
 * filled in. Rows are numbered in the order of the nodes, which is that in which
 * they joined (a node that strads_join_options.find was called of has its
 * number). Each node's rows are cut into the partitions that it hosts, so
 * entries and labels stay where they are: what travels are sizes, counts of
 * columns (of rows as well, where the program's layout has rows) and sums for
 * the checksum. The run has the bits of one process whose row_bounds are the
 * same. `part` is copied, or borrowed as strads_data_from_arrays says; in place
 * are also columns of a node with one partition. *out tells of the whole data
 * set; its row names are the caller's matter. A program's own arrays over rows
 * (weights, say) do not travel. Blocks until all nodes have come as far. Not
 * twice at once for an engine. STRADS_ESTATE: before strads_engine_keep.
 * STRADS_EMISMATCH: parts have other columns, names or kinds of labels; or
 * another node has read the data itself. STRADS_EINVAL: as
 * strads_data_from_arrays; no part has a row; columns are cut, too; `regroup`.
 * STRADS_EPEER: a node was lost, or has failed with that sentence.
 * STRADS_ELIMIT, STRADS_ENOMEM, STRADS_ECANCELED. After an error the engine is
 * to be freed. */
STRADS_API strads_err strads_data_from_part(strads_engine *engine,
                                            const strads_arrays *part,
                                            const strads_data_options *options,
                                            strads_data **out);

/* Runs with the others, once. On a joined node *out stays NULL: the coordinator
 * has the result; there it is as after strads_run, or NULL. STRADS_EREGROUP: with
 * `regroup` a node was lost, or one waits to be taken in; strads_engine_keep, the
 * data that it asks for and this function come again, and the run goes on from
 * its last cut. STRADS_EMISMATCH: other data than the coordinator's.
 * STRADS_EPEER: a node was lost, or has failed with that sentence.
 * STRADS_ESTATE: it comes before strads_engine_keep, or for a second time. */
STRADS_API strads_err strads_engine_run(strads_engine *engine,
                                        const strads_data *data,
                                        strads_result **out);

/* Leaves the run, if it is not over: the others end with STRADS_EPEER. NULL is
 * fine. */
STRADS_API void strads_engine_free(strads_engine *engine);

/* ---- simulated --------------------------------------------------------- */

/* What one phase's callbacks cost, in seconds. */
typedef struct strads_sim_phase {
    double update_cost;    /* of one update, whatever its blocks */
    double entry_cost;     /* more per entry of its blocks (weight) */
    double aggregate_cost; /* of one commit */
} strads_sim_phase;

/* The cost model of a simulated run: the callbacks really run, on one thread;
 * how long they seem to take comes from here. Times in seconds. */
typedef struct strads_sim_options {
    size_t size;
    uint32_t nodes;      /* simulated processes, one worker each */
    double latency;      /* of a message between two nodes */
    double bandwidth;    /* bytes a second of a link; 0: infinite */
    double message_cost; /* at sender and receiver, each */
    double receive_cost; /* at the receiver instead; 0: message_cost */
    /* As in strads_sim_phase, of phases that `phases` does not have. */
    double update_cost, entry_cost, aggregate_cost;
    const strads_sim_phase *phases; /* [n_phases] by phase, or NULL */
    uint32_t n_phases;
    double choose_cost;
    double refresh_cost; /* of all updates that come with a dispatch ... */
    double refresh_entry_cost; /* ... and more per entry of what they change */
    double merge_cost;         /* of a byte of a partial that is taken in */
    double jitter;             /* each time is multiplied by 1 + jitter u, u in
                                  [0, 1) from the seed: messages overtake */
    /* Stragglers: worker w takes slow[w] times as long; w >= n_slow: once. */
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

/* Runs the program on simulated nodes; `data` must hold all partitions.
 * `outcome` may be NULL. Otherwise as strads_run.
 *
 * A data-parallel loop has its tables in options->shards parts, on the first
 * nodes in turn, and its partitions spread over all nodes. Its computing takes
 * time when a clock ends: the update_cost of phase 0, and its entry_cost for
 * each entry that the partition holds. A shard takes merge_cost for a byte that
 * is pushed. Each partition is a thread with a stack of 512 KiB, of which one
 * runs at a time. STRADS_EINVAL: it has no trace. */
STRADS_API strads_err strads_simulate(
    const strads_program *program, const void *config, const strads_data *data,
    const strads_engine_options *options, const strads_sim_options *sim,
    strads_result **out, strads_sim_outcome *outcome);

/* Measures what the program's callbacks cost on this machine, by a run of one
 * worker on this thread that ends after `seconds` of them at the latest. Fills
 * in phases[n_phases] and, of *sim, all that callbacks cost; the rest of *sim
 * is left alone. `data` should have two partitions (options->partitions): with
 * one nothing is merged. Phases that did not come up cost nothing. Of a loop it
 * is the mean of a clock with the partitions of `data`, as update_cost.
 * Otherwise as strads_simulate. */
STRADS_API strads_err strads_sim_measure(
    const strads_program *program, const void *config, const strads_data *data,
    const strads_engine_options *options, double seconds,
    strads_sim_options *sim, strads_sim_phase *phases, uint32_t n_phases);

/* ---- results ----------------------------------------------------------- */

/* What a run has ended with; any thread may ask, none of it blocks. Pointers
 * are valid as long as the result. */

/* Frees it, and its state by the program's `end`. NULL is fine. */
STRADS_API void strads_result_free(strads_result *result);
STRADS_API strads_end strads_result_end(const strads_result *result);
/* Numbers of the last report, and totals. */
STRADS_API const strads_progress *
strads_result_progress(const strads_result *result);
/* K of the run. */
STRADS_API uint32_t strads_result_partitions(const strads_result *result);
/* Table 0 as it was committed last, [parameters x width]. */
STRADS_API const double *strads_result_values(const strads_result *result,
                                              uint64_t *parameters,
                                              uint32_t *width);
/* How many of these parameters, the first ones, a model holds. */
STRADS_API uint64_t strads_result_coefficients(const strads_result *result);
/* The program's coordinator state (made by `begin`): an intercept, say. */
STRADS_API void *strads_result_state(const strads_result *result);

#ifdef __cplusplus
}
#endif

#endif
