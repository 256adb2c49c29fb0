/* The logistic regression on several threads: for ThreadSanitizer, which cannot
 * run under Criterion. Every run must reach the objective of one worker. */
#include <math.h>
#include <stdio.h>

#include "tests/logistic_design.h"

static const lasso_recipe recipes[] = {
    {.rows = 120, .cols = 90, .seed = 1, .density = .3, .noise = .5},
    {.rows = 600, .cols = 800, .seed = 2, .density = .02, .noise = .5},
};

static int check(const lasso_design *design,
                 const strads_logistic_options *options)
{
    const strads_engine_options one = {.workers = 1, .tolerance = 1e-4};
    logistic_fit first = logistic_design_fit(design, options, &one);
    int wrong = first.err != STRADS_OK;

    for (uint32_t depth = 0; depth <= 2 && !wrong; depth++) {
        const strads_engine_options engine = {.workers = 4,
                                              .partitions = 5,
                                              .depth = depth,
                                              .blocks = 1 + depth,
                                              .tolerance = 1e-4};
        logistic_fit fit = logistic_design_fit(design, options, &engine);
        wrong = fit.err != STRADS_OK ||
                fabs(fit.objective - first.objective) > 2e-4 * first.objective;
        if (wrong)
            fprintf(stderr, "depth %u: error %d (%s), %.12g for %.12g\n", depth,
                    (int)fit.err, strads_error_text(), fit.objective,
                    first.objective);
        logistic_fit_free(&fit);
    }
    logistic_fit_free(&first);
    return wrong;
}

int main(void)
{
    const strads_logistic_options options = {.lambda_ratio = .02,
                                             .l1_ratio = 1,
                                             .intercept = true};
    int wrong = 0;

    for (size_t k = 0; k < sizeof(recipes) / sizeof(recipes[0]); k++) {
        lasso_design design = logistic_design_random(&recipes[k]);
        wrong |= check(&design, &options);
        lasso_design_free(&design);
    }
    return wrong;
}
