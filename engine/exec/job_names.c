/* Names of jobs: one for each kind, followed by the phase's name for some
 * kinds. */
#include "engine/exec/job_names.h"

static const char *const verb[] = {
    [STI_CALL_OPEN] = "open",
    [STI_CALL_WORK] = "update",
    [STI_CALL_RING_STEP] = "update",
    [STI_CALL_MERGE] = "merge",
    [STI_CALL_CLOSE] = "close",
    [STI_CALL_BEGIN] = "begin",
    [STI_CALL_SCHEDULE] = "schedule",
    [STI_CALL_PREPARE] = "prepare",
    [STI_CALL_AGGREGATE] = "aggregate",
    [STI_CALL_REPORT] = "objective",
    [STI_CALL_CHOOSE] = "schedule",
    [STI_CALL_PACK] = "pack",
    [STI_CALL_CHECKPOINT] = "checkpoint",
};

void sti_job_span(const sti_run *run, const sti_job *job, sti_trace *trace,
                  uint32_t track, uint64_t begin_ns, uint64_t end_ns)
{
    const bool of_phase =
        job->call == STI_CALL_WORK || job->call == STI_CALL_RING_STEP ||
        job->call == STI_CALL_MERGE || job->call == STI_CALL_PREPARE ||
        job->call == STI_CALL_AGGREGATE;
    if (trace)
        sti_trace_record(trace, track, verb[job->call],
                         of_phase && job->phase < run->n_phases
                             ? run->phases[job->phase].name
                             : NULL,
                         begin_ns, end_ns, job->round);
}

bool sti_job_is_callback(const sti_job *job)
{
    return job->call != STI_CALL_PREPARE;
}
