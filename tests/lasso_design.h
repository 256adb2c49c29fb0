/* tests/lasso_design.h - designs for the Lasso, fits of them through the
 * engine, and the optimality conditions, written down once more from the
 * objective alone: nothing here looks into apps/lasso. */
#ifndef TESTS_LASSO_DESIGN_H
#define TESTS_LASSO_DESIGN_H

#include "strads/lasso.h"
#include "strads/strads.h"

/* A dense matrix by columns; zeros are left out of the data set. */
typedef struct lasso_design {
    uint64_t rows, cols;
    double *x; /* [cols x rows], column by column */
    double *y; /* [rows] */
} lasso_design;

/* What a random design is like. Each number is 0 with probability 1 - density;
 * neighbouring columns correlate by `correlation`; y is a sparse combination
 * of columns plus noise. */
typedef struct lasso_recipe {
    uint64_t rows, cols, seed;
    double density, correlation, noise;
    double offset; /* added to y and to every third column */
} lasso_recipe;

lasso_design lasso_design_zero(uint64_t rows, uint64_t cols);
lasso_design lasso_design_random(const lasso_recipe *recipe);
void lasso_design_free(lasso_design *design);

/* The design as a data set, y its labels; by columns, or as asked for; to be
 * freed. */
strads_err lasso_design_data(const lasso_design *design, uint32_t partitions,
                             strads_data **out);
strads_err lasso_design_lay(const lasso_design *design, uint32_t partitions,
                            strads_layout layout, strads_data **out);

static inline double *lasso_design_col(const lasso_design *design, uint64_t j)
{
    return design->x + j * design->rows;
}

/* A fit, to be freed. `w` has a number a column. */
typedef struct lasso_fit {
    strads_err err;
    strads_end end;
    double *w;
    double intercept, lambda, lambda_max, objective, gap;
    uint64_t nonzeros, updates_policy, updates_other;
} lasso_fit;

/* Runs it. `engine` may be NULL: one worker, two partitions, deterministic,
 * gap 1e-12. Its size is filled in; partitions 0 means 2, tolerance 0 means
 * 1e-12. */
lasso_fit lasso_design_fit(const lasso_design *design,
                           const strads_lasso_options *options,
                           const strads_engine_options *engine);
void lasso_fit_free(lasso_fit *fit);

/* By how much (w, b) misses the optimality conditions, relative to lambda:
 * the largest |subgradient| over all columns and the intercept. */
double lasso_violation(const lasso_design *design,
                       const strads_lasso_options *options,
                       const lasso_fit *fit);

/* The objective at (w, b). */
double lasso_value(const lasso_design *design,
                   const strads_lasso_options *options, const lasso_fit *fit);

/* The largest |difference| between two fits' coefficients. */
double lasso_distance(const lasso_design *design, const double *v,
                      const double *w);

#endif
