/* The inner loop of matrix factorisation: the portable kernel against a
 * plain loop in f64, all others against the portable one. */
#include "apps/mf/mf_kernels.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "strads/policy.h"

enum { ROWS = 40, RATINGS = 1003, STRIDE_MAX = 1024 };

typedef struct trial {
    uint32_t stride;
    float *p, *q;
    mf_rating rating[RATINGS];
} trial;

static float draw(uint64_t what, uint64_t k)
{
    return (float)(strads_random_unit(3, what, k, 0) - .5);
}

/* The first ratings are in pairs: one user, two items. */
static void make_pairs(trial *t, size_t paired)
{
    for (size_t k = 1; k < paired; k += 2) {
        mf_rating *x = &t->rating[k];
        x->user = x[-1].user;
        if (x->item == x[-1].item)
            x->item = (uint16_t)((x->item + 1) % ROWS);
    }
}

static trial *new_trial(uint32_t stride)
{
    trial *t = calloc(1, sizeof *t);
    size_t n = (size_t)ROWS * stride;
    t->stride = stride;
    t->p = aligned_alloc(MF_ALIGN, sizeof(float) * n);
    t->q = aligned_alloc(MF_ALIGN, sizeof(float) * n);
    for (size_t k = 0; k < n; k++) {
        t->p[k] = draw(1, k);
        t->q[k] = draw(2, k);
    }
    for (size_t k = 0; k < RATINGS; k++)
        t->rating[k] =
            (mf_rating){.user = (uint16_t)((draw(3, k) + .5F) * ROWS),
                        .item = (uint16_t)((draw(4, k) + .5F) * ROWS),
                        .value = draw(5, k)};
    return t;
}

static void free_trial(trial *t)
{
    free(t->p);
    free(t->q);
    free(t);
}

/* `pairs`: the first half of the whole batches is in pairs. */
static double run(trial *t, mf_kernel kernel, size_t n, bool pairs)
{
    const size_t paired = pairs ? (n / MF_BATCH + 1) / 2 * MF_BATCH : 0;
    const mf_step step = {.p = t->p,
                          .q = t->q,
                          .stride = t->stride,
                          .size = .01F,
                          .decay = .999F,
                          .paired = paired,
                          .ahead = (const char *)t->p,
                          .ahead_bytes = sizeof(float) * t->stride * ROWS};
    make_pairs(t, paired);
    return kernel(t->rating, n, &step);
}

static void plain_pairs(const mf_rating *x, const double *e, size_t n,
                        const mf_step *s)
{
    for (size_t j = 0; j < n; j += 2)
        for (uint32_t k = 0; k < s->stride; k++) {
            float *p = &s->p[x[j].user * s->stride + k];
            float *q = &s->q[x[j].item * s->stride + k];
            float *r = &s->q[x[j + 1].item * s->stride + k];
            double a = (double)*p, b = (double)*q, c = (double)*r;
            *p = (float)(.998001 * a + .01 * (e[j] * b + e[j + 1] * c));
            *q = (float)(.999 * b + .01 * e[j] * a);
            *r = (float)(.999 * c + .01 * e[j + 1] * a);
        }
}

/* The definition in mf_kernels.h, as a plain loop. */
static double plain(const mf_rating *x, size_t n, const mf_step *s)
{
    double loss = 0;
    for (size_t at = 0, m; at < n; at += m) {
        const size_t most = s->stride <= 64 ? 16 : at < s->paired ? 2 : 1;
        double e[MF_BATCH];
        m = n - at < most ? n - at : most;
        for (size_t j = 0; j < m; j++) {
            e[j] = (double)x[at + j].value;
            for (uint32_t k = 0; k < s->stride; k++)
                e[j] -= (double)s->p[x[at + j].user * s->stride + k] *
                        (double)s->q[x[at + j].item * s->stride + k];
            loss += e[j] * e[j];
        }
        if (at < s->paired) {
            plain_pairs(x + at, e, m, s);
            continue;
        }
        for (size_t j = 0; j < m; j++) {
            for (uint32_t k = 0; k < s->stride; k++) {
                float *p = &s->p[x[at + j].user * s->stride + k];
                float *q = &s->q[x[at + j].item * s->stride + k];
                double a = (double)*p, b = (double)*q, g = e[j] * .01;
                *p = (float)(.999 * a + g * b);
                *q = (float)(.999 * b + g * a);
            }
        }
    }
    return loss;
}

static void compare_some(uint32_t stride, mf_kernel one, mf_kernel two,
                         size_t n, bool pairs)
{
    trial *a = new_trial(stride), *b = new_trial(stride);
    double x = run(a, one, n, pairs), y = run(b, two, n, pairs);
    cr_expect_float_eq(x, y, 1e-4 * y + 1e-9,
                       "%u floats, %zu ratings%s: %g, %g", stride, n,
                       pairs ? " in pairs" : "", x, y);
    for (size_t k = 0; k < (size_t)ROWS * stride; k++) {
        cr_assert_float_eq((double)a->p[k], (double)b->p[k], 2e-4);
        cr_assert_float_eq((double)a->q[k], (double)b->q[k], 2e-4);
    }
    free_trial(a);
    free_trial(b);
}

static void compare(uint32_t stride, mf_kernel one, mf_kernel two, size_t n)
{
    compare_some(stride, one, two, n, false);
    compare_some(stride, one, two, n, true);
}

static const size_t lengths[] = {0, 1, 15, 16, 17, RATINGS};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

Test(mf_kernels, the_portable_loop_agrees_with_its_formula)
{
    for (size_t k = 0; k < LENGTHS; k++)
        for (uint32_t stride = 48; stride <= 80; stride += MF_LANES)
            compare(stride, mf_kernel_portable, plain, lengths[k]);
}

typedef mf_kernel by_stride(uint32_t stride);

static void compare_widths(by_stride *kernel)
{
    for (uint32_t stride = MF_LANES; stride <= 10 * MF_LANES;
         stride += MF_LANES)
        for (size_t k = 0; k < LENGTHS; k++)
            compare(stride, kernel(stride), mf_kernel_portable, lengths[k]);
    compare(STRIDE_MAX, kernel(STRIDE_MAX), mf_kernel_portable, RATINGS);
}

Test(mf_kernels, vectors_agree_with_the_portable_loop_at_every_width)
{
    by_stride *const fast[] = {mf_kernel_avx2, mf_kernel_avx512,
                               mf_kernel_neon};

    if (!mf_kernel_avx2(MF_LANES) && !mf_kernel_neon(MF_LANES))
        cr_skip_test("this processor has portable loops alone");
    for (int k = 0; k < 3; k++)
        if (fast[k](MF_LANES))
            compare_widths(fast[k]);
}
