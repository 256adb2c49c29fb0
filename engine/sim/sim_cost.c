/* Prices. strads_sim_options give a job's time by its kind:
 *
 *   update   update_cost + entry_cost x the entries of its blocks on this
 *            partition. A parameter's weight counts the entries on all
 *            partitions: a partition has 1 / K of them in a phase to ALL and in
 *            each step of a ring. An OWNER has all entries of its own blocks.
 *            With updates: refresh_cost + refresh_entry_cost x 1 / K of the
 *            changes.
 *   merge    merge_cost x bytes
 *   aggregate, choose   aggregate_cost, choose_cost; and merge_cost x bytes
 *            if an aggregate joins chunks
 *   all others   0: begin, open, close; and prepare, schedule and report,
 *            whose measured time is in aggregate_cost
 *
 * Each time has its own random draw: jobs by their position in the run's order
 * of starts, messages by their number. */
#include "engine/sim/sim_cost.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/random.h"

enum {
    DRAW_JOB = STI_PURPOSE_ENGINE + 1,
    DRAW_MESSAGE = STI_PURPOSE_ENGINE + 2,
    DRAW_CLOCK = STI_PURPOSE_ENGINE + 3
};

static const double longest = 1e6; /* the maximum of one option, in seconds */

static strads_err check_time(const char *name, double seconds)
{
    if (seconds >= 0 && seconds <= longest)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL, "simulation: %s is %g, expected 0 to %g",
                       name, seconds, longest);
}

static strads_err check_phases(const strads_sim_options *o)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; o->phases && k < o->n_phases && !err; k++) {
        const strads_sim_phase *phase = &o->phases[k];
        err = check_time("a phase's update_cost", phase->update_cost);
        if (!err)
            err = check_time("a phase's entry_cost", phase->entry_cost);
        if (!err)
            err = check_time("a phase's aggregate_cost", phase->aggregate_cost);
    }
    return err;
}

static strads_err check_slow(const strads_sim_options *o)
{
    for (uint32_t w = 0; o->slow && w < o->n_slow; w++)
        if (!(o->slow[w] > 0 && o->slow[w] <= longest))
            return strads_fail(STRADS_EINVAL,
                               "simulation: worker %u computes %g times as "
                               "long, expected more than 0, up to %g",
                               w, o->slow[w], longest);
    return STRADS_OK;
}

strads_err sti_sim_cost_check(const strads_sim_options *o)
{
    const struct {
        const char *name;
        double value;
    } times[] = {
        {"latency", o->latency},
        {"message_cost", o->message_cost},
        {"receive_cost", o->receive_cost},
        {"update_cost", o->update_cost},
        {"entry_cost", o->entry_cost},
        {"aggregate_cost", o->aggregate_cost},
        {"choose_cost", o->choose_cost},
        {"refresh_cost", o->refresh_cost},
        {"refresh_entry_cost", o->refresh_entry_cost},
        {"merge_cost", o->merge_cost},
        {"jitter", o->jitter},
    };
    strads_err err = STRADS_OK;
    for (size_t k = 0; k < sizeof times / sizeof *times && !err; k++)
        err = check_time(times[k].name, times[k].value);
    if (!err)
        err = check_phases(o);
    if (!err)
        err = check_slow(o);
    if (err)
        return err;
    if (!(o->bandwidth >= 0))
        return strads_fail(STRADS_EINVAL,
                           "simulation: bandwidth is %g, expected bytes a "
                           "second, or 0 for unlimited",
                           o->bandwidth);
    return STRADS_OK;
}

void sti_sim_cost_init(sti_sim_cost *cost, const sti_run *run,
                       const strads_sim_options *options)
{
    *cost = (sti_sim_cost){.run = run, .options = *options};
}

void sti_sim_cost_free(sti_sim_cost *cost)
{
    free(cost->work_sum);
    cost->work_sum = NULL;
}

