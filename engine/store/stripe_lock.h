/* engine/store/stripe_lock.h - many small locks taken in one step.
 *
 * Bit s of `held` is the lock of stripe s. A batch takes the locks of all its
 * rows with a single compare-and-swap, or none of them: so it cannot deadlock,
 * and without contention 64 rows cost as little as one. */
#ifndef STI_STORE_STRIPE_LOCK_H
#define STI_STORE_STRIPE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define STI_STRIPES 63
#define STI_STRIPES_ALL ((UINT64_C(1) << STI_STRIPES) - 1)

typedef struct sti_stripes {
    _Atomic uint64_t held; /* bits 0 .. 62: stripes; 63: somebody queues */
    pthread_mutex_t queue; /* held by the one who waits for stripes */
} sti_stripes;

void sti_stripes_init(sti_stripes *stripes);
void sti_stripes_destroy(sti_stripes *stripes);

/* Waits until all stripes of `mask` are free and takes them. A thread that
 * holds some must not take more. */
void sti_stripes_take(sti_stripes *stripes, uint64_t mask);
void sti_stripes_drop(sti_stripes *stripes, uint64_t mask);

/* The stripe of line `line` as a mask. */
static inline uint64_t sti_stripe(uint32_t line)
{
    return UINT64_C(1) << line % STI_STRIPES;
}

#endif
