/* engine/base/spare_memory.h - large blocks that are used again and again:
 * messages with rows. Fresh ones would cost a page fault every 4 KB, which is
 * dearer than copying what they are filled with. */
#ifndef STI_SPARE_MEMORY_H
#define STI_SPARE_MEMORY_H

#include <stddef.h>

/* A block of at least `size` bytes, 64-byte aligned, not initialised; *room is
 * what it has. NULL: no memory. Any thread. */
void *sti_spare_take(size_t size, size_t *room);

/* Gives one back: kept for the next, within 32 MB for the process, or freed.
 * NULL is fine. Any thread. */
void sti_spare_give(void *memory, size_t room);

#endif
