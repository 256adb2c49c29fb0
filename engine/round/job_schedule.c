/* The coordinator's choosing: the program's own `schedule`, and the making of
 * a dispatch from what was chosen, with the values that ride along. */
#include "engine/round/job.h"
#include "engine/round/ring_route.h"
#include "engine/round/descent.h"
#include "engine/round/shared_totals.h"

#include <stdlib.h>
#include <string.h>

/* ---- what schedule may call -------------------------------------------- */

static strads_err check_phase(const sti_run *run, uint32_t phase)
{
    if (phase >= run->n_phases)
        return strads_fail(STRADS_EINVAL,
                           "schedule named phase %u, the program has %u", phase,
                           run->n_phases);
    if (phase == run->probe_phase)
        return strads_fail(STRADS_EINVAL,
                           "schedule named phase %s, which probes: it runs by "
                           "itself when pairs must be known",
                           run->phases[phase].name);
    return STRADS_OK;
}

static strads_err decide(sti_schedule_job *job, sti_decision decision)
{
    if (job->decision != STI_DECIDE_NOTHING)
        return strads_fail(STRADS_ESTATE,
                           "schedule decided twice in one call: return after "
                           "the first strads_turn_...");
    job->decision = decision;
    return STRADS_OK;
}

static strads_err check_block(const sti_run *run, const strads_block *block)
{
    if (block->owner >= run->partitions)
        return strads_fail(STRADS_EINVAL,
                           "schedule gave a block to partition %u of %u",
                           block->owner, run->partitions);
    for (uint32_t k = 0; k < block->n; k++)
        if (strads_block_param(block, k) >= run->shape.parameters)
            return strads_fail(STRADS_EINVAL,
                               "schedule named parameter %u, there are %llu",
                               strads_block_param(block, k),
                               (unsigned long long)run->shape.parameters);
    return STRADS_OK;
}

/* A block's version has the row of its id. */
static strads_err settle_ring(const sti_run *run, uint32_t n,
                              strads_block *blocks)
{
    for (uint32_t k = 0; run->versions && k < n; k++)
        if (blocks[k].id >= run->shape.blocks)
            return strads_fail(STRADS_EINVAL,
                               "program %s sends block %llu round, versions "
                               "are kept of blocks 0 to %u: set shape->blocks, "
                               "or keep none",
                               run->program->name,
                               (unsigned long long)blocks[k].id,
                               run->shape.blocks - 1);
    return sti_ring_settle(run, n, blocks);
}

strads_err strads_turn_dispatch(strads_turn *turn, uint32_t phase, uint32_t n,
                                const strads_block *blocks)
{
    sti_schedule_job *job = turn->engine;
    strads_block *copy;
    strads_err err = check_phase(job->run, phase);
    for (uint32_t k = 0; k < n && !err; k++)
        err = check_block(job->run, &blocks[k]);
    if (!err)
        err = sti_blocks_copy(n, blocks, &copy);
    if (err)
        return err;
    if (job->run->phases[phase].to == STRADS_TO_RING)
        err = settle_ring(job->run, n, copy);
    if (!err)
        err = decide(job, STI_DECIDE_DISPATCH);
    if (err) {
        free(copy);
        return err;
    }
    job->decided_phase = phase;
    job->n_blocks = n;
    job->blocks = copy;
    return STRADS_OK;
}

strads_err strads_turn_all(strads_turn *turn, uint32_t phase)
{
    sti_schedule_job *job = turn->engine;
    const strads_block all = {.id = STRADS_ALL_PARAMETERS,
                              .n = (uint32_t)job->run->shape.parameters};
    return strads_turn_dispatch(turn, phase, 1, &all);
}

strads_err strads_turn_policy(strads_turn *turn, uint32_t phase)
{
    sti_schedule_job *job = turn->engine;
    strads_err err = check_phase(job->run, phase);
    if (!err && turn->ends)
        err = strads_fail(STRADS_ESTATE,
                          "schedule asks the policy for blocks although the "
                          "run ends: dispatch what brings the model together, "
                          "or stop");
    if (!err)
        err = decide(job, STI_DECIDE_POLICY);
    if (!err)
        job->decided_phase = phase;
    return err;
}

