/* engine/base/monotonic_clock.h - time that nobody sets, and waits that end
 * by it. */
#ifndef STI_MONOTONIC_CLOCK_H
#define STI_MONOTONIC_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* ns of a clock of the system: CLOCK_PROCESS_CPUTIME_ID, say. */
uint64_t sti_clock_now(clockid_t clock);

/* ns since some moment before this process began. */
uint64_t sti_monotonic_now(void);

/* `ns` from now; saturates. */
uint64_t sti_monotonic_in(uint64_t ns);

/* Initialises a condition for sti_monotonic_wait; false: no memory. */
bool sti_monotonic_cond_init(pthread_cond_t *cond);

/* pthread_cond_wait that ends at `until` at the latest; false: that time has
 * come. */
bool sti_monotonic_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                        uint64_t until);

#endif
