/* Stochastic gradients on the rows of a partition. A step of row i changes
 *
 *     w_j   by  -eta rate_j (g x_j + lambda n / n_j w_j)
 *     v_jf  by  -eta rate_j (g x_j (q_f - v_jf x_j) + lambda' n / n_j v_jf)
 *
 * for the columns j of the row, with g the slope of the loss at its margin and
 * q = sum v_l x_l. A column has n_j entries in the n rows, so a sweep has the
 * gradient of the whole penalty. The decay is implicit and cannot overshoot.
 *
 * rate_j = 1 / (m s_j), with m the mean entries of a row and s_j the mean
 * square of column j's entries: a step of eta then removes about the share eta
 * of the residual of a linear model, for columns of any scale. A row that is
 * longer or larger than others takes a shorter step, so that none passes its
 * own minimum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fm_parts.h"

#include "strads/policy.h"

enum { ORDER_STREAM = 0x666f };

/* ---- memory -------------------------------------------------------------- */

/* Turns the columns of the share into rows. The arrays have their sizes. */
static void fill_rows_by_column(const strads_sparse *x, uint64_t *start,
                                uint32_t *index, double *value)
{
    for (uint64_t j = 0; j < x->lines; j++)
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            const uint64_t at = start[x->index[e]]++;
            index[at] = (uint32_t)j;
            value[at] = strads_sparse_value(x, e);
        }
}

static strads_err transpose_share(fm_sgd *s, const strads_share *share)
{
    const strads_sparse *x = &share->by_col;
    const uint64_t n = share->rows.end - share->rows.begin;
    uint64_t *start = calloc(n + 2, sizeof *start);
    uint32_t *index = calloc(x->nnz + 1, sizeof *index);
    double *value = calloc(x->nnz + 1, sizeof *value);
    s->rows = (strads_sparse){.lines = n,
                              .nnz = x->nnz,
                              .start = start,
                              .index = index,
                              .f64 = value};
    if (!start || !index || !value)
        return STRADS_ENOMEM;
    /* start[i + 2] counts row i, then start[i + 1] is where it is filled. */
    for (uint64_t e = x->start[0]; e < x->start[x->lines]; e++)
        start[x->index[e] + 2]++;
    for (uint64_t i = 0; i < n; i++)
        start[i + 2] += start[i + 1];
    fill_rows_by_column(x, start + 1, index, value);
    return STRADS_OK;
}

strads_err fm_sgd_open(fm_sgd *s, const strads_share *share, uint32_t rank,
                       const strads_fm_options *options)
{
    const size_t columns = share->by_col.lines;
    const size_t all = (columns + 1) * (1 + (size_t)rank);
    double *sums = calloc(6 * (size_t)rank + 1, sizeof *sums);
    *s = (fm_sgd){.columns = columns,
                  .rank = rank,
                  .logistic = fm_is_logistic(options),
                  .context = options->context,
                  .base = calloc(all, sizeof *s->base),
                  .value = calloc(all, sizeof *s->value),
                  .count = {calloc(columns + 1, sizeof **s->count),
                            calloc(columns + 1, sizeof **s->count)},
                  .rate = calloc(columns + 1, sizeof *s->rate),
                  .decay = {calloc(columns + 1, sizeof **s->decay),
                            calloc(columns + 1, sizeof **s->decay)}};
    s->sum[0].q = sums;
    for (size_t k = 0; sums && k < 3; k++) {
        s->sum[k].q = sums + k * rank;
        s->pull[k] = sums + (3 + k) * rank;
    }
    strads_err err = transpose_share(s, share);
    s->order = calloc(s->rows.lines + 1, sizeof *s->order);
    if (err || !sums || !s->base || !s->value || !s->count[0] || !s->count[1] ||
        !s->rate || !s->decay[0] || !s->decay[1] || !s->order)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the rows of a partition: they take "
                           "12 bytes an entry beside the data");
    return STRADS_OK;
}

void fm_sgd_free(fm_sgd *s)
{
    free((void *)s->rows.start);
    free((void *)s->rows.index);
    free((void *)s->rows.f64);
    free(s->base);
    free(s->value);
    free(s->count[0]);
    free(s->count[1]);
    free(s->rate);
    free(s->decay[0]);
    free(s->decay[1]);
    free(s->order);
    free(s->sum[0].q);
    free(s->user);
    free(s->item);
    free(s->row_of);
    free(s->start);
    free(s->had);
}

/* ---- scales -------------------------------------------------------------- */

void fm_sgd_count(fm_sgd *s, double *out)
{
    const strads_sparse *x = &s->rows;
    for (uint64_t e = 0; e < x->nnz; e++) {
        const uint32_t j = x->index[e];
        s->count[0][j]++;
        out[2 * (size_t)j]++;
        out[2 * (size_t)j + 1] += x->f64[e] * x->f64[e];
    }
}

