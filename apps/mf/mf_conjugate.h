/* Conjugate gradients for the rows of implicit feedback (Takacs, Pilaszy and
 * Tikk, RecSys 2011). A row's equations
 *
 *     (G + sum w q q' + penalty I) x = sum t q
 *
 * are not formed: a step takes two passes over the row's ratings, and the
 * products with G, the same matrix for all rows, are computed for a batch of
 * rows at once. */
#ifndef MF_CONJUGATE_H
#define MF_CONJUGATE_H

#include "mf_equations.h"

/* Rows of a batch. */
enum { MF_CONJUGATE_ROWS = 16 };

typedef struct mf_conjugate {
    const mf_equations *equations;
    uint32_t stride;
    double penalty;
    float *tiles;   /* the Gram matrix, by tiles of columns */
    float *product; /* [MF_CONJUGATE_ROWS x stride] */
    /* Of the rows of a batch, [MF_CONJUGATE_ROWS x stride]. */
    float *left, *way, *change;
} mf_conjugate;

/* False: no memory. Close it in any case. */
bool mf_conjugate_open(mf_conjugate *c, uint32_t stride);
void mf_conjugate_close(mf_conjugate *c);
/* Sets the matrix, all tiles, and the penalty. */
void mf_conjugate_set(mf_conjugate *c, const float *gram, double penalty);

/* The next two functions are for n rows, at most MF_CONJUGATE_ROWS; each array
 * is [n x stride]. Before `begin`, `left` has the ratings' part of the
 * remainder, sum (t - w q'x) q; before a step, `change` has -sum w (q'way) q.
 * `begin` completes the remainder and copies it to `way`. A step moves x, and
 * sets `change` to 0. It decreases the objective x'Ax - 2 t'x, including the
 * penalty, and adds the decrease to gain[row] unless gain is NULL. */
void mf_conjugate_begin(mf_conjugate *c, uint32_t n, const float *x,
                        float *left, float *way);
void mf_conjugate_step(mf_conjugate *c, uint32_t n, float *x, float *left,
                       float *way, float *change, double *gain);

/* Does `steps` steps for n rows, with all of their ratings at hand, from x.
 * objective[row]: see above, of the new x. */
void mf_conjugate_solve(mf_conjugate *c, uint32_t n, const mf_line *line,
                        uint32_t steps, float *x, double *objective);

#endif
