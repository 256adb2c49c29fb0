/* A network's arithmetic (net_parts.h), compiled for f64 and f32. NET_REAL is
 * the number type, NET_PRODUCT the matrix product, NET_ROOT the square root,
 * NET_NAME the table of functions. */
#include <math.h>
#include <string.h>

#include "net_blas.h"
#include "net_parts.h"

static void gemm(bool transpose_a, bool transpose_b, uint64_t m, uint64_t n,
                 uint64_t k, double alpha, const NET_REAL *a, uint64_t lda,
                 const NET_REAL *b, uint64_t ldb, double beta, NET_REAL *c,
                 uint64_t ldc)
{
    const net_product of = {transpose_a, transpose_b, m,   n,     k,
                            lda,         ldb,         ldc, alpha, beta};
    if (m > 0 && n > 0)
        NET_PRODUCT(&of, a, b, c);
}

static NET_REAL value_of(const strads_sparse *x, uint64_t e)
{
    return (NET_REAL)strads_sparse_value(x, e);
}

static void add_row(uint64_t n, NET_REAL by, const NET_REAL *from, NET_REAL *to)
{
    for (uint64_t k = 0; k < n; k++)
        to[k] += by * from[k];
}

/* ---- the first layer ---------------------------------------------------- */

static void input(const net_sizes *s, const strads_sparse *x, const void *dense,
                  uint64_t columns, uint32_t n, const uint32_t *row,
                  const void *weights, void *gather, void *out)
{
    const NET_REAL *w = weights, *matrix = dense;
    NET_REAL *rows = gather, *z = out;
    const uint64_t h = s->size[1], ld = s->width;
    for (uint32_t i = 0; matrix && i < n; i++)
        memcpy(rows + i * columns, matrix + row[i] * columns,
               columns * sizeof *rows);
    memset(z, 0, n * ld * sizeof *z);
    if (matrix) {
        gemm(false, false, n, h, columns, 1, rows, columns, w, ld, 0, z, ld);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t e = x->start[row[i]]; e < x->start[row[i] + 1]; e++)
            add_row(h, value_of(x, e), w + x->index[e] * ld, z + i * ld);
}

static void input_step(const net_sizes *s, const strads_sparse *x,
                       const void *dense, uint64_t columns, uint32_t n,
                       const uint32_t *row, const void *gather,
                       const void *delta_, double by, void *weights)
{
    const NET_REAL *delta = delta_;
    NET_REAL *w = weights;
    const uint64_t h = s->size[1], ld = s->width;
    if (dense) {
        gemm(true, false, columns, h, n, by, gather, columns, delta, ld, 1, w,
             ld);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t e = x->start[row[i]]; e < x->start[row[i] + 1]; e++)
            add_row(h, (NET_REAL)by * value_of(x, e), delta + i * ld,
                    w + x->index[e] * ld);
}

/* ---- the layers above ---------------------------------------------------- */

/* Offsets of layer l's units and b in the upper rows. */
static uint64_t units_at(const net_sizes *s, uint32_t l)
{
    return (s->first[l] - s->size[0]) * s->width;
}

static uint64_t bias_at(const net_sizes *s, uint32_t l)
{
    return (s->bias[l] - s->size[0]) * s->width;
}

static void activate(const net_sizes *s, uint32_t l, uint32_t n,
                     const NET_REAL *b, const NET_REAL *z, NET_REAL *a)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t u = 0; u < s->size[l]; u++) {
            const NET_REAL sum = z[i * s->width + u] + b[u];
            a[i * s->width + u] = s->tanh   ? (NET_REAL)tanh((double)sum)
                                  : sum > 0 ? sum
                                            : 0;
        }
}

/* delta *= s'(z), computed from a = s(z). */
static void multiply_slope(const net_sizes *s, uint32_t l, uint32_t n,
                           const NET_REAL *a, NET_REAL *delta)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t u = 0; u < s->size[l]; u++) {
            const uint64_t at = i * s->width + u;
            delta[at] = s->tanh     ? delta[at] * (1 - a[at] * a[at])
                        : a[at] > 0 ? delta[at]
                                    : 0;
        }
}

