/* tests/glm_design.h - fits of designs by the glm program, and their objective
 * and optimality conditions, written down once more from docs/glm.md alone. */
#ifndef TESTS_GLM_DESIGN_H
#define TESTS_GLM_DESIGN_H

#include "strads/glm.h"
#include "tests/lasso_design.h"

/* A random design whose labels suit the loss: numbers, counts, or two classes,
 * 1 where the combination of columns is above its mean and else 0. */
lasso_design glm_design_random(const lasso_recipe *recipe, const char *loss);

/* What a run of the program ended with. */
linear_take glm_take;

/* Runs it. `engine` may be NULL: one worker, two partitions, deterministic.
 * partitions 0 means 2, tolerance 0 means 1e-10. */
linear_fit glm_design_fit(const lasso_design *design,
                          const strads_glm_options *options,
                          const strads_engine_options *engine);

/* The objective at a fit's lambda and at w, b. Two classes are 0 and 1. */
double glm_value(const lasso_design *design, const strads_glm_options *options,
                 const linear_fit *fit);

/* By how much (w, b) misses the optimality conditions: the largest distance of
 * a slope from the subgradients, relative to lambda and to how large slopes of
 * such columns can be. */
double glm_violation(const lasso_design *design,
                     const strads_glm_options *options, const linear_fit *fit);

#endif
