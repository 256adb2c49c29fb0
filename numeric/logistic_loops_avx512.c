/* The loops over rows for AVX-512. The build compiles this file for such
 * processors, and only they call it. */
#include "logistic_loops.h"

#ifdef __AVX512F__
#include "logistic_loops_wide.h"

static const logistic_loops avx512 = {.name = "avx512",
                                      .look = look_wide,
                                      .curve = curve_wide,
                                      .freeze = freeze_wide};

const logistic_loops *logistic_loops_avx512(void)
{
    return wide_runs_here() ? &avx512 : NULL;
}

#else

const logistic_loops *logistic_loops_avx512(void)
{
    return NULL;
}

#endif