/* `unit` is in [0, 1). */
static uint64_t add_jitter(const sti_sim_cost *cost, double seconds,
                           double unit)
{
    const double ns = round(seconds * (1 + cost->options.jitter * unit) * 1e9);
    return ns < (double)STI_SIM_TIME_MAX ? (uint64_t)ns : STI_SIM_TIME_MAX;
}

/* Converts seconds to ns, with a draw from the stream (purpose, index) at k. */
static uint64_t draw_time(const sti_sim_cost *cost, double seconds,
                          uint64_t purpose, uint64_t index, uint64_t k)
{
    double unit = 0;
    if (cost->options.jitter > 0 && seconds > 0)
        unit = strads_random_unit(cost->run->seed, purpose, index, k);
    return add_jitter(cost, seconds, unit);
}

/* ---- work -------------------------------------------------------------- */

static strads_err sum_weights(sti_sim_cost *cost)
{
    const sti_run *run = cost->run;
    const uint64_t n = run->shape.parameters;
    float *own = NULL; /* a run without policies has no weights */
    if (cost->work_sum)
        return STRADS_OK;
    strads_err err =
        run->weight ? STRADS_OK : sti_job_weigh(run, 0, (uint32_t)n, &own);
    if (err)
        return err;
    const float *weight = run->weight ? run->weight : own;
    cost->work_sum = malloc(sizeof *cost->work_sum * (n + 1));
    if (!cost->work_sum)
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for a simulation's costs of %llu "
                          "parameters",
                          (unsigned long long)n);
    else
        cost->work_sum[0] = 0;
    for (uint64_t j = 0; j < n && !err; j++)
        cost->work_sum[j + 1] = cost->work_sum[j] + (double)weight[j];
    free(own);
    return err;
}

static double block_work(const sti_sim_cost *cost, const strads_block *block)
{
    if (!block->param)
        return cost->work_sum[block->first + block->n] -
               cost->work_sum[block->first];
    double work = 0;
    for (uint32_t k = 0; k < block->n; k++)
        work += cost->work_sum[block->param[k] + 1] -
                cost->work_sum[block->param[k]];
    return work;
}

double sti_sim_cost_entries(const sti_sim_cost *cost, const sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    strads_to to = cost->run->phases[d->phase].to;
    double share = to == STRADS_TO_OWNER ? 1 : 1.0 / cost->run->partitions;
    if (job->job.call == STI_CALL_RING_STEP)
        return share * block_work(cost, &d->blocks[job->step->index]);
    double work = d->has_against ? block_work(cost, &d->against) : 0;
    for (uint32_t k = 0; k < d->n_blocks; k++)
        if (to != STRADS_TO_OWNER || d->blocks[k].owner == job->partition)
            work += block_work(cost, &d->blocks[k]);
    return share * work;
}

double sti_sim_cost_updates(const sti_sim_cost *cost, const sti_worker_job *job)
{
    double work = 0;
    for (uint32_t k = 0; k < job->dispatch->n_updates; k++) {
        const sti_update *update = job->dispatch->updates[k];
        if (update->kind == STI_UPDATE_CHANGE)
            work += block_work(cost,
                               &(strads_block){.n = update->change.n,
                                               .param = update->change.param});
    }
    return work / cost->run->partitions;
}

static strads_sim_phase phase_prices(const sti_sim_cost *cost, uint32_t phase)
{
    const strads_sim_options *o = &cost->options;
    if (o->phases && phase < o->n_phases)
        return o->phases[phase];
    return (strads_sim_phase){.update_cost = o->update_cost,
                              .entry_cost = o->entry_cost,
                              .aggregate_cost = o->aggregate_cost};
}

static double worker_seconds(const sti_sim_cost *cost,
                             const sti_worker_job *job)
{
    const strads_sim_options *o = &cost->options;
    const strads_sim_phase price = phase_prices(cost, job->dispatch->phase);
    bool step = job->job.call == STI_CALL_RING_STEP;
    bool ring = cost->run->phases[job->dispatch->phase].to == STRADS_TO_RING;
    double seconds = 0;
    if (!step && job->dispatch->n_updates) {
        seconds += o->refresh_cost;
        if (o->refresh_entry_cost > 0)
            seconds += o->refresh_entry_cost * sti_sim_cost_updates(cost, job);
    }
    if (ring != step || (step && job->home))
        return seconds; /* a ring's updates alone, or a block back home */
    seconds += price.update_cost;
    if (price.entry_cost > 0)
        seconds += price.entry_cost * sti_sim_cost_entries(cost, job);
    return seconds;
}

