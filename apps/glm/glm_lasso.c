/* The Lasso and the elastic net, and their paths, as strads/lasso.h has them: glm
 * under other options. */
#include <float.h>

#include <strads/lasso.h>

#include "apps/linear/linear_options.h"
#include "glm_parts.h"

/* ---- a fit ---------------------------------------------------------------- */

static const strads_lasso_options defaults = {.l1_ratio = 1};

#define ROWS_AFTER_LAMBDA(type)                                             \
    LINEAR_OPTION_L1_RATIO(                                                 \
        type, 1e-3, "share of |w|_1 in the penalty, 1: Lasso (default 1)"), \
        LINEAR_OPTION_INTERCEPT(type),                                      \
        LINEAR_OPTION_STANDARDIZE(type, .rare = false),                     \
        STRADS_OPTION(BOOL, type, positive, "positive", NULL,               \
                      "keep all coefficients at or above 0"),               \
        LINEAR_OPTION_WEIGHTS(type),                                        \
    {                                                                       \
        .name = NULL                                                        \
    }

static const strads_option option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_lasso_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(
        strads_lasso_options, "lambda as a share of lambda_max (default 0.01)"),
    ROWS_AFTER_LAMBDA(strads_lasso_options)};

static strads_err resolve(const void *config, glm_problem *out)
{
    const strads_lasso_options *o = config ? config : &defaults;
    const strads_glm_options fit = {.loss = "squared",
                                    .penalty = "elastic-net",
                                    .lambda = o->lambda,
                                    .lambda_ratio = o->lambda_ratio,
                                    .l1_ratio =
                                        o->l1_ratio == 0 ? 1 : o->l1_ratio,
                                    .positive = o->positive,
                                    .intercept = o->intercept,
                                    .standardize = o->standardize,
                                    .weights = o->weights,
                                    .row_weight = o->row_weight};

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

static const strads_glm_path_options path_defaults = {.fit = {.loss = "squared",
                                                              .penalty =
                                                                  "elastic-net",
                                                              .l1_ratio = 1,
                                                              .lower = -DBL_MAX,
                                                              .upper = DBL_MAX},
                                                      .points = GLM_POINTS,
                                                      .ratio = .01};

static const strads_option path_option_table[] = {GLM_PATH_OPTIONS,
                                                  ROWS_AFTER_LAMBDA(
                                                      strads_glm_options)};

const strads_program strads_program_lasso_path = {
    GLM_PATH_PROGRAM,
    .name = "lasso-path",
    .summary = "the same for one lambda after the other",
    .options = path_option_table,
    .config_size = sizeof(strads_glm_path_options),
    .defaults = &path_defaults};
