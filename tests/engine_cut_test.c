/* The default number of partitions. */
#include <criterion/criterion.h>
#include <string.h>

#include "strads/lasso.h"
#include "strads/lda.h"
#include "strads/logistic.h"
#include "strads/mf.h"
#include "strads/sgd_logistic.h"
#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/toy_data.h"

enum { ROWS = 10, COLS = 10, ENTRIES = ROWS * COLS };

/* A full matrix, cut by these options. */
static strads_data *lay(const strads_data_options *cut)
{
    uint64_t start[COLS + 1] = {0};
    uint32_t index[ENTRIES];
    double value[ENTRIES], label[ROWS];
    strads_data *data = NULL;

    for (uint32_t e = 0; e < ENTRIES; e++) {
        index[e] = e % ROWS;
        value[e] = toy_entry(e % ROWS, e / ROWS);
        start[e / ROWS + 1] = e + 1;
    }
    for (uint32_t i = 0; i < ROWS; i++)
        label[i] = toy_label(i);
    const strads_columns columns = {.rows = ROWS,
                                    .cols = COLS,
                                    .start = start,
                                    .index = index,
                                    .value = value,
                                    .label = label};
    expect_ok(strads_data_from_columns(&columns, cut, &data));
    return data;
}

static strads_err touch(strads_task *task)
{
    task->partial[0] += (double)task->share->rows.begin;
    return STRADS_OK;
}

/* A program that asks for a minimum number of entries in each partition. */
static strads_program needy(uint64_t entries)
{
    return (strads_program){.size = sizeof(strads_program),
                            .name = "needy",
                            .update = touch,
                            .aggregate = toy_commits_nothing,
                            .partition_entries = entries};
}

static strads_data_options cut_for(const strads_program *program,
                                   const strads_engine_options *options)
{
    strads_data_options cut = {.size = sizeof cut};

    expect_ok(strads_run_cut(program, NULL, options, &cut));
    return cut;
}

static uint32_t partitions_of(uint64_t entries, uint32_t workers,
                              uint32_t asked)
{
    const strads_program program = needy(entries);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = workers,
                                           .partitions = asked,
                                           .max_rounds = 2};
    const strads_data_options cut = cut_for(&program, &options);
    strads_data *data = lay(&cut);
    const uint32_t K = strads_data_partitions(data);
    strads_result *result = NULL;

    for (uint32_t p = 0; p < K; p++)
        cr_assert_eq(strads_data_share(data, p)->partitions, K);
    cr_assert_null(strads_data_share(data, K));
    expect_ok(strads_run(&program, NULL, data, &options, &result));
    cr_assert_eq(strads_result_partitions(result), K);
    strads_result_free(result);
    strads_data_free(data);
    return K;
}

Test(engine_cut, no_partition_has_less_than_pays)
{
    cr_assert_eq(partitions_of(1, 4, 0), 4);
    cr_assert_eq(partitions_of(25, 4, 0), 4);
    cr_assert_eq(partitions_of(26, 4, 0), 3);
    cr_assert_eq(partitions_of(50, 4, 0), 2);
    cr_assert_eq(partitions_of(51, 4, 0), 1);
    cr_assert_eq(partitions_of(1000, 4, 0), 1);
    cr_assert_eq(partitions_of(0, 4, 0), 1);
    cr_assert_eq(partitions_of(1, 1, 0), 1);
}

Test(engine_cut, a_given_number_of_partitions_is_kept)
{
    cr_assert_eq(partitions_of(1000, 4, 7), 7);
    cr_assert_eq(partitions_of(1000, 2, 1), 1);
}

Test(engine_cut, a_plan_fixes_the_number_of_partitions)
{
    const strads_program program = needy(1000);
    strads_plan *plan = NULL;
    cr_assert_eq(strads_plan_rotation(3, 6, &plan), STRADS_OK);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 2,
                                           .plan_given = plan};
    const strads_data_options cut = cut_for(&program, &options);

    cr_assert_eq(cut.partitions, 3);
    cr_assert_eq(cut.partition_entries, 0);
    strads_plan_free(plan);
}

Test(engine_cut, linear_programs_have_a_bound_and_rings_and_loops_none)
{
    const strads_program *const bounded[] = {&strads_program_lasso,
                                             &strads_program_lasso_path,
                                             &strads_program_logistic,
                                             &strads_program_logistic_path,
                                             &strads_program_logistic_dual,
                                             &strads_program_svm};
    const strads_program *const spread[] = {&strads_program_mf,
                                            &strads_program_sgd_logistic};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 3};

    for (size_t k = 0; k < sizeof bounded / sizeof *bounded; k++) {
        const strads_data_options cut = cut_for(bounded[k], &options);
        cr_assert_eq(cut.partitions, 3);
        cr_assert_eq(cut.partition_entries, STRADS_PARTITION_ENTRIES, "%s",
                     bounded[k]->name);
        cr_assert_eq(cut.split, bounded[k]->split);
        cr_assert_eq(cut.kind, bounded[k]->kind);
    }
    for (size_t k = 0; k < sizeof spread / sizeof *spread; k++) {
        const strads_data_options cut = cut_for(spread[k], &options);
        cr_assert_eq(cut.partition_entries, 0, "%s", spread[k]->name);
    }
}

/* With one partition per worker, a slow worker could not be relieved. */
Test(engine_cut, several_workers_of_a_ring_have_as_many_partitions_as_it_wants)
{
    strads_engine_options options = {.size = sizeof options, .workers = 3};

    cr_assert_eq(cut_for(&strads_program_mf, &options).partitions, 6);
    cr_assert_eq(cut_for(&strads_program_lda, &options).partitions, 3);
    cr_assert_eq(cut_for(&strads_program_sgd_logistic, &options).partitions, 3);
    options.partitions = 3;
    cr_assert_eq(cut_for(&strads_program_mf, &options).partitions, 3);
    options = (strads_engine_options){.size = sizeof options, .workers = 1};
    cr_assert_eq(cut_for(&strads_program_mf, &options).partitions, 1);
}

/* If partitions are spread over processes, all processes know their number
 * before data is read. */
Test(engine_cut, part_of_the_data_is_cut_into_the_given_number)
{
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = 4,
                                     .keep_count = 2,
                                     .partition_entries = 1000};
    const uint64_t start[] = {0, 0};
    const strads_columns columns = {.rows = 1, .cols = 1, .start = start};
    strads_data *data = NULL;

    expect_error(strads_data_from_columns(&columns, &cut, &data), STRADS_EINVAL,
                 "2 of 4 partitions");
    cr_assert_null(data);
}
