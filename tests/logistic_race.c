/* The logistic regression on several threads, by columns and in the dual, and
 * folds of a cross-validation at once: for ThreadSanitizer, which cannot run
 * under Criterion. Every run must reach the objective of one worker. */
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
    linear_fit first = logistic_design_fit(design, options, &one);
    int wrong = first.err != STRADS_OK;

    for (uint32_t depth = 0; depth <= 2 && !wrong; depth++) {
        const strads_engine_options engine = {.workers = 4,
                                              .partitions = 5,
                                              .depth = depth,
                                              .blocks = 1 + depth,
                                              .tolerance = 1e-4};
        linear_fit fit = logistic_design_fit(design, options, &engine);
        wrong = fit.err != STRADS_OK ||
                fabs(fit.objective - first.objective) > 2e-4 * first.objective;
        if (wrong)
            fprintf(stderr, "depth %u: error %d (%s), %.12g for %.12g\n", depth,
                    (int)fit.err, strads_error_text(), fit.objective,
                    first.objective);
        linear_fit_free(&fit);
    }
    linear_fit_free(&first);
    return wrong;
}

/* The objective that the dual ends at, or NaN. */
static double end_dual(const strads_data *data, uint32_t workers)
{
    const strads_logistic_options options = {.c = 1};
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = 4,
                                          .tolerance = 1e-5};
    strads_result *result = NULL;
    const strads_err err = strads_run(&strads_program_logistic_dual, &options,
                                      data, &engine, &result);
    const double objective =
        err ? NAN : strads_result_progress(result)->objective;

    strads_result_free(result);
    return objective;
}

static int check_dual(const lasso_design *design)
{
    strads_data *data = NULL;
    int wrong = lasso_design_lay(design, 4, STRADS_LAYOUT_ROWS, &data) != 0;
    const double one = wrong ? NAN : end_dual(data, 1);

    if (!wrong && !(fabs(end_dual(data, 4) - one) <= 2e-5 * one)) {
        fprintf(stderr, "the dual on 4 workers: %s\n", strads_error_text());
        wrong = 1;
    }
    strads_data_free(data);
    return wrong;
}

static int check_folds(const lasso_design *design)
{
    const strads_logistic_cv_options options = {.path = {.fit = {.l1_ratio = 1},
                                                         .points = 4,
                                                         .ratio = .3,
                                                         .first = .02},
                                                .folds = 5,
                                                .threads = 3,
                                                .tolerance = 1e-3};
    strads_cv_point points[4];
    uint32_t best, simplest;
    strads_data *data = NULL;
    int wrong = lasso_design_data(design, 2, &data) != 0 ||
                strads_logistic_cv(data, &options, points, &best, &simplest);

    if (wrong)
        fprintf(stderr, "folds: %s\n", strads_error_text());
    strads_data_free(data);
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
        wrong |= check_dual(&design);
        wrong |= k == 0 && check_folds(&design);
        lasso_design_free(&design);
    }
    return wrong;
}
