/* engine/run/run_setup.h - makes the state that the roles share from a program,
 * its options and its data: checks, defaults, sizes. */
#ifndef STI_RUN_SETUP_H
#define STI_RUN_SETUP_H

#include "engine/base/trace.h"
#include "engine/round/ring_plan.h"

/* The run context and everything that it points to. Made before the roles and
 * freed after them. */
typedef struct sti_setup {
    sti_run run;
    strads_program program; /* copies of the caller's structs, with defaults
                             * filled in */
    strads_policy policy;
    strads_engine_options options;
    uint32_t *node_of;
    strads_plan *plan; /* read from options.plan, or NULL */
    sti_route *route;
    void *config; /* a copy of the program's defaults if the caller gave no
                   * config */
} sti_setup;

/* Copies the caller's options and fills in defaults. NULL: all defaults.
 * STRADS_EINVAL. */
strads_err sti_setup_take_options(const strads_engine_options *options,
                                  strads_engine_options *out);

/* Number of workers of this process; option 0: one for each core. */
uint32_t sti_setup_workers(const strads_engine_options *options);

/* The options for a loop's tables. */
sti_tuning sti_setup_tuning(const strads_engine_options *options);
/* STRADS_EINVAL: these options contradict each other or are out of range. */
strads_err sti_setup_check_tuning(const strads_engine_options *options);
/* Reads options->plan. If a plan is given as a struct, *read stays NULL. */
strads_err sti_setup_read_plan(const strads_engine_options *options,
                               strads_plan **read);

/* Fills in *shape and has the program's `shape` change it. `options` contain
 * the numbers of partitions and pools. */
strads_err sti_setup_shape(const strads_program *program, const void *config,
                           const strads_data *data,
                           const strads_engine_options *options,
                           strads_shape *shape);

/* Maps workers to nodes: worker w is on node_of[w]. The workers of a node are
 * contiguous. */
typedef struct sti_layout {
    uint32_t workers;
    uint32_t *node_of;     /* [workers]; NULL: all on node 0 */
    uint32_t *first_of;    /* [workers + 1] as sti_run.first, or NULL */
    uint32_t first, count; /* the workers of this process */
    uint32_t nodes;        /* set if node_of is set */
    uint32_t *hosts;       /* [n_hosts], as in sti_run; must outlive the
                            * setup */
    uint32_t n_hosts;
} sti_layout;

/* Fills in *setup, which the caller has zeroed and frees in any case. `options`
 * may be NULL; `data` must hold the partitions of this process's workers. */
strads_err sti_setup_make(sti_setup *setup, const strads_program *program,
                          const void *config, const strads_data *data,
                          const strads_engine_options *options,
                          const sti_layout *layout);

/* Frees the run's state. Closes partitions that a failed run left open. Ends
 * the program's coordinator state, unless `keep_state`. */
void sti_setup_free(sti_setup *setup, bool keep_state);

/* Calls the user's progress callback; `options` points to
 * strads_engine_options. */
void sti_setup_report(void *options, const strads_progress *progress);

/* The part of the `memory` option for code, threads, buffers and mapped text of
 * the process; measured. */
#define STI_PROCESS_BYTES (UINT64_C(16) << 20)

/* The bytes that the `memory` option leaves for data, at most the free memory;
 * 0 if it is not set. STRADS_ENOMEM: none. */
strads_err sti_run_memory(const strads_engine_options *options,
                          uint64_t *bytes);

/* Sets the options for reading the data that follow from the program and its
 * options alone: split, layout, kind, labels, values. */
void sti_run_cut_as(const strads_program *program, const void *config,
                    strads_data_options *cut);

/* Opens a run's trace, before its roles are made. Close it before the setup is
 * freed, because spans refer to the names of phases. If the options name no
 * file, *out is NULL. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_run_trace_open(const strads_engine_options *options,
                              sti_trace **out);

/* Closes the trace. Returns `err` with its message if the run failed, otherwise
 * the trace's own error. */
strads_err sti_run_trace_close(sti_trace *trace, strads_err err);

/* Copies the committed parameters and takes over the program's coordinator
 * state, so call sti_setup_free with keep_state afterwards. STRADS_ENOMEM: the
 * setup keeps the state. */
strads_err sti_result_new(const sti_setup *setup,
                          const strads_progress *progress, strads_end end,
                          strads_result **out);

#endif
