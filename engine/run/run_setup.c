/* Checks and defaults. A setup owns the table of partitions, the copy of the
 * config and the results of the coordinator's first job. */
#include "engine/run/run_setup.h"

#include "engine/base/cores.h"
#include "engine/base/instruction_set.h"
#include "engine/base/sized.h"
#include "engine/data/memory.h"
#include "engine/round/partials.h"
#include "engine/round/owned_policy.h"
#include "engine/run/checkpoint_files.h"
#include "engine/run/program_check.h"
#include "engine/store/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD_DEFAULT 0.1

enum { DEPTH_MAX = 16, WORKERS_MAX = 4096, PARTITIONS_MAX = 1 << 20 };

strads_err sti_setup_take_options(const strads_engine_options *options,
                                  strads_engine_options *out)
{
    *out = (strads_engine_options){.size = sizeof *out};
    return options ? sti_sized_copy(out, sizeof *out, options,
                                    "the engine's options")
                   : STRADS_OK;
}

uint32_t sti_setup_workers(const strads_engine_options *options)
{
    if (options->workers)
        return options->workers;
    return sti_cores();
}

/* ---- phases ------------------------------------------------------------ */

static void take_phases(sti_run *run)
{
    const strads_program *program = run->program;
    run->phases = program->phases;
    run->n_phases = program->n_phases;
    if (!program->n_phases && !program->run) {
        run->simple = (strads_phase){
            .name = "update",
            .partial = program->partial,
            .update = program->update,
            .aggregate = program->aggregate,
        };
        run->phases = &run->simple;
        run->n_phases = 1;
    }
    run->probe_phase = run->n_phases;
    for (uint32_t k = 0; k < run->n_phases; k++)
        if (run->phases[k].when == STRADS_WHEN_PROBE)
            run->probe_phase = k;
}

/* ---- options ----------------------------------------------------------- */

static strads_err find_policy(sti_setup *setup)
{
    const strads_engine_options *o = &setup->options;
    const char *name = o->policy ? o->policy : "priority";
    const strads_policy *found =
        o->policy_plugin ? o->policy_plugin : strads_policy_find(name);
    strads_policy *p = &setup->policy;
    if (!found)
        return strads_fail(STRADS_EINVAL,
                           "there is no policy '%s'; known are priority, "
                           "uniform and cyclic",
                           name);
    strads_err err = sti_sized_copy(p, sizeof *p, found, "a policy's slots");
    if (!err &&
        (!p->name || !p->open || !p->close || !p->prioritise || !p->choose))
        err = strads_fail(STRADS_EINVAL,
                          "a policy needs a name, open, close, prioritise and "
                          "choose");
    setup->run.policy = p;
    return err;
}

sti_tuning sti_setup_tuning(const strads_engine_options *o)
{
    return (sti_tuning){.hold_below = o->hold_below,
                        .push_bytes = o->push_bytes,
                        .cache_bytes = o->cache_bytes,
                        .window = o->window};
}

strads_err sti_setup_check_tuning(const strads_engine_options *o)
{
    if (!(o->hold_below >= 0) || o->window > STI_PUSHES_MAX)
        return strads_fail(STRADS_EINVAL,
                           "hold_below %g, window %u: expected a number from 0 "
                           "up, and up to %d",
                           o->hold_below, o->window, STI_PUSHES_MAX);
    return STRADS_OK;
}

static bool runs_ring(const strads_program *program)
{
    bool ring = false;
    for (uint32_t k = 0; k < program->n_phases; k++)
        ring = ring || program->phases[k].to == STRADS_TO_RING;
    return ring;
}

