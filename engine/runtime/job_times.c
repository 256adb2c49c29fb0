/* Exponential means. A phase's computations are of a kind, so they have one
 * each; what has no phase has one a call. Before there has been one it is taken
 * for a pass over the data. */
#include "engine/runtime/job_times.h"

#include <stdlib.h>

enum { CALLS = STI_CALL_SERVE + 1 };

strads_err sti_job_times_init(sti_job_times *times, uint32_t n_phases,
                              uint64_t entries)
{
    *times = (sti_job_times){.n_phases = n_phases, .guess_ns = entries / 2};
    times->ns = calloc(n_phases + (size_t)CALLS, sizeof *times->ns);
    return times->ns ? STRADS_OK
                     : strads_fail(STRADS_ENOMEM, "no memory for a worker");
}

void sti_job_times_free(sti_job_times *times)
{
    free(times->ns);
}

static atomic_uint_least64_t *place(const sti_job_times *times, sti_call call,
                                    uint32_t phase)
{
    const bool of_phase = call == STI_CALL_WORK && phase < times->n_phases;
    return &times->ns[of_phase ? phase : times->n_phases + (uint32_t)call];
}

void sti_job_times_note(sti_job_times *times, const sti_job *job)
{
    atomic_uint_least64_t *at = place(times, job->call, job->phase);
    const uint64_t usual = atomic_load_explicit(at, memory_order_relaxed);
    const uint64_t now =
        usual ? (3 * usual + job->elapsed_ns) / 4 : job->elapsed_ns;
    atomic_store_explicit(at, now + !now, memory_order_relaxed);
}

uint64_t sti_job_times_expect(const sti_job_times *times, const sti_msg *msg,
                              uint32_t n_partitions)
{
    const sti_dispatch *dispatch = (const sti_dispatch *)msg->object;
    const atomic_uint_least64_t *at = NULL;
    uint64_t n = 1;
    if (msg->kind == STI_MSG_DISPATCH && dispatch) {
        const sti_call call = dispatch->phase == STI_PHASE_OPEN ? STI_CALL_OPEN
                              : dispatch->phase == STI_PHASE_CLOSE
                                  ? STI_CALL_CLOSE
                                  : STI_CALL_WORK;
        at = place(times, call, dispatch->phase);
        n = n_partitions;
    } else if (msg->kind == STI_MSG_PARTIAL) {
        at = place(times, STI_CALL_MERGE, 0);
    } else if (msg->kind == STI_MSG_HOP) {
        at = place(times, STI_CALL_HOP, 0);
    } else {
        return UINT64_MAX;
    }
    const uint64_t ns = atomic_load_explicit(at, memory_order_relaxed);
    return n * (ns ? ns : times->guess_ns);
}
