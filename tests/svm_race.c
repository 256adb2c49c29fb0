/* For ThreadSanitizer: SVMs on several threads that work on each other's
 * rows; the test suites would take minutes under it. Every run must reach the
 * objective of one worker. */
#include <math.h>
#include <stdio.h>

#include "tests/svm_fit.h"

static int check_with(const lasso_design *design, strads_svm_options options)
{
    const char *loss = options.loss;
    const strads_engine_options one = {.workers = 1, .tolerance = 1e-5};
    svm_fit first = svm_fit_run(design, &options, &one);
    int wrong = first.err != STRADS_OK;

    for (uint32_t pools = 1; pools <= 5 && !wrong; pools += 2) {
        const strads_engine_options engine = {.workers = 4,
                                              .partitions = 5,
                                              .pools = pools,
                                              .tolerance = 1e-5};
        svm_fit fit = svm_fit_run(design, &options, &engine);
        wrong = fit.err != STRADS_OK ||
                fabs(fit.objective - first.objective) > 2e-5 * first.objective;
        if (wrong)
            fprintf(stderr, "%s, %u pools: error %d (%s), %.12g for %.12g\n",
                    loss, pools, (int)fit.err, strads_error_text(),
                    fit.objective, first.objective);
        svm_fit_free(&fit);
    }
    svm_fit_free(&first);
    return wrong;
}

static int check(const lasso_design *design, const char *loss)
{
    return check_with(design, (strads_svm_options){.loss = loss, .bias = 1});
}

int main(void)
{
    lasso_design three = svm_design_random(150, 20, .5, 5);
    lasso_design narrow = svm_design_random(150, 20, .5, 1);
    lasso_design wide = svm_design_random(200, 1300, .05, 2);
    lasso_design few = svm_design_random(60, 1300, .3, 4);
    lasso_design large = svm_design_random(1400, 1250, .6, 3);
    for (uint64_t i = 0; i < three.rows; i++)
        three.y[i] = (double)(i % 3);
    const int wrong =
        check_with(&three,
                   (strads_svm_options){.loss = "hinge", .standardize = true}) |
        check(&three, "squared-hinge") | check(&large, "squared-hinge") |
        check(&few, "hinge") | check(&narrow, "hinge") |
        check(&narrow, "epsilon") | check(&wide, "hinge") |
        check(&wide, "squared-hinge");

    lasso_design_free(&three);
    lasso_design_free(&narrow);
    lasso_design_free(&wide);
    lasso_design_free(&large);
    lasso_design_free(&few);
    return wrong;
}
