/* The data that a worker sees, for every split and orientation, against the
 * formula of the matrix. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

enum { ROWS = 29, COLS = 19, K_MAX = 32 };

/* Data that each partition saw; each writes its own element. */
typedef struct seen {
    strads_share share[K_MAX];
    uint64_t by_col, by_row; /* entries, merged */
} seen;

typedef struct partition_config {
    seen *seen;
} partition_config;

/* True if a line matches the formula exactly. `along` goes over rows (a
 * column's line) or columns. */
static bool line_is_right(const strads_sparse *sparse, uint64_t line,
                          uint64_t fixed, strads_range along, bool column)
{
    uint64_t at = sparse->start[line];
    for (uint64_t k = along.begin; k < along.end; k++) {
        double x = column ? toy_entry(k, fixed) : toy_entry(fixed, k);
        if (x == 0)
            continue;
        if (at == sparse->start[line + 1] ||
            sparse->index[at] != k - along.begin || sparse->f64[at] != x)
            return false;
        at++;
    }
    return at == sparse->start[line + 1];
}

static bool side_is_right(const strads_sparse *sparse, strads_range lines,
                          strads_range along, bool column)
{
    if (!sparse->start)
        return true;
    if (sparse->lines != lines.end - lines.begin)
        return false;
    for (uint64_t l = 0; l < sparse->lines; l++)
        if (!line_is_right(sparse, l, lines.begin + l, along, column))
            return false;
    return true;
}

static strads_err look(const strads_task *task, void **local)
{
    const partition_config *config = task->config;
    const strads_share *share = task->share;
    (void)local;
    TOY_CHECK(share->partition < K_MAX);
    config->seen->share[share->partition] = *share;
    TOY_CHECK(share->label != NULL);
    for (uint64_t i = share->rows.begin; i < share->rows.end; i++)
        TOY_CHECK(share->label[i - share->rows.begin] == toy_label(i));
    TOY_CHECK(task->shape->rows == ROWS);
    TOY_CHECK(task->shape->cols == COLS);
    TOY_CHECK(task->shape->partitions == share->partitions);
    return STRADS_OK;
}

static strads_err count_entries(strads_task *task)
{
    task->partial[0] = (double)task->share->by_col.nnz;
    task->partial[1] = (double)task->share->by_row.nnz;
    return STRADS_OK;
}

static strads_err keep_counts(strads_commit *commit)
{
    seen *s = ((const partition_config *)commit->config)->seen;
    s->by_col = (uint64_t)commit->partial[0];
    s->by_row = (uint64_t)commit->partial[1];
    return STRADS_OK;
}

static strads_err once(strads_turn *turn)
{
    return turn->round > 1 ? strads_turn_stop(turn) : strads_turn_all(turn, 0);
}

static uint64_t all_entries(void)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < COLS; j++)
            n += toy_entry(i, j) != 0;
    return n;
}

/* Expects consecutive ranges from 0 to `end`, or the full range for all. */
static void check_ranges(const seen *s, uint32_t K, bool rows, bool cut,
                         uint64_t end)
{
    uint64_t at = 0;
    for (uint32_t p = 0; p < K; p++) {
        strads_range range = rows ? s->share[p].rows : s->share[p].cols;
        cr_assert_eq(range.begin, cut ? at : 0);
        at = range.end;
        cr_assert(cut ? range.begin <= at : at == end);
    }
    cr_assert_eq(at, end);
}

static void check_shares(const seen *s, uint32_t K, strads_split split)
{
    const strads_range rows = {0, ROWS}, cols = {0, COLS};
    for (uint32_t p = 0; p < K; p++) {
        const strads_share *share = &s->share[p];
        bool both = split == STRADS_SPLIT_BOTH;
        cr_assert(side_is_right(&share->by_col, share->cols,
                                both ? rows : share->rows, true));
        cr_assert(side_is_right(&share->by_row, share->rows,
                                both ? cols : share->cols, false));
    }
    check_ranges(s, K, true, split != STRADS_SPLIT_COLS, ROWS);
    check_ranges(s, K, false, split != STRADS_SPLIT_ROWS, COLS);
}

static void check_run(strads_split split, strads_layout layout, uint32_t K,
                      uint32_t workers)
{
    seen s;
    memset(&s, 0, sizeof s);
    const strads_phase phase = {.name = "count",
                                .when = STRADS_WHEN_CALLED,
                                .ignores_values = true,
                                .partial = toy_two_numbers,
                                .update = count_entries,
                                .aggregate = keep_counts};
    const partition_config config = {.seen = &s};
    const strads_program program = {.size = sizeof program,
                                    .name = "partitions",
                                    .split = split,
                                    .layout = layout,
                                    .open = look,
                                    .schedule = once,
                                    .phases = &phase,
                                    .n_phases = 1};
    /* The shares' arrays are freed after the run, so compare them during the
     * run. */
    strads_data *data = toy_data(&program, ROWS, COLS, K);
    cr_assert_not_null(data);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = workers,
                                           .partitions = K};
    strads_result *result = NULL;
    expect_ok(strads_run(&program, &config, data, &options, &result));
    cr_assert_eq(s.by_col, layout & STRADS_LAYOUT_COLS ? all_entries() : 0);
    cr_assert_eq(s.by_row, layout & STRADS_LAYOUT_ROWS ? all_entries() : 0);
    check_shares(&s, K, split);
    strads_result_free(result);
    strads_data_free(data);
}

static void check_split(strads_split split)
{
    const uint32_t partitions[] = {1, 2, 3, 5, 13, K_MAX};
    for (uint32_t layout = 1; layout <= 3; layout++)
        for (uint32_t k = 0; k < 6; k++)
            for (uint32_t workers = 1; workers <= 4; workers *= 2)
                check_run(split, (strads_layout)layout, partitions[k], workers);
}

Test(engine_partition, by_rows_each_holds_some_rows_of_all_columns)
{
    check_split(STRADS_SPLIT_ROWS);
}

Test(engine_partition, by_columns_each_holds_some_columns_of_all_rows)
{
    check_split(STRADS_SPLIT_COLS);
}

Test(engine_partition, both_gives_rows_by_row_and_columns_by_column)
{
    check_split(STRADS_SPLIT_BOTH);
}
