/* The coordinator's commit of a dispatch: the merged partial of each of its
 * blocks, handed on one after the other (each sees what those before it
 * changed), then the report and what is due to the shards. */
#include "engine/round/block_versions.h"
#include "engine/round/commit_block.h"
#include "engine/round/merge_partials.h"
#include "engine/round/shared_totals.h"
#include "engine/round/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a commit");
}

/* ---- the merged partial of each block ---------------------------------- */

static strads_err wrong_records(const sti_aggregate_job *job, uint32_t block)
{
    return strads_fail(STRADS_EPEER,
                       "round %llu: block %u of %u did not come back once and "
                       "whole: a node runs another version or is broken",
                       (unsigned long long)job->job.round, block,
                       job->dispatch->n_blocks);
}

/* What a holder sent is as long as the dispatch said it would be. */
static bool has_due_size(const sti_aggregate_job *job, const sti_record *record)
{
    const sti_dispatch *d = job->dispatch;
    return record->partial_bytes ==
               sti_partial_bytes(job->run, d, record->block) &&
           record->n_values ==
               d->value_at[record->block + 1] - d->value_at[record->block];
}

/* OWNER and RING: the one record of each block, in order of blocks; versions
 * are committed as they come. */
static strads_err one_record_each(const sti_aggregate_job *job,
                                  sti_record *records)
{
    uint32_t n = job->dispatch->n_blocks;
    for (uint32_t k = 0; k < n; k++)
        records[k].partial = NULL;
    strads_err err;
    sti_record record;
    for (size_t at = sti_totals_bytes(job->run);
         sti_records_next(job->partial, &at, &record, &err);) {
        if (record.block >= n) {
            err = sti_versions_commit(job->run, job->dispatch, &record);
            if (err)
                return err;
            continue;
        }
        if (records[record.block].partial || !has_due_size(job, &record))
            return wrong_records(job, record.block);
        records[record.block] = record;
    }
    for (uint32_t k = 0; !err && k < n; k++)
        if (!records[k].partial)
            err = wrong_records(job, k);
    return err;
}

/* How many pieces of a block there are, their bytes, and the last of them. */
static strads_err count_pieces(const sti_aggregate_job *job, uint32_t block,
                               uint32_t *n, size_t *bytes, sti_record *last)
{
    strads_err err;
    sti_record record;
    *n = 0;
    *bytes = 0;
    for (size_t at = sti_totals_bytes(job->run);
         sti_records_next(job->partial, &at, &record, &err);) {
        if (record.block != block)
            continue;
        *last = record;
        *bytes += record.partial_bytes;
        ++*n;
    }
    return err;
}

/* CONCAT: all pieces of one block, in the order of partitions. One alone is
 * read where it is: it may be large. */
static strads_err gather_pieces(sti_aggregate_job *job, uint32_t block,
                                strads_commit *commit)
{
    uint32_t n;
    sti_record record;
    strads_err err =
        count_pieces(job, block, &n, &commit->partial_bytes, &record);
    if (!err && n == 1)
        commit->partial = record.partial;
    if (err || n == 1)
        return err;
    err = sti_buffer_resize(job->gathered, commit->partial_bytes);
    unsigned char *to = job->gathered->bytes;
    for (size_t at = sti_totals_bytes(job->run);
         !err && sti_records_next(job->partial, &at, &record, &err);) {
        if (record.block != block)
            continue;
        memcpy(to, record.partial, record.partial_bytes);
        to += record.partial_bytes;
    }
    commit->partial = (const double *)(void *)job->gathered->bytes;
    return err;
}

static strads_commit base_commit(sti_aggregate_job *job, uint32_t index)
{
    sti_run *run = job->run;
    const sti_dispatch *d = job->dispatch;
    return (strads_commit){
        .state = run->state,
        .config = run->config,
        .store = run->store,
        .seed = run->seed,
        .round = d->round,
        .phase = d->phase,
        .width = run->shape.width,
        .block = d->blocks[index],
        .against = d->has_against ? d->against : (strads_block){0},
        .engine = job,
        .tolerance = run->tolerance,
        .total = sti_totals_now(run),
        .total_change = job->total_change,
    };
}

