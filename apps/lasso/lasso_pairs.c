/* Gram entries X_A' X_B of two blocks on one partition. Columns that are all
 * but full are multiplied with each other (lasso_panel.c). Sparse ones go by
 * rows: the columns of A, which are fewer when they join a working set B, are
 * laid out by row once. Column l of B then adds x_il times row i of them for
 * each of its entries, so that only entries that share a row are ever touched.
 * Where the columns of A are the last ones of B, these among each other are the
 * sum of the rows' outer products, and the half that mirrors is left out. */
#include <stdlib.h>
#include <string.h>

#include "lasso_parts.h"

/* A row with more than 1 in MANY columns is spread out. */
enum { MANY = 6 };

static double value_of(const linear_column *x, uint64_t k)
{
    return x->f64 ? x->f64[k] : (double)x->f32[k];
}

/* Place in `against` of its first column that is also the first line, when the
 * lines are its tail; against.n otherwise. */
static uint32_t tail_start(const strads_block *lines,
                           const strads_block *against)
{
    if (lines->n > against->n)
        return against->n;
    const uint32_t start = against->n - lines->n;
    for (uint32_t k = 0; k < lines->n; k++)
        if (strads_block_param(lines, k) !=
            strads_block_param(against, start + k))
            return against->n;
    return start;
}

/* ---- by rows ----------------------------------------------------------- */

/* Room for n columns with so many entries, kept for the next time. */
static strads_err reserve(lasso_by_rows *rows, uint64_t n_rows, uint32_t n,
                          uint64_t entries)
{
    if (!rows->start)
        rows->start = malloc((n_rows + 2) * sizeof(*rows->start));
    if (!rows->line || entries > rows->room || n > rows->columns) {
        rows->room = entries + entries / 2 + 1;
        rows->columns = n + n / 2 + 1;
        free(rows->place);
        free(rows->value);
        free(rows->line);
        rows->place = malloc(rows->room * sizeof(*rows->place));
        rows->value = malloc(rows->room * sizeof(*rows->value));
        rows->line = malloc(rows->columns * sizeof(*rows->line));
    }
    if (rows->start && rows->place && rows->value && rows->line)
        return STRADS_OK;
    rows->room = 0;
    return strads_fail(STRADS_ENOMEM,
                       "no memory for %llu entries of a block by rows",
                       (unsigned long long)entries);
}

static uint64_t row_of(const linear_column *x, uint64_t k)
{
    return x->index ? x->index[k] : k;
}

static void lay_out(const strads_task *task, lasso_by_rows *rows)
{
    const strads_block *block = &task->block;
    const lasso_local *local = task->local;

    /* Counting sort: counts two places on, so that start[i + 1] can run. */
    memset(rows->start, 0, (local->rows + 2) * sizeof(*rows->start));
    for (uint32_t l = 0; l < block->n; l++) {
        const linear_column z =
            lasso_column(task, strads_block_param(block, l));
        for (uint64_t e = 0; e < z.n; e++)
            rows->start[row_of(&z, e) + 2]++;
    }
    for (uint64_t i = 0; i < local->rows; i++)
        rows->start[i + 2] += rows->start[i + 1];
    for (uint32_t l = 0; l < block->n; l++) {
        const linear_column z =
            lasso_column(task, strads_block_param(block, l));
        for (uint64_t e = 0; e < z.n; e++) {
            const uint64_t at = rows->start[row_of(&z, e) + 1]++;
            rows->place[at] = l;
            rows->value[at] = value_of(&z, e);
        }
    }
}

static uint64_t entries_of(const strads_task *task, const strads_block *block)
{
    uint64_t entries = 0;

    for (uint32_t l = 0; l < block->n; l++)
        entries += lasso_column(task, strads_block_param(block, l)).n;
    return entries;
}

/* line[place] += x_i times entry (i, place). */
static void multiply_line(const linear_column *x, const lasso_by_rows *rows,
                          double *line)
{
    for (uint64_t e = 0; e < x->n; e++) {
        const double value = value_of(x, e);
        const uint64_t i = row_of(x, e);
        const uint64_t stop = rows->start[i + 1];
        for (uint64_t z = rows->start[i]; z < stop; z++)
            line[rows->place[z]] += value * rows->value[z];
    }
}

/* Adds x x' of a row's n entries to the upper half of a square of `side`
 * columns, whose lines are `stride` apart. Many entries are spread out on
 * `line`, which is 0 before and after. */
static void add_outer(const lasso_local *local, uint64_t begin, uint32_t n,
                      uint32_t side, double *square, size_t stride)
{
    const lasso_by_rows *rows = &local->by_rows;
    const uint32_t *place = rows->place + begin;
    const double *value = rows->value + begin;
    const bool spread = (uint64_t)n * MANY > side;

    for (uint32_t k = 0; k < n && spread; k++)
        rows->line[place[k]] = value[k];
    for (uint32_t k = 0; k < n && spread; k++)
        local->kernels->add_dense(side - place[k], value[k],
                                  rows->line + place[k],
                                  square + place[k] * (stride + 1));
    for (uint32_t k = 0; k < n && spread; k++)
        rows->line[place[k]] = 0;
    for (uint32_t k = 0; k < n && !spread; k++)
        for (uint32_t l = k; l < n; l++)
            square[place[k] * stride + place[l]] += value[k] * value[l];
}

/* The last n of `against` among each other. */
static void multiply_square(const strads_task *task, uint32_t tail)
{
    const lasso_local *local = task->local;
    const lasso_by_rows *rows = &local->by_rows;

    memset(rows->line, 0, task->block.n * sizeof(*rows->line));
    for (uint64_t i = 0; i < local->rows; i++)
        add_outer(local, rows->start[i],
                  (uint32_t)(rows->start[i + 1] - rows->start[i]),
                  task->block.n, task->partial + tail, task->against.n);
}

static strads_err multiply_sparse(const strads_task *task, uint32_t tail)
{
    lasso_local *local = task->local;
    lasso_by_rows *rows = &local->by_rows;
    const uint32_t n = task->block.n, m = task->against.n;
    const strads_err err =
        reserve(rows, local->rows, n, entries_of(task, &task->block));

    if (err)
        return err;
    lay_out(task, rows);
    for (uint32_t l = 0; l < m && l < tail; l++) {
        const linear_column x =
            lasso_column(task, strads_block_param(&task->against, l));
        memset(rows->line, 0, n * sizeof(*rows->line));
        multiply_line(&x, rows, rows->line);
        for (uint32_t k = 0; k < n; k++)
            task->partial[(size_t)k * m + l] = rows->line[k];
    }
    if (tail < m)
        multiply_square(task, tail);
    return STRADS_OK;
}

/* ---- both -------------------------------------------------------------- */

/* Of the square of A with itself the upper half is there. */
static void mirror(const strads_task *task, uint32_t tail)
{
    const uint32_t m = task->against.n;

    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < k; l++)
            task->partial[(size_t)k * m + tail + l] =
                task->partial[(size_t)l * m + tail + k];
}

strads_err lasso_pairs(strads_task *task)
{
    const lasso_local *local = task->local;
    const uint32_t tail = tail_start(&task->block, &task->against);
    const uint64_t entries =
        entries_of(task, &task->block) + entries_of(task, &task->against);
    const uint64_t full =
        local->rows * ((uint64_t)task->block.n + task->against.n);
    const strads_err err = 2 * entries > full ? lasso_panel_pairs(task, tail)
                                              : multiply_sparse(task, tail);

    if (!err && tail < task->against.n)
        mirror(task, tail);
    return err;
}
