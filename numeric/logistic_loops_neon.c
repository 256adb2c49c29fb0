/* The loops over rows for NEON, which every arm64 processor has. */
#include "logistic_loops.h"

#ifdef __aarch64__
#include "logistic_loops_wide.h"

static const logistic_loops neon = {.name = "neon",
                                    .look = look_wide,
                                    .curve = curve_wide,
                                    .freeze = freeze_wide};

const logistic_loops *logistic_loops_neon(void)
{
    return &neon;
}

#else

const logistic_loops *logistic_loops_neon(void)
{
    return NULL;
}

#endif