void fm_sgd_scale(fm_sgd *s, const double *merged, double n,
                  const double lambda[2])
{
    double entries = 0;
    for (uint64_t j = 0; j < s->columns; j++)
        entries += merged[2 * j];
    s->per_entry = entries > 0 ? n / entries : 0;
    for (uint64_t j = 0; j < s->columns; j++) {
        const double count = merged[2 * j], squares = merged[2 * j + 1];
        s->rate[j] = squares > 0 ? count / squares * s->per_entry : 0;
        s->count[1][j] = count;
        for (int k = 0; k < 2; k++)
            s->decay[k][j] = count > 0 ? fabs(lambda[k]) * n / count : 0;
    }
}

/* ---- a sweep ------------------------------------------------------------- */

void fm_sgd_shuffle(fm_sgd *s, uint64_t seed, uint64_t sweep,
                    uint32_t partition)
{
    const uint64_t of = sweep << 32 | partition;
    for (uint32_t i = 0; i < s->rows.lines; i++) {
        const uint64_t bits = strads_random_bits(seed, ORDER_STREAM, of, i);
        const uint32_t k = (uint32_t)((bits >> 32) * (i + UINT64_C(1)) >> 32);
        s->order[i] = s->order[k];
        s->order[k] = i;
    }
}

void fm_sgd_commit(fm_sgd *s, uint64_t j, const double *change)
{
    const size_t width = (size_t)s->rank + 1;
    for (size_t k = j * width; k < (j + 1) * width; k++)
        s->value[k] = s->base[k] += *change++;
}

void fm_sgd_moved(const fm_sgd *s, uint64_t j, double *out)
{
    const size_t width = (size_t)s->rank + 1;
    const double here = s->count[0][j], all = s->count[1][j];
    const double weight = here == all ? 1
                          : here > 0
                              ? here / all * expm1(-s->contraction * all) /
                                    expm1(-s->contraction * here)
                              : 0;
    for (size_t k = j * width; k < (j + 1) * width; k++)
        *out++ = weight * (s->value[k] - s->base[k]);
}

void fm_sgd_add_up(const fm_sgd *s, fm_sum *sum)
{
    const uint32_t rank = s->rank;
    double *restrict q = sum->q;
    double squares = 0, linear = 0, scale = 0;
    memset(q, 0, rank * sizeof *q);
    for (uint64_t e = sum->first; e < sum->end; e++) {
        const uint32_t j = s->rows.index[e];
        const double a = s->rows.f64[e];
        const double *restrict v = s->value + (size_t)j * (rank + 1);
        linear += a * v[0];
        scale += s->rate[j] * a * a;
        for (uint32_t f = 0; f < rank; f++) {
            const double product = a * v[f + 1];
            q[f] += product;
            squares -= product * product;
        }
    }
    for (uint32_t f = 0; f < rank; f++)
        squares += q[f] * q[f];
    sum->linear = linear;
    sum->square = squares;
    sum->scale = scale;
}

void fm_sgd_move(fm_sgd *s, const fm_sum *sum, const double *pull, bool context,
                 double by, double slope)
{
    const uint32_t rank = s->rank;
    const double *restrict from = pull;
    for (uint64_t e = sum->first; e < sum->end; e++) {
        const uint32_t j = s->rows.index[e];
        const double a = s->rows.f64[e], rate = by * s->rate[j];
        const double along = rate * slope * a, own = context ? 0 : a;
        const double keep = 1 / (1 + rate * s->decay[1][j]);
        double *restrict v = s->value + (size_t)j * (rank + 1);
        v[0] = (v[0] - (context ? 0 : along)) / (1 + rate * s->decay[0][j]);
        for (uint32_t f = 0; f < rank; f++)
            v[f + 1] = keep * (v[f + 1] - along * (from[f] - own * v[f + 1]));
    }
}

static double square_length(uint32_t rank, const double *q)
{
    double sum = 0;
    for (uint32_t f = 0; f < rank; f++)
        sum += q[f] * q[f];
    return sum;
}

double fm_sgd_margin(fm_sgd *s, uint64_t i)
{
    fm_sum *sum = &s->sum[0];
    sum->first = s->rows.start[i];
    sum->end = s->rows.start[i + 1];
    fm_sgd_add_up(s, sum);
    return s->value[s->columns * (s->rank + 1)] + sum->linear + sum->square / 2;
}

void fm_sgd_step(fm_sgd *s, uint64_t i, double y, double step)
{
    const double m = fm_sgd_margin(s, i);
    const double slope = s->logistic ? -y / (1 + exp(y * m)) : m - y;
    const fm_sum *sum = &s->sum[0];
    const double power = sum->scale * (1 + square_length(s->rank, sum->q));
    fm_sgd_move(s, sum, sum->q, false, step * power > 1 ? 1 / power : step,
                slope);
}
