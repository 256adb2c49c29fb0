/* The normal equations of one row, and their solution, for alternating least
 * squares and descent by row. A row is a user or an item. Its ratings refer to
 * rows of the other side, which stay fixed meanwhile. */
#ifndef MF_EQUATIONS_H
#define MF_EQUATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Floats in a vector. Widths and strides are multiples of it. All arrays of
 * floats except target and weight are aligned to MF_ALIGN bytes. */
enum { MF_TILE = 16, MF_WIDTH_MAX = 1024, MF_SCAN = 64 };

/* The n ratings of a row; rating k is of the other side's row index[k]. */
typedef struct mf_line {
    const float *factor; /* [rows x stride] of the other side */
    uint32_t stride;
    uint32_t n;
    const uint32_t *index;
    const float *target;
    const float *weight; /* NULL: all 1 */
} mf_line;

typedef struct mf_equations {
    /* With q the factors from .. from + width - 1 of a rating's row:
     *     matrix += sum weight q q'      side += sum target q
     * matrix [width x width]; only tiles on and below the diagonal are
     * written. */
    void (*gather)(const mf_line *line, uint32_t from, uint32_t width,
                   float *matrix, float *side);
    /* error[k] -= weight q'row over the same factors; row [width]. */
    void (*subtract)(const mf_line *line, uint32_t from, uint32_t width,
                     const float *row, float *error);
    /* x = matrix^-1 x by a Cholesky factorisation of a symmetric matrix. Tiles
     * above the diagonal may be unset. Overwrites the matrix. A factor that
     * depends linearly on earlier factors becomes 0. */
    void (*solve)(uint32_t width, float *matrix, float *x);
    /* Minimises x'matrix x / 2 - side'x over x >= 0, by coordinate descent from
     * x. Needs all tiles. slope [width] is workspace for the gradient. */
    void (*solve_nonnegative)(uint32_t width, const float *matrix,
                              const float *side, float *slope, float *x);

    /* For conjugate gradients (mf_conjugate.h). All factors of a row:
     *     out += sum (t - weight q'x) q
     * with t = 1 + weight for weights above 0, and t = 0 for others or if
     * `targets` is false. Returns sum t q'x. line->target is not used. */
    double (*pull)(const mf_line *line, bool targets, const float *x,
                   float *out);
    /* out[n x columns] = x[n x depth] matrix. The matrix [depth x columns] is
     * stored by tiles of columns, [columns / MF_TILE][depth][MF_TILE]. out has
     * room for a multiple of 16 rows. */
    void (*multiply)(uint32_t depth, uint32_t columns, const float *tiles,
                     uint32_t n, const float *x, float *out);
    /* Returns the first k from `from` on, a multiple of MF_SCAN, so that one of
     * the next MF_SCAN values of a + b is above the bound; n if there is none.
     * n is a multiple of MF_SCAN. */
    uint32_t (*scan)(uint32_t from, uint32_t n, const float *a, const float *b,
                     float bound);
    /* One step of conjugate gradients from x with the remainder `left`, along
     * `way`; change = -A way. Returns the decrease of x'Ax - 2b'x. */
    double (*conjugate_step)(uint32_t width, float *x, float *left, float *way,
                             const float *change);
} mf_equations;

extern const mf_equations mf_equations_portable;
/* NULL if this build or this processor lacks the instruction set. */
const mf_equations *mf_equations_avx512(void);
const mf_equations *mf_equations_avx2(void);
const mf_equations *mf_equations_neon(void);
/* The fastest version for this processor. */
const mf_equations *mf_equations_choose(void);

/* Copies the tiles below the diagonal to the tiles above it. */
void mf_equations_mirror(uint32_t width, float *matrix);

/* ---- solving for a slab of one row's factors ----------------------------- */

/* Used by the sweeps of mf_rows.c, and for users that a model has not seen. */
typedef struct mf_row_solver {
    const mf_equations *equations;
    uint32_t slab; /* number of factors that are solved for at once */
    float *matrix; /* [slab x slab] */
    float *side, *right, *step, *slope; /* [slab] */
} mf_row_solver;

/* Terms of a row's equations besides its ratings. */
typedef struct mf_ridge {
    double penalty;    /* lambda n, or lambda */
    const float *gram; /* Gram matrix of the other side; NULL: explicit
                        * ratings */
    bool nonnegative;
    bool whole; /* the slab has all factors, so `side` is a sum over y, not over
                 * the row's remainders */
} mf_ridge;

/* False: no memory. Close it in any case. */
bool mf_row_solver_open(mf_row_solver *solver, uint32_t slab);
void mf_row_solver_close(mf_row_solver *solver);

/* Sets matrix and side to 0. */
void mf_row_solver_clear(mf_row_solver *solver);

/* Moves x[slab] to the minimum of x'Ax - 2b'x + penalty |x|^2, for A = matrix
 * (plus gram) and b = side. If the slab is not whole, `side` is computed from
 * the remainders of the old x. solver->step is the change d of x, from 0 if the
 * slab is whole. Returns the change of the sum of squares, d'Ad - 2b'd.
 * Overwrites the matrix. */
double mf_settle(mf_row_solver *solver, const mf_ridge *ridge, float *matrix,
                 const float *side, float *x);

/* gram = sum x x' over n rows of `stride` floats, all tiles. The solver's slab
 * must be the stride. */
void mf_gram(mf_row_solver *solver, const float *rows, uint64_t n,
             uint32_t stride, float *gram);

#endif
