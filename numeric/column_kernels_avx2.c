/* The inner loops for AVX2 and FMA. The build compiles this file for such
 * processors, and only they call it. */
#include "column_kernels.h"

#ifdef __AVX2__
#include "column_kernels_wide.h"

static const column_kernels avx2 = {.name = "avx2",
                                    .dot = dot_column,
                                    .add = add_column,
                                    .dot_full = dot_full_columns,
                                    .dot_sparse = dot_sparse_columns,
                                    .dot_dense = dot_dense,
                                    .add_dense = add_dense,
                                    .dot_tile = dot_tile};

const column_kernels *column_kernels_avx2(void)
{
    return wide_runs_here() ? &avx2 : NULL;
}

#else

const column_kernels *column_kernels_avx2(void)
{
    return NULL;
}

#endif