/* Rejects an option that the caller has set and the program does not use. */
static strads_err check_uses(const strads_program *program,
                             const strads_engine_options *o)
{
    const struct {
        const char *name;
        bool set;
    } options[] = {
        {"policy", (o->policy_plugin && program->no_policy) ||
                       (o->policy && strcmp(o->policy, "priority") != 0)},
        {"schedulers", o->schedulers > 1},
        {"blocks", o->blocks > 1},
        /* A policy plug-in may use it without probes. */
        {"threshold", o->threshold > 0 && o->threshold != THRESHOLD_DEFAULT &&
                          !o->policy_plugin},
        {"depth", o->depth > 0 && program->no_policy},
    };
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        const char *why = options[k].set && !program->run
                              ? sti_program_excludes(program, options[k].name)
                              : NULL;
        if (why)
            return strads_fail(STRADS_EINVAL,
                               "%s: program %s has no use for it: %s; leave it "
                               "out",
                               options[k].name, program->name, why);
    }
    return STRADS_OK;
}

static strads_err take_options(sti_setup *setup)
{
    sti_run *run = &setup->run;
    const strads_engine_options *o = &setup->options;
    if (o->depth > DEPTH_MAX)
        return strads_fail(STRADS_EINVAL, "depth %u: expected 0 to %d",
                           o->depth, DEPTH_MAX);
    if (run->workers == 0 || run->workers > WORKERS_MAX)
        return strads_fail(STRADS_EINVAL, "%u workers: expected 1 to %d",
                           run->workers, WORKERS_MAX);
    if (run->partitions < run->workers || run->partitions > PARTITIONS_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%u partitions for %u workers: expected %u to %d",
                           run->partitions, run->workers, run->workers,
                           PARTITIONS_MAX);
    if (!(o->tolerance >= 0) || !(o->threshold >= 0) || !(o->time_limit >= 0))
        return strads_fail(STRADS_EINVAL,
                           "tolerance, threshold and time limit must be at "
                           "least 0");
    strads_err err = sti_setup_check_tuning(o);
    if (!err)
        err = check_uses(run->program, o);
    if (err)
        return err;
    run->seed = o->seed;
    run->stop = o->stop;
    run->depth = o->depth;
    run->want = o->blocks ? o->blocks : 1;
    run->deterministic = o->deterministic || runs_ring(run->program);
    run->tolerance = o->tolerance > 0 ? o->tolerance : 1e-6;
    run->threshold = o->threshold > 0 ? o->threshold : THRESHOLD_DEFAULT;
    run->time_limit = o->time_limit;
    run->max_rounds = o->max_rounds;
    run->tuning = sti_setup_tuning(o);
    run->n_start = o->n_start;
    run->start_param = o->start_param;
    run->start_value = o->start_value;
    return find_policy(setup);
}

/* ---- the plan ---------------------------------------------------------- */

strads_err sti_setup_read_plan(const strads_engine_options *options,
                               strads_plan **read)
{
    if (!options->plan || options->plan_given)
        return STRADS_OK;
    return strads_plan_read(options->plan, read);
}

static strads_err take_plan(sti_setup *setup)
{
    sti_run *run = &setup->run;
    const strads_plan *plan = setup->options.plan_given;
    if (!plan)
        return STRADS_OK;
    if (!runs_ring(run->program))
        return strads_fail(STRADS_EINVAL,
                           "program %s has no RING phase, so it takes no plan: "
                           "leave the plan out",
                           run->program->name);
    if (plan->partitions != run->partitions)
        return strads_fail(STRADS_EINVAL,
                           "the plan is for %u partitions, the run has %u: "
                           "give both the same number",
                           plan->partitions, run->partitions);
    if (setup->options.blocks > 1 && setup->options.blocks != plan->blocks)
        return strads_fail(STRADS_EINVAL,
                           "the plan has %u blocks, the option blocks is %u: "
                           "leave the option out",
                           plan->blocks, setup->options.blocks);
    strads_err err = strads_plan_check(plan, 0);
    if (!err)
        err = sti_route_new(plan, &setup->route);
    run->route = setup->route;
    return err;
}

/* ---- pools --------------------------------------------------------------
 *
 * Partitions of a pool may work on each other's owned parameters, so all
 * partitions of a pool are on one node (program.h, `pooled`). */

