/* The speed of the simulation: events of roles per second of processor time,
 * for rounds that compute nothing, on networks of 1, 64 and 1,024 workers with
 * latency, bandwidth, prices of messages and jitter. Medians of several
 * alternating runs, as one JSON line.
 *
 *     bench_sim [EVENTS]    about this many in each run */
#include <stdio.h>
#include <stdlib.h>

#include "bench/measuring.h"
#include "bench/empty_program.h"

enum { RUNS = 5, CASES = 4 };

typedef struct sim_case {
    uint32_t workers;
    double jitter;
    strads_data *data;
    uint64_t events;
    double rate[RUNS];
} sim_case;

static strads_err measure(sim_case *c, uint64_t events, double *rate)
{
    const strads_engine_options options = {
        .size = sizeof options,
        .partitions = c->workers,
        .policy = "cyclic",
        .deterministic = true,
        /* Three events per worker and round: a dispatch, an end, a partial. */
        .max_rounds = 1 + events / (3 * c->workers + 6)};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = c->workers,
                                    .latency = 50e-6,
                                    .bandwidth = 1.25e9,
                                    .message_cost = 2e-6,
                                    .update_cost = 20e-6,
                                    .jitter = c->jitter};
    strads_result *result = NULL;
    strads_sim_outcome outcome;
    double begun = bench_cpu();
    strads_err err = strads_simulate(&empty_program, NULL, c->data, &options,
                                     &sim, &result, &outcome);
    if (err)
        return err;
    c->events = outcome.events;
    *rate = (double)outcome.events / (bench_cpu() - begun);
    strads_result_free(result);
    return STRADS_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(sim_case *cases)
{
    double load = 0;
    (void)getloadavg(&load, 1);
    printf("{\"bench\": \"sim\", \"load\": %.2f", load);
    for (uint32_t k = 0; k < CASES; k++) {
        sim_case *c = &cases[k];
        qsort(c->rate, RUNS, sizeof *c->rate, by_value);
        printf(", \"workers_%u%s_events\": %llu"
               ", \"workers_%u%s_events_per_s\": %.0f",
               c->workers, c->jitter > 0 ? "_jitter" : "",
               (unsigned long long)c->events, c->workers,
               c->jitter > 0 ? "_jitter" : "", c->rate[RUNS / 2]);
    }
    puts("}");
}

int main(int argc, char **argv)
{
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    sim_case cases[CASES] = {{.workers = 1},
                             {.workers = 64},
                             {.workers = 1024},
                             {.workers = 1024, .jitter = 0.5}};
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < CASES && !err; k++) {
        const strads_data_options cut = {.size = sizeof cut,
                                         .partitions = cases[k].workers};
        cases[k].data = empty_data(&cut);
        err = cases[k].data ? STRADS_OK : STRADS_ENOMEM;
    }
    for (uint32_t run = 0; run < RUNS && !err; run++)
        for (uint32_t k = 0; k < CASES && !err; k++)
            err = measure(&cases[k], events, &cases[k].rate[run]);
    for (uint32_t k = 0; k < CASES; k++)
        strads_data_free(cases[k].data);
    if (err) {
        fprintf(stderr, "bench_sim: %s\n", strads_error_text());
        return 1;
    }
    print(cases);
    return 0;
}
