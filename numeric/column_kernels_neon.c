/* The inner loops for NEON, which every arm64 processor has. */
#include "column_kernels.h"

#ifdef __aarch64__
#include "column_kernels_wide.h"

static const column_kernels neon = {.name = "neon",
                                    .dot = dot_column,
                                    .add = add_column,
                                    .dot_full = dot_full_columns,
                                    .dot_sparse = dot_sparse_columns,
                                    .dot_dense = dot_dense,
                                    .add_dense = add_dense,
                                    .dot_tile = dot_tile};

const column_kernels *column_kernels_neon(void)
{
    return &neon;
}

#else

const column_kernels *column_kernels_neon(void)
{
    return NULL;
}

#endif
