/* The coordinator's jobs. BEGIN makes the store and its tables, the program's
 * coordinator state, the weights, and the start values as the first commit. */
#include "engine/round/job.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/checkpoint.h"
#include "engine/round/partials.h"
#include "engine/round/tree.h"
#include "engine/round/owned_policy.h"
#include "engine/round/ring_plan.h"

/* On several nodes a loop's tables are on the shards. This store then only
 * describes them, and its pages stay untouched. */
strads_err sti_job_make_parameters(sti_run *run)
{
    strads_err err =
        strads_store_open(run->nodes > 1 ? UINT64_MAX : 0, &run->store);
    if (err)
        return err;
    const strads_table_spec parameters = {
        .name = "parameters",
        .type = STRADS_F64,
        .rows = run->shape.parameters,
        .cols = run->shape.width,
    };
    uint32_t table;
    return strads_store_create(run->store, &parameters, &table);
}

strads_err sti_job_make_tables(sti_run *run)
{
    strads_err err = sti_job_make_parameters(run);
    if (!err && run->program->tables)
        err = run->program->tables(run->config, &run->shape, run->store);
    if (!err)
        err = sti_totals_create(run);
    return err;
}

/* At least 1, so that blocks of empty columns are finite, too. */
strads_err sti_job_weigh(const sti_run *run, uint32_t first, uint32_t n,
                         float **out)
{
    float *all = malloc(sizeof *all * (n ? n : 1));
    if (!all)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the weights of %u parameters", n);
    bool columns = run->shape.parameters == strads_data_cols(run->data);
    for (uint32_t k = 0; k < n; k++) {
        double weight = 1;
        if (run->program->weight)
            weight = run->program->weight(run->config, run->data, first + k);
        else if (columns)
            weight = strads_data_col_nnz(run->data, first + k);
        all[k] = weight > 1 ? (float)weight : 1;
    }
    *out = all;
    return STRADS_OK;
}

static strads_err commit_start(sti_run *run, sti_begin_job *job)
{
    if (run->n_start == 0)
        return STRADS_OK;
    uint32_t n = (uint32_t)run->n_start;
    uint32_t width = run->shape.width;
    for (uint32_t k = 0; k < n; k++)
        if (run->start_param[k] >= run->shape.parameters)
            return strads_fail(STRADS_EINVAL,
                               "a start value is given for parameter %u, but "
                               "there are only %llu",
                               run->start_param[k],
                               (unsigned long long)run->shape.parameters);
    sti_update *update;
    strads_err err = sti_update_change(0, n, width, &update);
    if (err)
        return err;
    memcpy((void *)(uintptr_t)update->change.param, run->start_param,
           sizeof *run->start_param * n);
    memcpy((void *)(uintptr_t)update->change.change, run->start_value,
           sizeof *run->start_value * n * width);
    err = strads_store_inc(run->store, 0, n, update->change.param,
                           update->change.change, &update->change.version);
    if (err)
        sti_object_drop(update);
    else
        job->start = update;
    return err;
}

/* Resumes from a checkpoint: its tables, the program's state and, for
 * partitions that are made again, the committed values as one change. */
static strads_err load_checkpoint(sti_run *run,
                                  const sti_checkpoint *checkpoint,
                                  sti_begin_job *job)
{
    const strads_program *program = run->program;
    strads_err err = sti_checkpoint_load(run, checkpoint);
    if (!err && sti_checkpoint_is_committed(program))
        sti_checkpoint_drop_step(run);
    if (!err && checkpoint->state_size && program->unpack_state)
        err = program->unpack_state(run->state, checkpoint->state,
                                    checkpoint->state_size);
    if (err || (checkpoint->parts && program->unpack))
        return err;
    return sti_checkpoint_start(run, checkpoint, &job->start);
}

