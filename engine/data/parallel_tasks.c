/* Owns nothing between calls: helper threads live as long as one call. Tasks
 * are handed out by an atomic counter, so uneven ones balance themselves. */
#include "engine/data/parallel_tasks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_THREADS = 256 };

typedef struct crew {
    sti_task task;
    void *context;
    size_t tasks;
    _Atomic size_t next;
} crew;

static void *work(void *arg)
{
    crew *c = arg;
    for (;;) {
        size_t mine =
            atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
        if (mine >= c->tasks)
            return NULL;
        c->task(c->context, mine);
    }
}

void sti_parallel(uint32_t threads, size_t tasks, sti_task task, void *context)
{
    crew c = {.task = task, .context = context, .tasks = tasks};
    pthread_t helper[MOST_THREADS];
    size_t wanted = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (wanted > tasks)
        wanted = tasks;
    size_t started = 0;
    while (started + 1 < wanted &&
           pthread_create(&helper[started], NULL, work, &c) == 0)
        started++;
    (void)work(&c);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(helper[i], NULL);
}
