/* The Lasso and logistic regression on several threads, with rounds in flight,
 * through a set's pairs, through the data and in the dual, and folds of a
 * cross-validation at once: for ThreadSanitizer, under
 * which the suites take minutes. Every run must reach the objective of one worker. */
#include <math.h>
#include <stdio.h>

#include "tests/logistic_design.h"

static linear_fit fit_lasso(const lasso_design *design, const void *options,
                            const strads_engine_options *engine)
{
    return lasso_design_fit(design, options, engine);
}

static linear_fit fit_logistic(const lasso_design *design, const void *options,
                               const strads_engine_options *engine)
{
    return logistic_design_fit(design, options, engine);
}

static const lasso_recipe small = {
    .rows = 120, .cols = 90, .seed = 1, .density = .3, .noise = .5};
static const lasso_recipe sparse = {
    .rows = 600, .cols = 800, .seed = 2, .density = .02, .noise = .5};
/* Its working set grows so large and sparse that its blocks go through the
 * data. Without squares in its penalty it would take minutes under
 * ThreadSanitizer. */
static const lasso_recipe large = {
    .rows = 2000, .cols = 2400, .seed = 2, .density = .004, .noise = .5};

static const strads_lasso_options lasso = {.lambda_ratio = .02,
                                           .intercept = true};
static const strads_lasso_options elastic = {.lambda_ratio = .01,
                                             .l1_ratio = .1,
                                             .intercept = true};
static const strads_logistic_options logistic = {.lambda_ratio = .02,
                                                 .l1_ratio = 1,
                                                 .intercept = true};

static const struct {
    lasso_design (*design)(const lasso_recipe *recipe);
    const lasso_recipe *recipe;
    linear_fit (*fit)(const lasso_design *design, const void *options,
                      const strads_engine_options *engine);
    const void *options;
    double tolerance;
} cases[] = {
    {lasso_design_random, &small, fit_lasso, &lasso, 1e-3},
    {lasso_design_random, &large, fit_lasso, &elastic, 1e-3},
    {logistic_design_random, &small, fit_logistic, &logistic, 1e-4},
    {logistic_design_random, &sparse, fit_logistic, &logistic, 1e-4},
};

static int check(size_t k)
{
    const double tolerance = cases[k].tolerance;
    const strads_engine_options one = {.workers = 1, .tolerance = tolerance};
    lasso_design design = cases[k].design(cases[k].recipe);
    linear_fit first = cases[k].fit(&design, cases[k].options, &one);
    int wrong = first.err != STRADS_OK;

    for (uint32_t depth = 0; depth <= 2 && !wrong; depth++) {
        const strads_engine_options engine = {.workers = 4,
                                              .partitions = 5,
                                              .depth = depth,
                                              .blocks = 1 + depth,
                                              .tolerance = tolerance};
        linear_fit fit = cases[k].fit(&design, cases[k].options, &engine);
        wrong = fit.err != STRADS_OK || fabs(fit.objective - first.objective) >
                                            2 * tolerance * first.objective;
        if (wrong)
            fprintf(stderr,
                    "case %zu, depth %u: error %d (%s), %.12g for "
                    "%.12g\n",
                    k, depth, (int)fit.err, strads_error_text(), fit.objective,
                    first.objective);
        linear_fit_free(&fit);
    }
    linear_fit_free(&first);
    lasso_design_free(&design);
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

static int check_dual(const lasso_recipe *recipe)
{
    lasso_design design = logistic_design_random(recipe);
    strads_data *data = NULL;
    int wrong = lasso_design_lay(&design, 4, STRADS_LAYOUT_ROWS, &data) != 0;
    const double one = wrong ? NAN : end_dual(data, 1);

    if (!wrong && !(fabs(end_dual(data, 4) - one) <= 2e-5 * one)) {
        fprintf(stderr, "the dual on 4 workers: %s\n", strads_error_text());
        wrong = 1;
    }
    strads_data_free(data);
    lasso_design_free(&design);
    return wrong;
}

static int check_folds(const lasso_recipe *recipe)
{
    lasso_design design = logistic_design_random(recipe);
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
    int wrong = lasso_design_data(&design, 2, &data) != 0 ||
                strads_logistic_cv(data, &options, points, &best, &simplest);

    if (wrong)
        fprintf(stderr, "folds: %s\n", strads_error_text());
    strads_data_free(data);
    lasso_design_free(&design);
    return wrong;
}

int main(void)
{
    int wrong = check_dual(&small) | check_dual(&sparse) | check_folds(&small);

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        wrong |= check(k);
    return wrong;
}
