/* Least squares and logistic regression on several threads, with rounds in
 * flight, through a set's pairs, through the data and in the dual, and folds of
 * a cross-validation at once: for ThreadSanitizer, under which the suites take
 * minutes. Every run must reach the objective of one worker. */
#include <math.h>
#include <stdio.h>

#include "tests/glm_design.h"

static const lasso_recipe small = {
    .rows = 120, .cols = 90, .seed = 1, .density = .3, .noise = .5};
static const lasso_recipe sparse = {
    .rows = 600, .cols = 800, .seed = 2, .density = .02, .noise = .5};
/* Its working set grows so large and sparse that its blocks go through the
 * data. Without squares in its penalty it would take minutes under
 * ThreadSanitizer. */
static const lasso_recipe large = {
    .rows = 2000, .cols = 2400, .seed = 2, .density = .004, .noise = .5};

static const struct {
    const lasso_recipe *recipe;
    strads_glm_options options;
    double tolerance;
} cases[] = {
    {&small, {.loss = "squared", .lambda_ratio = .02, .intercept = true}, 1e-3},
    {&large,
     {.loss = "squared",
      .penalty = "elastic-net",
      .lambda_ratio = .01,
      .l1_ratio = .1,
      .intercept = true},
     1e-3},
    {&small,
     {.loss = "logistic", .lambda_ratio = .02, .intercept = true},
     1e-4},
    {&sparse,
     {.loss = "logistic", .lambda_ratio = .02, .intercept = true},
     1e-4},
};

static int check(size_t k)
{
    const double tolerance = cases[k].tolerance;
    const strads_engine_options one = {.workers = 1, .tolerance = tolerance};
    const strads_glm_options *o = &cases[k].options;
    lasso_design design = glm_design_random(cases[k].recipe, o->loss);
    linear_fit first = glm_design_fit(&design, o, &one);
    int wrong = first.err != STRADS_OK;

    for (uint32_t partitions = 4; partitions <= 6 && !wrong; partitions++) {
        const strads_engine_options engine = {.workers = 4,
                                              .partitions = partitions,
                                              .tolerance = tolerance};
        linear_fit fit = glm_design_fit(&design, o, &engine);
        wrong = fit.err != STRADS_OK || fabs(fit.objective - first.objective) >
                                            2 * tolerance * first.objective;
        if (wrong)
            fprintf(stderr,
                    "case %zu, %u partitions: error %d (%s), %.12g for "
                    "%.12g\n",
                    k, partitions, (int)fit.err, strads_error_text(),
                    fit.objective, first.objective);
        linear_fit_free(&fit);
    }
    linear_fit_free(&first);
    lasso_design_free(&design);
    return wrong;
}

static int check_dual(const lasso_recipe *recipe)
{
    const strads_logistic_options options = {.c = 1};
    const strads_engine_options one = {.partitions = 4, .workers = 1},
                                four = {.partitions = 4, .workers = 4};
    lasso_design design = glm_design_random(recipe, "logistic");
    linear_fit first = linear_fit_run(&design, &strads_program_logistic_dual,
                                      &options, 1e-5, &one);
    linear_fit fit = linear_fit_run(&design, &strads_program_logistic_dual,
                                    &options, 1e-5, &four);
    const int wrong =
        first.err || fit.err ||
        fabs(fit.objective - first.objective) > 2e-5 * first.objective;

    if (wrong)
        fprintf(stderr, "the dual on 4 workers: %s\n", strads_error_text());
    linear_fit_free(&first);
    linear_fit_free(&fit);
    lasso_design_free(&design);
    return wrong;
}

static int check_folds(const lasso_recipe *recipe)
{
    lasso_design design = glm_design_random(recipe, "logistic");
    const strads_glm_cv_options options = {.path = {.fit = {.loss = "logistic"},
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
                strads_glm_cv(data, &options, points, &best, &simplest);

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
