/* The normal equations of one row, and their solutions: what alternating least
 * squares and descent by row are made of. A row is a user or an item; its
 * ratings name rows of the other side, which stand still meanwhile. */
#ifndef MF_EQUATIONS_H
#define MF_EQUATIONS_H

#include <stddef.h>
#include <stdint.h>

/* Floats in a vector; widths and strides are multiples of it, and all arrays
 * of floats but target and weight begin at multiples of MF_ALIGN bytes. */
enum { MF_TILE = 16, MF_WIDTH_MAX = 1024 };

/* The ratings of a row: n of them, of the other side's rows index[k]. */
typedef struct mf_line {
    const float *factor; /* [rows x stride] of the other side */
    uint32_t stride;
    uint32_t n;
    const uint32_t *index;
    const float *target;
    const float *weight; /* NULL: 1 each */
} mf_line;

typedef struct mf_equations {
    /* With q the factors from .. from + width - 1 of a rating's row:
     *     matrix += sum weight q q'      side += sum target q
     * matrix [width x width]; tiles above the diagonal are not touched. */
    void (*gather)(const mf_line *line, uint32_t from, uint32_t width,
                   float *matrix, float *side);
    /* error[k] -= weight q'row over the same factors; row [width]. */
    void (*subtract)(const mf_line *line, uint32_t from, uint32_t width,
                     const float *row, float *error);
    /* x = matrix^-1 x by Cholesky's factors, for a symmetric matrix whose tiles
     * above the diagonal need not be there. Destroys it. What depends on the
     * factors before stays at 0. */
    void (*solve)(uint32_t width, float *matrix, float *x);
    /* The minimum of x'matrix x / 2 - side'x over x >= 0, by descent on one
     * coordinate after the other, from x. Needs all tiles. slope [width] is
     * room for the gradient. */
    void (*solve_nonnegative)(uint32_t width, const float *matrix,
                              const float *side, float *slope, float *x);
} mf_equations;

extern const mf_equations mf_equations_portable;
/* NULL where this build or processor has no AVX-512. */
const mf_equations *mf_equations_avx512(void);
/* The fastest that run here. */
const mf_equations *mf_equations_choose(void);

/* Copies the tiles below the diagonal to those above. */
void mf_equations_mirror(uint32_t width, float *matrix);

#endif
