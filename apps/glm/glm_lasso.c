/* The Lasso and the elastic net, their paths and their cross-validation, as
 * strads/lasso.h has them: glm under other options. */
#include <strads/lasso.h>

#include "apps/linear/linear_options.h"
#include "glm_parts.h"

static strads_glm_options of_numbers(const strads_lasso_options *o)
{
    return (strads_glm_options){.loss = "squared",
                                .penalty = "elastic-net",
                                .lambda = o->lambda,
                                .lambda_ratio = o->lambda_ratio,
                                .l1_ratio = o->l1_ratio == 0 ? 1 : o->l1_ratio,
                                .upper = o->positive ? DBL_MAX : 0,
                                .intercept = o->intercept,
                                .standardize = o->standardize,
                                .weights = o->weights,
                                .row_weight = o->row_weight};
}

/* ---- a fit ---------------------------------------------------------------- */

static const strads_lasso_options defaults = {.l1_ratio = 1};

#define ROWS_AFTER_LAMBDA                                                     \
    LINEAR_OPTION_L1_RATIO(                                                   \
        strads_lasso_options, 1e-3,                                           \
        "share of |w|_1 in the penalty, 1: Lasso (default 1)"),               \
        LINEAR_OPTION_INTERCEPT(strads_lasso_options),                        \
        LINEAR_OPTION_STANDARDIZE(strads_lasso_options, .rare = false),       \
        STRADS_OPTION(BOOL, strads_lasso_options, positive, "positive", NULL, \
                      "keep all coefficients at or above 0"),                 \
        LINEAR_OPTION_WEIGHTS(strads_lasso_options),                          \
    {                                                                         \
        .name = NULL                                                          \
    }

static const strads_option option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_lasso_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(
        strads_lasso_options, "lambda as a share of lambda_max (default 0.01)"),
    ROWS_AFTER_LAMBDA};

static strads_err resolve(const void *config, glm_problem *out)
{
    const strads_glm_options fit = of_numbers(config ? config : &defaults);

    return glm_options_resolve(&fit, out);
}

GLM_FIT(resolve)

const strads_program strads_program_lasso = {
    GLM_FIT_PROGRAM,
    .name = "lasso",
    .summary = "least squares with an L1 penalty, or the elastic net",
    .options = option_table,
    .config_size = sizeof(strads_lasso_options),
    .defaults = &defaults};

/* ---- a path --------------------------------------------------------------- */

static const strads_lasso_path_options path_defaults = {.fit = {.l1_ratio = 1},
                                                        .points = LINEAR_POINTS,
                                                        .ratio = .01};

_Static_assert(offsetof(strads_lasso_path_options, fit) == 0,
               "the options of a path begin with those of a fit");

static const strads_option path_option_table[] = {
    LINEAR_PATH_OPTIONS(strads_lasso_path_options), ROWS_AFTER_LAMBDA};

static strads_err path_of(const void *config, strads_glm_path_options *out)
{
    const strads_lasso_path_options *o = config;

    *out =
        (strads_glm_path_options){.fit = of_numbers(&o->fit), GLM_LAMBDAS(o)};
    return STRADS_OK;
}

GLM_PATH(path_of)

const strads_program strads_program_lasso_path = {
    GLM_PATH_PROGRAM,
    .name = "lasso-path",
    .summary = "the same for one lambda after the other",
    .options = path_option_table,
    .config_size = sizeof(strads_lasso_path_options),
    .defaults = &path_defaults};

/* ---- results and cross-validation ----------------------------------------- */

GLM_CV(lasso, path_of)