strads_err sti_job_checkpoint(sti_run *run, sti_checkpoint_job *job)
{
    const strads_program *program = run->program;
    sti_buffer *bytes = NULL;
    if (!job->whole)
        return program->pack_state
                   ? sti_checkpoint_pack(program->pack_state, run->state,
                                         &job->state)
                   : STRADS_OK;
    (void)sti_checkpoint_write(run, &job->at, job->state, job->parts, &bytes);
    run->checkpoints->take(run->checkpoints->arg, bytes);
    return STRADS_OK;
}

strads_err sti_job_begin(sti_run *run, sti_begin_job *job)
{
    const sti_checkpoint *checkpoint =
        run->checkpoints ? run->checkpoints->from : NULL;
    strads_err err = sti_job_make_tables(run);
    if (!err && run->probe_phase < run->n_phases)
        err =
            sti_pairs_new(run->shape.parameters,
                          sti_pairs_limit(run->shape.spare_bytes), &run->pairs);
    if (!err && run->program->begin) {
        err = run->program->begin(run->config, run->data, &run->shape,
                                  &run->state);
    }
    run->begun = !err;
    if (!err && !run->program->no_policy)
        err = sti_job_weigh(run, 0, (uint32_t)run->shape.parameters,
                            &run->weight);
    if (!err && run->program->owned && !run->program->no_policy)
        err = sti_owned_open(run, &run->owned);
    if (!err)
        err = checkpoint ? load_checkpoint(run, checkpoint, job)
                         : commit_start(run, job);
    return err;
}

/* ---- release: the engine's own check of a policy's choice before it is sent.
 * It keeps two guarantees for every policy. With a PROBE phase, a block is sent
 * only if its inner pairs, and its pairs with blocks in flight, are known.
 * Blocks of different schedulers, which do not know each other's choices, are
 * not in flight together if they depend on each other. */

/* Finds the first pair of blocks with unknown pairs that must be known. */
static bool first_unknown(sti_pairs *pairs, const sti_dispatch_parts *parts,
                          const strads_block **a, const strads_block **b)
{
    for (uint32_t k = 0; k < parts->n_blocks; k++) {
        *a = &parts->blocks[k];
        for (uint32_t l = 0; l <= k; l++) {
            *b = &parts->blocks[l];
            if (!sti_pairs_known(pairs, *a, *b))
                return true;
        }
        for (uint32_t l = 0; l < parts->n_in_flight; l++) {
            *b = &parts->in_flight[l];
            if (!sti_pairs_known(pairs, *a, *b))
                return true;
        }
    }
    return false;
}

/* Whether a block must wait for one in flight. A program's block may hold any
 * parameter. An only scheduler's policy has seen the block in flight; for two
 * joint blocks no scheduler has seen both. */
static bool is_in_conflict(const sti_run *run, bool compare,
                           const strads_block *a, const strads_block *b)
{
    uint32_t scheduler = sti_run_scheduler_of(run, b->id);
    if (scheduler == UINT32_MAX)
        return b->n > 0;
    bool seen = scheduler < run->schedulers &&
                scheduler == sti_run_scheduler_of(run, a->id);
    return compare && !seen &&
           sti_pairs_strongest(run->pairs, a, b) > run->threshold;
}

static bool has_conflicts(const sti_run *run, bool compare,
                          const sti_dispatch_parts *parts)
{
    for (uint32_t k = 0; k < parts->n_blocks; k++)
        for (uint32_t l = 0; l < parts->n_in_flight; l++)
            if (is_in_conflict(run, compare, &parts->blocks[k],
                               &parts->in_flight[l]))
                return true;
    return false;
}

