/* See rotation_run.h. Simulated workers are 50 us apart, at 10 Gbit/s. */
#include "bench/rotation_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ending.h"

void *rotation_zeroed(size_t n, size_t size)
{
    const size_t bytes = (n * size + 127) / 64 * 64;
    void *at = aligned_alloc(64, bytes);

    if (!at)
        bench_check(
            strads_fail(STRADS_ENOMEM, "no memory for %zu bytes", bytes));
    return memset(at, 0, bytes);
}

uint32_t rotation_staleness(const char *method)
{
    return strcmp(method, "infinite") == 0
               ? STRADS_STALENESS_INFINITE
               : (uint32_t)strtoul(method, NULL, 10);
}

static void print(void *arg, const strads_progress *p)
{
    const rotation_run *run = arg;
    (void)printf("%.0f %.6f %.6f\n", p->measure[0], p->seconds, run->value(p));
}

strads_err rotation_run_print(const rotation_run *run)
{
    const bool simulated = run->phases != NULL;
    rotation_run copy = *run;
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = run->workers,
                                    .latency = 50e-6,
                                    .bandwidth = 1.25e9,
                                    .message_cost = 2e-6,
                                    .phases = run->phases,
                                    .n_phases = run->n_phases};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers =
                                               simulated ? 1 : run->workers,
                                           .partitions = run->workers,
                                           .blocks = run->blocks,
                                           .shards =
                                               simulated ? run->workers : 1,
                                           .seed = 1,
                                           .progress = print,
                                           .progress_arg = &copy};
    strads_result *result = NULL;
    strads_err err = simulated
                         ? strads_simulate(run->program, run->config, run->data,
                                           &options, &sim, &result, NULL)
                         : strads_run(run->program, run->config, run->data,
                                      &options, &result);
    strads_result_free(result);
    return err;
}
