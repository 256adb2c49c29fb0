/* One hop of a RING block: it is taken out of rest or unpacked, updated, and
 * made ready to leave; after the last hop it is home, its record is kept and it
 * is put to rest. */
#include "engine/round/block_versions.h"
#include "engine/round/job.h"
#include "engine/round/records.h"
#include "engine/round/shared_totals.h"

#include <stdlib.h>
#include <string.h>

/* ---- at rest ----------------------------------------------------------- */

void sti_resting_free(const sti_run *run, sti_partition *part)
{
    const strads_payload *payload = run->program->payload;
    for (uint32_t k = 0; k < part->n_resting; k++) {
        if (payload && payload->close && part->resting[k].object)
            payload->close(part->resting[k].object);
        free(part->resting[k].values);
    }
    free(part->resting);
    part->resting = NULL;
    part->n_resting = part->room_resting = 0;
}

/* Blocks come in about the same order every lap: the search goes on from where
 * it ended. */
static sti_resting *resting_of(sti_partition *part, uint64_t block)
{
    for (uint32_t k = 0; k < part->n_resting; k++) {
        uint32_t at = (part->rested_last + 1 + k) % part->n_resting;
        if (part->resting[at].block == block) {
            part->rested_last = at;
            return &part->resting[at];
        }
    }
    return NULL;
}

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a ring block");
}

static strads_err place_to_rest(sti_partition *part, uint64_t block,
                                sti_resting **out)
{
    *out = resting_of(part, block);
    if (*out)
        return STRADS_OK;
    if (part->n_resting == part->room_resting) {
        uint32_t room = part->room_resting ? 2 * part->room_resting : 8;
        sti_resting *more = realloc(part->resting, sizeof *more * room);
        if (!more)
            return no_memory();
        part->resting = more;
        part->room_resting = room;
    }
    part->rested_last = part->n_resting;
    *out = &part->resting[part->n_resting++];
    **out = (sti_resting){.block = block};
    return STRADS_OK;
}

/* The values as the commit will have them, to the bit: the table gets what the
 * lap has changed, table + (held - table), and so does this copy. */
static strads_err keep_values(sti_resting *place, const sti_dispatch *d,
                              const sti_hop *hop)
{
    size_t n = hop->n_values;
    if (n == 0)
        return STRADS_OK;
    if (place->n_values != n || !place->values) {
        free(place->values);
        place->values = malloc(sizeof(double) * n);
        place->n_values = place->values ? n : 0;
        if (!place->values)
            return no_memory();
    }
    const double *before =
        d->values ? d->values + d->value_at[hop->index] : place->values;
    for (size_t k = 0; k < n; k++)
        place->values[k] = before[k] + (hop->values[k] - before[k]);
    return STRADS_OK;
}

/* ---- leaving home ------------------------------------------------------ */

static strads_err take_object(sti_run *run, sti_worker_job *job,
                              sti_resting *place)
{
    const strads_payload *payload = run->program->payload;
    sti_hop *hop = job->hop;
    if (!payload)
        return STRADS_OK;
    hop->payload = payload;
    if (place && place->object) {
        hop->object = place->object;
        place->object = NULL;
        return STRADS_OK;
    }
    strads_task task = sti_job_task(run, job);
    task.block = job->dispatch->blocks[hop->index];
    return payload->open ? payload->open(&task, &hop->object) : STRADS_OK;
}

/* A block starts its lap, with what the dispatch brought or with what the lap
 * before left here. */
static strads_err leave_home(sti_run *run, sti_worker_job *job)
{
    sti_partition *part = &run->partition[job->partition];
    const sti_dispatch *d = job->dispatch;
    sti_hop *hop = job->hop;
    sti_resting *place = resting_of(part, d->blocks[hop->index].id);
    if (d->follows && hop->n_values) {
        if (!place || place->n_values != hop->n_values)
            return strads_fail(STRADS_EPEER,
                               "a lap follows one that left no values: a node "
                               "runs another version or is broken");
        memcpy(hop->values, place->values, sizeof(double) * hop->n_values);
    }
    return take_object(run, job, place);
}

