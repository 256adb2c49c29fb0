/* tests/linear_case.h - every linear program with an objective of its own, in
 * one table, and a verdict on a run of it from the objective alone: nothing
 * here looks into apps.
 *
 *     P(w, b) = a sum_i loss(y_i, x_i'w + b) + l1 |w|_1 + l2/2 |w|^2 */
#ifndef TESTS_LINEAR_CASE_H
#define TESTS_LINEAR_CASE_H

#include <criterion/criterion.h>

#include "strads/glm.h"
#include "strads/logistic.h"
#include "strads/svm.h"
#include "tests/lasso_design.h"

typedef enum linear_loss {
    LINEAR_SQUARE, /* (y - z)^2 / 2 */
    LINEAR_LOGISTIC,
    LINEAR_SOFTMAX,
    LINEAR_SQUARED_HINGE,
    LINEAR_SQUARED_EPSILON,
    LINEAR_KINK /* hinge, epsilon: not smooth, judged by both bounds */
} linear_loss;

/* Which functions read a run's state. */
typedef enum linear_family {
    LINEAR_GLM, /* and the presets of glm */
    LINEAR_PATH,
    LINEAR_DUAL, /* logistic-dual */
    LINEAR_SVM
} linear_family;

/* What a design's labels have to be. */
typedef enum linear_target {
    LINEAR_NUMBERS,
    LINEAR_TWO,  /* -1 and 1 */
    LINEAR_THREE /* 0, 1, 2 */
} linear_target;

typedef struct linear_case {
    const char *name;
    const strads_program *program;
    const void *options;
    linear_family family;
    linear_loss loss;
    linear_target target;
    const strads_glm_options *glm; /* the penalty and the intercept, or .. */
    const strads_svm_options *svm; /* .. of LINEAR_SVM, where l2 is 1 */
} linear_case;

extern const linear_case linear_cases[];
extern const size_t linear_cases_count;

/* A result held against the objective; of a path the worst of its points. */
typedef struct linear_verdict {
    double off;  /* |P - the reported P| / P */
    double gain; /* the decrease of P that a change of a single number would
                    certainly bring, / P; of LINEAR_KINK (P - D) / P, where D is
                    computed from the dual values */
    double gap;  /* that it reports */
} linear_verdict;

/* `design` has the labels of `target`, whatever labels the run had. */
linear_verdict linear_case_judge(const linear_case *one,
                                 const lasso_design *design,
                                 const strads_result *result);

/* The design of a LIBSVM file, zeros written out. */
lasso_design linear_case_read(const char *path);

/* It converged, within `tolerance` by its own report and by its objective on
 * `design`. Frees the result. */
static inline void linear_expect_good(const linear_case *one,
                                      const lasso_design *design,
                                      strads_result *result, double tolerance,
                                      const char *what)
{
    const linear_verdict v = linear_case_judge(one, design, result);

    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "%s, %s: ended by %d, gap %g", one->name, what,
                 (int)strads_result_end(result), v.gap);
    cr_expect_leq(v.gap, tolerance, "%s, %s: gap %g", one->name, what, v.gap);
    cr_expect_leq(v.off, 1e-9, "%s, %s: P is off by %g", one->name, what,
                  v.off);
    cr_expect_leq(v.gain, 1.001 * tolerance,
                  "%s, %s: %g of P is left to be gained", one->name, what,
                  v.gain);
    strads_result_free(result);
}

#endif
