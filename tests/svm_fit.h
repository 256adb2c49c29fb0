/* tests/svm_fit.h - fits of SVMs through the engine, and their objectives,
 * computed independently from the definition, loss by loss, without
 * apps/glm_dual. */
#ifndef TESTS_SVM_FIT_H
#define TESTS_SVM_FIT_H

#include "strads/svm.h"
#include "tests/lasso_design.h"

/* A fit; the caller frees it. */
typedef struct svm_fit {
    strads_err err;
    strads_end end;
    uint32_t width; /* problems: 1, or one per class if there are more than
                     * two */
    double *w;      /* [(cols + 1) x width], the bias last */
    double *b;      /* [rows x width] dual values */
    double objective, gap, intercept;
    double intercepts[8]; /* of the first problems */
    uint64_t supports, rounds, updates_policy, updates_other;
    char classes[64]; /* in the run's order */
} svm_fit;

/* Fits the design's y. `engine` may be NULL: one worker, two partitions,
 * deterministic, gap 1e-10. Its size is filled in; partitions 0 means 2,
 * tolerance 0 means 1e-10. */
svm_fit svm_fit_run(const lasso_design *design,
                    const strads_svm_options *options,
                    const strads_engine_options *engine);
/* The fit from the result of a run on the design. */
svm_fit svm_fit_of(const lasso_design *design, const strads_result *result);
void svm_fit_free(svm_fit *fit);
/* One of several problems as a separate fit, with w and b only. */
svm_fit svm_fit_class(const lasso_design *design, const svm_fit *fit,
                      uint32_t k);

/* A design with labels -1 and 1: 1 if y is above its median. */
lasso_design svm_design_random(uint64_t rows, uint64_t cols, double density,
                               uint64_t seed);

/* The objectives of a fit: P at its w, and D at its b with the w of these b;
 * `broken` is the distance of b from its box. Labels are -1 and 1, or numbers;
 * weight NULL: all are 1. */
typedef struct svm_worth {
    double primal, dual, broken;
} svm_worth;
svm_worth svm_fit_worth(const lasso_design *design,
                        const strads_svm_options *options, const double *weight,
                        const svm_fit *fit);

#endif