static uint32_t node_of(const sti_run *run, const sti_layout *layout,
                        uint32_t partition)
{
    return layout->node_of ? layout->node_of[sti_run_host(run, partition)] : 0;
}

/* The first partition that is not on the same node as the first partition of
 * its pool; K if there is none. */
static uint32_t find_split(const sti_run *run, const sti_layout *layout,
                           uint32_t pools)
{
    const strads_shape cut = {.partitions = run->partitions, .pools = pools};

    for (uint32_t p = 0; p < run->partitions; p++) {
        const uint32_t first = strads_pool_first(&cut, strads_pool_of(&cut, p));
        if (node_of(run, layout, p) != node_of(run, layout, first))
            return p;
    }
    return run->partitions;
}

static strads_err check_pools(const sti_run *run, const sti_layout *layout,
                              uint32_t pools)
{
    if (!run->program->pooled)
        return strads_fail(STRADS_EINVAL,
                           "%u pools for program %s, but its partitions "
                           "read their own share only: leave pools out",
                           pools, run->program->name);
    if (pools > run->partitions)
        return strads_fail(STRADS_EINVAL,
                           "%u pools for %u partitions: expected 1 to %u",
                           pools, run->partitions, run->partitions);
    const uint32_t split = find_split(run, layout, pools);
    if (split < run->partitions)
        return strads_fail(
            STRADS_EINVAL,
            "%u pools: partition %u is not on the same node as the rest of its "
            "pool; give at least one pool for each node",
            pools, split);
    return STRADS_OK;
}

/* One pool for each node, if the spread of partitions allows it. */
static uint32_t usual_pools(const sti_run *run, const sti_layout *layout)
{
    uint32_t nodes = 1;

    if (!run->program->pooled)
        return run->partitions;
    for (uint32_t p = 1; p < run->partitions; p++)
        nodes += node_of(run, layout, p) != node_of(run, layout, p - 1);
    return find_split(run, layout, nodes) == run->partitions ? nodes
                                                             : run->partitions;
}

static strads_err take_pools(sti_run *run, const sti_layout *layout,
                             uint32_t asked)
{
    const strads_err err = asked ? check_pools(run, layout, asked) : STRADS_OK;

    run->pools = asked ? asked : usual_pools(run, layout);
    if (err || !run->program->pooled)
        return err;
    run->peer = calloc(run->partitions, sizeof *run->peer);
    return run->peer ? STRADS_OK
                     : strads_fail(STRADS_ENOMEM, "no memory for %u partitions",
                                   run->partitions);
}

/* ---- sizes ------------------------------------------------------------- */

static strads_err check_blocks(const sti_setup *setup)
{
    const sti_run *run = &setup->run;
    const strads_plan *plan = setup->options.plan_given;
    if (run->shape.totals && run->program->run)
        return strads_fail(STRADS_EINVAL,
                           "program %s has shared totals and a run: a loop "
                           "shares by tables",
                           run->program->name);
    if (plan && run->shape.blocks != plan->blocks)
        return strads_fail(STRADS_EINVAL,
                           "the plan has %u blocks, program %s makes %u: give "
                           "a plan for that many",
                           plan->blocks, run->program->name, run->shape.blocks);
    return STRADS_OK;
}

strads_err sti_setup_shape(const strads_program *program, const void *config,
                           const strads_data *data,
                           const strads_engine_options *o, strads_shape *shape)
{
    *shape = (strads_shape){
        .parameters = strads_data_cols(data),
        .width = 1,
        .block_max = 64,
        .blocks = o->plan_given   ? o->plan_given->blocks
                  : o->blocks > 1 ? o->blocks
                                  : 2 * o->partitions,
        .blocks_given = o->plan_given || o->blocks > 1,
        .rows = strads_data_rows(data),
        .cols = strads_data_cols(data),
        .partitions = o->partitions,
        .pools = o->pools,
        .run_bytes = strads_data_bytes(data),
        .spare_bytes = UINT64_MAX,
    };
    return program->shape ? program->shape(config, data, shape) : STRADS_OK;
}

