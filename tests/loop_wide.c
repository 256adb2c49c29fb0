/* See loop_wide.h. */
#include "tests/loop_wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 70, COLS = 2048, TABLE = 1 };

wide_plan wide;

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *shape_)
{
    (void)config, (void)data;
    shape_->parameters = 1;
    shape_->width = 1;
    return STRADS_OK;
}

static strads_err tables(const void *config, const strads_shape *shape_,
                         strads_store *store)
{
    const strads_table_spec spec = {.name = "wide",
                                    .type = STRADS_F32,
                                    .rows = ROWS,
                                    .cols = COLS};
    (void)config, (void)shape_;
    return strads_store_create(store, &spec, &(uint32_t){0});
}

/* Adds to all rows of one parity in one call, from memory that is
 * overwritten afterwards. */
static strads_err add_batch(strads_session *s, uint32_t parity, float *batch)
{
    uint32_t rows[ROWS / 2];
    for (uint32_t k = 0; k < ROWS / 2; k++) {
        rows[k] = 2 * k + parity;
        for (uint32_t i = 0; i < COLS; i++)
            batch[(size_t)k * COLS + i] = (float)(rows[k] + 1);
    }
    strads_err err = strads_session_inc_rows(s, TABLE, ROWS / 2, rows, batch);
    memset(batch, 0x5A, sizeof *batch * (ROWS / 2) * COLS);
    return err;
}

/* Adds row + 1 to all cells of the rows of one parity. */
static strads_err add(strads_session *s, uint32_t parity, float *batch)
{
    float row[COLS];
    strads_err err = STRADS_OK;
    if (wide.batches)
        return add_batch(s, parity, batch);
    for (uint32_t k = parity; !err && k < ROWS; k += 2) {
        for (uint32_t i = 0; i < COLS; i++)
            row[i] = (float)(k + 1);
        err = strads_session_inc_row(s, TABLE, k, row);
    }
    return err;
}

/* All cells of row k have the same value: row + 1 times the number of
 * additions, which lies between two bounds for the rows of each parity. */
static void check(const float *values, const uint32_t *rows,
                  const uint64_t least[2], uint64_t most)
{
    for (uint32_t k = 0; k < ROWS; k++) {
        const float *row = values + (size_t)k * COLS;
        const double often = row[0] / (rows[k] + 1.0);
        bool good = often == floor(often) &&
                    often >= (double)least[rows[k] % 2] &&
                    often <= (double)most;
        for (uint32_t i = 1; good && i < COLS; i++)
            good = row[i] == row[0];
        if (!good)
            atomic_fetch_add(&wide.wrong, 1);
    }
}

/* Ends a clock. If all clocks end in step, some end together with a read,
 * which must contain all `whole` additions of these clocks. */
static strads_err end_clock(strads_session *s, uint64_t whole,
                            const uint32_t *rows, float *values)
{
    if (wide.endless || strads_session_now(s) % 2 == 0)
        return strads_session_clock(s);
    strads_err err =
        strads_session_clock_and_read(s, TABLE, ROWS, rows, 0, values);
    if (!err)
        check(values, rows, (const uint64_t[2]){whole, whole}, 2 * whole);
    return err;
}

/* Adds to even rows before it reads them, because a session sees its own
 * changes. If something else ends the loops, other loops may have ended. */
static strads_err one_clock(strads_session *s, uint64_t c, uint32_t partitions,
                            const uint32_t *rows, float *values)
{
    float *batch = values + (size_t)ROWS * COLS;
    const uint64_t whole = wide.endless ? c : c * partitions;
    strads_err err = add(s, 0, batch);
    if (!err)
        err = strads_session_read_rows(s, TABLE, ROWS, rows, 0, values);
    if (err)
        return err;
    check(values, rows, (const uint64_t[2]){whole + 1, whole},
          (c + 2) * partitions);
    err = add(s, 1, batch);
    return err ? err : end_clock(s, whole + partitions, rows, values);
}

/* Runs at the clock after the last one. */
static strads_err see_all(strads_session *s, uint32_t partitions,
                          const uint32_t *rows, float *values)
{
    const uint64_t all = (uint64_t)wide.clocks * partitions;
    strads_err err = strads_session_read_rows(s, TABLE, ROWS, rows, 0, values);
    if (err)
        return err;
    check(values, rows, (const uint64_t[2]){all, all}, all);
    atomic_fetch_add(&wide.done, 1);
    return STRADS_OK;
}

static strads_err run(strads_task *task, strads_session *s)
{
    const uint32_t partitions = task->shape->partitions;
    float *values = malloc(sizeof *values * 2 * ROWS * COLS);
    uint32_t rows[ROWS];
    strads_err err = values ? STRADS_OK : strads_fail(STRADS_ENOMEM, "memory");
    for (uint32_t k = 0; k < ROWS; k++)
        rows[k] = wide.backwards ? ROWS - 1 - k : k;
    for (uint64_t c = 0;
         !err && c < wide.clocks && !(wide.endless && strads_loop_ends(task));
         c++)
        err = one_clock(s, c, partitions, rows, values);
    if (!err && !wide.endless)
        err = see_all(s, partitions, rows, values);
    free(values);
    return err;
}

const strads_program wide_program = {.size = sizeof(strads_program),
                                     .name = "wide",
                                     .shape = shape,
                                     .tables = tables,
                                     .run = run};
