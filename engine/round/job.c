/* Carries out jobs: calls the function for the kind of job, and keeps a failed
 * call's sentence with the job. */
#include "engine/round/job.h"

#include <stdio.h>
#include <string.h>

static strads_err carry_out(sti_run *run, sti_job *job)
{
    switch (job->call) {
    case STI_CALL_OPEN:
    case STI_CALL_WORK:
    case STI_CALL_RING_STEP:
    case STI_CALL_MERGE:
    case STI_CALL_CLOSE:
    case STI_CALL_PACK:
        return sti_job_worker(run, (sti_worker_job *)job);
    case STI_CALL_BEGIN:
        return sti_job_begin(run, (sti_begin_job *)job);
    case STI_CALL_SCHEDULE:
        return sti_job_schedule(run, (sti_schedule_job *)job);
    case STI_CALL_PREPARE:
        return sti_job_prepare(run, (sti_prepare_job *)job);
    case STI_CALL_AGGREGATE:
        return sti_job_aggregate(run, (sti_aggregate_job *)job);
    case STI_CALL_REPORT:
        return sti_job_report(run, (sti_aggregate_job *)job);
    case STI_CALL_CHOOSE:
        return sti_job_choose(run, (sti_choose_job *)job);
    case STI_CALL_CHECKPOINT:
        return sti_job_checkpoint(run, (sti_checkpoint_job *)job);
    }
    return strads_fail(STRADS_ESTATE, "a job of unknown kind %d",
                       (int)job->call);
}

void sti_job_run(sti_run *run, sti_job *job)
{
    job->err = carry_out(run, job);
    if (job->err && job->said)
        (void)snprintf(job->said->text, sizeof job->said->text, "%s",
                       strads_error_text());
}

/* ---- sizes and merges of partials -------------------------------------- */

/* Whether the program gives the sizes of a phase's partials in bytes. */
static bool counts_bytes(const strads_phase *p)
{
    return p->partial &&
           (p->merge == STRADS_MERGE_CONCAT || p->merge == STRADS_MERGE_OWN);
}

size_t sti_phase_partial_bytes(const sti_run *run, uint32_t phase,
                               const strads_block *block,
                               const strads_block *against)
{
    const strads_phase *p = &run->phases[phase];
    size_t size;
    if (p->partial) {
        strads_task task = {
            .config = run->config,
            .seed = run->seed,
            .phase = phase,
            .width = run->shape.width,
            .shape = &run->shape,
            .block = *block,
            .against = against ? *against : (strads_block){0},
        };
        size = p->partial(&task);
    } else if (p->when == STRADS_WHEN_PROBE && against) {
        size = (size_t)block->n * against->n;
    } else {
        size = (size_t)block->n * run->shape.width;
    }
    return counts_bytes(p) ? size : size * sizeof(double);
}

size_t sti_partial_bytes(const sti_run *run, const sti_dispatch *d,
                         uint32_t index)
{
    size_t capacity = d->partial_at[index + 1] - d->partial_at[index];
    if (!counts_bytes(&run->phases[d->phase]))
        return capacity;
    size_t bytes = sti_phase_partial_bytes(run, d->phase, &d->blocks[index],
                                           d->has_against ? &d->against : NULL);
    return bytes < capacity ? bytes : capacity;
}

static void merge_sum(double *restrict into, const double *restrict from,
                      size_t n)
{
    for (size_t k = 0; k < n; k++)
        into[k] += from[k];
}

void sti_phase_merge(const strads_phase *phase, void *into, const void *from,
                     size_t bytes)
{
    switch (phase->merge) {
    case STRADS_MERGE_SUM:
    case STRADS_MERGE_CONCAT: /* records are appended, not merged here */
        merge_sum(into, from, bytes / sizeof(double));
        break;
    case STRADS_MERGE_OWN:
        phase->merge_with(into, from, bytes);
        break;
    }
}