static strads_err take_shape(sti_setup *setup)
{
    sti_run *run = &setup->run;
    const uint64_t most = UINT32_MAX - 1;
    strads_engine_options cut = setup->options;
    cut.partitions = run->partitions;
    cut.pools = run->pools;
    strads_err err = sti_setup_shape(run->program, run->config, run->data, &cut,
                                     &run->shape);
    if (!err && run->shape.coefficients > run->shape.parameters)
        return strads_fail(STRADS_EPROGRAM,
                           "program %s has %llu parameters, so %llu of them "
                           "cannot be its coefficients",
                           run->program->name,
                           (unsigned long long)run->shape.parameters,
                           (unsigned long long)run->shape.coefficients);
    if (!err && (run->shape.parameters > most || run->shape.width == 0 ||
                 run->shape.block_max == 0))
        err = strads_fail(STRADS_ELIMIT,
                          "program %s asks for %llu parameters of %u numbers "
                          "in blocks of %u: expected up to %llu, 1 or more, 1 "
                          "or more",
                          run->program->name,
                          (unsigned long long)run->shape.parameters,
                          run->shape.width, run->shape.block_max,
                          (unsigned long long)most);
    return err ? err : check_blocks(setup);
}

/* The option of a program that can keep its data on disk: `scratch`. */
static const strads_option *scratch_option(const strads_program *program)
{
    const strads_option *option =
        program->options ? strads_option_find(program->options, "scratch")
                         : NULL;
    return option && option->kind == STRADS_OPTION_STRING ? option : NULL;
}

/* The folder where a program keeps its data, or NULL. */
static const char *find_scratch(const strads_program *program,
                                const void *config)
{
    const strads_option *option = scratch_option(program);
    return option && config
               ? *(const char *const *)((const char *)config + option->offset)
               : NULL;
}

/* What a run with data on disk, or with data that could be there, may do to
 * take less memory. */
static const char *less_memory(const sti_run *run)
{
    if (find_scratch(run->program, run->config))
        return "make more blocks of the data on disk (--blocks), ";
    return scratch_option(run->program)
               ? "keep the data on disk (--scratch DIR), "
               : "";
}

/* Fails before the run instead of being killed by the system during it. All
 * columns up to the largest column number are parameters, even if they have no
 * entries. Under the option `memory` the code and the threads count as well. */
static strads_err check_memory(sti_run *run, const sti_layout *layout,
                               uint64_t memory)
{
    strads_shape *shape = &run->shape;
    const uint64_t parameters =
        layout->first > 0 ? 0 : shape->parameters * shape->param_bytes;
    const uint64_t data = strads_data_bytes(run->data);
    const uint64_t bytes =
        (memory ? STI_PROCESS_BYTES : 0) + shape->run_bytes + parameters;
    uint64_t capacity = sti_memory_available();
    capacity = capacity > UINT64_MAX - data ? UINT64_MAX : capacity + data;
    if (memory && memory < capacity)
        capacity = memory;
    if (memory)
        shape->spare_bytes = capacity > bytes ? capacity - bytes : 0;
    if (bytes <= capacity)
        return STRADS_OK;
    return strads_fail(
        STRADS_ENOMEM,
        "program %s needs about %llu bytes of memory for %llu parameters of %u "
        "numbers each and its %llu bytes of data, %llu may be used: %s%snumber "
        "the columns that the data has without gaps, run more processes, or "
        "allow more (--memory)",
        run->program->name, (unsigned long long)bytes,
        (unsigned long long)shape->parameters, shape->width,
        (unsigned long long)data, (unsigned long long)capacity,
        less_memory(run),
        shape->width > 1 ? "take fewer topics, factors, units or classes, "
                         : "");
}

