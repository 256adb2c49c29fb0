#include "linear_outer.h"

#include <strads/version.h>

enum { COLUMNS_MAX = 1300 };

bool linear_outer_suits(const strads_data *data)
{
    const double rows = (double)strads_data_rows(data);
    const double p = (double)strads_data_cols(data);

    return p <= COLUMNS_MAX && rows > p &&
           (double)strads_data_nnz(data) * 4800 >= p * p * rows;
}

void linear_outer_portable(uint32_t rows, uint32_t n, const double *panel,
                           double *sum)
{
    const size_t line = linear_outer_line(n);

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < rows; r++) {
            const double *x = panel + r * line;
            double *to = sum + i * line;
            if (x[i] != 0)
                for (uint32_t j = 0; j <= i; j++)
                    to[j] += x[i] * x[j];
        }
}

linear_outer *linear_outer_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    linear_outer *fast = level == STRADS_KERNELS_AVX512 ? linear_outer_avx512()
                         : level == STRADS_KERNELS_AVX2 ? linear_outer_avx2()
                                                        : NULL;

    return fast ? fast : linear_outer_portable;
}
