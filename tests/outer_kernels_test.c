/* Sums of outer products against a loop in long double: every number of
 * columns around a tile's width, and panels of few rows. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "numeric/outer_kernels.h"
#include "strads/policy.h"

static void expect_right(outer_product *outer, uint32_t rows, uint32_t n)
{
    const size_t line = outer_product_line(n);
    double *panel = calloc(rows * line + 1, sizeof(*panel));
    double *sum = calloc(line * line, sizeof(*sum));

    cr_assert(panel && sum);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < n; k++)
            panel[r * line + k] = strads_random_unit(n, 1, r, k) - .5;
    for (uint32_t k = 0; k < n; k++)
        sum[k * line] = 3; /* existing values are added to */
    outer(rows, n, panel, sum);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            long double want = j == 0 ? 3 : 0;
            for (uint32_t r = 0; r < rows; r++)
                want += (long double)panel[r * line + i] * panel[r * line + j];
            cr_expect_float_eq(sum[i * line + j], (double)want, 1e-13,
                               "%u rows, %u columns: (%u, %u)", rows, n, i, j);
        }
    free(panel);
    free(sum);
}

static void expect_all(outer_product *outer)
{
    for (uint32_t n = 0; n <= 60; n++)
        expect_right(outer, n % 7 == 0 ? OUTER_PANEL : n % 7, n);
    expect_right(outer, OUTER_PANEL, 100);
}

Test(outer_kernels, the_portable_sums_are_right)
{
    expect_all(outer_product_portable);
}

Test(outer_kernels, the_vector_sums_are_right)
{
    outer_product *fast[] = {outer_product_avx2(), outer_product_avx512(),
                             outer_product_neon()};

    for (int k = 0; k < 3; k++)
        if (fast[k])
            expect_all(fast[k]);
}