strads_err strads_turn_wait(strads_turn *turn)
{
    if (turn->in_flight == 0)
        return strads_fail(STRADS_ESTATE,
                           "schedule waits although nothing is in flight: "
                           "dispatch something or stop");
    return decide(turn->engine, STI_DECIDE_WAIT);
}

strads_err strads_turn_stop(strads_turn *turn)
{
    return decide(turn->engine, STI_DECIDE_STOP);
}

strads_err sti_job_schedule(sti_run *run, sti_schedule_job *job)
{
    job->run = run;
    job->decision = STI_DECIDE_NOTHING;
    job->n_blocks = 0;
    job->blocks = NULL;
    job->turn.state = run->state;
    job->turn.config = run->config;
    job->turn.store = run->store;
    job->turn.seed = run->seed;
    job->turn.engine = job;
    strads_err err = run->program->schedule(&job->turn);
    if (!err && job->decision == STI_DECIDE_NOTHING)
        err = strads_fail(STRADS_EPROGRAM,
                          "schedule of program %s decided nothing: call one of "
                          "strads_turn_dispatch, _all, _policy, _wait, _stop",
                          run->program->name);
    return err;
}

/* ---- dispatches -------------------------------------------------------- */

static strads_err read_values(sti_run *run, sti_dispatch *d)
{
    uint32_t width = run->shape.width;
    const double *table = strads_store_dense(run->store, 0);
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        const strads_block *block = &d->blocks[k];
        double *to = d->values + d->value_at[k];
        for (uint32_t l = 0; l < block->n; l++) {
            const double *from =
                table + (size_t)strads_block_param(block, l) * width;
            for (uint32_t c = 0; c < width; c++)
                *to++ = from[c];
        }
    }
    return STRADS_OK;
}

/* Blocks of `schedule` were checked when it named them: these are a
 * policy's. */
static strads_err check_owners(const sti_run *run,
                               const sti_dispatch_parts *parts)
{
    if (parts->phase >= run->n_phases ||
        run->phases[parts->phase].to == STRADS_TO_ALL)
        return STRADS_OK;
    for (uint32_t k = 0; k < parts->n_blocks; k++)
        if (parts->blocks[k].owner >= run->partitions)
            return strads_fail(STRADS_EPROGRAM,
                               "policy %s gave a block to partition %u of %u",
                               run->policy->name, parts->blocks[k].owner,
                               run->partitions);
    return STRADS_OK;
}

/* What the workers are told beside the news. */
static strads_err fill_dispatch(sti_run *run, sti_dispatch *d, bool values)
{
    if (d->totals)
        memcpy(d->totals, sti_totals_now(run), sti_totals_bytes(run));
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        size_t numbers = values ? (size_t)d->blocks[k].n * run->shape.width : 0;
        d->value_at[k + 1] = d->value_at[k] + numbers;
        size_t bytes =
            sti_phase_partial_bytes(run, d->phase, &d->blocks[k],
                                    d->has_against ? &d->against : NULL);
        d->partial_at[k + 1] = d->partial_at[k] + ((bytes + 7) & ~(size_t)7);
    }
    return d->values ? read_values(run, d) : STRADS_OK;
}

strads_err sti_job_prepare(sti_run *run, sti_prepare_job *job)
{
    sti_dispatch_parts *parts = &job->parts;
    const bool own = parts->phase >= run->n_phases;
    const bool to_nobody =
        !own && run->phases[parts->phase].to == STRADS_TO_NOBODY;
    bool may = true;
    strads_err err = check_owners(run, parts);
    if (!err && job->check)
        err = sti_job_release(run, job, &may);
    if (err || !may)
        return err;
    bool values = sti_phase_takes_values(run, parts->phase);
    parts->n_values = 0;
    parts->n_totals = own || to_nobody ? 0 : run->shape.totals;
    for (uint32_t k = 0; values && !parts->follows && k < parts->n_blocks; k++)
        parts->n_values += (size_t)parts->blocks[k].n * run->shape.width;
    err = sti_dispatch_new(parts, &job->dispatch);
    if (!err && !own && !to_nobody)
        err = fill_dispatch(run, job->dispatch, values);
    return err || to_nobody
               ? err
               : sti_descent_pack(run, job->dispatch, &job->packed);
}
