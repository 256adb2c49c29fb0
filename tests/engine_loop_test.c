/* Data-parallel programs: the `run` slot, through strads_run. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "strads/strads.h"

enum { ROWS = 40, CLOCKS = 25 };

/* Every partition adds its labels to one row, once a clock, and at staleness 0
 * must see all that the others did the clock before. */
static strads_err count_run(strads_task *task, strads_session *session)
{
    double mine = 0;
    uint64_t n = task->share->rows.end - task->share->rows.begin;
    for (uint64_t i = 0; i < n; i++)
        mine += task->share->label[i];
    for (int c = 0; c < CLOCKS; c++) {
        double seen;
        strads_err err = strads_session_read_row(session, 0, 0, 0, &seen);
        if (!err && seen < (double)c * ROWS * (ROWS - 1) / 2)
            err = strads_fail(STRADS_EPROGRAM, "clock %d saw only %g", c, seen);
        if (!err)
            err = strads_session_inc(session, 0, 0, 0, mine);
        if (!err)
            err = strads_session_clock(session);
        if (err)
            return err;
    }
    return STRADS_OK;
}

static strads_err count_shape(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)config;
    (void)data;
    shape->parameters = 1;
    return STRADS_OK;
}

static strads_err failing_run(strads_task *task, strads_session *session)
{
    if (task->share->partition == 1)
        return strads_fail(STRADS_EPROGRAM, "partition 1 gave up");
    return strads_session_barrier(session);
}

static strads_data *label_data(uint32_t partitions)
{
    double label[ROWS], value[ROWS];
    uint32_t index[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        label[i] = i;
        index[i] = i;
        value[i] = 1;
    }
    const uint64_t start[2] = {0, ROWS};
    const strads_columns columns = {ROWS, 1, start, index, value, label};
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions};
    strads_data *data;
    cr_assert_eq(strads_data_from_columns(&columns, &options, &data),
                 STRADS_OK);
    return data;
}

static strads_err run_on(const strads_program *program, uint32_t partitions,
                         strads_result **out)
{
    strads_data *data = label_data(partitions);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 2,
                                           .partitions = partitions};
    strads_err err = strads_run(program, NULL, data, &options, out);
    strads_data_free(data);
    return err;
}

static const strads_program counting = {
    .size = sizeof counting,
    .name = "counting",
    .shape = count_shape,
    .run = count_run,
};

Test(engine_loop, every_partition_runs_and_sees_the_clock_before)
{
    for (uint32_t k = 1; k <= 4; k++) {
        strads_result *result;
        cr_assert_eq(run_on(&counting, k, &result), STRADS_OK, "%s",
                     strads_error_text());
        uint64_t parameters;
        uint32_t width;
        const double *value = strads_result_values(result, &parameters, &width);
        cr_expect_eq(value[0], CLOCKS * ROWS * (ROWS - 1) / 2.0);
        strads_result_free(result);
    }
}

Test(engine_loop, a_partition_that_fails_ends_the_run_with_its_sentence)
{
    static const strads_program program = {
        .size = sizeof program,
        .name = "failing",
        .shape = count_shape,
        .run = failing_run,
    };
    strads_result *result = NULL;
    cr_assert_eq(run_on(&program, 3, &result), STRADS_EPROGRAM);
    cr_expect_str_eq(strads_error_text(), "partition 1 gave up");
    cr_expect_null(result);
}

Test(engine_loop, a_program_cannot_have_both_run_and_phases)
{
    strads_program program = counting;
    program.n_phases = 1;
    strads_result *result = NULL;
    cr_assert_eq(run_on(&program, 1, &result), STRADS_EINVAL);
}
