/* engine/base/steady.h - time that is never set back or forward, and waits that
 * end by it. */
#ifndef STI_BASE_STEADY_H
#define STI_BASE_STEADY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* ns since some moment before this process began. */
uint64_t sti_steady_now(void);

/* In so many ns from now; never before now, however many. */
uint64_t sti_steady_in(uint64_t ns);

/* Makes a condition for sti_steady_wait; false: there is no memory. */
bool sti_steady_init(pthread_cond_t *cond);

/* pthread_cond_wait that ends at `until` at the latest; false: it has come. */
bool sti_steady_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                     uint64_t until);

#endif
