/* Owns the bare loop's threads: each carries every order out on its partition.
 * Invariant: the order and what it points at stay as they are from one turn of
 * the counter `turn` until `done` has counted all threads but the first. */
#include "bench/bare_lasso.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ending.h"
#include "bench/measuring.h"

enum { SPINS = 20000 };

static void pause_for(uint32_t tries)
{
    if (tries > SPINS)
        sched_yield();
}

strads_task bare_loop_task(bare_loop *e, uint32_t t)
{
    return (strads_task){.share = strads_data_share(e->data, t),
                         .local = e->local[t],
                         .config = &e->config,
                         .width = 1};
}

/* Carries the order out on partition t. */
static void obey(bare_loop *e, uint32_t t)
{
    const bare_order *o = &e->order;
    const double begun = bench_wall();
    strads_task task = bare_loop_task(e, t);

    if (o->refresh)
        bench_check(e->program->refresh(&task, &o->change, 1));
    task.block = o->block;
    task.against = o->against;
    task.partial_bytes = o->partial * sizeof(double);
    if (o->receive) {
        task.partial = e->merged;
        bench_check(o->phase->receive(&task));
    } else if (o->phase) {
        memset(e->partial[t], 0, task.partial_bytes);
        task.partial = e->partial[t];
        bench_check(o->phase->update(&task));
    }
    e->busy[t] += bench_wall() - begun;
}

static void *serve(void *argument)
{
    bare_loop *e = argument;
    static atomic_uint names;
    const uint32_t t = 1 + atomic_fetch_add(&names, 1) % (e->threads - 1);

    for (uint32_t turn = 1;; turn++) {
        for (uint32_t i = 0; atomic_load(&e->turn) < turn; i++)
            pause_for(i);
        if (e->order.quit)
            return NULL;
        obey(e, t);
        atomic_fetch_add(&e->done, 1);
    }
}

void bare_loop_everyone(bare_loop *e)
{
    atomic_store(&e->done, 0);
    atomic_fetch_add(&e->turn, 1);
    obey(e, 0);
    for (uint32_t i = 0; atomic_load(&e->done) < e->threads - 1; i++)
        pause_for(i);
    e->order.refresh = false;
    if (e->order.receive)
        return;
    memcpy(e->merged, e->partial[0], e->order.partial * sizeof(double));
    for (uint32_t t = 1; t < e->threads; t++)
        for (size_t k = 0; k < e->order.partial; k++)
            e->merged[k] += e->partial[t][k];
}

void bare_loop_start(bare_loop *e)
{
    for (uint32_t t = 1; t < e->threads; t++)
        pthread_create(&e->thread[t], NULL, serve, e);
}

void bare_loop_stop(bare_loop *e)
{
    e->order.quit = true;
    atomic_fetch_add(&e->turn, 1);
    for (uint32_t t = 1; t < e->threads; t++)
        pthread_join(e->thread[t], NULL);
}
