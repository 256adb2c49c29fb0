/* tests/glm_design.h - fits of designs by the glm program, and their objective
 * and optimality conditions, written down once more from docs/glm.md alone. */
#ifndef TESTS_GLM_DESIGN_H
#define TESTS_GLM_DESIGN_H

#include "strads/glm.h"
#include "strads/logistic.h"
#include "tests/lasso_design.h"

/* A random design with labels that suit the loss: numbers, counts, or two
 * classes, 1 where the combination of columns is above its mean and else 0. */
lasso_design glm_design_random(const lasso_recipe *recipe, const char *loss);

/* A random design of 90 rows with several labels, which are not 0 .. k - 1: a
 * row's label is the range of a combination of columns plus noise. */
enum { LOGISTIC_DESIGN_CLASSES = 4 };
extern const double logistic_design_label[LOGISTIC_DESIGN_CLASSES];
lasso_design logistic_design_classes(uint64_t cols, double density);

/* Runs it; or logistic. `engine` may be NULL: one worker, two partitions,
 * deterministic. partitions 0 means 2, tolerance 0 means 1e-10. */
linear_fit glm_design_fit(const lasso_design *design,
                          const strads_glm_options *options,
                          const strads_engine_options *engine);
linear_fit logistic_design_fit(const lasso_design *design,
                               const strads_logistic_options *options,
                               const strads_engine_options *engine);

/* Options with the same objective as these, for the oracles below: lambda is
 * the fit's, and weights of classes and of files are the caller's to
 * multiply into row_weight. */
strads_glm_options glm_of_logistic(const strads_logistic_options *options,
                                   const char *loss);

/* The objective at a fit's lambda and at w, b. Of two classes one is
 * above 0. */
double glm_value(const lasso_design *design, const strads_glm_options *options,
                 const linear_fit *fit);

/* By how much (w, b) misses the optimality conditions: the largest distance of
 * a slope from the subgradients, relative to lambda and to how large slopes of
 * such columns can be. */
double glm_violation(const lasso_design *design,
                     const strads_glm_options *options, const linear_fit *fit);

/* The same relative to lambda alone; not of groups. */
double glm_miss(const lasso_design *design, const strads_glm_options *options,
                const linear_fit *fit);

#endif
