/* Gram entries of a few columns with many. Eight of the few lie side by side,
 * a line of a strip for each row, so that an entry of the many meets all eight
 * at once; a stretch of rows after the other, whose strip stays close. A column
 * or two are gathered from instead. */
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_room.h"
#include "lasso_parts.h"

/* Columns that are gathered from; rows of a stretch. */
enum { GATHERED = 2, STRETCH = 8192 };

static double value_of(const data_column *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

static uint64_t row_of(const data_column *x, uint64_t e)
{
    return x->index ? x->index[e] : e;
}

static data_column column_of(const strads_task *task, const strads_block *block,
                             uint32_t k)
{
    return lasso_column(task, strads_block_param(block, k));
}

/* The first entry of x at or beyond a row. */
static uint64_t entry_at(const data_column *x, uint64_t row)
{
    uint64_t low = 0, high = x->n;

    if (!x->index)
        return row < x->n ? row : x->n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (x->index[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- one after the other ------------------------------------------------ */

static void gather_line(const strads_task *task, uint32_t k, double *vector)
{
    const lasso_local *local = task->local;
    const uint32_t m = task->against.n;
    const data_column z = column_of(task, &task->block, k);

    for (uint64_t e = 0; e < z.n; e++)
        vector[row_of(&z, e)] = value_of(&z, e);
    for (uint32_t l = 0; l < m; l++) {
        const data_column x = column_of(task, &task->against, l);
        task->partial[(size_t)k * m + l] = local->kernels->dot(&x, vector);
    }
    for (uint64_t e = 0; e < z.n; e++)
        vector[row_of(&z, e)] = 0;
}

/* ---- eight at once ------------------------------------------------------ */

/* Rows begin to before end of a stretch. */
typedef struct stretch {
    uint64_t begin, end;
    double *strip; /* [STRETCH x COLUMN_STRIP] */
} stretch;

/* The entries of x in it. A full column keeps none of its places: its kernels
 * count rows from 0. */
static data_column cut(const data_column *x, const stretch *s)
{
    const uint64_t first = entry_at(x, s->begin), end = entry_at(x, s->end);

    return (data_column){.n = end - first,
                         .index = x->index ? x->index + first : NULL,
                         .f64 = x->f64 ? x->f64 + first : NULL,
                         .f32 = x->f32 ? x->f32 + first : NULL};
}

/* Writes the entries of the block's columns k to before `end` into the strip,
 * or zeros where they are. */
static void spread(const strads_task *task, const stretch *s, uint32_t k,
                   uint32_t end, bool zeros)
{
    for (uint32_t i = k; i < end; i++) {
        const data_column z = column_of(task, &task->block, i);
        double *to = s->strip + (i - k);
        for (uint64_t e = entry_at(&z, s->begin);
             e < z.n && row_of(&z, e) < s->end; e++)
            to[(row_of(&z, e) - s->begin) * COLUMN_STRIP] =
                zeros ? 0 : value_of(&z, e);
    }
}

/* Adds the products of the block's columns k to before `end` with all of
 * `against`. */
static void multiply_strip(const strads_task *task, const stretch *s,
                           uint32_t k, uint32_t end)
{
    const lasso_local *local = task->local;
    const uint32_t m = task->against.n;

    spread(task, s, k, end, false);
    for (uint32_t l = 0; l < m; l++) {
        const data_column x = column_of(task, &task->against, l);
        const data_column piece = cut(&x, s);
        double sum[COLUMN_STRIP] = {0};
        local->kernels->dot_strip(&piece, piece.index ? s->begin : 0, s->strip,
                                  sum);
        for (uint32_t i = k; i < end; i++)
            task->partial[(size_t)i * m + l] += sum[i - k];
    }
    spread(task, s, k, end, true);
}

static void multiply_stretch(const strads_task *task, const stretch *s)
{
    const uint32_t n = task->block.n;

    for (uint32_t k = 0; k < n; k += COLUMN_STRIP)
        multiply_strip(task, s, k, n - k < COLUMN_STRIP ? n : k + COLUMN_STRIP);
}

/* ---- both -------------------------------------------------------------- */

/* Numbers that are 0, and are left so. */
static double *room_of(lasso_local *local, uint64_t numbers)
{
    if (numbers <= local->room_strip)
        return local->strip;
    free(local->strip);
    local->strip = linear_room(numbers);
    if (local->strip)
        memset(local->strip, 0, numbers * sizeof(*local->strip));
    local->room_strip = local->strip ? numbers : 0;
    return local->strip;
}

strads_err lasso_strip_pairs(const strads_task *task)
{
    lasso_local *local = task->local;
    const uint64_t rows = local->rows;
    const bool gathered = task->block.n <= GATHERED;
    const uint64_t lines = rows < STRETCH ? rows : STRETCH;
    const uint64_t numbers = gathered ? rows : lines * COLUMN_STRIP;
    double *strip = room_of(local, numbers + 1);

    if (!strip)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu numbers of a block's columns",
                           (unsigned long long)numbers);
    for (uint32_t k = 0; gathered && k < task->block.n; k++)
        gather_line(task, k, strip);
    for (uint64_t row = 0; !gathered && row < rows; row += STRETCH) {
        const stretch s = {.begin = row,
                           .end = rows - row < STRETCH ? rows : row + STRETCH,
                           .strip = strip};
        multiply_stretch(task, &s);
    }
    return STRADS_OK;
}
