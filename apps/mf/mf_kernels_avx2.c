/* The inner loops for AVX2 and FMA. The build compiles this file for these
 * instructions, and only processors that have them execute it. */
#include "mf_kernels.h"

#ifdef __AVX2__
#include "mf_kernels_loops.h"

mf_kernel mf_kernel_avx2(uint32_t stride)
{
    return runs_here() ? kernel_of(stride) : NULL;
}

mf_rank_swap mf_rank_swap_avx2(void)
{
    return runs_here() ? swap_rank : NULL;
}

#else

mf_kernel mf_kernel_avx2(uint32_t stride)
{
    (void)stride;
    return NULL;
}

mf_rank_swap mf_rank_swap_avx2(void)
{
    return NULL;
}

#endif
