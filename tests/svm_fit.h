/* tests/svm_fit.h - fits of SVMs through the engine, and what they are worth,
 * written down once more from the objective alone, loss by loss: nothing here
 * looks into apps/glm_dual. */
#ifndef TESTS_SVM_FIT_H
#define TESTS_SVM_FIT_H

#include "strads/svm.h"
#include "tests/lasso_design.h"

/* A fit, to be freed. */
typedef struct svm_fit {
    strads_err err;
    strads_end end;
    uint32_t width; /* problems: 1, or one a class of more than two */
    double *w;      /* [(cols + 1) x width], the bias's last */
    double *b;      /* [rows x width] dual values */
    double objective, gap, intercept;
    double intercepts[8]; /* of the first problems */
    uint64_t supports, rounds, updates_policy, updates_other;
    char classes[64]; /* as the run took them */
} svm_fit;

/* Runs it on the design's y. `engine` may be NULL: one worker, two partitions,
 * deterministic, gap 1e-10. Its size is filled in; partitions 0 means 2,
 * tolerance 0 means 1e-10. */
svm_fit svm_fit_run(const lasso_design *design,
                    const strads_svm_options *options,
                    const strads_engine_options *engine);
/* What a run on the design has ended with. */
svm_fit svm_fit_of(const lasso_design *design, const strads_result *result);
void svm_fit_free(svm_fit *fit);
/* One of several problems as a fit of its own, with w and b alone. */
svm_fit svm_fit_class(const lasso_design *design, const svm_fit *fit,
                      uint32_t k);

/* A design with labels -1 and 1: the sign of y above its median. */
lasso_design svm_design_random(uint64_t rows, uint64_t cols, double density,
                               uint64_t seed);

/* What the fit is worth: P at its w, and D at its b, with the w that belongs to
 * them; `broken` is by how much b leaves its box. Labels are -1 and 1, or
 * numbers; weight NULL: all are 1. */
typedef struct svm_worth {
    double primal, dual, broken;
} svm_worth;
svm_worth svm_fit_worth(const lasso_design *design,
                        const strads_svm_options *options, const double *weight,
                        const svm_fit *fit);

#endif
