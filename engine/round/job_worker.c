/* A worker's jobs: open and close a partition, deliver the updates to it,
 * update its blocks, merge two partials, and carry out steps of RING blocks.
 * They write only the state of the job's partition. */
#include "engine/round/job.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/checkpoint.h"
#include "engine/round/partials.h"
#include "engine/round/tree.h"

/* ---- ring steps: a block's object is taken from its parking place or
 * unpacked, updated, and made ready to move on. After the last step the block
 * is home: its record is kept and its object parked. */

/* ---- parking ---------------------------------------------------------- */

void sti_parked_free(const sti_run *run, sti_partition *part)
{
    const strads_payload *payload = run->program->payload;
    for (uint32_t k = 0; k < part->n_parked; k++)
        if (payload && payload->close && part->parked[k].object)
            payload->close(part->parked[k].object);
    free(part->parked);
    part->parked = NULL;
    part->n_parked = part->cap_parked = 0;
}

/* Blocks arrive in about the same order in every sweep, so the search starts
 * after the last hit. */
static sti_parked *parked_of(sti_partition *part, uint64_t block)
{
    for (uint32_t k = 0; k < part->n_parked; k++) {
        uint32_t at = (part->parked_last + 1 + k) % part->n_parked;
        if (part->parked[at].block == block) {
            part->parked_last = at;
            return &part->parked[at];
        }
    }
    return NULL;
}

strads_err sti_park(sti_partition *part, uint64_t block, void *object)
{
    sti_parked *place = parked_of(part, block);
    if (!place && part->n_parked == part->cap_parked) {
        uint32_t capacity = part->cap_parked ? 2 * part->cap_parked : 8;
        sti_parked *more = realloc(part->parked, sizeof *more * capacity);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory for a ring block");
        part->parked = more;
        part->cap_parked = capacity;
    }
    if (!place) {
        part->parked_last = part->n_parked;
        place = &part->parked[part->n_parked++];
        place->block = block;
    }
    place->object = object;
    return STRADS_OK;
}

/* Starts a block's sweep with the object parked here, or with a new one. */
static strads_err leave_home(sti_run *run, sti_worker_job *job)
{
    const strads_payload *payload = run->program->payload;
    sti_ring_step *step = job->step;
    if (!payload)
        return STRADS_OK;
    const strads_block *block = &job->dispatch->blocks[step->index];
    sti_parked *place = parked_of(&run->partition[job->partition], block->id);
    step->payload = payload;
    if (place && place->object) {
        step->object = place->object;
        place->object = NULL;
        return STRADS_OK;
    }
    strads_task task = sti_job_task(run, job);
    task.block = *block;
    return payload->open ? payload->open(&task, &step->object) : STRADS_OK;
}

/* ---- moving ---------------------------------------------------------- */

static strads_err unpack_object(sti_run *run, sti_ring_step *step)
{
    if (!step->packed)
        return STRADS_OK;
    step->payload = run->program->payload;
    strads_err err = step->payload->unpack(step->packed->bytes,
                                           step->packed->size, &step->object);
    sti_object_drop(step->packed);
    step->packed = NULL;
    return err;
}

strads_err sti_payload_pack(const sti_ring_step *step, sti_buffer **out)
{
    return sti_checkpoint_pack(step->payload->pack, step->object, out);
}

static strads_err pack_object(sti_ring_step *step)
{
    if (!step->object || !step->payload)
        return STRADS_OK;
    strads_err err = sti_payload_pack(step, &step->packed);
    if (err)
        return err;
    if (step->payload->close)
        step->payload->close(step->object);
    step->object = NULL;
    return STRADS_OK;
}

static strads_err update_ring_step(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    const strads_phase *phase = &run->phases[d->phase];
    sti_ring_step *step = job->step;
    sti_buffer *fresh;
    strads_err err = sti_buffer_new(step->partial->size, &fresh);
    if (err)
        return err;
    memset(fresh->bytes, 0, fresh->size);
    strads_task task = sti_job_block_task(run, job, step->index);
    task.step = step->number;
    task.value = step->n_values ? step->values : NULL;
    task.object = step->object;
    task.partial = (double *)(void *)fresh->bytes;
    task.partial_bytes = sti_partial_bytes(run, d, step->index);
    size_t bytes = task.partial_bytes;
    err = phase->update(&task);
    step->object = task.object;
    if (!err && step->number == 0)
        memcpy(step->partial->bytes, fresh->bytes, fresh->size);
    else if (!err)
        sti_phase_merge(phase, step->partial->bytes, fresh->bytes, bytes);
    sti_object_drop(fresh);
    return err;
}

/* ---- returning -------------------------------------------------------- */

static strads_err record_home(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    sti_ring_step *step = job->step;
    sti_record record;
    size_t bytes = sti_partial_bytes(run, d, step->index);
    strads_err err = sti_records_append(job->partial, step->index, bytes,
                                        (uint32_t)step->n_values, &record);
    if (err)
        return err;
    memcpy(record.partial, step->partial->bytes, bytes);
    memcpy(record.values, step->values, sizeof(double) * step->n_values);
    if (!step->object)
        return STRADS_OK;
    err = sti_park(&run->partition[job->partition], d->blocks[step->index].id,
                   step->object);
    if (!err)
        step->object = NULL;
    return err;
}

