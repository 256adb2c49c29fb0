/* A worker's jobs: open and close a partition, tell it the news, update its
 * blocks, merge two partials; a RING block's hop is in job_ring.c. Only the
 * state of the job's partition is written. */
#include "engine/round/job.h"
#include "engine/round/merge_partials.h"
#include "engine/round/records.h"
#include "engine/round/shared_totals.h"
#include "engine/round/slices.h"

#include <stdlib.h>
#include <string.h>

strads_task sti_job_task(const sti_run *run, const sti_worker_job *job)
{
    const sti_partition *part = &run->partition[job->partition];
    const uint32_t pool = strads_pool_of(&run->shape, job->partition);
    const uint32_t first = strads_pool_first(&run->shape, pool);
    return (strads_task){
        .share = part->share,
        .local = part->local,
        .config = run->config,
        .store = run->store,
        .seed = run->seed,
        .round = job->job.round,
        .phase = job->job.phase,
        .width = run->shape.width,
        .total = part->total,
        .shape = &run->shape,
        .peer = run->peer ? run->peer + first : NULL,
        .first_peer = first,
        .n_peers = strads_pool_first(&run->shape, pool + 1) - first,
    };
}

/* ---- open and close ---------------------------------------------------- */

static strads_err open_partition(sti_run *run, sti_worker_job *job)
{
    sti_partition *part = &run->partition[job->partition];
    strads_err err = sti_totals_open(run, part);
    if (err)
        return err;
    if (run->program->open) {
        strads_task task = sti_job_task(run, job);
        err = run->program->open(&task, &part->local);
        if (err)
            return err;
    }
    part->opened = true;
    if (run->peer)
        run->peer[job->partition] =
            (strads_peer){.share = part->share, .local = part->local};
    return STRADS_OK;
}

static strads_err close_partition(sti_run *run, sti_worker_job *job)
{
    sti_partition *part = &run->partition[job->partition];
    sti_resting_free(run, part);
    sti_totals_close(part);
    if (part->opened && run->program->close)
        run->program->close(part->local);
    part->opened = false;
    part->local = NULL;
    return STRADS_OK;
}

/* ---- news -------------------------------------------------------------- */

/* Tells a run of changes in one call. */
static strads_err tell_changes(sti_run *run, sti_worker_job *job, uint32_t from,
                               uint32_t to)
{
    if (!run->program->refresh || from == to)
        return STRADS_OK;
    enum { BATCH = 32 };
    strads_change batch[BATCH];
    strads_task task = sti_job_task(run, job);
    while (from < to) {
        uint32_t n = 0;
        while (n < BATCH && from < to)
            batch[n++] = job->dispatch->news[from++]->change;
        strads_err err = run->program->refresh(&task, batch, n);
        if (err)
            return err;
    }
    return STRADS_OK;
}

static strads_err tell_result(sti_run *run, sti_worker_job *job,
                              const sti_news *news)
{
    const strads_phase *phase = &run->phases[news->phase];
    if (!phase->receive)
        return STRADS_OK;
    strads_task task = sti_job_task(run, job);
    task.phase = news->phase;
    task.block = news->block;
    task.partial = (double *)(void *)news->partial->bytes;
    task.partial_bytes = news->partial->size;
    return phase->receive(&task);
}

static strads_err tell_news(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    uint32_t told = 0;
    for (uint32_t k = 0; k < d->n_news; k++) {
        if (d->news[k]->kind == STI_NEWS_CHANGE)
            continue;
        strads_err err = tell_changes(run, job, told, k);
        if (!err)
            err = tell_result(run, job, d->news[k]);
        if (err)
            return err;
        told = k + 1;
    }
    return tell_changes(run, job, told, d->n_news);
}

/* Start values ride with the opening: they are the first change of all. */
static strads_err open_and_tell(sti_run *run, sti_worker_job *job)
{
    strads_err err = open_partition(run, job);
    return err ? err : tell_news(run, job);
}

/* ---- updates ----------------------------------------------------------- */

strads_task sti_job_block_task(const sti_run *run, const sti_worker_job *job,
                               uint32_t index)
{
    const sti_dispatch *d = job->dispatch;
    strads_task task = sti_job_task(run, job);
    task.block = d->blocks[index];
    if (d->has_against)
        task.against = d->against;
    task.in_flight = d->in_flight;
    task.n_in_flight = d->n_in_flight;
    if (d->values)
        task.value = d->values + d->value_at[index];
    return task;
}

/* SUM, MAX and OWN of an ALL phase: every block has its place. */
static strads_err update_in_place(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    const strads_phase *phase = &run->phases[d->phase];
    size_t at = sti_totals_bytes(run);
    strads_err err =
        sti_buffer_resize(job->partial, at + d->partial_at[d->n_blocks]);
    if (err)
        return err;
    memset(job->partial->bytes, 0, job->partial->size);
    for (uint32_t k = 0; k < d->n_blocks && !err; k++) {
        strads_task task = sti_job_block_task(run, job, k);
        task.partial =
            (double *)(void *)(job->partial->bytes + at + d->partial_at[k]);
        task.partial_bytes = sti_partial_bytes(run, d, k);
        err = phase->update(&task);
    }
    return err;
}

/* CONCAT of an ALL phase, and OWNER: a record for each block updated here. */
static strads_err update_records(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    const strads_phase *phase = &run->phases[d->phase];
    bool owner = phase->to == STRADS_TO_OWNER;
    strads_err err = sti_totals_begin_records(run, job->partial);
    if (err)
        return err;
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        if (owner && d->blocks[k].owner != job->partition)
            continue;
        strads_task task = sti_job_block_task(run, job, k);
        size_t n_values = owner ? d->value_at[k + 1] - d->value_at[k] : 0;
        sti_record record;
        err = sti_records_append(job->partial, k, sti_partial_bytes(run, d, k),
                                 (uint32_t)n_values, &record);
        if (err)
            return err;
        if (n_values) {
            memcpy(record.values, task.value, sizeof(double) * n_values);
            task.value = record.values;
        }
        task.partial = record.partial;
        task.partial_bytes = record.partial_bytes;
        err = phase->update(&task);
        if (err)
            return err;
        if (!owner && task.partial_bytes < record.partial_bytes)
            sti_records_shrink(job->partial, &record, task.partial_bytes);
    }
    return STRADS_OK;
}

static strads_err work(sti_run *run, sti_worker_job *job)
{
    strads_err err = tell_news(run, job);
    if (err)
        return err;
    const strads_phase *phase = &run->phases[job->dispatch->phase];
    sti_totals_look(run, job);
    if (phase->to == STRADS_TO_RING)
        err = sti_totals_begin_records(run, job->partial);
    else
        err = sti_phase_keeps_records(phase) ? update_records(run, job)
                                             : update_in_place(run, job);
    if (!err && (phase->to != STRADS_TO_RING || job->dispatch->n_blocks == 0))
        sti_totals_tell(run, job);
    return err;
}

static strads_err merge(const sti_run *run, const sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    return sti_slices_of(run, d).n > 1
               ? sti_merge_slice(run, d, job->slice, job->partial, job->from)
               : sti_merge_partials(run, d, job->partial, job->from);
}

strads_err sti_job_worker(sti_run *run, sti_worker_job *job)
{
    switch (job->job.call) {
    case STI_CALL_OPEN:
        return open_and_tell(run, job);
    case STI_CALL_CLOSE:
        return close_partition(run, job);
    case STI_CALL_HOP:
        return sti_job_hop(run, job);
    case STI_CALL_MERGE:
        return merge(run, job);
    default:
        return work(run, job);
    }
}
