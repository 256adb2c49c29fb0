/* Visits of several rows for NEON, which every arm64 processor has. */
#include "dual_entropy.h"

#include <stddef.h>

#ifdef __aarch64__
#include "dual_entropy_wide.h"

dual_entropy_move *dual_entropy_neon(void)
{
    return move_lanes;
}

#else

dual_entropy_move *dual_entropy_neon(void)
{
    return NULL;
}

#endif