/* Partitions of a finer split would silently train on a part of the data. */
static strads_err check_share(const sti_run *run, uint32_t partition)
{
    const strads_share *share = run->partition[partition].share;
    strads_layout layout = run->program->layout;
    if (!share)
        return strads_fail(STRADS_EINVAL,
                           "the data was read without partition %u of %u, "
                           "which this process is to host: read it with "
                           "these partitions",
                           partition, run->partitions);
    if (share->partitions != run->partitions)
        return strads_fail(STRADS_EINVAL,
                           "the data was cut into %u partitions, the run has "
                           "%u: give both the same number",
                           share->partitions, run->partitions);
    if (!share->pack &&
        (((layout & STRADS_LAYOUT_ROWS) && !share->by_row.start) ||
         (((layout & STRADS_LAYOUT_COLS) || !layout) && !share->by_col.start)))
        return strads_fail(STRADS_EINVAL,
                           "the data was read without an orientation that "
                           "program %s needs: read it with the program's "
                           "layout",
                           run->program->name);
    const strads_sparse *const sides[] = {&share->by_col, &share->by_row};
    for (int k = 0; k < 2 && !run->program->unindexed; k++)
        if (sides[k]->nnz > 0 && !sides[k]->index)
            return strads_fail(STRADS_EINVAL,
                               "the data was read without indices, which "
                               "program %s needs: read it with the program's "
                               "options, from strads_run_cut",
                               run->program->name);
    return STRADS_OK;
}

static strads_err take_partitions(sti_setup *setup, const sti_layout *layout)
{
    sti_run *run = &setup->run;
    run->partition = calloc(run->partitions, sizeof *run->partition);
    setup->node_of = calloc(run->workers, sizeof *setup->node_of);
    if (!run->partition || !setup->node_of)
        return strads_fail(STRADS_ENOMEM, "no memory for %u partitions",
                           run->partitions);
    for (uint32_t w = 0; layout->node_of && w < run->workers; w++)
        setup->node_of[w] = layout->node_of[w];
    run->node_of = setup->node_of;
    uint32_t end = sti_run_first(run, layout->first + layout->count);
    for (uint32_t p = sti_run_first(run, layout->first); p < end; p++) {
        run->partition[p].share = strads_data_share(run->data, p);
        strads_err err = check_share(run, p);
        if (err)
            return err;
    }
    return STRADS_OK;
}

/* Each scheduler needs at least one parameter. */
static strads_err take_ranges(sti_run *run, uint32_t schedulers)
{
    if (schedulers > STI_SCHEDULERS_MAX)
        return strads_fail(STRADS_EINVAL, "%u schedulers: expected 1 to %d",
                           schedulers, STI_SCHEDULERS_MAX);
    if (schedulers > 1 && run->program->owned)
        return strads_fail(STRADS_EINVAL,
                           "program %s has owned parameters, and one scheduler "
                           "runs their policies: leave schedulers at 1",
                           run->program->name);
    run->schedulers = schedulers ? schedulers : 1;
    if (run->schedulers > run->shape.parameters)
        run->schedulers =
            run->shape.parameters ? (uint32_t)run->shape.parameters : 1;
    run->range = calloc(run->schedulers, sizeof *run->range);
    return run->range
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for %u schedulers",
                             run->schedulers);
}

static strads_err take_config(sti_setup *setup, const void *config)
{
    sti_run *run = &setup->run;
    run->config = config;
    if (config || !run->program->config_size)
        return STRADS_OK;
    setup->config = calloc(1, run->program->config_size);
    if (!setup->config)
        return strads_fail(STRADS_ENOMEM, "no memory for a program's options");
    if (run->program->defaults)
        memcpy(setup->config, run->program->defaults,
               run->program->config_size);
    run->config = setup->config;
    return STRADS_OK;
}

/* A program that does not support label names would take their numbers for
 * labels. */
static strads_err check_labels(const strads_program *program,
                               const void *config, const strads_data *data)
{
    const strads_names *names = strads_data_label_names(data);
    if (!names || (program->named_labels && program->named_labels(config)))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "the labels are names (\"%s\", ...), and %s with these "
                       "options expects numbers",
                       strads_names_at(names, 0), program->name);
}

