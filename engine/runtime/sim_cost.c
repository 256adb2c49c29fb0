/* Prices. A job's time is what strads_sim_options say of its kind:
 *
 *   update   refresh_cost, when there are news, and update_cost + entry_cost x
 *            the entries that its blocks have on this partition. A parameter's
 *            weight is what all partitions hold: of a phase to ALL, and of each
 *            hop of a ring, a partition has 1 / K. An OWNER has all of it, of
 *            its own blocks.
 *   aggregate, choose   aggregate_cost, choose_cost
 *   all others   nothing: begin, open, close, merge, prepare, schedule, report
 *
 * Each time is drawn by itself: jobs by their place in the run's order of
 * starts, messages by their number. */
#include "engine/runtime/sim_cost.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/random.h"

enum {
    DRAW_JOB = STI_PURPOSE_ENGINE + 1,
    DRAW_MESSAGE = STI_PURPOSE_ENGINE + 2
};

static const double longest = 1e6; /* seconds that one option may say */

static bool is_time(double seconds)
{
    return seconds >= 0 && seconds <= longest;
}

strads_err sti_sim_cost_check(const strads_sim_options *o)
{
    const struct {
        const char *name;
        double value;
    } times[] = {
        {"latency", o->latency},
        {"message_cost", o->message_cost},
        {"update_cost", o->update_cost},
        {"entry_cost", o->entry_cost},
        {"aggregate_cost", o->aggregate_cost},
        {"choose_cost", o->choose_cost},
        {"refresh_cost", o->refresh_cost},
        {"jitter", o->jitter},
    };
    for (size_t k = 0; k < sizeof times / sizeof *times; k++)
        if (!is_time(times[k].value))
            return strads_fail(STRADS_EINVAL,
                               "simulation: %s is %g, expected 0 to %g",
                               times[k].name, times[k].value, longest);
    if (!(o->bandwidth >= 0))
        return strads_fail(STRADS_EINVAL,
                           "simulation: bandwidth is %g, expected bytes a "
                           "second, or 0 for as many as one likes",
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

/* Seconds, drawn from the stream (purpose, index) at k, in ns. */
static uint64_t draw(const sti_sim_cost *cost, double seconds, uint64_t purpose,
                     uint64_t index, uint64_t k)
{
    if (cost->options.jitter > 0 && seconds > 0)
        seconds *=
            1 + cost->options.jitter *
                    strads_random_unit(cost->run->seed, purpose, index, k);
    double ns = round(seconds * 1e9);
    return ns < (double)STI_SIM_TIME_MAX ? (uint64_t)ns : STI_SIM_TIME_MAX;
}

/* ---- work -------------------------------------------------------------- */

static strads_err sum_weights(sti_sim_cost *cost)
{
    uint64_t n = cost->run->shape.parameters;
    if (cost->work_sum)
        return STRADS_OK;
    cost->work_sum = malloc(sizeof *cost->work_sum * (n + 1));
    if (!cost->work_sum)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a simulation's costs of %llu "
                           "parameters",
                           (unsigned long long)n);
    cost->work_sum[0] = 0;
    for (uint64_t j = 0; j < n; j++)
        cost->work_sum[j + 1] =
            cost->work_sum[j] + (double)cost->run->weight[j];
    return STRADS_OK;
}

static double block_work(const sti_sim_cost *cost, const strads_block *block)
{
    if (!block->param)
        return cost->work_sum[block->first + block->n] -
               cost->work_sum[block->first];
    double work = 0;
    for (uint32_t k = 0; k < block->n; k++)
        work += (double)cost->run->weight[block->param[k]];
    return work;
}

/* Entries that a worker's job reads. */
static double job_work(const sti_sim_cost *cost, const sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    strads_to to = cost->run->phases[d->phase].to;
    double share = to == STRADS_TO_OWNER ? 1 : 1.0 / cost->run->partitions;
    if (job->job.call == STI_CALL_HOP)
        return share * block_work(cost, &d->blocks[job->hop->index]);
    double work = d->has_against ? block_work(cost, &d->against) : 0;
    for (uint32_t k = 0; k < d->n_blocks; k++)
        if (to != STRADS_TO_OWNER || d->blocks[k].owner == job->partition)
            work += block_work(cost, &d->blocks[k]);
    return share * work;
}

static double worker_seconds(const sti_sim_cost *cost,
                             const sti_worker_job *job)
{
    const strads_sim_options *o = &cost->options;
    bool hop = job->job.call == STI_CALL_HOP;
    double seconds = !hop && job->dispatch->n_news ? o->refresh_cost : 0;
    bool ring = cost->run->phases[job->dispatch->phase].to == STRADS_TO_RING;
    if (ring != hop || (hop && job->home))
        return seconds; /* a ring's news alone, or a block back home */
    seconds += o->update_cost;
    return o->entry_cost > 0 ? seconds + o->entry_cost * job_work(cost, job)
                             : seconds;
}

/* ---- prices ------------------------------------------------------------ */

strads_err sti_sim_cost_job(sti_sim_cost *cost, const sti_job *job,
                            uint64_t *ns)
{
    double seconds = 0;
    strads_err err = STRADS_OK;
    switch (job->call) {
    case STI_CALL_WORK:
    case STI_CALL_HOP:
        err = cost->options.entry_cost > 0 ? sum_weights(cost) : STRADS_OK;
        if (err)
            return err;
        seconds = worker_seconds(cost, (const sti_worker_job *)job);
        break;
    case STI_CALL_AGGREGATE:
        seconds = cost->options.aggregate_cost;
        break;
    case STI_CALL_CHOOSE:
        seconds = cost->options.choose_cost;
        break;
    default:
        break;
    }
    *ns = draw(cost, seconds, DRAW_JOB, cost->jobs++, 0);
    return STRADS_OK;
}

uint64_t sti_sim_cost_message(const sti_sim_cost *cost, sti_sim_part part,
                              uint64_t number, uint64_t bytes)
{
    const strads_sim_options *o = &cost->options;
    double seconds = o->message_cost;
    if (part == STI_SIM_LATENCY)
        seconds = o->latency;
    if (part == STI_SIM_BYTES)
        seconds = o->bandwidth > 0 ? (double)bytes / o->bandwidth : 0;
    return draw(cost, seconds, DRAW_MESSAGE, number, part);
}