static void softmax(uint32_t n, uint64_t k, const NET_REAL *b, NET_REAL *p)
{
    for (uint32_t i = 0; i < n; i++, p += k) {
        double most = -INFINITY, sum = 0;
        for (uint64_t c = 0; c < k; c++) {
            p[c] += b[c];
            if ((double)p[c] > most) /* gcc 12 fails on fmax for arm64 */
                most = (double)p[c];
        }
        for (uint64_t c = 0; c < k; c++)
            sum += exp((double)p[c] - most);
        for (uint64_t c = 0; c < k; c++)
            p[c] = (NET_REAL)(exp((double)p[c] - most) / sum);
    }
}

static void forward(const net_sizes *s, const void *weights, uint32_t n,
                    const void *z, void *scratch, void *probability)
{
    const NET_REAL *w = weights;
    const uint32_t last = s->layers - 1;
    const uint64_t ld = s->width, k = s->size[s->layers], layer = n * ld;
    NET_REAL *a = scratch, *p = probability;
    activate(s, 1, n, w + bias_at(s, 0), z, a);
    for (uint32_t l = 1; l < last; l++, a += layer) {
        gemm(false, true, n, s->size[l + 1], s->size[l], 1, a, ld,
             w + units_at(s, l), ld, 0, a + layer, ld);
        activate(s, l + 1, n, w + bias_at(s, l), a + layer, a + layer);
    }
    gemm(false, true, n, k, s->size[last], 1, a, ld, w + units_at(s, last), ld,
         0, p, k);
    softmax(n, k, w + bias_at(s, last), p);
}

static void backward(const net_sizes *s, const void *weights, uint32_t n,
                     const uint32_t *class, void *scratch, void *probability,
                     double by, void *gradient, void *delta_, void *spare_)
{
    const NET_REAL *w = weights;
    const uint64_t ld = s->width, k = s->size[s->layers];
    NET_REAL *grad = gradient, *above = probability;
    NET_REAL *delta = delta_, *spare = spare_;
    uint64_t stride = k;
    for (uint32_t i = 0; i < n; i++)
        above[i * k + class[i]] -= 1;
    for (uint32_t l = s->layers - 1; l > 0; l--) {
        const NET_REAL *a = (const NET_REAL *)scratch + ld * n * (l - 1);
        NET_REAL *below = (s->layers - l) % 2 ? delta : spare;
        for (uint32_t i = 0; i < n; i++)
            add_row(s->size[l + 1], (NET_REAL)by, above + i * stride,
                    grad + bias_at(s, l));
        gemm(true, false, s->size[l + 1], s->size[l], n, by, above, stride, a,
             ld, 1, grad + units_at(s, l), ld);
        gemm(false, false, n, s->size[l], s->size[l + 1], 1, above, stride,
             w + units_at(s, l), ld, 0, below, ld);
        multiply_slope(s, l, n, a, below);
        above = below;
        stride = ld;
    }
    if (above != delta)
        memcpy(delta, above, n * ld * sizeof *delta);
    for (uint32_t i = 0; i < n; i++)
        add_row(s->size[1], (NET_REAL)by, delta + i * ld, grad + bias_at(s, 0));
}

static void adam(uint64_t n, const net_adam_step *step, void *gradient,
                 void *moments, void *weights)
{
    NET_REAL *g = gradient, *m = moments, *v = m + n, *w = weights;
    const NET_REAL rate = (NET_REAL)step->rate, keep = (NET_REAL)step->decay;
    const NET_REAL first = (NET_REAL)step->first;
    const NET_REAL second = (NET_REAL)step->second;
    const NET_REAL b1 = (NET_REAL).9, b2 = (NET_REAL).999;
    const NET_REAL least = (NET_REAL)1e-8;
    for (uint64_t k = 0; k < n; k++) {
        m[k] = b1 * m[k] + (1 - b1) * g[k];
        v[k] = b2 * v[k] + (1 - b2) * g[k] * g[k];
        w[k] = keep * w[k] -
               rate * first * m[k] / (NET_ROOT(second * v[k]) + least);
        g[k] = 0;
    }
}

const net_arithmetic NET_NAME = {.bytes = sizeof(NET_REAL),
                                 .input = input,
                                 .input_step = input_step,
                                 .forward = forward,
                                 .backward = backward,
                                 .adam = adam};
