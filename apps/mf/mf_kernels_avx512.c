/* The inner loops for AVX-512. The build compiles this file for AVX-512, and
 * only processors that have it execute it. */
#include "mf_kernels.h"

#ifdef __AVX512F__
#include "mf_kernels_loops.h"

mf_kernel mf_kernel_avx512(uint32_t stride)
{
    return runs_here() ? kernel_of(stride) : NULL;
}

mf_rank_swap mf_rank_swap_avx512(void)
{
    return runs_here() ? swap_rank : NULL;
}

#else

mf_kernel mf_kernel_avx512(uint32_t stride)
{
    (void)stride;
    return NULL;
}

mf_rank_swap mf_rank_swap_avx512(void)
{
    return NULL;
}

#endif
