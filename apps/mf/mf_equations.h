/* The normal equations of one row, and their solutions: what alternating least
 * squares and descent by row are made of. A row is a user or an item; its
 * ratings name rows of the other side, which stand still meanwhile. */
#ifndef MF_EQUATIONS_H
#define MF_EQUATIONS_H

#include <stdbool.h>
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

/* ---- solving for a slab of one row's factors ------------------------------ */

/* For the sweeps of mf_rows.c, and for users that a model has not seen. */
typedef struct mf_row_solver {
    const mf_equations *equations;
    uint32_t slab; /* factors that are solved for at once */
    float *matrix; /* [slab x slab] */
    float *side, *right, *step, *slope; /* [slab] */
} mf_row_solver;

/* What a row's equations have besides its ratings. */
typedef struct mf_ridge {
    double penalty;    /* lambda n, or lambda */
    const float *gram; /* of the other side; NULL: explicit ratings */
    bool nonnegative;
    bool whole; /* the slab is all there is, so `side` is of y, not of what
                   the row leaves of it */
} mf_ridge;

/* false: no memory; close it all the same. */
bool mf_row_solver_open(mf_row_solver *solver, uint32_t slab);
void mf_row_solver_close(mf_row_solver *solver);

/* Matrix and side become 0. */
void mf_row_solver_clear(mf_row_solver *solver);

/* Moves x[slab] to the minimum of x'Ax - 2b'x + penalty |x|^2 for A = matrix
 * (and gram) and b = side (where the slab is not whole: of what the old x
 * leaves); solver->step = d is by how much, from 0 where it is whole. Returns the
 * change of the sum of squares, d'Ad - 2b'd. Destroys matrix. */
double mf_settle(mf_row_solver *solver, const mf_ridge *ridge, float *matrix,
                 const float *side, float *x);

/* gram = sum x x' over n rows of `stride` floats, all tiles; for a solver whose
 * slab is the stride. */
void mf_gram(mf_row_solver *solver, const float *rows, uint64_t n,
             uint32_t stride, float *gram);

#endif
