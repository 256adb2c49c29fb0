/* The decoder of row gaps for AVX2. The build compiles this file for such
 * processors; other ones get NULL. */
#include <stddef.h>

#include "engine/data/unpack.h"

#ifndef __AVX2__

sti_unpack_rows *sti_unpack_avx2(void)
{
    return NULL;
}

#else

#include "engine/data/unpack_wide.h"

sti_unpack_rows *sti_unpack_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? unpack_wide : NULL;
}

#endif
