/* The inner loops for NEON, which every arm64 processor has. */
#include "mf_kernels.h"

#ifdef __aarch64__
#include "mf_kernels_loops.h"

mf_kernel mf_kernel_neon(uint32_t stride)
{
    return kernel_of(stride);
}

mf_rank_swap mf_rank_swap_neon(void)
{
    return swap_rank;
}

#else

mf_kernel mf_kernel_neon(uint32_t stride)
{
    (void)stride;
    return NULL;
}

mf_rank_swap mf_rank_swap_neon(void)
{
    return NULL;
}

#endif
