/* Loops that report, compute, wait and are stopped, all at once: for
 * ThreadSanitizer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "strads/strads.h"

enum { ROWS = 64, PARTITIONS = 4, COLS = 8, EVERY = 2 };

static volatile bool stop;

static strads_err race_run(strads_task *task, strads_session *session)
{
    double row[COLS];
    strads_err err = STRADS_OK;
    for (uint32_t c = 0; !err && !strads_loop_ends(task); c++) {
        err = strads_session_read_row(session, 0, c % 3, 1, row);
        for (uint32_t k = 0; k < COLS; k++)
            row[k] = 1;
        if (!err)
            err = strads_session_inc_row(session, 0, (c + 1) % 3, row);
        if (!err)
            err = strads_session_inc(session, 1, 0, 0, 1);
        if (!err && c >= EVERY)
            err = strads_session_read_snapshot(session, 1, 1, &(uint32_t){0},
                                               row, &(uint64_t){0});
        if (!err)
            err = strads_session_clock(session);
        if (!err && c % 50 == task->share->partition)
            strads_loop_report(task,
                               &(strads_report){.objective = c, .gap = NAN});
    }
    return err;
}

static strads_err race_shape(const void *config, const strads_data *data,
                             strads_shape *shape)
{
    (void)config;
    (void)data;
    shape->parameters = 3;
    shape->width = COLS;
    return STRADS_OK;
}

static strads_err race_tables(const void *config, const strads_shape *shape,
                              strads_store *store)
{
    const strads_table_spec spec = {.name = "kept",
                                    .rows = 1,
                                    .cols = 1,
                                    .snapshot_every = EVERY};
    (void)config, (void)shape;
    return strads_store_create(store, &spec, &(uint32_t){0});
}

/* The stop comes from the thread that is told of progress. */
static void on_progress(void *arg, const strads_progress *progress)
{
    uint32_t *told = arg;
    (void)progress;
    if (++*told == 100)
        __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static strads_data *make_data(void)
{
    double label[ROWS] = {0}, value[ROWS] = {0};
    uint32_t index[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        index[i] = i;
    const uint64_t start[2] = {0, ROWS};
    const strads_columns columns = {ROWS, 1, start, index, value, label};
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = PARTITIONS};
    strads_data *data = NULL;
    return strads_data_from_columns(&columns, &cut, &data) ? NULL : data;
}

int main(void)
{
    static const strads_program program = {.size = sizeof program,
                                           .name = "race",
                                           .shape = race_shape,
                                           .tables = race_tables,
                                           .run = race_run};
    uint32_t told = 0;
    strads_data *data = make_data();
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = PARTITIONS,
                                           .progress = on_progress,
                                           .progress_arg = &told,
                                           .stop = &stop};
    strads_result *result = NULL;
    strads_err err =
        data ? strads_run(&program, NULL, data, &options, &result) : STRADS_OK;
    if (!result || strads_result_end(result) != STRADS_END_CANCELED) {
        (void)fprintf(stderr, "%s: %s\n", strads_error_name(err),
                      strads_error_text());
        return EXIT_FAILURE;
    }
    strads_result_free(result);
    strads_data_free(data);
    return EXIT_SUCCESS;
}
