#include "linear_steps.h"

#include <math.h>
#include <string.h>

void linear_select(const double *urgency, uint32_t *candidate, uint32_t n,
                   uint32_t want)
{
    int64_t low = 0, high = (int64_t)n - 1;

    while (low < high) {
        const double pivot = urgency[candidate[(low + high) / 2]];
        int64_t i = low, j = high;
        while (i <= j) {
            while (urgency[candidate[i]] > pivot)
                i++;
            while (urgency[candidate[j]] < pivot)
                j--;
            if (i > j)
                break;
            const uint32_t swap = candidate[i];
            candidate[i++] = candidate[j];
            candidate[j--] = swap;
        }
        if ((int64_t)want <= j)
            high = j;
        else if ((int64_t)want >= i)
            low = i;
        else
            break;
    }
}

/* Adjacent columns are multiplied together, if most of them are in the
 * block. */
void linear_multiply(const column_kernels *kernels, const column_view *view,
                     const column_list *list, const double *r, double *product)
{
    enum { STRETCH = 64 };
    const strads_share *share = view->share;
    const uint64_t columns = share->by_col.lines;
    double found[STRETCH];

    for (uint32_t k = 0, m; k < list->n; k += m) {
        const uint32_t first = column_list_at(list, k);
        uint32_t span = 1;
        for (m = 1; k + m < list->n; m++) {
            const uint32_t j = column_list_at(list, k + m);
            if (j - first >= STRETCH || j == columns)
                break;
            span = j - first >= span ? j - first + 1 : span;
        }
        if (m < span / 2)
            span = m = 1;
        if (first < columns)
            column_scan(kernels, view, first, (uint64_t)first + span, r, found);
        for (uint32_t i = 0; i < m && first < columns; i++)
            product[k + i] = found[column_list_at(list, k + i) - first];
        for (uint64_t i = share->rows.begin;
             i < share->rows.end && first == columns; i++)
            product[k] += r[i - share->rows.begin];
    }
}

/* Solves a z = 1 by Cholesky in place; false if a is not positive definite. */
static bool solve_ones(double a[LINEAR_STEPS][LINEAR_STEPS],
                       double z[LINEAR_STEPS])
{
    for (uint32_t i = 0; i < LINEAR_STEPS; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (uint32_t k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            if (i == j && !(sum > 0))
                return false;
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
    }
    for (uint32_t i = 0; i < LINEAR_STEPS; i++) {
        z[i] = 1;
        for (uint32_t k = 0; k < i; k++)
            z[i] -= a[i][k] * z[k];
        z[i] /= a[i][i];
    }
    for (uint32_t i = LINEAR_STEPS; i-- > 0;) {
        for (uint32_t k = i + 1; k < LINEAR_STEPS; k++)
            z[i] -= a[k][i] * z[k];
        z[i] /= a[i][i];
    }
    return true;
}

static bool combine_steps(double a[LINEAR_STEPS][LINEAR_STEPS],
                          double c[LINEAR_STEPS])
{
    double trace = 0, sum = 0;

    for (uint32_t i = 0; i < LINEAR_STEPS; i++)
        trace += a[i][i];
    for (uint32_t i = 0; i < LINEAR_STEPS; i++)
        a[i][i] += 1e-12 * trace;
    if (!solve_ones(a, c))
        return false;
    for (uint32_t i = 0; i < LINEAR_STEPS; i++)
        sum += c[i];
    if (!(fabs(sum) > 0))
        return false;
    for (uint32_t i = 0; i < LINEAR_STEPS; i++)
        c[i] /= sum;
    return true;
}

bool linear_combine(const double *const past[LINEAR_STEPS + 1], uint64_t n,
                    double c[LINEAR_STEPS])
{
    double a[LINEAR_STEPS][LINEAR_STEPS] = {0};

    for (uint64_t k = 0; k < n; k++) {
        double d[LINEAR_STEPS];
        for (uint32_t i = 0; i < LINEAR_STEPS; i++)
            d[i] = past[i + 1][k] - past[i][k];
        for (uint32_t i = 0; i < LINEAR_STEPS; i++)
            for (uint32_t j = 0; j < LINEAR_STEPS; j++)
                a[i][j] += d[i] * d[j];
    }
    return combine_steps(a, c);
}

void linear_watch_scan(linear_watch *watch, double primal, double dual_gain)
{
    enum { IDLE_MAX = 6 };
    const double unit = 1e-16 * primal;

    if (watch->least - primal > unit || dual_gain > unit)
        watch->idle = 0;
    else if (++watch->idle >= IDLE_MAX)
        watch->stalled = true;
    watch->least = fmin(watch->least, primal);
}
