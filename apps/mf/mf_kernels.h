/* The inner loops of SGD and of CCD++, portable and for each kind of processor.
 *
 * That of SGD goes through one cell, which is the ratings that a micro-block of
 * users gave to a block of items. */
#ifndef MF_KERNELS_H
#define MF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* A rating, scaled, with biases taken out; places within micro-block and
 * block. */
typedef struct mf_rating {
    uint16_t user, item;
    float value;
} mf_rating;

enum {
    MF_BATCH = 16, /* ratings of short rows that are predicted at once */
    MF_SHORT = 64, /* the most floats of a short row */
    MF_LANES = 16,
    MF_ALIGN = 64
};

typedef struct mf_step {
    float *p, *q; /* rows of `stride` floats, a multiple of MF_LANES, at
                        addresses that are multiples of MF_ALIGN */
    uint32_t stride;
    float size;        /* of the step */
    float decay;       /* 1 - size lambda */
    size_t paired;     /* ratings at the front that come in pairs, 0 or a
                          multiple of MF_BATCH */
    const char *ahead; /* [ahead_bytes] to be fetched meanwhile */
    size_t ahead_bytes;
} mf_step;

/* For each rating (u, i, r), a batch of them at a time:
 *     e = r - p_u'q_i           for all of the batch, then, one by one,
 *     p_u, q_i = decay p_u + size e q_i, decay q_i + size e p_u
 * (Gemulla et al. 2011, with the penalty of a row by its ratings). A pair, a
 * user's ratings of two items i and j, moves its rows at once, so that the
 * user's is read and written half as often:
 *     p_u = decay^2 p_u + size (e_i q_i + e_j q_j)
 *     q_i, q_j = decay q_i + size e_i p_u, decay q_j + size e_j p_u
 * Of short rows MF_BATCH ratings are a batch: adding up what is in the lanes
 * costs least for all of them together. Longer rows come from the second cache
 * and are to be read once: a pair is a batch of its own, and so is a single
 * rating. Returns sum e^2. */
typedef double (*mf_kernel)(const mf_rating *rating, size_t n,
                            const mf_step *step);

/* p'q in MF_LANES sums, which are then halved: the same bits from any compiler,
 * with vectors or without. */
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
/* NULL where this build or processor has not got what they are named for. */
mf_kernel mf_kernel_avx2(uint32_t stride);
mf_kernel mf_kernel_avx512(uint32_t stride);
/* The fastest that runs here. */
mf_kernel mf_kernel_choose(uint32_t stride);

/* ---- CCD++: one user's part of an update of one rank -------------------- */

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
