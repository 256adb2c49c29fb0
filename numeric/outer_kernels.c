#include "outer_kernels.h"

#include <strads/version.h>

enum { COLUMNS_MAX = 1300 };

bool outer_product_suits(uint64_t rows, uint64_t columns, uint64_t entries)
{
    const double p = (double)columns;

    return columns <= COLUMNS_MAX && rows > columns &&
           (double)entries * 4800 >= p * p * (double)rows;
}

void outer_product_portable(uint32_t rows, uint32_t n, const double *panel,
                            double *sum)
{
    const size_t line = outer_product_line(n);

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < rows; r++) {
            const double *x = panel + r * line;
            double *to = sum + i * line;
            if (x[i] != 0)
                for (uint32_t j = 0; j <= i; j++)
                    to[j] += x[i] * x[j];
        }
}

outer_product *outer_product_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    outer_product *fast = level == STRADS_KERNELS_AVX512
                              ? outer_product_avx512()
                          : level == STRADS_KERNELS_AVX2 ? outer_product_avx2()
                          : level == STRADS_KERNELS_NEON ? outer_product_neon()
                                                         : NULL;

    return fast ? fast : outer_product_portable;
}