/* ---- on the way -------------------------------------------------------- */

static strads_err unpack_object(sti_run *run, sti_hop *hop)
{
    if (!hop->packed)
        return STRADS_OK;
    hop->payload = run->program->payload;
    strads_err err = hop->payload->unpack(hop->packed->bytes, hop->packed->size,
                                          &hop->object);
    sti_object_drop(hop->packed);
    hop->packed = NULL;
    return err;
}

struct strads_bytes {
    sti_buffer *buffer;
};

strads_err strads_bytes_append(strads_bytes *bytes, const void *from,
                               size_t size)
{
    size_t at = bytes->buffer->size;
    strads_err err = sti_buffer_resize(bytes->buffer, at + size);
    if (!err && size)
        memcpy(bytes->buffer->bytes + at, from, size);
    return err;
}

strads_err sti_payload_pack(const sti_hop *hop, sti_buffer **out)
{
    strads_bytes bytes;
    strads_err err = sti_buffer_new(0, &bytes.buffer);
    if (err)
        return err;
    err = hop->payload->pack(hop->object, &bytes);
    if (err)
        sti_object_drop(bytes.buffer);
    else
        *out = bytes.buffer;
    return err;
}

static strads_err pack_object(sti_hop *hop)
{
    if (!hop->object || !hop->payload)
        return STRADS_OK;
    strads_err err = sti_payload_pack(hop, &hop->packed);
    if (err)
        return err;
    if (hop->payload->close)
        hop->payload->close(hop->object);
    hop->object = NULL;
    return STRADS_OK;
}

static strads_err update_hop(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    const strads_phase *phase = &run->phases[d->phase];
    sti_hop *hop = job->hop;
    sti_buffer *fresh;
    strads_err err = sti_buffer_new(hop->partial->size, &fresh);
    if (err)
        return err;
    memset(fresh->bytes, 0, fresh->size);
    strads_task task = sti_job_block_task(run, job, hop->index);
    task.step = hop->step;
    task.value = hop->n_values ? hop->values : NULL;
    task.object = hop->object;
    task.partial = (double *)(void *)fresh->bytes;
    task.partial_bytes = sti_partial_bytes(run, d, hop->index);
    size_t bytes = task.partial_bytes;
    err = phase->update(&task);
    hop->object = task.object;
    if (!err && hop->step == 0)
        memcpy(hop->partial->bytes, fresh->bytes, fresh->size);
    else if (!err)
        sti_phase_merge(phase, hop->partial->bytes, fresh->bytes, bytes);
    sti_object_drop(fresh);
    return err;
}

/* ---- home again -------------------------------------------------------- */

static strads_err come_home(sti_run *run, sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    sti_hop *hop = job->hop;
    sti_record record;
    size_t bytes = sti_partial_bytes(run, d, hop->index);
    strads_err err = sti_records_append(job->partial, hop->index, bytes,
                                        (uint32_t)hop->n_values, &record);
    if (err)
        return err;
    memcpy(record.partial, hop->partial->bytes, bytes);
    memcpy(record.values, hop->values, sizeof(double) * hop->n_values);
    if (d->versions)
        err = sti_versions_pack(hop, d->n_blocks, job->partial);
    if (err)
        return err;
    bool flows = run->phases[d->phase].flows;
    if (!hop->object && !flows)
        return STRADS_OK;
    sti_resting *place;
    err = place_to_rest(&run->partition[job->partition],
                        d->blocks[hop->index].id, &place);
    if (!err && flows)
        err = keep_values(place, d, hop);
    if (!err) {
        place->object = hop->object;
        hop->object = NULL;
    }
    return err;
}

strads_err sti_job_hop(sti_run *run, sti_worker_job *job)
{
    sti_hop *hop = job->hop;
    strads_err err =
        hop->step == 0 ? leave_home(run, job) : unpack_object(run, hop);
    if (err)
        return err;
    if (job->home)
        return come_home(run, job);
    err = update_hop(run, job);
    hop->step++;
    if (!err && job->leaves)
        err = pack_object(hop);
    if (!err && job->last)
        sti_totals_tell(run, job);
    return err;
}
