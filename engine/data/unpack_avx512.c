/* The decoder of row gaps for AVX-512. The build compiles this file for such
 * processors; other ones get NULL. */
#include <stdbool.h>
#include <stddef.h>

#include "engine/data/unpack.h"

#ifndef __AVX512BW__

sti_unpack_rows *sti_unpack_avx512(void)
{
    return NULL;
}

#else

#include "engine/data/unpack_wide.h"

sti_unpack_rows *sti_unpack_avx512(void)
{
    const bool runs_here =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    return runs_here ? unpack_wide : NULL;
}

#endif
