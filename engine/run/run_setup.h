/* engine/run/run_setup.h - from a program, its options and its data to what the
 * roles share: checks, defaults, sizes. */
#ifndef STI_RUN_SETUP_H
#define STI_RUN_SETUP_H

#include "engine/base/trace.h"
#include "engine/round/ring_plan.h"

/* The run context and what it borrows; made before the roles, freed after. */
typedef struct sti_setup {
    sti_run run;
    strads_program program; /* completed copies of what the caller gave */
    strads_policy policy;
    strads_engine_options options;
    uint32_t *node_of;
    strads_plan *plan; /* read from options.plan, or NULL */
    sti_route *route;
    void *config; /* a copy of the program's defaults, when none was given */
} sti_setup;

/* A completed copy of the caller's options; NULL: defaults. STRADS_EINVAL. */
strads_err sti_setup_take_options(const strads_engine_options *options,
                                  strads_engine_options *out);

/* Workers of this process that the options ask for: one per core when 0. */
uint32_t sti_setup_workers(const strads_engine_options *options);

/* What the options say of a loop's tables. */
sti_tuning sti_setup_tuning(const strads_engine_options *options);
/* STRADS_EINVAL: what they say makes no sense. */
strads_err sti_setup_check_tuning(const strads_engine_options *options);
/* Reads options->plan, unless a plan is given; *read stays NULL then. */
strads_err sti_setup_read_plan(const strads_engine_options *options,
                               strads_plan **read);

/* The sizes that a program asks for: *shape filled in, then changed by its
 * `shape`. `options` name the partitions and the pools of the run. */
strads_err sti_setup_shape(const strads_program *program, const void *config,
                           const strads_data *data,
                           const strads_engine_options *options,
                           strads_shape *shape);

/* How the workers of a run are spread: worker w is on node_of[w], and the
 * nodes' workers are contiguous. */
typedef struct sti_layout {
    uint32_t workers;
    uint32_t *node_of;     /* [workers]; NULL: all on node 0 */
    uint32_t *first_of;    /* [workers + 1] as sti_run.first; or NULL */
    uint32_t first, count; /* those of this process */
    uint32_t nodes;        /* with node_of */
    uint32_t *hosts;       /* [n_hosts], as sti_run; outlives the setup */
    uint32_t n_hosts;
} sti_layout;

/* Fills in *setup (zeroed before), which is to be freed in any case. `options`
 * may be NULL; `data` must hold the partitions of this process's workers. */
strads_err sti_setup_make(sti_setup *setup, const strads_program *program,
                          const void *config, const strads_data *data,
                          const strads_engine_options *options,
                          const sti_layout *layout);

/* Frees what the run holds; partitions that a failed run left open are closed,
 * and the program's coordinator state ends unless `keep_state`. */
void sti_setup_free(sti_setup *setup, bool keep_state);

/* Tells the user of progress; `options` are a strads_engine_options. */
void sti_setup_tell(void *options, const strads_progress *progress);

/* What data may take: `memory`, as far as it is free; 0 where it is not set. */
uint64_t sti_run_memory(const strads_engine_options *options);

/* Fills in what of the data's reading depends on the program and its options
 * alone: split, layout, kind, labels, values. */
void sti_run_cut_as(const strads_program *program, const void *config,
                    strads_data_options *cut);

/* The trace of a run is opened before its roles are made, and closed before its
 * setup is freed, because spans bear the names of phases. *out is NULL when the
 * options name no file. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_run_trace_open(const strads_engine_options *options,
                              sti_trace **out);

/* Closes the trace of a run that ended with `err`; returns that, its sentence
 * kept, or else the trace's own error. */
strads_err sti_run_trace_close(sti_trace *trace, strads_err err);

/* Copies the committed parameters and takes over the program's coordinator
 * state (sti_setup_free must then be told to keep it). STRADS_ENOMEM: the
 * state stays with the setup. */
strads_err sti_result_new(const sti_setup *setup,
                          const strads_progress *progress, strads_end end,
                          strads_result **out);

#endif
