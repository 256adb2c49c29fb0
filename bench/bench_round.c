/* The cost of a round without computation: a program with empty update and
 * aggregate, blocks of one parameter from the cyclic policy. Prints
 * microseconds per round, medians of several alternating runs, as one JSON
 * line.
 *
 *     bench_round [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/empty_program.h"

enum { RUNS = 5, CASES = 4 };

typedef struct round_case {
    uint32_t workers, depth;
    double us[RUNS];
} round_case;

static strads_err measure(const strads_data *data, const round_case *c,
                          uint64_t rounds, double *us)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = c->workers,
                                           .policy = "cyclic",
                                           .depth = c->depth,
                                           .deterministic = true,
                                           .max_rounds = rounds};
    strads_result *result = NULL;
    strads_err err = strads_run(&empty_program, NULL, data, &options, &result);
    if (err)
        return err;
    const strads_progress *p = strads_result_progress(result);
    *us = 1e6 * p->seconds / (double)p->round;
    strads_result_free(result);
    return STRADS_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(round_case *cases, uint64_t rounds)
{
    double load = 0;
    (void)getloadavg(&load, 1);
    printf("{\"bench\": \"round\", \"rounds\": %llu, \"load\": %.2f",
           (unsigned long long)rounds, load);
    for (uint32_t k = 0; k < CASES; k++) {
        qsort(cases[k].us, RUNS, sizeof *cases[k].us, by_value);
        printf(", \"workers_%u_depth_%u_us\": %.3f", cases[k].workers,
               cases[k].depth, cases[k].us[RUNS / 2]);
    }
    puts("}");
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    round_case cases[CASES] = {{.workers = 1},
                               {.workers = 1, .depth = 1},
                               {.workers = 2},
                               {.workers = 2, .depth = 1}};
    const strads_data_options one = {.size = sizeof one, .partitions = 1},
                              two = {.size = sizeof two, .partitions = 2};
    strads_data *data[2] = {empty_data(&one), empty_data(&two)};
    strads_err err = data[0] && data[1] && rounds ? STRADS_OK : STRADS_EINVAL;
    for (uint32_t run = 0; run < RUNS && !err; run++)
        for (uint32_t k = 0; k < CASES && !err; k++)
            err = measure(data[cases[k].workers - 1], &cases[k], rounds,
                          &cases[k].us[run]);
    strads_data_free(data[0]);
    strads_data_free(data[1]);
    if (err) {
        fprintf(stderr, "bench_round: %s\n", strads_error_text());
        return 1;
    }
    print(cases, rounds);
    return 0;
}
