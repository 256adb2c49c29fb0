/* strads_simulate: a whole run on simulated nodes, in this thread.
 * strads_sim_measure: a simulated run that times its jobs. */
#include <math.h>
#include <stdlib.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/sized.h"
#include "engine/round/job.h"
#include "engine/run/loops.h"
#include "engine/run/program_check.h"
#include "engine/run/run_setup.h"
#include "engine/sim/sim.h"
#include "engine/sim/sim_cost.h"
#include "engine/sim/sim_loop.h"

enum { NODES_MAX = 4096 };

static strads_err drive_simulation(sti_setup *setup,
                                   const strads_sim_options *costs,
                                   sti_sim_meter *meter, strads_result **out,
                                   strads_sim_outcome *outcome)
{
    sti_trace *trace;
    sti_sim *sim = NULL;
    strads_err err = sti_run_trace_open(&setup->options, &trace);
    if (err)
        return err;
    const sti_sim_options options = {
        .run = &setup->run,
        .costs = costs,
        .trace = trace,
        .meter = meter,
        .stop = setup->options.stop,
        .report = sti_setup_report,
        .arg = &setup->options,
    };
    err = sti_sim_new(&options, &sim);
    if (!err)
        err = sti_sim_run(sim);
    if (!err) {
        strads_progress progress;
        sti_sim_progress(sim, &progress);
        sti_sim_outcome(sim, outcome);
        err = sti_result_new(setup, &progress, sti_sim_end(sim), out);
    }
    err = sti_run_trace_close(trace, err);
    sti_sim_free(sim);
    return err;
}

/* ---- loops: one partition runs at a time, in virtual time ---------------- */

static void run_simulated_loop(void *arg, uint32_t partition)
{
    sti_loops *all = arg;
    sti_loop_live(&all->loop[partition]);
}

static void report_loop_progress(void *arg)
{
    const sti_loops *all = arg;
    sti_setup_report(&all->setup->options, &all->progress);
}

/* The simulation's own error is the cause of the partitions' errors. */
static strads_err run_simulated_loops(sti_loops *all)
{
    strads_err err = sti_sim_loop_run(all->sim);
    for (uint32_t k = 0; !err && k < all->count; k++)
        if (all->loop[k].err)
            err = strads_fail(all->loop[k].err, "%s", all->loop[k].text);
    return err;
}

/* Copies the simulated shards into the run's table 0. */
static strads_err take_model(sti_loops *all)
{
    sti_run *run = &all->setup->run;
    strads_store *before = run->store;
    strads_err err = sti_job_make_parameters(run);
    if (!err)
        err = sti_sim_loop_tables(all->sim, 1, run->store);
    strads_store_free(before);
    return err;
}

static strads_err simulate_loops(sti_loops *all,
                                 const sti_sim_loop_setup *setup,
                                 strads_result **out,
                                 strads_sim_outcome *outcome)
{
    const sti_run *run = &all->setup->run;
    strads_err err = sti_sim_loop_new(setup, run->store, &all->sim);
    if (err)
        return err;
    all->wall = 0;
    all->zero_ns = 0;
    if (run->checkpoints)
        sti_loop_checkpoints_open(all, run->max_rounds);
    err = run_simulated_loops(all);
    if (!all->ends && all->counted)
        all->end = STRADS_END_ROUNDS;
    if (!err)
        sti_loops_sum_locked(all); /* no lock needed: all loops have ended */
    if (!err)
        err = take_model(all);
    sti_sim_loop_outcome(all->sim, outcome);
    all->progress.bytes_sent = all->progress.bytes_received = outcome->bytes;
    if (!err)
        err = sti_result_new(all->setup, &all->progress, all->end, out);
    return err;
}

static uint64_t clocks_of(const sti_loops *all)
{
    return all->progress.round * all->count;
}

