/* The loops of CCD++: one user's part of an update of one rank. */
#ifndef MF_RANKS_KERNELS_H
#define MF_RANKS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* The ratings of a user, of items that are all different, and what the model
 * leaves of them. */
typedef struct mf_rank_line {
    const uint32_t *item; /* [n] */
    float *left;          /* [n] */
    uint32_t n;
} mf_rank_line;

/* Sums over a user's ratings: left x q_now, q_now^2, left^2. */
typedef struct mf_rank_sums {
    float side, square, left;
} mf_rank_sums;

/* Takes one rank out of the model and puts another one's product back:
 *     left += now x q_now - was x q_was,
 * factor[2 i] being q_was of item i and factor[2 i + 1] q_now. */
typedef mf_rank_sums (*mf_rank_swap)(const mf_rank_line *line,
                                     const float *factor, float was, float now);

mf_rank_sums mf_rank_swap_portable(const mf_rank_line *line,
                                   const float *factor, float was, float now);
/* NULL where this build or processor has not got what they are named for. */
mf_rank_swap mf_rank_swap_avx2(void);
mf_rank_swap mf_rank_swap_avx512(void);
/* The fastest that runs here. */
mf_rank_swap mf_rank_swap_choose(void);

/* The user's part of the items' sums: sums[2 i] += left x p, sums[2 i + 1] +=
 * p^2. */
void mf_rank_add(const mf_rank_line *line, float p, double *sums);

#endif
