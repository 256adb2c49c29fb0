#include "linear_room.h"

#include <stdlib.h>
#include <sys/mman.h>

double *linear_room(uint64_t n)
{
    enum { LINE = 64, PAGE = 2 << 20, LEAST = PAGE / 4 };
    const uint64_t bytes = n * sizeof(double);
    const uint64_t to = bytes < LEAST ? LINE : PAGE;
    const uint64_t whole = bytes / to * to + to;
    double *at = aligned_alloc(to, whole);

    if (at && to == PAGE)
        (void)madvise(at, whole, MADV_HUGEPAGE);
    return at;
}
