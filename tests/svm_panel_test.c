/* The product behind a Newton step, held against its definition, and the vector
 * kernel against the portable one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "apps/svm/svm_panel.h"
#include "strads/policy.h"

static double number(uint64_t index, uint64_t k)
{
    return strads_random_unit(1, 2, index, k) - .5;
}

static void check(svm_panel_add *add, uint32_t n, uint32_t rows)
{
    const size_t stride = svm_panel_stride(n);
    double *panel = calloc(stride * SVM_PANEL_ROWS, sizeof *panel);
    double *h = calloc(stride * stride, sizeof *h);
    for (uint32_t k = 0; k < rows; k++)
        for (uint32_t j = 0; j < n; j++)
            panel[k * stride + j] = number(k, j);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++)
            h[i * stride + j] = number(i, 1000 + j);
    add(n, rows, panel, h);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double want = number(i, 1000 + j);
            for (uint32_t k = 0; k < rows; k++)
                want += number(k, i) * number(k, j);
            cr_assert_float_eq(h[i * stride + j], want, 1e-13,
                               "n %u, %u rows: (%u, %u)", n, rows, i, j);
        }
    free(panel);
    free(h);
}

Test(svm_panel, products_are_what_they_are_called)
{
    svm_panel_add *kernels[] = {svm_panel_add_portable, svm_panel_avx512()};
    const uint32_t columns[] = {1, 2, 7, 8, 9, 23, 24, 25, 49, 100};
    const uint32_t rows[] = {1, 3, SVM_PANEL_ROWS};
    for (int k = 0; k < 2; k++)
        for (int i = 0; kernels[k] && i < 10; i++)
            for (int j = 0; j < 3; j++)
                check(kernels[k], columns[i], rows[j]);
}
