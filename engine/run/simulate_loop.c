/* The loops of loop_run.c on the simulated nodes of sim_loop.h: one partition
 * runs at a time, and time is the simulation's. */
#include "engine/run/simulate_loop.h"

#include <math.h>
#include <stdlib.h>

#include "engine/round/job.h"
#include "engine/run/loop_state.h"
#include "engine/run/result.h"
#include "engine/sim/sim_loop.h"

static void live(void *arg, uint32_t partition)
{
    sti_loops *all = arg;
    sti_loop_live(&all->loop[partition]);
}

static void tell(void *arg)
{
    const sti_loops *all = arg;
    const strads_engine_options *options = &all->setup->options;
    if (options->progress)
        options->progress(options->progress_arg, &all->progress);
}

/* The simulation's own error says why others were cut off. */
static strads_err run_all(sti_loops *all)
{
    strads_err err = sti_sim_loop_run(all->sim);
    for (uint32_t k = 0; !err && k < all->count; k++)
        if (all->loop[k].err)
            err = strads_fail(all->loop[k].err, "%s", all->loop[k].text);
    return err;
}

/* What the shards hold becomes the run's table 0. */
static strads_err take_model(sti_loops *all)
{
    sti_run *run = &all->setup->run;
    strads_store *before = run->store;
    strads_err err = sti_job_make_parameters(run);
    if (!err)
        err = sti_sim_loop_model(all->sim, run->store);
    strads_store_free(before);
    return err;
}

static strads_err simulate(sti_loops *all, const strads_sim_options *costs,
                           const strads_table_spec *specs, uint32_t n,
                           strads_result **out, strads_sim_outcome *outcome)
{
    const sti_run *run = &all->setup->run;
    const sti_sim_loop_setup setup = {.run = run,
                                      .costs = costs,
                                      .tables = specs,
                                      .n_tables = n,
                                      .trace = all->trace,
                                      .body = live,
                                      .visit = tell,
                                      .arg = all};
    strads_err err = sti_sim_loop_new(&setup, run->store, &all->sim);
    if (err)
        return err;
    all->wall = 0;
    all->zero_ns = 0;
    err = run_all(all);
    if (!all->ends && all->counted)
        all->end = STRADS_END_ROUNDS;
    if (!err)
        sti_loops_sum_locked(all); /* there is nobody else any more */
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
                             double *spent, strads_result **out,
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
    if (!err)
        sti_loops_prepare(&all);
    if (!err)
        err = simulate(&all, costs, specs, n, out, outcome);
    if (!err && spent)
        *spent = 1e-9 * (double)sti_sim_loop_spent(all.sim) /
                 (double)(clocks_of(&all) ? clocks_of(&all) : 1);
    err = sti_loops_close(&all, err); /* its trace, too */
    sti_sim_loop_free(all.sim);
    free(specs);
    return err;
}
