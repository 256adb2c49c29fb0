/* A fit of a few milliseconds spends a fifth of them on new pages of 4 KB: its
 * vectors are small, and each is new. On huge pages the heap's first megabytes
 * cost a few faults. glibc takes such advice from the environment alone, so
 * the heap's end is moved once, and the kernel is told of what is there. */
#include "cli_heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ROOM = 8 << 20, SMALL_PAGE = 4096 };

void cli_heap_widen(void)
{
    /* Freeing a mapping tells malloc to take as much from the heap from now on
     * (mallopt(3), M_MMAP_THRESHOLD), and to keep twice that at its end. */
    void *volatile mapping = malloc(ROOM);
    free(mapping);
    char *volatile room = malloc(ROOM);
    if (!room)
        return;
    char *from = room + (SMALL_PAGE - (uintptr_t)room % SMALL_PAGE);
    (void)madvise(from, ROOM - SMALL_PAGE, MADV_HUGEPAGE);
    free(room);
}