/* Bytes that the coordinator copies of a partial that arrived in chunks. */
static double joined_bytes(const sti_aggregate_job *job)
{
    double bytes = 0;
    for (uint32_t k = 0; k < job->n_chunks; k++)
        bytes += (double)job->chunks[k]->size;
    return bytes;
}

static double worker_slowness(const sti_sim_cost *cost, sti_address role)
{
    const strads_sim_options *o = &cost->options;
    if (!o->slow || role < STI_WORKER_0 || role - STI_WORKER_0 >= o->n_slow)
        return 1;
    return o->slow[role - STI_WORKER_0];
}

/* ---- prices ------------------------------------------------------------ */

strads_err sti_sim_cost_job(sti_sim_cost *cost, const sti_job *job,
                            uint64_t *ns)
{
    double seconds = 0;
    strads_err err = STRADS_OK;
    switch (job->call) {
    case STI_CALL_WORK:
    case STI_CALL_RING_STEP:
        err = sum_weights(cost);
        if (err)
            return err;
        seconds = worker_seconds(cost, (const sti_worker_job *)job);
        break;
    case STI_CALL_AGGREGATE:
        seconds = phase_prices(cost, job->phase).aggregate_cost +
                  cost->options.merge_cost *
                      joined_bytes((const sti_aggregate_job *)job);
        break;
    case STI_CALL_MERGE:
        seconds = cost->options.merge_cost *
                  (double)((const sti_worker_job *)job)->from->size;
        break;
    case STI_CALL_CHOOSE:
        seconds = cost->options.choose_cost;
        break;
    default:
        break;
    }
    seconds *= worker_slowness(cost, job->role);
    *ns = draw_time(cost, seconds, DRAW_JOB, cost->jobs++, 0);
    return STRADS_OK;
}

uint64_t sti_sim_cost_clock(const sti_sim_cost *cost, uint32_t partition,
                            uint64_t number)
{
    const strads_sim_options *o = &cost->options;
    const strads_share *share = cost->run->partition[partition].share;
    const uint32_t w = sti_run_host(cost->run, partition);
    const bool own = o->phases && o->n_phases > 0;
    const double entries =
        (double)(share->by_row.start ? share->by_row.nnz : share->by_col.nnz);
    double seconds = own ? o->phases[0].update_cost : o->update_cost;
    seconds += entries * (own ? o->phases[0].entry_cost : o->entry_cost);
    if (o->slow && w < o->n_slow)
        seconds *= o->slow[w];
    return draw_time(cost, seconds, DRAW_CLOCK, partition, number);
}

/* Makes four draws of one stream. */
sti_sim_message_time sti_sim_cost_message(const sti_sim_cost *cost,
                                          uint64_t number, uint64_t bytes)
{
    const strads_sim_options *o = &cost->options;
    const double transfer = o->bandwidth > 0 ? (double)bytes / o->bandwidth : 0;
    const double receive =
        o->receive_cost > 0 ? o->receive_cost : o->message_cost;
    double unit[4] = {0};
    if (o->jitter > 0) {
        sti_random r = sti_random_stream(cost->run->seed, DRAW_MESSAGE, number);
        for (int k = 0; k < 4; k++)
            unit[k] = sti_random_unit(&r);
    }
    return (
        sti_sim_message_time){.send =
                                  add_jitter(cost, o->message_cost, unit[0]),
                              .bytes = add_jitter(cost, transfer, unit[1]),
                              .latency = add_jitter(cost, o->latency, unit[2]),
                              .receive = add_jitter(cost, receive, unit[3])};
}
