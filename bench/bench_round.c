/* What a round costs when it computes nothing: a program whose update and
 * aggregate are empty, blocks of one parameter from the cyclic policy. Prints
 * microseconds a round, medians of several runs, in turn, as one JSON line.
 *
 *     bench_round [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strads/strads.h"

enum { RUNS = 5, PARAMETERS = 1000, CASES = 4 };

typedef struct round_case {
    uint32_t workers, depth;
    double us[RUNS];
} round_case;

static strads_err one_a_block(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)config, (void)data;
    shape->block_max = 1;
    return STRADS_OK;
}

static strads_err nothing(strads_task *task)
{
    (void)task;
    return STRADS_OK;
}

static strads_err commits_nothing(strads_commit *commit)
{
    (void)commit;
    return STRADS_OK;
}

static const strads_program empty = {.size = sizeof(strads_program),
                                     .name = "empty",
                                     .shape = one_a_block,
                                     .update = nothing,
                                     .aggregate = commits_nothing};

/* A matrix without entries; NULL without memory. */
static strads_data *make_data(uint32_t partitions)
{
    uint64_t *start = calloc(PARAMETERS + 1, sizeof *start);
    const uint32_t index = 0;
    const double value = 0;
    const strads_columns columns = {.rows = PARAMETERS,
                                    .cols = PARAMETERS,
                                    .start = start,
                                    .index = &index,
                                    .value = &value};
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions};
    strads_data *data = NULL;
    if (start && strads_data_from_columns(&columns, &options, &data))
        data = NULL;
    free(start);
    return data;
}

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
    strads_err err = strads_run(&empty, NULL, data, &options, &result);
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
    strads_data *data[2] = {make_data(1), make_data(2)};
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
