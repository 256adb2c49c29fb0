/* engine/base/monotonic_clock.h - the monotonic clock, and waits with a
 * deadline on it. */
#ifndef STI_MONOTONIC_CLOCK_H
#define STI_MONOTONIC_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The time of a system clock in ns, for example CLOCK_PROCESS_CPUTIME_ID. */
uint64_t sti_clock_now(clockid_t clock);

/* ns since an arbitrary moment before this process began. */
uint64_t sti_monotonic_now(void);

/* The time `ns` from now; saturates. */
uint64_t sti_monotonic_in(uint64_t ns);

/* Initialises a condition for sti_monotonic_wait. False: no memory. */
bool sti_monotonic_cond_init(pthread_cond_t *cond);

/* pthread_cond_wait with the deadline `until`. False: the deadline has
 * passed. */
bool sti_monotonic_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                        uint64_t until);

#endif
