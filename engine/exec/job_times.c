/* Exponential means. A phase's computations are of a kind, so they have one
 * each, and so have its blocks on a ring, which follow a computation that is
 * next to nothing; what has no phase has one a call. Before there has been one
 * it is taken for a pass over the data. */
#include "engine/exec/job_times.h"

#include <stdlib.h>

enum { CALLS = STI_CALL_SERVE + 1 };

strads_err sti_job_times_init(sti_job_times *times, uint32_t n_phases,
                              uint64_t entries)
{
    *times = (sti_job_times){.n_phases = n_phases, .guess_ns = entries / 2};
    times->ns = calloc(2 * (size_t)n_phases + CALLS, sizeof *times->ns);
    return times->ns ? STRADS_OK
                     : strads_fail(STRADS_ENOMEM, "no memory for a worker");
}

void sti_job_times_free(sti_job_times *times)
{
    free(times->ns);
}

static atomic_uint_least64_t *of_call(const sti_job_times *times, sti_call call)
{
    return &times->ns[2 * (size_t)times->n_phases + (uint32_t)call];
}

/* A WORK's or a HOP's. */
static atomic_uint_least64_t *of_phase(const sti_job_times *times,
                                       sti_call call, uint32_t phase)
{
    if (phase >= times->n_phases)
        return of_call(times, call);
    return &times->ns[call == STI_CALL_HOP ? times->n_phases + phase : phase];
}

static uint64_t usual_ns(const atomic_uint_least64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void note(atomic_uint_least64_t *at, uint64_t elapsed_ns)
{
    const uint64_t usual = usual_ns(at);
    const uint64_t now = usual ? (3 * usual + elapsed_ns) / 4 : elapsed_ns;
    atomic_store_explicit(at, now + !now, memory_order_relaxed);
}

void sti_job_times_note(sti_job_times *times, const sti_job *job)
{
    const bool phased = job->call == STI_CALL_WORK || job->call == STI_CALL_HOP;
    if (phased)
        note(of_phase(times, job->call, job->phase), job->elapsed_ns);
    if (job->call != STI_CALL_WORK)
        note(of_call(times, job->call), job->elapsed_ns);
}

/* A partition's part of a round; on a ring one block follows at least. */
static uint64_t dispatch_ns(const sti_job_times *times, uint32_t phase)
{
    if (phase == STI_PHASE_OPEN)
        return usual_ns(of_call(times, STI_CALL_OPEN));
    if (phase == STI_PHASE_CLOSE)
        return usual_ns(of_call(times, STI_CALL_CLOSE));
    const uint64_t work = usual_ns(of_phase(times, STI_CALL_WORK, phase));
    return work ? work + usual_ns(of_phase(times, STI_CALL_HOP, phase)) : 0;
}

uint64_t sti_job_times_expect(const sti_job_times *times, const sti_msg *msg,
                              uint32_t n_partitions)
{
    const sti_dispatch *dispatch = (const sti_dispatch *)msg->object;
    uint64_t ns = 0, n = 1;
    if (msg->kind == STI_MSG_DISPATCH && dispatch) {
        ns = dispatch_ns(times, dispatch->phase);
        n = n_partitions;
    } else if (msg->kind == STI_MSG_PARTIAL) {
        ns = usual_ns(of_call(times, STI_CALL_MERGE));
    } else if (msg->kind == STI_MSG_HOP) {
        ns = usual_ns(of_call(times, STI_CALL_HOP));
    } else {
        return UINT64_MAX;
    }
    return n * (ns ? ns : times->guess_ns);
}
