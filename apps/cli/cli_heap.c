/* A fit of a few milliseconds spends a fifth of them on new pages of 4 KB: its
 * vectors are small, and each is new. On huge pages the heap's first megabytes
 * cost a few faults. glibc takes such advice from the environment alone, so
 * the heap's end is moved once, and the kernel is told of what is there. What
 * follows begins on a huge page: what lies before the first is small ones. */
#include "cli_heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ROOM = 16 << 20, HUGE_PAGE = 2 << 20 };

/* What lies before the first huge page, which nobody is to be given. */
static void *volatile before;

void cli_heap_widen(void)
{
    /* Freeing a mapping tells malloc to take as much from the heap from now on
     * (mallopt(3), M_MMAP_THRESHOLD), and to keep twice that at its end. */
    void *volatile mapping = malloc(ROOM + HUGE_PAGE);
    free(mapping);
    char *volatile room = malloc(ROOM + HUGE_PAGE);
    if (!room)
        return;
    const size_t part = HUGE_PAGE - (uintptr_t)room % HUGE_PAGE;
    (void)madvise(room + part, ROOM, MADV_HUGEPAGE);
    free(room);
    before = malloc(part - sizeof(size_t));
}
