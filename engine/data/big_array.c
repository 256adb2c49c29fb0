/* Zeroed arrays. From MAPPED_FROM bytes on they are mappings of their own,
 * aligned to a huge page: the pages come zeroed from the kernel, untouched
 * parts cost nothing, and freeing gives the memory back at once. Whether an
 * array is mapped follows from its size alone, so nothing else is stored. */
#include "engine/data/big_array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAPPED_FROM = 1 << 20, HUGE_PAGE = 2 << 20, SMALL_PAGE = 4096 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* The size of an array's mapping: whole huge pages where these add an eighth of
 * it at most, as what is left beyond huge pages is on small ones. */
static size_t mapped_size(size_t bytes)
{
    const size_t wide = round_up(bytes, HUGE_PAGE);

    return wide - bytes <= bytes / 8 ? wide : round_up(bytes, SMALL_PAGE);
}

/* Maps one huge page more than asked for and gives the ends back. */
static void *map_aligned(size_t bytes)
{
    size_t whole = bytes + HUGE_PAGE;
    char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t head = round_up((uintptr_t)at, HUGE_PAGE) - (uintptr_t)at;
    size_t tail = whole - head - bytes;
    if (head > 0)
        munmap(at, head);
    if (tail > 0)
        munmap(at + head + bytes, tail);
    /* Advice only: without huge pages all works, a little slower. */
    (void)madvise(at + head, bytes, MADV_HUGEPAGE);
    return at + head;
}

void *sti_big_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (bytes >= MAPPED_FROM)
        return map_aligned(mapped_size(bytes));
    size_t size = bytes == 0 ? 64 : round_up(bytes, 64);
    void *array = aligned_alloc(64, size);
    if (array != NULL)
        memset(array, 0, size);
    return array;
}

void sti_big_free(void *array, size_t bytes)
{
    if (array == NULL)
        return;
    if (bytes >= MAPPED_FROM)
        munmap(array, mapped_size(bytes));
    else
        free(array);
}

void *sti_big_grow(void *array, size_t old, size_t bytes)
{
    if (array != NULL && old >= MAPPED_FROM) {
        void *moved =
            mremap(array, mapped_size(old), mapped_size(bytes), MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
    void *fresh = sti_big_alloc(bytes);
    if (fresh == NULL)
        return NULL;
    if (array != NULL)
        memcpy(fresh, array, old);
    sti_big_free(array, old);
    return fresh;
}
