/* Every linear program on speeches, on 1, 2 and 4 workers, on several nodes
 * over TCP and simulated. The result is checked against the objective. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/linear_case.h"
#include "tests/nodes_team.h"

#define TOLERANCE 1e-8

/* A file and its content. */
typedef struct sample {
    char path[64];
    lasso_design design;
} sample;

static char folder[] = "/tmp/strads-samples-XXXXXX";
static sample samples[3]; /* by linear_target */

/* Every second row of a file, with the labels that are wanted: where they are
 * three, every third row that is taken has another. */
static void copy_sample(const char *from, linear_target target, sample *out)
{
    char *line = NULL;
    size_t capacity = 0;
    uint64_t row = 0;
    FILE *in = fopen(from, "r");
    (void)snprintf(out->path, sizeof(out->path), "%s/%d", folder, (int)target);
    FILE *file = fopen(out->path, "w");

    cr_assert(in && file, "%s", from);
    while (getline(&line, &capacity, in) > 0 &&
           getline(&line, &capacity, in) > 0) {
        char *rest;
        const double label = strtod(line, &rest);
        if (target == LINEAR_THREE)
            fprintf(file, "%d%s", row % 3 == 2 ? 2 : label > 0, rest);
        else
            fprintf(file, "%.17g%s", label, rest);
        row++;
    }
    free(line);
    (void)fclose(in);
    (void)fclose(file);
    out->design = linear_case_read(out->path);
    cr_assert_eq(out->design.rows, row);
}

static void make_samples(void)
{
    static const char year[] =
        STRADS_SOURCE_DIR "/data/sotu-tiny-year.train.svm";
    static const char party[] =
        STRADS_SOURCE_DIR "/data/sotu-tiny-party.train.svm";

    cr_assert_not_null(mkdtemp(folder));
    copy_sample(year, LINEAR_NUMBERS, &samples[LINEAR_NUMBERS]);
    copy_sample(party, LINEAR_TWO, &samples[LINEAR_TWO]);
    copy_sample(party, LINEAR_THREE, &samples[LINEAR_THREE]);
}

static void remove_samples(void)
{
    for (int k = 0; k < 3; k++) {
        (void)unlink(samples[k].path);
        lasso_design_free(&samples[k].design);
    }
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(linear_samples, .init = make_samples, .fini = remove_samples);

/* ---- runs -------------------------------------------------------------- */

static void expect_good(const linear_case *one, strads_result *result,
                        const char *where)
{
    linear_expect_good(one, &samples[one->target].design, result, TOLERANCE,
                       where);
}

static strads_data *read_for(const linear_case *one, uint32_t partitions)
{
    const strads_data_options options = {.size = sizeof(options),
                                         .partitions = partitions,
                                         .split = one->program->split,
                                         .layout = one->program->layout};
    strads_data *data = NULL;

    expect_ok(strads_data_read(samples[one->target].path, &options, &data));
    return data;
}

static strads_result *run_here(const linear_case *one, uint32_t workers,
                               double tolerance)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = workers,
                                          .tolerance = tolerance};
    strads_data *data = read_for(one, workers);
    strads_result *result = NULL;

    cr_assert_eq(strads_run(one->program, one->options, data, &engine, &result),
                 STRADS_OK, "%s, %u workers: %s", one->name, workers,
                 strads_error_text());
    strads_data_free(data);
    return result;
}

static void run_simulated(const linear_case *one, uint32_t workers)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .partitions = workers,
                                          .tolerance = TOLERANCE};
    const strads_sim_options sim = {.size = sizeof(sim),
                                    .nodes = workers,
                                    .latency = 1e-5,
                                    .entry_cost = 1e-9};
    strads_data *data = read_for(one, workers);
    strads_result *result = NULL;

    cr_assert_eq(strads_simulate(one->program, one->options, data, &engine,
                                 &sim, &result, NULL),
                 STRADS_OK, "%s, simulated: %s", one->name,
                 strads_error_text());
    expect_good(one, result, "simulated");
    strads_data_free(data);
}

static void run_over_tcp(const linear_case *one, uint32_t nodes)
{
    const team all = {.program = one->program,
                      .config = one->options,
                      .options = {.partitions = nodes, .tolerance = TOLERANCE},
                      .nodes = nodes,
                      .path = samples[one->target].path};
    char where[32];

    (void)snprintf(where, sizeof(where), "%u nodes", nodes);
    strads_result *result = expect_team(&all);
    expect_good(one, result, where);
}

Test(linear_samples, every_program_ends_at_its_minimum_on_1_2_and_4_workers)
{
    for (size_t k = 0; k < linear_cases_count; k++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            char where[32];
            (void)snprintf(where, sizeof(where), "%u workers", workers);
            expect_good(&linear_cases[k],
                        run_here(&linear_cases[k], workers, TOLERANCE), where);
        }
}

/* Of fits that end early: a certificate is no guess. */
Test(linear_samples, the_possible_gain_is_within_the_gap)
{
    double most = 0;

    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        strads_result *result = run_here(one, 2, 1e-2);
        const linear_verdict v =
            linear_case_judge(one, &samples[one->target].design, result);
        cr_expect_leq(v.gain, 1.0001 * v.gap + 1e-12,
                      "%s: %g of P is left, the gap is %g", one->name, v.gain,
                      v.gap);
        cr_expect_leq(v.off, 1e-9, "%s: P is off by %g", one->name, v.off);
        most = fmax(most, v.gain);
        strads_result_free(result);
    }
    cr_expect_gt(most, TOLERANCE, "all fits were at their minimum");
}

Test(linear_samples, every_program_ends_at_its_minimum_over_tcp)
{
    for (size_t k = 0; k < linear_cases_count; k++)
        for (uint32_t nodes = 2; nodes <= 4; nodes *= 2)
            run_over_tcp(&linear_cases[k], nodes);
}

Test(linear_samples, every_program_ends_at_its_minimum_simulated)
{
    for (size_t k = 0; k < linear_cases_count; k++)
        run_simulated(&linear_cases[k], 4);
}

/* Hundreds of partitions of a row or two send the coordinator the columns of a
 * working set. Where each names all of them, a round takes 7.7 latencies. */
Test(linear_samples, partitions_name_the_columns_they_have_entries_of_alone)
{
    enum { NODES = 512 };
    const strads_lasso_options lasso = {.lambda_ratio = .02, .intercept = true};
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .partitions = NODES,
                                          .deterministic = true,
                                          .tolerance = 1e-6};
    const double latency = 50e-6;
    const strads_sim_options sim = {.size = sizeof(sim),
                                    .nodes = NODES,
                                    .latency = latency,
                                    .bandwidth = 1.25e9,
                                    .entry_cost = 1e-9};
    const linear_case year = {.program = &strads_program_lasso,
                              .target = LINEAR_NUMBERS};
    strads_data *data = read_for(&year, NODES);
    strads_sim_outcome outcome;
    strads_result *result = NULL;

    expect_ok(strads_simulate(year.program, &lasso, data, &engine, &sim,
                              &result, &outcome));
    const double rounds = (double)strads_result_progress(result)->round;
    const double mean = outcome.makespan / rounds / latency;
    cr_log_info("a round takes %.2f latencies", mean);
    cr_expect_lt(mean, 7.2, "a round takes %.2f latencies", mean);
    strads_result_free(result);
    strads_data_free(data);
}
