/* A cell of short rows, whatever the registers. Included by files that say
 * before what a batch does, and the ratings that are left: batch and rest tell
 * their errors, whose squares no_squares, add_squares and sum_of add up. */
#ifndef MF_SHORT_PASS_H
#define MF_SHORT_PASS_H

#include <stdbool.h>

#include "mf_kernels_vectors.h"

/* Pairs and single ratings have a loop each: with a branch in one loop the
 * compiler keeps more in memory. */
INLINE double pass_short(const mf_rating *rating, size_t n,
                         const mf_step *given, const uint32_t vectors)
{
    const mf_step step = *given; /* which no store can be taken to change */
    ahead a = ahead_of(&step, n);
    squares loss = no_squares();
    size_t at = 0;

    for (; at < step.paired; at += MF_BATCH) {
        const mf_rating *x = rating + at;
        const bool more = n - at >= 2 * (size_t)MF_BATCH;
        fetch_ahead(&a);
        loss = add_squares(loss, batch(&step, x, more ? x + MF_BATCH : x, 2,
                                       vectors));
    }
    for (; n - at >= MF_BATCH; at += MF_BATCH) {
        const mf_rating *x = rating + at;
        const bool more = n - at >= 2 * (size_t)MF_BATCH;
        fetch_ahead(&a);
        loss = add_squares(loss, batch(&step, x, more ? x + MF_BATCH : x, 1,
                                       vectors));
    }
    if (at < n)
        loss = add_squares(loss, rest(&step, rating + at, (uint32_t)(n - at),
                                      vectors));
    return sum_of(loss);
}

#define SHORT(vectors)                                           \
    static double kernel_##vectors(const mf_rating *x, size_t n, \
                                   const mf_step *s)             \
    {                                                            \
        return pass_short(x, n, s, vectors);                     \
    }
SHORT(1)
SHORT(2)
SHORT(3)
SHORT(4)

static const mf_kernel kernel_of_short[] = {kernel_1, kernel_2, kernel_3,
                                            kernel_4};

#endif
