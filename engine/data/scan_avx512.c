/* The scan of packed columns for AVX-512. The build compiles this file for such
 * processors; other ones get NULL. */
#include <stddef.h>

#include "engine/data/scan.h"

#ifndef __AVX512BW__

sti_scan_columns *sti_scan_avx512(void)
{
    return NULL;
}

#else

#include "engine/data/scan_wide.h"

sti_scan_columns *sti_scan_avx512(void)
{
    const bool runs_here =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    return runs_here ? scan_wide : NULL;
}

#endif