static strads_err commit_in_place(sti_aggregate_job *job)
{
    const sti_dispatch *d = job->dispatch;
    size_t at = sti_totals_bytes(job->run);
    if (job->partial->size != at + d->partial_at[d->n_blocks])
        return strads_fail(STRADS_EPEER,
                           "round %llu: merged partials have %zu bytes, not "
                           "%zu: a node runs other options",
                           (unsigned long long)d->round, job->partial->size,
                           at + d->partial_at[d->n_blocks]);
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < d->n_blocks && !err; k++) {
        strads_commit commit = base_commit(job, k);
        commit.partial = (const double *)(void *)(job->partial->bytes + at +
                                                  d->partial_at[k]);
        commit.partial_bytes = sti_partial_bytes(job->run, d, k);
        err = sti_commit_block(job, &commit, NULL);
    }
    return err;
}

static strads_err commit_records(sti_aggregate_job *job)
{
    const sti_dispatch *d = job->dispatch;
    bool concat = job->run->phases[d->phase].to == STRADS_TO_ALL;
    sti_record *records = calloc(d->n_blocks + 1, sizeof *records);
    if (!records)
        return no_memory();
    strads_err err = concat ? STRADS_OK : one_record_each(job, records);
    for (uint32_t k = 0; k < d->n_blocks && !err; k++) {
        strads_commit commit = base_commit(job, k);
        if (concat) {
            err = gather_pieces(job, k, &commit);
        } else {
            commit.partial = records[k].partial;
            commit.partial_bytes = records[k].partial_bytes;
        }
        if (!err)
            err = sti_commit_block(job, &commit, concat ? NULL : &records[k]);
    }
    free(records);
    return err;
}

static strads_err join_slices(const sti_aggregate_job *job,
                              const sti_slices *slices, sti_buffer **out)
{
    strads_err err = sti_buffer_new(slices->bytes, out);
    for (uint32_t k = 0; k < slices->n && !err; k++) {
        const size_t begin = sti_slices_begin(slices, k);
        const size_t size = sti_slices_begin(slices, k + 1) - begin;
        if (job->slices[k]->size != size)
            return strads_fail(STRADS_EPEER,
                               "round %llu: slice %u of %u has %zu bytes, not "
                               "%zu: a node runs other options",
                               (unsigned long long)job->job.round, k, slices->n,
                               job->slices[k]->size, size);
        memcpy((*out)->bytes + begin, job->slices[k]->bytes, size);
    }
    return err;
}

/* Puts a partial together that came in parts, and drops them. */
static strads_err join_parts(sti_aggregate_job *job)
{
    const sti_slices slices = sti_slices_of(job->run, job->dispatch);
    if (job->n_slices == 0)
        return STRADS_OK;
    strads_err err =
        slices.n > 1 ? join_slices(job, &slices, &job->partial)
                     : sti_merge_heads(job->run, job->dispatch, job->n_slices,
                                       job->slices, &job->partial);
    for (uint32_t k = 0; k < job->n_slices; k++) {
        sti_object_drop(job->slices[k]);
        job->slices[k] = NULL;
    }
    return err;
}

strads_err sti_job_report(sti_run *run, sti_aggregate_job *job)
{
    job->report = (strads_report){.objective = NAN, .gap = NAN};
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        job->report.measure[k] = NAN;
    if (!run->program->objective)
        return STRADS_OK;
    job->reported = true;
    return run->program->objective(run->state, &job->report);
}

/* A phase to NOBODY has no partials: its blocks are committed as they are. */
static strads_err commit_alone(sti_aggregate_job *job)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < job->dispatch->n_blocks && !err; k++) {
        strads_commit commit = base_commit(job, k);
        err = sti_commit_block(job, &commit, NULL);
    }
    return err;
}

strads_err sti_job_aggregate(sti_run *run, sti_aggregate_job *job)
{
    const strads_phase *phase = &run->phases[job->dispatch->phase];
    strads_err err = STRADS_OK;
    job->job.err = STRADS_OK;
    if (run->shape.totals && !job->total_change)
        job->total_change = calloc(run->shape.totals, sizeof(double));
    if (run->shape.totals && !job->total_change)
        return no_memory();
    err = join_parts(job);
    if (!err && phase->to != STRADS_TO_NOBODY)
        err = sti_totals_commit(run, job->partial);
    if (err)
        return err;
    if (phase->to == STRADS_TO_NOBODY)
        err = commit_alone(job);
    else
        err = sti_phase_keeps_records(phase) ? commit_records(job)
                                             : commit_in_place(job);
    job->outdated = phase->outdates && run->pairs;
    if (!err && job->outdated)
        sti_pairs_forget(run->pairs);
    if (!err && (phase->reports || job->ask_objective))
        err = sti_job_report(run, job);
    return err;
}
