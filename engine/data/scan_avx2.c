/* The scan of packed columns for AVX2. The build compiles this file for such
 * processors; other ones get NULL. */
#include <stddef.h>

#include "engine/data/scan.h"

#if !defined(__AVX2__) || !defined(__FMA__)

sti_scan_columns *sti_scan_avx2(void)
{
    return NULL;
}

#else

#include "engine/data/scan_wide.h"

sti_scan_columns *sti_scan_avx2(void)
{
    const bool runs_here =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return runs_here ? scan_wide : NULL;
}

#endif