strads_err sti_simulate_loop(sti_setup *setup, const strads_sim_options *costs,
                             double *spent,
                             bool (*loses)(void *arg, const sti_msg *msg),
                             void *loses_arg, strads_result **out,
                             strads_sim_outcome *outcome)
{
    sti_run *run = &setup->run;
    sti_loops all = {
        .setup = setup,
        .count = run->partitions,
        .most_spent = spent ? *spent : 0,
        .end = STRADS_END_STOPPED,
        .progress = {.objective = NAN, .gap = NAN},
    };
    sti_begin_job begin = {0};
    strads_table_spec *specs = NULL;
    uint32_t n = 0;
    strads_err err = sti_loops_open(&all);
    if (!err)
        err = sti_job_begin(run, &begin);
    sti_object_drop(begin.start);
    if (!err)
        err = sti_loops_specs(run, &specs, &n);
    if (!err) {
        sti_loops_go_on(&all);
        sti_loops_prepare(&all);
        const sti_sim_loop_setup of = {.run = run,
                                       .costs = costs,
                                       .tables = specs,
                                       .n_tables = n,
                                       .trace = all.trace,
                                       .body = run_simulated_loop,
                                       .visit = report_loop_progress,
                                       .arg = &all,
                                       .loses = loses,
                                       .loses_arg = loses_arg};
        err = simulate_loops(&all, &of, out, outcome);
    }
    if (!err && spent)
        *spent = 1e-9 * (double)sti_sim_loop_spent(all.sim) /
                 (double)(clocks_of(&all) ? clocks_of(&all) : 1);
    err = sti_loops_close(&all, err); /* also writes the trace */
    sti_sim_loop_free(all.sim);
    free(specs);
    return err;
}

/* ---- rounds and loops --------------------------------------------------- */

static strads_err take_costs(const strads_sim_options *given,
                             strads_sim_options *sim)
{
    strads_err err =
        sti_sized_copy(sim, sizeof *sim, given, "the simulation's options");
    if (!err && (sim->nodes == 0 || sim->nodes > NODES_MAX))
        err = strads_fail(STRADS_EINVAL,
                          "a simulation of %u nodes: expected 1 to %d",
                          sim->nodes, NODES_MAX);
    return err ? err : sti_sim_cost_check(sim);
}

/* Puts worker w on node w. Each node gets at least one partition. */
static strads_err lay_out(const strads_engine_options *options,
                          const strads_sim_options *sim, bool nodes_of_loop,
                          sti_layout *layout, uint32_t **node_of)
{
    uint32_t workers = sim->nodes;
    if (options->partitions && options->partitions < workers)
        workers = options->partitions;
    *node_of = malloc(sizeof **node_of * workers);
    if (!*node_of)
        return strads_fail(STRADS_ENOMEM, "no memory for %u simulated nodes",
                           workers);
    for (uint32_t w = 0; w < workers; w++)
        (*node_of)[w] = w;
    *layout = (sti_layout){.workers = workers,
                           .node_of = *node_of,
                           .count = workers,
                           .nodes = nodes_of_loop ? workers : 0};
    return STRADS_OK;
}

/* The caller's structs, with defaults filled in. */
typedef struct given {
    strads_program program;
    strads_engine_options options;
    strads_sim_options sim;
} given;

static strads_err take_arguments(given *g, const strads_program *program,
                                 const strads_engine_options *options,
                                 const strads_sim_options *sim)
{
    strads_err err = sti_program_take(program, &g->program);
    if (!err)
        err = sti_setup_take_options(options, &g->options);
    return err ? err : take_costs(sim, &g->sim);
}

/* Simulates a run, metered if `meter` is not NULL; for loops, `spent` is as in
 * sti_simulate_loop. */
static strads_err simulate_program(const given *g, const void *config,
                                   const strads_data *data,
                                   sti_sim_meter *meter, double *spent,
                                   strads_result **out,
                                   strads_sim_outcome *outcome)
{
    sti_layout layout;
    uint32_t *node_of = NULL;
    const bool loop = g->program.run != NULL;
    strads_err err = lay_out(&g->options, &g->sim, loop, &layout, &node_of);
    if (err)
        return err;
    sti_setup setup = {0};
    err =
        sti_setup_make(&setup, &g->program, config, data, &g->options, &layout);
    if (!err)
        err = loop ? sti_simulate_loop(&setup, &g->sim, spent, NULL, NULL, out,
                                       outcome)
                   : drive_simulation(&setup, &g->sim, meter, out, outcome);
    sti_setup_free(&setup, *out != NULL);
    free(node_of);
    return err;
}

