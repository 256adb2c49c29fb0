/* engine/data/memory.h - zeroed arrays, large ones on huge pages, how much
 * memory a process may still take, and tasks on a few threads. */
#ifndef STI_DATA_MEMORY_H
#define STI_DATA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

/* Zeroed, aligned to 64 bytes; NULL when memory ran out. Zero bytes give a
 * valid array. Free with the same size. */
void *sti_big_alloc(size_t bytes);
void sti_big_free(void *array, size_t bytes);

/* Grows an array of sti_big_alloc (or NULL with old == 0) and zeroes what is
 * new. On failure NULL, and the old array is still the caller's. */
void *sti_big_grow(void *array, size_t old, size_t bytes);

/* How much memory a process may still take. */

/* Bytes that can be had without swapping: what the system calls available, or
 * what is left of the control group's limit, whichever is less. UINT64_MAX when
 * neither can be told. */
uint64_t sti_memory_available(void);

typedef void (*sti_task)(void *context, size_t task);

/* Runs task(context, 0 .. tasks - 1), each once, on at most `threads` threads,
 * the calling one among them; returns when all are done. When the system
 * refuses a thread the others do its work. */
void sti_parallel(uint32_t threads, size_t tasks, sti_task task, void *context);

#endif