static strads_err job_ring_step(sti_run *run, sti_worker_job *job)
{
    sti_ring_step *step = job->step;
    strads_err err =
        step->number == 0 ? leave_home(run, job) : unpack_object(run, step);
    if (err)
        return err;
    if (job->home)
        return record_home(run, job);
    err = update_ring_step(run, job);
    step->number++;
    if (!err && job->leaves)
        err = pack_object(step);
    if (!err && job->last)
        sti_totals_report(run, job);
    return err;
}

/* ---- jobs of a partition ------------------------------------------------- */

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
        .stop = run->stop,
        .peer = run->peer ? run->peer + first : NULL,
        .first_peer = first,
        .n_peers = strads_pool_first(&run->shape, pool + 1) - first,
    };
}

/* ---- open and close ---------------------------------------------------- */

/* The packed parts of the checkpoint that the run resumes from. */
static const sti_buffer *find_packed_parts(const sti_dispatch *d)
{
    for (uint32_t k = 0; k < d->n_updates; k++)
        if (d->updates[k]->kind == STI_UPDATE_RESULT &&
            d->updates[k]->phase == STI_PHASE_PACK)
            return d->updates[k]->partial;
    return NULL;
}

static strads_err open_partition(sti_run *run, sti_worker_job *job)
{
    const sti_buffer *parts = find_packed_parts(job->dispatch);
    sti_partition *part = &run->partition[job->partition];
    strads_err err = sti_totals_open(run, part);
    if (err)
        return err;
    strads_task task = sti_job_task(run, job);
    if (run->program->open && !(parts && run->program->unpack))
        err = run->program->open(&task, &part->local);
    if (!err)
        part->opened = !(parts && run->program->unpack);
    task.local = part->local;
    if (!err && parts)
        err = sti_checkpoint_open_partition(run, &task, parts);
    if (err)
        return err;
    part->opened = true;
    if (run->peer)
        run->peer[job->partition] =
            (strads_peer){.share = part->share, .local = part->local};
    return STRADS_OK;
}

static strads_err close_partition(sti_run *run, sti_worker_job *job)
{
    sti_partition *part = &run->partition[job->partition];
    sti_parked_free(run, part);
    sti_totals_close(part);
    if (part->opened && run->program->close)
        run->program->close(part->local);
    part->opened = false;
    part->local = NULL;
    return STRADS_OK;
}

/* ---- delivering updates ----------------------------------------------- */

/* Delivers a series of changes, batch by batch. */
static strads_err deliver_changes(sti_run *run, sti_worker_job *job,
                                  uint32_t from, uint32_t to)
{
    if (!run->program->refresh || from == to)
        return STRADS_OK;
    enum { BATCH = 32 };
    strads_change batch[BATCH];
    strads_task task = sti_job_task(run, job);
    while (from < to) {
        uint32_t n = 0;
        while (n < BATCH && from < to)
            batch[n++] = job->dispatch->updates[from++]->change;
        strads_err err = run->program->refresh(&task, batch, n);
        if (err)
            return err;
    }
    return STRADS_OK;
}

static strads_err deliver_result(sti_run *run, sti_worker_job *job,
                                 const sti_update *update)
{
    if (update->phase == STI_PHASE_PACK)
        return STRADS_OK;
    const strads_phase *phase = &run->phases[update->phase];
    if (!phase->receive)
        return STRADS_OK;
    strads_task task = sti_job_task(run, job);
    task.phase = update->phase;
    task.block = update->block;
    task.partial = (double *)(void *)update->partial->bytes;
    task.partial_bytes = update->partial->size;
    return phase->receive(&task);
}

static strads_err deliver_updates(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    uint32_t delivered = 0;
    for (uint32_t k = 0; k < d->n_updates; k++) {
        if (d->updates[k]->kind == STI_UPDATE_CHANGE)
            continue;
        strads_err err = deliver_changes(run, job, delivered, k);
        if (!err)
            err = deliver_result(run, job, d->updates[k]);
        if (err)
            return err;
        delivered = k + 1;
    }
    return deliver_changes(run, job, delivered, d->n_updates);
}

/* Start values arrive with OPEN, as the first change. */
static strads_err open_and_deliver(sti_run *run, sti_worker_job *job)
{
    strads_err err = open_partition(run, job);
    return err ? err : deliver_updates(run, job);
}

static strads_err deliver_and_pack(sti_run *run, sti_worker_job *job)
{
    strads_err err = deliver_updates(run, job);
    return err ? err : sti_checkpoint_pack_partition(run, job);
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

/* SUM, MAX and OWN of an ALL phase: every block has its place in the
 * partial. */
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

/* CONCAT of an ALL phase, and OWNER: makes a record for each block updated
 * here. */
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

static strads_err update_blocks(sti_run *run, sti_worker_job *job)
{
    strads_err err = deliver_updates(run, job);
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
        sti_totals_report(run, job);
    return err;
}

strads_err sti_job_worker(sti_run *run, sti_worker_job *job)
{
    switch (job->job.call) {
    case STI_CALL_OPEN:
        return open_and_deliver(run, job);
    case STI_CALL_CLOSE:
        return close_partition(run, job);
    case STI_CALL_PACK:
        return deliver_and_pack(run, job);
    case STI_CALL_RING_STEP:
        return job_ring_step(run, job);
    case STI_CALL_MERGE:
        return sti_merge(run, job->dispatch, job->chunk, job->partial,
                         job->from);
    default:
        return update_blocks(run, job);
    }
}