strads_err strads_simulate(const strads_program *program, const void *config,
                           const strads_data *data,
                           const strads_engine_options *options,
                           const strads_sim_options *sim, strads_result **out,
                           strads_sim_outcome *outcome)
{
    given g;
    strads_sim_outcome came = {0};
    strads_result *result = NULL;
    strads_err err = take_arguments(&g, program, options, sim);
    if (!err)
        err = simulate_program(&g, config, data, NULL, NULL, &result, &came);
    if (result)
        *out = result;
    if (result && outcome)
        *outcome = came;
    return err;
}

/* ---- measuring --------------------------------------------------------- */

/* `refresh` runs within an update's job. To measure it separately, a copy of
 * the program replaces that callback by one that times itself. */
typedef struct timed_refresh {
    const strads_program *program;
    sti_sim_meter *meter;
} timed_refresh;

static _Thread_local timed_refresh timed;

static strads_err refresh_timed(strads_task *task, const strads_change *changes,
                                uint32_t n)
{
    uint64_t begun = sti_monotonic_now();
    strads_err err = timed.program->refresh(task, changes, n);
    timed.meter->refresh_ns += sti_monotonic_now() - begun;
    return err;
}

/* For a loop only the mean time of a clock is known. */
static strads_err measure_loop(given *g, const void *config,
                               const strads_data *data, double seconds,
                               strads_sim_options *sim,
                               strads_sim_phase *phases, uint32_t n_phases)
{
    strads_result *result = NULL;
    strads_sim_outcome outcome;
    g->options.time_limit = 0;
    strads_err err =
        simulate_program(g, config, data, NULL, &seconds, &result, &outcome);
    strads_result_free(result);
    if (err)
        return err;
    sim->phases = phases;
    sim->n_phases = n_phases;
    sim->update_cost = seconds;
    for (uint32_t k = 0; k < n_phases; k++)
        phases[k] = (strads_sim_phase){.update_cost = seconds};
    return STRADS_OK;
}

static strads_err measure_rounds(given *g, const void *config,
                                 const strads_data *data,
                                 strads_sim_options *sim,
                                 strads_sim_phase *phases, uint32_t n_phases)
{
    const strads_program users = g->program;
    sti_sim_meter meter = {0};
    strads_result *result = NULL;
    strads_sim_outcome outcome;
    strads_err err =
        sti_sim_meter_init(&meter, users.n_phases ? users.n_phases : 1);
    timed = (timed_refresh){&users, &meter};
    if (users.refresh)
        g->program.refresh = refresh_timed;
    if (!err)
        err =
            simulate_program(g, config, data, &meter, NULL, &result, &outcome);
    if (!err)
        sti_sim_meter_prices(&meter, sim, phases, n_phases);
    strads_result_free(result);
    sti_sim_meter_free(&meter);
    return err;
}

strads_err strads_sim_measure(const strads_program *program, const void *config,
                              const strads_data *data,
                              const strads_engine_options *options,
                              double seconds, strads_sim_options *sim,
                              strads_sim_phase *phases, uint32_t n_phases)
{
    given g;
    strads_sim_options found;
    const strads_sim_options alone = {.size = sizeof alone, .nodes = 1};
    strads_err err = take_arguments(&g, program, options, &alone);
    if (!err)
        err = sti_sized_copy(&found, sizeof found, sim,
                             "the simulation's options");
    if (err)
        return err;
    if (!(g.options.time_limit > 0 && g.options.time_limit < seconds))
        g.options.time_limit = seconds;
    g.options.trace = NULL;
    g.options.progress = NULL;
    err =
        g.program.run
            ? measure_loop(&g, config, data, seconds, &found, phases, n_phases)
            : measure_rounds(&g, config, data, &found, phases, n_phases);
    if (!err)
        sti_sized_return(sim, &found);
    return err;
}
