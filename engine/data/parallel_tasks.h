/* engine/data/parallel_tasks.h - n independent tasks on a few threads. */
#ifndef STI_DATA_PARALLEL_TASKS_H
#define STI_DATA_PARALLEL_TASKS_H

#include <stddef.h>
#include <stdint.h>

typedef void (*sti_task)(void *context, size_t task);

/* Runs task(context, 0 .. tasks - 1), each once, on at most `threads` threads,
 * the calling one among them; returns when all are done. When the system
 * refuses a thread the others do its work. */
void sti_parallel(uint32_t threads, size_t tasks, sti_task task, void *context);

#endif
