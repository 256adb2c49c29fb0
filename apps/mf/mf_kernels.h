/* The inner loops of SGD and of CCD++, portable and for vector instructions.
 *
 * SGD's loop processes one cell: all ratings that a micro-block of users gave
 * to a block of items. */
#ifndef MF_KERNELS_H
#define MF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* A rating, scaled, less the biases; positions within micro-block and block. */
typedef struct mf_rating {
    uint16_t user, item;
    float value;
} mf_rating;

enum {
    MF_BATCH = 16, /* ratings of short rows that are predicted together */
    MF_SHORT = 64, /* most floats of a short row */
    MF_LANES = 16,
    MF_ALIGN = 64
};

typedef struct mf_step {
    float *p, *q; /* rows of `stride` floats, a multiple of MF_LANES, aligned to
                   * MF_ALIGN */
    uint32_t stride;
    float size;        /* step size */
    float decay;       /* 1 - size lambda */
    size_t paired;     /* number of ratings at the front that form pairs, 0 or a
                        * multiple of MF_BATCH */
    const char *ahead; /* [ahead_bytes] to prefetch meanwhile */
    size_t ahead_bytes;
} mf_step;

/* For each rating (u, i, r), in batches:
 *     e = r - p_u'q_i           for all of the batch, then, one by one,
 *     p_u, q_i = decay p_u + size e q_i, decay q_i + size e p_u
 * (Gemulla et al. 2011, with the penalty of a row weighted by its ratings). A
 * pair is one user's ratings of two items i and j. Its rows are updated
 * together, which halves the reads and writes of the user's row:
 *     p_u = decay^2 p_u + size (e_i q_i + e_j q_j)
 *     q_i, q_j = decay q_i + size e_i p_u, decay q_j + size e_j p_u
 * For short rows, a batch is MF_BATCH ratings, because summing the lanes is
 * cheapest for many ratings together. Longer rows come from the second-level
 * cache and should be read once, so a batch is one pair or one single rating.
 * Returns sum e^2. */
typedef double (*mf_kernel)(const mf_rating *rating, size_t n,
                            const mf_step *step);

/* p'q as MF_LANES partial sums, which are then halved repeatedly. All compilers
 * produce the same bits, with or without vectors. */
static inline float mf_dot(const float *p, const float *q, uint32_t stride)
{
    float s[MF_LANES] = {0};

    for (uint32_t k = 0; k < stride; k += MF_LANES)
        for (uint32_t l = 0; l < MF_LANES; l++)
            s[l] += p[k + l] * q[k + l];
    for (uint32_t half = MF_LANES / 2; half; half /= 2)
        for (uint32_t l = 0; l < half; l++)
            s[l] += s[l + half];
    return s[0];
}

double mf_kernel_portable(const mf_rating *rating, size_t n,
                          const mf_step *step);
/* NULL if this build or this processor lacks the instruction set. */
mf_kernel mf_kernel_avx2(uint32_t stride);
mf_kernel mf_kernel_avx512(uint32_t stride);
mf_kernel mf_kernel_neon(uint32_t stride);
/* The fastest version for this processor. */
mf_kernel mf_kernel_choose(uint32_t stride);

/* ---- CCD++: one user's part of an update of one rank -------------------- */

/* A user's ratings of distinct items, and their remainders: the ratings less
 * the model's products. */
typedef struct mf_rank_line {
    const uint32_t *item; /* [n] */
    float *left;          /* [n] */
    uint32_t n;
} mf_rank_line;

/* Sums over a user's ratings, with r the remainders: r q_now, q_now^2, r^2. */
typedef struct mf_rank_sums {
    float side, square, left;
} mf_rank_sums;

/* Adds the product of one rank back to the remainders and subtracts another's:
 * left += now x q_now - was x q_was, with q_was = factor[2 i] and q_now =
 * factor[2 i + 1] for item i. */
typedef mf_rank_sums (*mf_rank_swap)(const mf_rank_line *line,
                                     const float *factor, float was, float now);

mf_rank_sums mf_rank_swap_portable(const mf_rank_line *line,
                                   const float *factor, float was, float now);
/* NULL if this build or this processor lacks the instruction set. */
mf_rank_swap mf_rank_swap_avx2(void);
mf_rank_swap mf_rank_swap_avx512(void);
mf_rank_swap mf_rank_swap_neon(void);
/* The fastest version for this processor. */
mf_rank_swap mf_rank_swap_choose(void);

/* Adds the user's terms to the items' sums: sums[2 i] += left x p, sums[2 i +
 * 1] += p^2. */
void mf_rank_add(const mf_rank_line *line, float p, double *sums);

#endif
