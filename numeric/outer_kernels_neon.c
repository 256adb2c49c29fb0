/* Sums of outer products for NEON, which every arm64 processor has. */
#include "outer_kernels.h"

#ifdef __aarch64__
#include "outer_kernels_wide.h"

outer_product *outer_product_neon(void)
{
    return outer;
}

#else

outer_product *outer_product_neon(void)
{
    return NULL;
}

#endif
