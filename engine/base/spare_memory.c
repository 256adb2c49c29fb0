/* Spare blocks, the last one given on top: it is the one that is still in the
 * processor's cache. Invariant: `bytes` is the sum of the rooms in `spare`. */
#include "engine/base/spare_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    ALIGN = 64,
    GRAIN = 1 << 16,   /* rooms are multiples; smaller blocks are not kept */
    LARGEST = 4 << 20, /* nor larger ones */
    SPARES = 128,
    SPARE_BYTES = 32 << 20
};

typedef struct spare_block {
    void *memory;
    size_t room;
} spare_block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static spare_block spare[SPARES];
static unsigned n_spare;
static size_t bytes;

/* A sanitizer is to see what is used after it was given back. */
static bool keeps(size_t room)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)room;
    return false;
#else
    return room >= GRAIN && room <= LARGEST;
#endif
}

static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* One that fits, and is not much too large. */
static void *take_spare(size_t size, size_t *room)
{
    void *found = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned k = n_spare; k-- > 0 && !found;) {
        if (spare[k].room < size || spare[k].room > 2 * size)
            continue;
        found = spare[k].memory;
        *room = spare[k].room;
        bytes -= *room;
        n_spare--;
        for (unsigned i = k; i < n_spare; i++)
            spare[i] = spare[i + 1];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void *sti_spare_take(size_t size, size_t *room)
{
    if (size > (size_t)-1 / 2)
        return NULL;
    *room = size < GRAIN ? rounded(size ? size : 1, ALIGN)
                         : rounded(size, size <= LARGEST ? GRAIN : ALIGN);
    void *found = keeps(*room) ? take_spare(*room, room) : NULL;
    return found ? found : aligned_alloc(ALIGN, *room);
}

void sti_spare_give(void *memory, size_t room)
{
    bool kept = false;
    if (memory && keeps(room)) {
        pthread_mutex_lock(&lock);
        kept = n_spare < SPARES && bytes + room <= SPARE_BYTES;
        if (kept) {
            spare[n_spare++] = (spare_block){memory, room};
            bytes += room;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!kept)
        free(memory);
}