strads_err sti_setup_make(sti_setup *setup, const strads_program *program,
                          const void *config, const strads_data *data,
                          const strads_engine_options *options,
                          const sti_layout *layout)
{
    strads_err err = sti_program_take(program, &setup->program);
    if (!err)
        err = sti_instruction_set_check();
    if (!err)
        err = sti_setup_take_options(options, &setup->options);
    if (err)
        return err;
    sti_run *run = &setup->run;
    err = sti_setup_read_plan(&setup->options, &setup->plan);
    if (err)
        return err;
    if (setup->plan)
        setup->options.plan_given = setup->plan;
    run->program = program = &setup->program;
    run->data = data;
    run->workers = layout->workers;
    run->first = layout->first_of;
    run->nodes = layout->nodes ? layout->nodes : 1;
    run->hosts = layout->hosts;
    run->n_hosts = layout->n_hosts;
    run->shards = setup->options.shards ? setup->options.shards
                  : layout->n_hosts     ? layout->n_hosts
                                        : 1;
    run->partitions = setup->options.partitions ? setup->options.partitions
                      : setup->options.plan_given
                          ? setup->options.plan_given->partitions
                      : layout->node_of ? layout->workers
                                        : strads_data_partitions(data);
    take_phases(run);
    err = take_options(setup);
    if (!err)
        err = take_plan(setup);
    if (!err)
        err = take_config(setup, config);
    if (!err)
        err = check_labels(program, run->config, data);
    if (!err)
        err = take_pools(run, layout, setup->options.pools);
    if (!err)
        err = take_shape(setup);
    if (!err)
        err = check_memory(run, layout, setup->options.memory);
    if (!err)
        err = take_ranges(run, setup->options.schedulers);
    if (!err)
        err = take_partitions(setup, layout);
    return err;
}

void sti_setup_report(void *arg, const strads_progress *progress)
{
    const strads_engine_options *options = arg;
    if (options->progress)
        options->progress(options->progress_arg, progress);
}

/* ---- splitting the data -------------------------------------------------
 *
 * The default is one partition for each worker, if that pays. A second
 * partition on one thread makes a round about a tenth longer, and more if the
 * program does work for every column whatever its entries. A partition on
 * another thread costs a wake-up and a wait. So data with few entries gets one
 * partition and one worker. Programs with travelling blocks have no such cost,
 * so they may ask for several partitions for each worker. */

void sti_run_cut_as(const strads_program *program, const void *config,
                    strads_data_options *cut)
{
    cut->split = program->split;
    cut->layout = program->layout ? program->layout : STRADS_LAYOUT_COLS;
    cut->kind = program->kind;
    /* For the value in the store, its copies, priorities and the model, 43 to
     * 128 bytes a column were measured on wide data. A program that needs more
     * reports it in its shape, once the data is read. */
    if (!cut->col_bytes && program->kind == STRADS_KIND_SAMPLES)
        cut->col_bytes = 72;
    cut->named_labels =
        program->named_labels &&
        program->named_labels(config ? config : program->defaults);
    if (program->values)
        cut->values = program->values;
    cut->packed = program->packed;
    cut->unindexed = program->unindexed;
    const char *scratch = find_scratch(program, config);
    if (scratch) /* also replaces that of an earlier generation's options */
        cut->scratch = scratch;
    if (program->grid)
        cut->grid_cols = program->grid(config ? config : program->defaults);
}

strads_err sti_run_memory(const strads_engine_options *options, uint64_t *bytes)
{
    *bytes = 0;
    if (!options->memory)
        return STRADS_OK;
    if (options->memory <= STI_PROCESS_BYTES)
        return strads_fail(STRADS_ENOMEM,
                           "a run takes %llu bytes of memory before it reads "
                           "data, %llu may be used: allow more (--memory)",
                           (unsigned long long)STI_PROCESS_BYTES,
                           (unsigned long long)options->memory);
    const uint64_t left = options->memory - STI_PROCESS_BYTES;
    const uint64_t available = sti_memory_available();
    *bytes = left < available ? left : available;
    return STRADS_OK;
}

