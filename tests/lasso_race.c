/* The Lasso on several threads, with rounds in flight, through the set's pairs
 * and through the data: for ThreadSanitizer, which cannot run under Criterion.
 * Every run must reach the objective of one worker. */
#include <math.h>
#include <stdio.h>

#include "tests/lasso_design.h"

/* A small design, which is solved through its pairs, and one whose working set
 * grows so large and sparse that its blocks go through the data. Without
 * squares in its penalty it would take minutes under ThreadSanitizer. */
static const struct {
    lasso_recipe recipe;
    strads_lasso_options options;
} cases[] = {
    {{.rows = 120, .cols = 90, .seed = 1, .density = .3, .noise = .5},
     {.lambda_ratio = .02, .intercept = true}},
    {{.rows = 2000, .cols = 2400, .seed = 2, .density = .004, .noise = .5},
     {.lambda_ratio = .01, .l1_ratio = .1, .intercept = true}},
};

static int check(const lasso_design *design,
                 const strads_lasso_options *options)
{
    const strads_engine_options one = {.workers = 1, .tolerance = 1e-3};
    linear_fit first = lasso_design_fit(design, options, &one);
    int wrong = first.err != STRADS_OK;

    for (uint32_t depth = 0; depth <= 2 && !wrong; depth++) {
        const strads_engine_options engine = {.workers = 4,
                                              .partitions = 5,
                                              .depth = depth,
                                              .blocks = 1 + depth,
                                              .tolerance = 1e-3};
        linear_fit fit = lasso_design_fit(design, options, &engine);
        wrong = fit.err != STRADS_OK ||
                fabs(fit.objective - first.objective) > 2e-3 * first.objective;
        if (wrong)
            fprintf(stderr, "depth %u: error %d (%s), %.12g for %.12g\n", depth,
                    (int)fit.err, strads_error_text(), fit.objective,
                    first.objective);
        linear_fit_free(&fit);
    }
    linear_fit_free(&first);
    return wrong;
}

int main(void)
{
    int wrong = 0;

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        lasso_design design = lasso_design_random(&cases[k].recipe);
        wrong |= check(&design, &cases[k].options);
        lasso_design_free(&design);
    }
    return wrong;
}
