#include "linear_room.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

double *linear_room(uint64_t n)
{
    enum { LINE = 64, PAGE = 2 << 20, LEAST = PAGE / 4 };
    const uint64_t bytes = n * sizeof(double);
    const uint64_t to = bytes < LEAST ? LINE : PAGE;
    const uint64_t whole = bytes / to * to + to;
    double *at = aligned_alloc(to, whole);

#ifdef MADV_HUGEPAGE
    if (at && to == PAGE)
        (void)madvise(at, whole, MADV_HUGEPAGE);
#endif
    return at;
}

/* If the system does not support the call, or its pages are larger, pages
 * are allocated one by one as before. */
void linear_room_ready(void *array, uint64_t from, uint64_t to, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    enum { PAGE = 4096, LEAST = 16 * PAGE };
    const uintptr_t at = (uintptr_t)array;
    const uintptr_t first = (at + from * bytes) / PAGE * PAGE;
    const uintptr_t end = (at + to * bytes + PAGE - 1) / PAGE * PAGE;

    if (end - first >= LEAST)
        (void)madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#else
    (void)array, (void)from, (void)to, (void)bytes;
#endif
}

bool linear_widen(void *array, uint64_t n, size_t size)
{
    void *at;

    memcpy(&at, array, sizeof(at));
    at = realloc(at, n * size);
    if (at)
        memcpy(array, &at, sizeof(at));
    return at != NULL;
}