static uint32_t usual_partitions(const strads_program *program,
                                 uint32_t workers)
{
    const bool several = workers > 1 && runs_ring(program);
    return several && program->partitions_each
               ? program->partitions_each * workers
               : workers;
}

/* The partitions that the options or their plan ask for; 0 if they do not. */
static strads_err find_given(const strads_engine_options *options, uint32_t *K)
{
    strads_plan *read = NULL;
    *K = options->partitions;
    if (*K)
        return STRADS_OK;
    strads_err err = sti_setup_read_plan(options, &read);
    const strads_plan *plan = read ? read : options->plan_given;
    if (!err && plan)
        *K = plan->partitions;
    else if (!err && options->resume)
        *K = sti_checkpoint_partitions(options->resume);
    strads_plan_free(read);
    return err;
}

strads_err strads_run_cut(const strads_program *program, const void *config,
                          const strads_engine_options *options,
                          strads_data_options *cut)
{
    uint32_t given = 0;
    strads_program p;
    strads_engine_options o;
    strads_data_options c;
    strads_err err = sti_program_take(program, &p);
    if (!err)
        err = sti_setup_take_options(options, &o);
    if (!err)
        err = sti_sized_copy(&c, sizeof c, cut, "the data's options");
    if (!err)
        err = find_given(&o, &given);
    if (err)
        return err;
    sti_run_cut_as(&p, config, &c);
    if (!c.memory_limit)
        err = sti_run_memory(&o, &c.memory_limit);
    if (err)
        return err;
    c.keep_first = c.keep_count = 0;
    c.partitions = given ? given : usual_partitions(&p, sti_setup_workers(&o));
    if (!given && c.grid_cols > 1) /* whole rows of the grid */
        c.partitions += c.grid_cols - 1 - (c.partitions - 1) % c.grid_cols;
    c.partition_entries = given || runs_ring(&p) || p.run ? 0
                          : p.partition_entries           ? p.partition_entries
                                                : STRADS_PARTITION_ENTRIES;
    sti_sized_return(cut, &c);
    return STRADS_OK;
}

/* ---- closing ------------------------------------------------------------ */

static void close_partition(const sti_run *run, sti_partition *part)
{
    sti_parked_free(run, part);
    sti_totals_close(part);
    if (part->opened && run->program->close)
        run->program->close(part->local);
}

void sti_setup_free(sti_setup *setup, bool keep_state)
{
    sti_run *run = &setup->run;
    for (uint32_t p = 0; run->partition && p < run->partitions; p++)
        close_partition(run, &run->partition[p]);
    free(run->partition);
    free(run->peer);
    free(setup->node_of);
    sti_route_free(setup->route);
    strads_plan_free(setup->plan);
    for (uint32_t s = 0; run->range && s < run->schedulers; s++) {
        if (run->range[s].policy)
            run->policy->close(run->range[s].policy);
        sti_pairs_free(run->range[s].pairs);
        free(run->range[s].weight);
    }
    free(run->range);
    sti_owned_free(run->owned);
    if (run->begun && run->program->end && !keep_state)
        run->program->end(run->state);
    sti_pairs_free(run->pairs);
    strads_store_free(run->store);
    free(run->weight);
    free(setup->config);
}

/* ---- the trace ---------------------------------------------------------- */

strads_err sti_run_trace_open(const strads_engine_options *options,
                              sti_trace **out)
{
    *out = NULL;
    return options->trace ? sti_trace_open(options->trace, out) : STRADS_OK;
}

strads_err sti_run_trace_close(sti_trace *trace, strads_err err)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    strads_err closed = sti_trace_close(trace);
    return err ? strads_fail(err, "%s", text) : closed;
}
