/* tests/lasso_design.h - designs for the Lasso and other linear models, and
 * their fits through the engine. */
#ifndef TESTS_LASSO_DESIGN_H
#define TESTS_LASSO_DESIGN_H

#include "strads/lasso.h"
#include "strads/strads.h"

/* A dense matrix by columns; the data set omits zeros. */
typedef struct lasso_design {
    uint64_t rows, cols;
    double *x;                 /* [cols x rows], column by column */
    double *y;                 /* [rows] */
    const strads_names *names; /* of the labels 0, 1, ...; NULL: numbers */
} lasso_design;

/* Parameters of a random design. Each entry is 0 with probability 1 -
 * density (0: never); adjacent columns have this `correlation`; y is a sparse
 * combination of columns plus noise. */
typedef struct lasso_recipe {
    uint64_t rows, cols, seed;
    double density, correlation, noise;
    double offset; /* added to y and to every third column */
} lasso_recipe;

lasso_design lasso_design_zero(uint64_t rows, uint64_t cols);
lasso_design lasso_design_random(const lasso_recipe *recipe);
void lasso_design_free(lasso_design *design);

/* Repeats row i `times[i]` times (integers >= 0); the caller frees the
 * design. */
lasso_design lasso_design_repeated(const lasso_design *design,
                                   const double *times);

/* The design as a data set with labels y: by columns, in the given layout, or
 * by any options. The caller frees it. */
strads_err lasso_design_data(const lasso_design *design, uint32_t partitions,
                             strads_data **out);
strads_err lasso_design_lay(const lasso_design *design, uint32_t partitions,
                            strads_layout layout, strads_data **out);
strads_err lasso_design_cut(const lasso_design *design,
                            const strads_data_options *options,
                            strads_data **out);

static inline double *lasso_design_col(const lasso_design *design, uint64_t j)
{
    return design->x + j * design->rows;
}

/* A fit of a linear model; the caller frees it. */
typedef struct linear_fit {
    strads_err err;
    strads_end end;
    uint32_t width; /* problems: 1, or one per class if there are more than
                     * two */
    double *w;      /* [(cols + 1) x width], the intercepts last */
    double intercept, lambda, lambda_max, objective, gap; /* b of the first
                                                           * problem */
    uint64_t nonzeros, updates_policy, updates_other;
} linear_fit;

/* Runs glm, a program that is glm under other options, or logistic-dual, on
 * a design. `engine` may be NULL: one worker, two partitions, deterministic.
 * Its size is filled in; partitions 0 means 2, tolerance 0 means `tolerance`.
 */
linear_fit linear_fit_run(const lasso_design *design,
                          const strads_program *program, const void *options,
                          double tolerance,
                          const strads_engine_options *engine);
void linear_fit_free(linear_fit *fit);

/* x_i'w + b for a row of a design. */
double linear_fit_value_at(const linear_fit *fit, const lasso_design *design,
                           uint64_t row);

/* The fit at a point of a path, as dense coefficients. Its err is
 * STRADS_EMISMATCH if they are not in order. */
linear_fit linear_fit_at(const strads_path_point *point, uint64_t cols);

/* Runs the Lasso. `engine` may be NULL: one worker, two partitions,
 * deterministic, gap 1e-12. Its size is filled in; partitions 0 means 2,
 * tolerance 0 means 1e-12. */
linear_fit lasso_design_fit(const lasso_design *design,
                            const strads_lasso_options *options,
                            const strads_engine_options *engine);

/* The largest absolute difference between the coefficients of two fits. */
double lasso_distance(const lasso_design *design, const double *v,
                      const double *w);

#endif
