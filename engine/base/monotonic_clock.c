/* See monotonic_clock.h. Owns nothing. */
#include "engine/base/monotonic_clock.h"

enum { SECOND = 1000000000 };

uint64_t sti_clock_now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t sti_monotonic_now(void)
{
    return sti_clock_now(CLOCK_MONOTONIC);
}

uint64_t sti_monotonic_in(uint64_t ns)
{
    const uint64_t now = sti_monotonic_now();
    return ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
}

bool sti_monotonic_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr))
        return false;
#ifdef __linux__
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
#endif
    const bool made = pthread_cond_init(cond, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    return made;
}

bool sti_monotonic_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                        uint64_t until)
{
#ifndef __linux__ /* the condition waits by the time of day */
    const uint64_t now = sti_monotonic_now();
    const uint64_t left = until > now ? until - now : 0;
    until = sti_clock_now(CLOCK_REALTIME);
    until = left < UINT64_MAX - until ? until + left : UINT64_MAX;
#endif
    const struct timespec at = {.tv_sec = (time_t)(until / SECOND),
                                .tv_nsec = (long)(until % SECOND)};
    return pthread_cond_timedwait(cond, lock, &at) == 0;
}
