/* The inner loops of sgd-logistic. Sums have eight lanes in a fixed order, so
 * that vector instructions give the same bits. */
#include <math.h>

#include "sgd_logistic_parts.h"

enum { LANES = 8 };

static double sum_lanes(const double s[LANES])
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* For 8-byte and 4-byte values. */
#define DEFINE_LINE(real)                                          \
    static double dot_##real(uint64_t n, const uint32_t *index,    \
                             const real *value, const double *v)   \
    {                                                              \
        double s[LANES] = {0};                                     \
        uint64_t k = 0;                                            \
        for (; k + LANES <= n; k += LANES)                         \
            for (uint64_t i = 0; i < LANES; i++)                   \
                s[i] += (double)value[k + i] * v[index[k + i]];    \
        for (; k < n; k++)                                         \
            s[k % LANES] += (double)value[k] * v[index[k]];        \
        return sum_lanes(s);                                       \
    }                                                              \
                                                                   \
    static void add_##real(uint64_t n, const uint32_t *index,      \
                           const real *value, double a, double *v) \
    {                                                              \
        for (uint64_t k = 0; k < n; k++)                           \
            v[index[k]] += a * (double)value[k];                   \
    }                                                              \
                                                                   \
    static double norm_##real(uint64_t n, const real *value)       \
    {                                                              \
        double sum = 0;                                            \
        for (uint64_t k = 0; k < n; k++)                           \
            sum += (double)value[k] * (double)value[k];            \
        return sqrt(sum);                                          \
    }
DEFINE_LINE(double)
DEFINE_LINE(float)

double sgd_dot(const strads_sparse *x, uint64_t i, const double *v)
{
    const uint64_t at = x->start[i], n = x->start[i + 1] - at;
    return x->f64 ? dot_double(n, x->index + at, x->f64 + at, v)
                  : dot_float(n, x->index + at, x->f32 + at, v);
}

void sgd_add(const strads_sparse *x, uint64_t i, double a, double *v)
{
    const uint64_t at = x->start[i], n = x->start[i + 1] - at;
    if (x->f64)
        add_double(n, x->index + at, x->f64 + at, a, v);
    else
        add_float(n, x->index + at, x->f32 + at, a, v);
}

double sgd_norm(const strads_sparse *x, uint64_t i)
{
    const uint64_t at = x->start[i], n = x->start[i + 1] - at;
    return x->f64 ? norm_double(n, x->f64 + at) : norm_float(n, x->f32 + at);
}

void sgd_add_dense(uint64_t n, double a, const double *u, double *v)
{
    for (uint64_t k = 0; k < n; k++)
        v[k] += a * u[k];
}

double sgd_square(uint64_t n, const double *v)
{
    double s[LANES] = {0};
    for (uint64_t k = 0; k < n; k++)
        s[k % LANES] += v[k] * v[k];
    return sum_lanes(s);
}

void sgd_round(uint64_t n, double grain, double *v)
{
    for (uint64_t k = 0; k < n; k++)
        v[k] = rint(v[k] / grain) * grain;
}

double sgd_loss(bool hinge, double margin)
{
    if (hinge)
        return margin < 1 ? 1 - margin : 0;
    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

double sgd_slope(bool hinge, double margin)
{
    if (hinge)
        return margin < 1;
    return 1 / (1 + exp(margin));
}
