/* The loops over rows for AVX2. The build compiles this file for such
 * processors, and only they call it. */
#include "logistic_loops.h"

#ifdef __AVX2__
#include "logistic_loops_wide.h"

static const logistic_loops avx2 = {.name = "avx2",
                                    .look = look_wide,
                                    .curve = curve_wide,
                                    .freeze = freeze_wide};

const logistic_loops *logistic_loops_avx2(void)
{
    return wide_runs_here() ? &avx2 : NULL;
}

#else

const logistic_loops *logistic_loops_avx2(void)
{
    return NULL;
}

#endif
