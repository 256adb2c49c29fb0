/* tests/logistic_design.h - fits of designs by the logistic program, and the
 * optimality conditions and the duality gap, written down once more from the
 * objective alone: nothing here looks into apps/glm. */
#ifndef TESTS_LOGISTIC_DESIGN_H
#define TESTS_LOGISTIC_DESIGN_H

#include "strads/glm.h"
#include "strads/logistic.h"
#include "tests/lasso_design.h"

/* A random design whose labels are 1 where a sparse combination of columns plus
 * noise is above its mean, and -1 elsewhere. */
lasso_design logistic_design_random(const lasso_recipe *recipe);

/* A random design of 90 rows with several labels, which are not 0 .. k - 1: a
 * row's label says where a combination of columns plus noise lies. */
enum { LOGISTIC_DESIGN_CLASSES = 4 };
extern const double logistic_design_label[LOGISTIC_DESIGN_CLASSES];
lasso_design logistic_design_classes(uint64_t cols, double density);

/* What a run of the logistic program ended with, or of one whose options begin
 * with its own and whose states are its own. */
linear_take logistic_take;

/* Runs it. `engine` may be NULL: one worker, two partitions, deterministic.
 * Its size is filled in; partitions 0 means 2, tolerance 0 means 1e-10. */
linear_fit logistic_design_fit(const lasso_design *design,
                               const strads_logistic_options *options,
                               const strads_engine_options *engine);

/* How a design's rows count: the labels of the two classes, and the weight of
 * each row (NULL: 1). What class weights do is part of it. */
typedef struct logistic_view {
    double negative, positive;
    const double *c; /* [rows] or NULL */
} logistic_view;

/* By how much (w, b) misses the optimality conditions, relative to lambda. */
double logistic_violation(const lasso_design *design, const logistic_view *view,
                          const strads_logistic_options *options,
                          const linear_fit *fit);

/* The objective at (w, b). */
double logistic_value(const lasso_design *design, const logistic_view *view,
                      const strads_logistic_options *options,
                      const linear_fit *fit);

/* The relative duality gap at w, for fits without an intercept and with
 * l1_ratio 1: from the definition, with the losses' slopes scaled until all
 * columns are feasible. */
double logistic_gap(const lasso_design *design, const logistic_view *view,
                    const linear_fit *fit);

#endif
