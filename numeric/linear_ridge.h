/* Newton's method on a whole problem of few columns and many rows,
 *
 *     P(w, b) = sum c_i f(y_i, z_i) + sum_j l2_j w_j^2 / 2,   z = o + X w + b
 *
 * with a smooth penalty: all columns move at once, and partitions of the rows
 * multiply. With r the negative slopes of the losses and H their
 * curvatures at z, a step (d, d_b) solves
 *
 *     (X'HX + L2) d + X'h d_b = X'r - L2 w
 *           h'X d + sum h d_b = sum r
 *
 * by conjugate gradients, as far as it pays (Dembo, Eisenstat, Steihaug,
 * "Inexact Newton methods", SIAM J. Numerical Analysis 19, 1982). The
 * preconditioner is the Cholesky factor of the same matrix for a sample of the
 * rows, at some recent point. The next scan checks whether the whole step
 * lowers P; if not, half of it is taken back, and so on.
 *
 * The caller has one number per column, b whether or not there is an intercept,
 * and then the direction for products, of the same length: 2 (columns + 1)
 * values. It follows linear_ridge_next: a scan of slopes, then a Hessian of the
 * movable columns if requested, then products of the direction until a step is
 * found. */
#ifndef LINEAR_RIDGE_H
#define LINEAR_RIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/error.h>

#include "column_kernels.h"
#include "linear_steps.h"

/* True if this method suits data of this shape. */
bool linear_ridge_suits(uint64_t rows, uint64_t columns, uint64_t entries);

/* ---- a partition of the rows: linear_ridge_rows.c ------------------------ */

/* Lower bound of h as a share of c: rows so far out that they have little
 * curvature still limit a step. */
#define LINEAR_LEAST_CURVATURE 1e-12
void linear_hold_curvature(uint64_t n, const double *c, double *h);

/* One row of this many is in a Hessian, of data of this shape. */
uint64_t linear_ridge_stride(uint64_t rows, uint64_t columns);
/* A direction: d of column j at d[j x stride], and that of b behind them. */
typedef struct linear_direction {
    const double *d;
    uint32_t stride;
} linear_direction;
/* Adds X'H (X d + d_b) and the sum of its rows to product [columns + 1], which
 * is initially 0; h [rows]; `along` [rows] is workspace. */
void linear_product(const column_view *view, const column_kernels *kernels,
                    const double *h, linear_direction direction, double *along,
                    double *product);
/* The length of a Hessian of n columns. */
size_t linear_hessian_size(uint32_t n);
/* Adds X'HX of every `stride`-th row and the listed columns, lower half in
 * rows of n; X'h; sum h. hessian [linear_hessian_size(n)] is initially 0.
 * STRADS_ENOMEM. */
strads_err linear_hessian(const column_view *view,
                          const column_kernels *kernels, const double *h,
                          const column_list *columns, uint64_t stride,
                          double *hessian);

/* ---- the steps: linear_ridge.c ------------------------------------------- */

/* The next request of a step. */
typedef enum linear_ridge_next {
    LINEAR_RIDGE_STEP,    /* `value` is the change of all w and of b; then a
                        * scan */
    LINEAR_RIDGE_PRODUCT, /* `value` is the direction; then a product */
    LINEAR_RIDGE_HESSIAN  /* a Hessian of `column` */
} linear_ridge_next;

/* Vectors have one number per column, then that of b. */
typedef struct linear_ridge {
    bool used;
    /* The caller sets these before each linear_ridge_judge(): */
    uint32_t n;         /* number of movable columns, */
    uint32_t *column;   /* [columns] and the columns */
    double *l2;         /* [columns] */
    double *rest;       /* X'r - l2 w, and sum r; 0 for parameters that do
                         * not move */
    double weight;      /* sum c */
    const double *norm; /* [columns] sum c x^2 */
    /* The caller reads these: */
    double *value;
    double share; /* of the step that was taken; 0: no step to judge */
    /* Private to linear_ridge.c: */
    uint32_t width, target; /* problems, and the current one */
    const column_kernels *kernels;
    uint64_t columns;
    bool intercept;
    uint64_t stride; /* one row of this many is in the preconditioner: */
    double *matrix;  /* [(columns + 1)^2] its factor, */
    bool factored;   /* if computed */
    double *step;    /* the current step */
    double *scaled;  /* preconditioned residual */
    double *told;    /* the direction that partitions have */
    double *product; /* A times it */
    double fall;     /* rest'scaled; */
    double first;    /* at the first direction of this step */
    uint32_t products;
    double before; /* P before the step */
    uint32_t halvings;
} linear_ridge;

/* STRADS_ENOMEM. */
strads_err linear_ridge_new(uint64_t rows, uint64_t columns, uint32_t width,
                            bool intercept, linear_ridge *ridge);
void linear_ridge_free(linear_ridge *ridge);
/* For another problem: discards the curvature of the old one. */
void linear_ridge_clear(linear_ridge *ridge);

/* Call after a scan, with its P and the caller's values
 * [2 (columns + 1)][width]. *watch detects the end by rounding. */
linear_ridge_next linear_ridge_judge(linear_ridge *ridge, const double *value,
                                     uint32_t target, double primal,
                                     linear_watch *watch);
/* The rounding of slopes, relative to the norms of column and rows; and the
 * least share of a column's curvature that shows beside rounding. */
#define LINEAR_SLOPE_ROUNDING 4e-15
#define LINEAR_LEAST_BEND 1e-15
/* An estimate of P - P*, by the last factor and `rest`, with sum r^2 / c. A
 * column that the factor leaves out, because it nearly depends on others, may
 * have the least curvature that shows beside rounding. */
double linear_ridge_left(const linear_ridge *ridge, double square);
/* Takes the sum of the partitions' Hessians, and the caller's values. */
linear_ridge_next linear_ridge_factor(linear_ridge *ridge, const double *value,
                                      const double *hessian);
/* Takes the sum of their products; the gap and the tolerance are relative. */
linear_ridge_next linear_ridge_multiply(linear_ridge *ridge,
                                        const double *merged, double gap,
                                        double tolerance);

#endif
