#include "linear_origins.h"

#include <math.h>
#include <stdlib.h>

/* The largest number of sampled rows per partition. */
enum { SAMPLES_MAX = 16 };

/* Contents of a partial for each column; FIRST is its value in the first row
 * of all. */
enum { SUM, SQUARES, ROWS, FIRST, SAMPLED };

/* A column is shifted if its mean exceeds this many standard deviations. */
#define FAR 64.
/* The first value is the origin if it is within this many standard
 * deviations of the mean, plus rounding error. So a constant becomes 0, and
 * integers stay integers. */
#define NEAR 4.
#define ROUNDING 1e-14

/* Kernels may read this many numbers beyond a column's end. */
enum { SLACK = 16 };

uint32_t linear_origins_list(const strads_data *data, uint32_t *column)
{
    const uint64_t rows = strads_data_rows(data);
    uint32_t n = 0;

    for (uint64_t j = 0; j < strads_data_cols(data); j++)
        if (strads_data_col_nnz(data, j) == rows)
            column[n++] = (uint32_t)j;
    return n;
}

size_t linear_origins_size(const strads_task *task)
{
    return (size_t)task->block.n * SAMPLED;
}

uint64_t linear_origins_rows(uint64_t rows)
{
    return rows < SAMPLES_MAX ? rows : SAMPLES_MAX;
}

uint64_t linear_origins_row(uint64_t rows, uint64_t s)
{
    return s * rows / linear_origins_rows(rows);
}

void linear_origins_add(strads_task *task, uint32_t k, uint64_t s, double value)
{
    double *to = task->partial + (size_t)k * SAMPLED;

    to[SUM] += value;
    to[SQUARES] += value * value;
    to[ROWS] += 1;
    if (s == 0 && task->share->rows.begin == 0)
        to[FIRST] = value;
}

void linear_origins_sample(strads_task *task)
{
    const strads_range own = task->share->rows;
    const uint64_t rows = own.end - own.begin;
    const uint64_t n = linear_origins_rows(rows);

    for (uint32_t k = 0; k < task->block.n; k++) {
        const data_column x =
            data_column_of(task->share, strads_block_param(&task->block, k));
        for (uint64_t s = 0; s < n; s++) {
            const uint64_t i = linear_origins_row(rows, s);
            linear_origins_add(task, k, s, x.f64 ? x.f64[i] : (double)x.f32[i]);
        }
    }
}

/* The origin of the block's column k; 0: not shifted. */
static double origin_of(const double *merged, uint32_t k)
{
    const double *from = merged + (size_t)k * SAMPLED;
    const double mean = from[SUM] / from[ROWS];
    const double square = mean * mean, off = from[FIRST] - mean;
    const double variance = fmax(from[SQUARES] / from[ROWS] - square, 0);

    if (!isfinite(square) || !(FAR * FAR * variance < square))
        return 0;
    return off * off <= NEAR * NEAR * variance + ROUNDING * square ? from[FIRST]
                                                                   : mean;
}

strads_err linear_origins_take(const strads_block *block, const double *merged,
                               uint64_t columns, double **origin)
{
    for (uint32_t k = 0; k < block->n; k++) {
        const double own = origin_of(merged, k);
        if (own == 0)
            continue;
        if (!*origin)
            *origin = calloc(columns + 1, sizeof(**origin));
        if (!*origin)
            return strads_fail(STRADS_ENOMEM,
                               "no memory for the origins of %llu columns",
                               (unsigned long long)columns);
        (*origin)[strads_block_param(block, k)] = own;
    }
    return STRADS_OK;
}

static void move_column(const data_column *x, double origin, double *to)
{
    for (uint64_t i = 0; i < x->n; i++)
        to[i] = (x->f64 ? x->f64[i] : (double)x->f32[i]) - origin;
}

strads_err linear_moved_new(const strads_task *task, linear_moved *moved)
{
    const strads_share *share = task->share;
    const uint64_t rows = share->rows.end - share->rows.begin;
    const uint64_t columns = share->by_col.lines;
    uint64_t n = 0;

    for (uint32_t k = 0; k < task->block.n; k++)
        n += origin_of(task->partial, k) != 0;
    if (n == 0)
        return STRADS_OK;
    moved->at = calloc(columns + 1, sizeof(*moved->at));
    moved->value = malloc((n * rows + SLACK) * sizeof(*moved->value));
    if (!moved->at || !moved->value)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu columns of %llu rows less their "
                           "origins",
                           (unsigned long long)n, (unsigned long long)rows);
    double *to = moved->value;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const double origin = origin_of(task->partial, k);
        const uint32_t j = strads_block_param(&task->block, k);
        const data_column x = data_column_of(share, j);
        if (origin == 0)
            continue;
        move_column(&x, origin, to);
        moved->at[j] = to;
        to += rows;
    }
    return STRADS_OK;
}

void linear_moved_free(linear_moved *moved)
{
    free((void *)moved->at);
    free(moved->value);
    *moved = (linear_moved){0};
}
