/* Visits of several rows for AVX2. The build compiles this file for such
 * processors, and only they call it. */
#include "dual_entropy.h"

#include <stddef.h>

#ifdef __AVX2__
#include "dual_entropy_wide.h"

dual_entropy_move *dual_entropy_avx2(void)
{
    return wide_runs_here() ? move_lanes : NULL;
}

#else

dual_entropy_move *dual_entropy_avx2(void)
{
    return NULL;
}

#endif
