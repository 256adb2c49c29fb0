/* Newton's method on the whole of a problem of few columns and many rows,
 *
 *     P(w, b) = sum c_i f(y_i, z_i) + sum_j l2_j w_j^2 / 2,   z = o + X w + b
 *
 * for programs over rows whose penalty is smooth: all columns move at once, and
 * workers multiply. With r the losses' downward slopes and H their curvatures at
 * z, a step (d, d_b) solves
 *
 *     (X'HX + L2) d + X'h d_b = X'r - L2 w
 *           h'X d + sum h d_b = sum r
 *
 * by conjugate gradients, so far as it pays (Dembo, Eisenstat, Steihaug,
 * "Inexact Newton methods", SIAM J. Numerical Analysis 19, 1982). What
 * preconditions is the Cholesky factor of the same matrix, of a sample of the
 * rows, at some point not far back. The next scan tells whether the whole step
 * lowers P; if it does not, half of it is taken back, and so on.
 *
 * The program's parameters are a number a column, b whether there is an
 * intercept or not, and behind these the direction that workers are to multiply
 * by, as many again. It has three phases for it: a scan of slopes, then `hessian`
 * of the columns that move where that is asked for, then `product` of the
 * direction until a step is found. */
#ifndef LINEAR_RIDGE_H
#define LINEAR_RIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/program.h>

#include "apps/kernels/column_kernels.h"
#include "linear_steps.h"

/* Whether data are such that this is the way. */
bool linear_ridge_suits(const strads_data *data);

/* ---- a partition: linear_ridge_rows.c ------------------------------------ */

/* h is taken to be this share of c at least: rows so far out that they hardly
 * bend still hold a step. */
#define LINEAR_LEAST_CURVATURE 1e-12
void linear_hold_curvature(uint64_t n, const double *c, double *h);

/* One row of so many is in a Hessian. */
uint64_t linear_ridge_stride(const strads_shape *shape);
/* Numbers of a product, and of a Hessian of n columns. */
size_t linear_product_size(const strads_task *task);
size_t linear_hessian_size(uint32_t n);
/* X'H (X d + d_b) and the sum of its rows, of the direction in the task's block;
 * h [rows], `along` [rows] is workspace. */
void linear_product(const strads_task *task, const column_view *view,
                    const column_kernels *kernels, const double *h,
                    uint32_t target, double *along);
/* X'HX of the sampled rows and the block's columns, lower half in lines of n; X'h;
 * sum h. STRADS_ENOMEM. */
strads_err linear_hessian(const strads_task *task, const column_view *view,
                          const column_kernels *kernels, const double *h);

/* ---- the coordinator: linear_ridge.c -------------------------------------- */

/* What a step asks for next. */
typedef enum linear_ridge_next {
    LINEAR_RIDGE_STEP, /* `value` is the change of all w, and of b: then a scan */
    LINEAR_RIDGE_PRODUCT, /* `value` is the direction's: then a product */
    LINEAR_RIDGE_HESSIAN  /* a Hessian of `column` */
} linear_ridge_next;

/* Lines have a number a column, then that of b. */
typedef struct linear_ridge {
    bool used;
    /* The program's to write before each linear_ridge_judge(): */
    uint32_t n;         /* columns that move, */
    uint32_t *column;   /* [columns] and which */
    double *l2;         /* [columns] */
    double *rest;       /* X'r - l2 w, and sum r; 0 where nothing moves */
    double weight;      /* sum c */
    const double *norm; /* [columns] sum c x^2 */
    /* It is to read: */
    double *value;
    double share; /* of a step that has been taken; 0: none is to be judged */
    /* All else is linear_ridge.c's. */
    uint32_t width, target; /* problems, and the one at hand */
    uint32_t *param; /* [2 (columns + 1)] all parameters, one after the other */
    const column_kernels *kernels;
    uint64_t columns;
    bool intercept;
    uint64_t stride; /* rows, of which one is in the preconditioner: */
    double *matrix;  /* [(columns + 1)^2] its factor, */
    bool factored;   /* if it is there */
    double *step;    /* so far */
    double *scaled;  /* what the preconditioner makes of the rest */
    double *told;    /* the direction that workers know */
    double *product; /* A times it */
    double fall;     /* rest'scaled; */
    double first;    /* at the first direction of this step */
    uint32_t products;
    double before; /* P before the step */
    uint32_t halvings;
} linear_ridge;

/* STRADS_ENOMEM. */
strads_err linear_ridge_new(const strads_shape *shape, bool intercept,
                            linear_ridge *ridge);
void linear_ridge_free(linear_ridge *ridge);
/* Another problem: what is known of the old one's curvature goes. */
void linear_ridge_clear(linear_ridge *ridge);

/* After a scan at that P. *watch says when rounding ends it. */
linear_ridge_next linear_ridge_judge(linear_ridge *ridge,
                                     const strads_commit *commit,
                                     uint32_t target, double primal,
                                     linear_watch *watch);
/* From a merged Hessian, the commit's. */
linear_ridge_next linear_ridge_factor(linear_ridge *ridge,
                                      const strads_commit *commit);
/* From a merged product, the commit's; the gap and the tolerance are
 * relative. */
linear_ridge_next linear_ridge_multiply(linear_ridge *ridge,
                                        const strads_commit *commit, double gap,
                                        double tolerance);
/* Tells what comes of it: `wide` [(columns + 1) x width] is workspace. A product
 * has the direction as its block. */
strads_err linear_ridge_tell(const linear_ridge *ridge, strads_commit *commit,
                             linear_ridge_next next, bool is_product,
                             double *wide);

#endif
