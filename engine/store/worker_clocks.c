/* One mutex and one condition for all clocks: they are touched once a clock,
 * which stands for a batch of work. Invariant: clocks only grow, and a worker
 * that left never returns, so what a wait returned stays a lower bound. */
#include "engine/store/worker_clocks.h"

#include <inttypes.h>
#include <stdlib.h>

void sti_clocks_init(sti_clocks *clocks)
{
    *clocks = (sti_clocks){0};
    pthread_mutex_init(&clocks->lock, NULL);
    pthread_cond_init(&clocks->moved, NULL);
}

void sti_clocks_destroy(sti_clocks *clocks)
{
    free(clocks->worker);
    pthread_cond_destroy(&clocks->moved);
    pthread_mutex_destroy(&clocks->lock);
}

static strads_err start_group(sti_clocks *clocks, uint32_t workers)
{
    sti_worker_clock *worker = calloc(workers, sizeof *worker);
    if (!worker)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the clocks of %" PRIu32 " workers",
                           workers);
    free(clocks->worker);
    clocks->worker = worker;
    clocks->workers = workers;
    clocks->left = 0;
    clocks->group++;
    return STRADS_OK;
}

static strads_err join(sti_clocks *clocks, uint32_t worker, uint32_t workers)
{
    if (clocks->left == clocks->workers) {
        strads_err err = start_group(clocks, workers);
        if (err)
            return err;
    }
    if (workers != clocks->workers)
        return strads_fail(STRADS_EINVAL,
                           "worker %" PRIu32 " opens a session of %" PRIu32
                           " workers, others of the same store one of %" PRIu32
                           ": they must agree",
                           worker, workers, clocks->workers);
    if (clocks->worker[worker].state != STI_CLOCK_AWAITED)
        return strads_fail(STRADS_ESTATE,
                           "worker %" PRIu32 "'s session %s: a worker opens "
                           "one, once in a group",
                           worker,
                           clocks->worker[worker].state == STI_CLOCK_LEFT
                               ? "was closed before"
                               : "is open");
    clocks->worker[worker].state = STI_CLOCK_RUNNING;
    return STRADS_OK;
}

strads_err sti_clocks_join(sti_clocks *clocks, uint32_t worker,
                           uint32_t workers, uint64_t *group)
{
    if (worker >= workers)
        return strads_fail(STRADS_EINVAL,
                           "there is no worker %" PRIu32 " among %" PRIu32
                           ": they are numbered from 0",
                           worker, workers);
    pthread_mutex_lock(&clocks->lock);
    strads_err err = join(clocks, worker, workers);
    *group = clocks->group;
    pthread_mutex_unlock(&clocks->lock);
    return err;
}

static void wake(sti_clocks *clocks)
{
    if (clocks->waiting)
        pthread_cond_broadcast(&clocks->moved);
}

void sti_clocks_leave(sti_clocks *clocks, uint32_t worker)
{
    pthread_mutex_lock(&clocks->lock);
    clocks->worker[worker].state = STI_CLOCK_LEFT;
    clocks->left++;
    wake(clocks);
    pthread_mutex_unlock(&clocks->lock);
}

void sti_clocks_reach(sti_clocks *clocks, uint32_t worker, uint64_t to)
{
    pthread_mutex_lock(&clocks->lock);
    clocks->worker[worker].clock = to;
    wake(clocks);
    pthread_mutex_unlock(&clocks->lock);
}

static uint64_t least_of_others(const sti_clocks *clocks, uint32_t worker)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t v = 0; v < clocks->workers; v++) {
        const sti_worker_clock *other = &clocks->worker[v];
        if (v != worker && other->state != STI_CLOCK_LEFT &&
            other->clock < least)
            least = other->clock;
    }
    return least;
}

uint64_t sti_clocks_wait(sti_clocks *clocks, uint32_t worker, uint64_t target)
{
    pthread_mutex_lock(&clocks->lock);
    uint64_t least = least_of_others(clocks, worker);
    while (least < target) {
        clocks->waiting++;
        pthread_cond_wait(&clocks->moved, &clocks->lock);
        clocks->waiting--;
        least = least_of_others(clocks, worker);
    }
    pthread_mutex_unlock(&clocks->lock);
    return least;
}
