/* The rows of a partition. With all other columns fixed, and v_j moved by d,
 *
 *     y(x_i) changes by x_ij dw + sum_f x_ij (q_if - v_jf x_ij) d_f = z_i'd,
 *
 * exactly, because v_jf x_ij has no product with itself in y. So a column's
 * equations are A = sum h_i z_i z_i' and b = sum g_i z_i, where g_i and h_i are
 * slope and curvature of a parabola that touches the loss of row i from above
 * at its margin m: of the squared loss m - y and 1, the loss itself; of the
 * logistic loss -y / (1 + exp(y m)) and tanh(m / 2) / (2 m). */
#include <math.h>
#include <string.h>

#include "fm_parts.h"

void fm_rows_begin(fm_rows *rows)
{
    const strads_sparse *x = rows->columns;
    const uint32_t k = rows->rank;
    const double *value = rows->value;
    const double intercept = value[x->lines * (k + 1)];
    for (uint64_t i = 0; i < rows->n; i++)
        rows->margin[i] = intercept;
    memset(rows->q, 0, rows->n * k * sizeof *rows->q);
    for (uint64_t j = 0; j < x->lines; j++, value += k + 1)
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            const double a = strads_sparse_value(x, e);
            double *q = rows->q + (size_t)x->index[e] * k;
            double squares = 0;
            for (uint32_t f = 0; f < k; f++) {
                const double product = a * value[f + 1];
                q[f] += product;
                squares += product * product;
            }
            rows->margin[x->index[e]] += a * value[0] - squares / 2;
        }
    for (uint64_t i = 0; i < rows->n; i++) {
        const double *q = rows->q + i * k;
        double squares = 0;
        for (uint32_t f = 0; f < k; f++)
            squares += q[f] * q[f];
        rows->margin[i] += squares / 2;
    }
}

void fm_rows_move(fm_rows *rows, uint64_t j, const double *change)
{
    const strads_sparse *x = rows->columns;
    const uint32_t k = rows->rank;
    double *value = rows->value + j * (k + 1);
    if (j == x->lines) {
        value[0] += change[0];
        for (uint64_t i = 0; i < rows->n; i++)
            rows->margin[i] += change[0];
        return;
    }
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
        const double a = strads_sparse_value(x, e);
        double *q = rows->q + (size_t)x->index[e] * k;
        double slope = change[0];
        for (uint32_t f = 0; f < k; f++) {
            slope += change[f + 1] * (q[f] - value[f + 1] * a);
            q[f] += change[f + 1] * a;
        }
        rows->margin[x->index[e]] += a * slope;
    }
    for (uint32_t f = 0; f <= k; f++)
        value[f] += change[f];
}

/* Slope and curvature of the parabola at a row's margin. */
static inline void touch_loss(const fm_rows *rows, bool logistic, uint64_t i,
                              double *slope, double *curvature)
{
    const double m = rows->margin[i], y = rows->y[i];
    *slope = m - y;
    *curvature = 1;
    if (!logistic)
        return;
    *slope = -y / (1 + exp(y * m));
    *curvature = fabs(m) < 1e-4 ? .25 : tanh(m / 2) / (2 * m);
}

void fm_rows_equations(const fm_rows *rows, bool logistic, uint64_t j,
                       double *out)
{
    const strads_sparse *x = rows->columns;
    const uint32_t k = rows->rank;
    const double *v = rows->value + j * (k + 1) + 1;
    double *z = rows->z;
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
        const uint64_t i = x->index[e];
        const double a = strads_sparse_value(x, e);
        const double *q = rows->q + i * k;
        double slope, curvature, *at = out;
        touch_loss(rows, logistic, i, &slope, &curvature);
        z[0] = a;
        for (uint32_t f = 0; f < k; f++)
            z[f + 1] = a * (q[f] - v[f] * a);
        for (uint32_t f = 0; f <= k; f++) {
            const double scaled = curvature * z[f];
            for (uint32_t g = 0; g <= f; g++)
                at[g] += scaled * z[g];
            at += f + 1;
        }
        for (uint32_t f = 0; f <= k; f++)
            at[f] += slope * z[f];
    }
}

void fm_rows_intercept(const fm_rows *rows, bool logistic, double out[2])
{
    for (uint64_t i = 0; i < rows->n; i++) {
        double slope, curvature;
        touch_loss(rows, logistic, i, &slope, &curvature);
        out[0] += curvature;
        out[1] += slope;
    }
}

double fm_log_loss(double x)
{
    return x > 0 ? log1p(exp(-x)) : log1p(exp(x)) - x;
}

double fm_rows_loss(const fm_rows *rows, bool logistic)
{
    double sum = 0;
    for (uint64_t i = 0; i < rows->n; i++) {
        const double m = rows->margin[i], y = rows->y[i];
        sum += logistic ? fm_log_loss(y * m) : (m - y) * (m - y) / 2;
    }
    return sum;
}
