/* The lock word and its queue. Invariants: only the holder of `queue` sets or
 * clears the queue bit; while it is set nobody passes by the queue, so the
 * stripes that its head waits for drain, also when it wants all of them. */
#include "engine/store/stripe_lock.h"

#include <sched.h>
#include <stdbool.h>

#define QUEUED (UINT64_C(1) << STI_STRIPES)

enum { SPINS = 2000 }; /* about as long as giving the core away takes */

void sti_stripes_init(sti_stripes *stripes)
{
    atomic_init(&stripes->held, 0);
    pthread_mutex_init(&stripes->queue, NULL);
}

void sti_stripes_destroy(sti_stripes *stripes)
{
    pthread_mutex_destroy(&stripes->queue);
}

/* One try that fails only when a bit of `avoid` is set. */
static bool try_take(sti_stripes *stripes, uint64_t mask, uint64_t avoid,
                     uint64_t clear)
{
    uint64_t held = atomic_load_explicit(&stripes->held, memory_order_relaxed);
    while (!(held & avoid))
        if (atomic_compare_exchange_weak_explicit(&stripes->held, &held,
                                                  (held | mask) & ~clear,
                                                  memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Holders are in short copies, seldom in a snapshot: the queue's head spins,
 * and gives its core away when that does not help; all others sleep. */
static void queue_up(sti_stripes *stripes, uint64_t mask)
{
    pthread_mutex_lock(&stripes->queue);
    atomic_fetch_or_explicit(&stripes->held, QUEUED, memory_order_relaxed);
    for (unsigned spins = 0; !try_take(stripes, mask, mask, QUEUED); spins++)
        if (spins >= SPINS)
            sched_yield();
    pthread_mutex_unlock(&stripes->queue);
}

void sti_stripes_take(sti_stripes *stripes, uint64_t mask)
{
    if (!try_take(stripes, mask, mask | QUEUED, 0))
        queue_up(stripes, mask);
}

void sti_stripes_drop(sti_stripes *stripes, uint64_t mask)
{
    atomic_fetch_and_explicit(&stripes->held, ~mask, memory_order_release);
}