/* The first half of PREPARE: whether a policy's choice may be sent now. */
static strads_err release_choice(sti_run *run, sti_prepare_job *job, bool *may)
{
    const sti_dispatch_parts *parts = &job->parts;
    bool pairs = run->pairs && run->phases[parts->phase].to != STRADS_TO_NOBODY;
    bool several = run->schedulers > 1;
    const strads_block *a, *b;
    if (several && pairs && parts->n_in_flight == 0 && !job->again)
        sti_pairs_trim(run->pairs);
    *may = false;
    if (pairs && first_unknown(run->pairs, parts, &a, &b)) {
        const strads_block pair[2] = {*a, *b};
        return sti_blocks_copy(2, pair, &job->unknown);
    }
    *may = !several ||
           !has_conflicts(run, pairs && !run->policy->unchecked, parts);
    return STRADS_OK;
}

/* ---- schedule: the program's own `schedule`, and the making of a dispatch */

/* ---- calls of a program's schedule ------------------------------------- */

static strads_err check_phase(const sti_run *run, uint32_t phase)
{
    if (phase >= run->n_phases)
        return strads_fail(STRADS_EINVAL,
                           "schedule named phase %u, the program has %u", phase,
                           run->n_phases);
    if (phase == run->probe_phase)
        return strads_fail(STRADS_EINVAL,
                           "schedule named phase %s, which probes: the engine "
                           "runs it when pairs must be known",
                           run->phases[phase].name);
    return STRADS_OK;
}

static strads_err set_decision(sti_schedule_job *job, sti_decision decision)
{
    if (job->decision != STI_DECIDE_NOTHING)
        return strads_fail(STRADS_ESTATE,
                           "schedule decided twice in one call: return after "
                           "the first strads_turn_...");
    job->decision = decision;
    return STRADS_OK;
}

static strads_err check_scheduled_block(const sti_run *run,
                                        const strads_block *block)
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

strads_err strads_turn_dispatch(strads_turn *turn, uint32_t phase, uint32_t n,
                                const strads_block *blocks)
{
    sti_schedule_job *job = turn->engine;
    strads_block *copy;
    strads_err err = check_phase(job->run, phase);
    for (uint32_t k = 0; k < n && !err; k++)
        err = check_scheduled_block(job->run, &blocks[k]);
    if (!err)
        err = sti_blocks_copy(n, blocks, &copy);
    if (err)
        return err;
    if (job->run->phases[phase].to == STRADS_TO_RING)
        err = sti_ring_settle(job->run, n, copy);
    if (!err)
        err = set_decision(job, STI_DECIDE_DISPATCH);
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
    if (!err && job->run->program->no_policy)
        err = strads_fail(STRADS_EPROGRAM,
                          "schedule asks the policy for blocks, but the "
                          "program has no_policy: leave no_policy out");
    if (!err && turn->ends)
        err = strads_fail(STRADS_ESTATE,
                          "schedule asks the policy for blocks after the "
                          "run's end: dispatch the phase that makes the model "
                          "final, or stop");
    if (!err)
        err = set_decision(job, STI_DECIDE_POLICY);
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
    return set_decision(turn->engine, STI_DECIDE_WAIT);
}

strads_err strads_turn_stop(strads_turn *turn)
{
    return set_decision(turn->engine, STI_DECIDE_STOP);
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

/* Checks a policy's blocks; those of `schedule` were checked in its calls. */
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

/* Fills in the totals, the values and the sizes of partials. */
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
    const bool to_none =
        !own && run->phases[parts->phase].to == STRADS_TO_NOBODY;
    bool may = true;
    strads_err err = check_owners(run, parts);
    if (!err && job->check)
        err = release_choice(run, job, &may);
    if (err || !may)
        return err;
    bool values = sti_phase_takes_values(run, parts->phase);
    parts->n_values = 0;
    parts->n_totals = own || to_none ? 0 : run->shape.totals;
    for (uint32_t k = 0; values && k < parts->n_blocks; k++)
        parts->n_values += (size_t)parts->blocks[k].n * run->shape.width;
    err = sti_dispatch_new(parts, &job->dispatch);
    if (!err && !own && !to_none)
        err = fill_dispatch(run, job->dispatch, values);
    return err || to_none
               ? err
               : sti_broadcast_pack(run, job->dispatch, &job->packed);
}
