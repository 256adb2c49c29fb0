/* engine/data/memory.h - zeroed arrays, large ones on huge pages; the memory
 * that is available; and tasks on a few threads. */
#ifndef STI_DATA_MEMORY_H
#define STI_DATA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

/* Allocates zeroed memory, aligned to 64 bytes; NULL if memory is exhausted.
 * Zero bytes give a valid array. Free with the same size. */
void *sti_big_alloc(size_t bytes);
void sti_big_free(void *array, size_t bytes);

/* Grows an array of sti_big_alloc (or NULL with old == 0) and zeroes the new
 * part. On failure it returns NULL, and the caller keeps the old array. */
void *sti_big_grow(void *array, size_t old, size_t bytes);

/* Available memory. */

/* Bytes that the process can take without swapping: the system's available
 * memory or the remainder of the control group's limit, whichever is less.
 * UINT64_MAX if neither is known. An answer may be 50 ms old. */
uint64_t sti_memory_available(void);

typedef void (*sti_task)(void *context, size_t task);

/* Runs task(context, 0 .. tasks - 1), each once, on at most `threads`
 * threads, including the calling one. Returns when all are done. If the system
 * refuses a thread, the other threads do its work. */
void sti_parallel(uint32_t threads, size_t tasks, sti_task task, void *context);

#endif
