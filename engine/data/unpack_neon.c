/* The decoder of row gaps for NEON, which every arm64 processor has. */
#include <stddef.h>

#include "engine/data/unpack.h"

#ifndef __aarch64__

sti_unpack_rows *sti_unpack_neon(void)
{
    return NULL;
}

#else

#include "engine/data/unpack_wide.h"

sti_unpack_rows *sti_unpack_neon(void)
{
    return unpack_wide;
}

#endif
