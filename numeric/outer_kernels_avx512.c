/* Sums of outer products for AVX-512. The build compiles this file for such
 * processors, and only they call it. */
#include "outer_kernels.h"

#ifdef __AVX512F__
#include "outer_kernels_wide.h"

outer_product *outer_product_avx512(void)
{
    return wide_runs_here() ? outer : NULL;
}

#else

outer_product *outer_product_avx512(void)
{
    return NULL;
}

#endif
