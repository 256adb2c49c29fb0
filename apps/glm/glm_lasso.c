/* The Lasso and the elastic net, and their paths, as declared in
 * strads/lasso.h: glm under other options. */
#include <float.h>

#include <strads/lasso.h>

#include "apps/linear/linear_options.h"
#include "glm_parts.h"

/* ---- a fit --------------------------------------------------------------- */

const strads_glm_options glm_lasso_defaults = {.loss = "squared",
                                               .penalty = "elastic-net",
                                               .l1_ratio = 1};

#define ROWS_AFTER_LAMBDA                                                   \
    LINEAR_OPTION_L1_RATIO(                                                 \
        strads_glm_options, 1e-3,                                           \
        "share of |w|_1 in the penalty, 1: Lasso (default: 1)"),            \
        LINEAR_OPTION_INTERCEPT(strads_glm_options),                        \
        LINEAR_OPTION_STANDARDIZE(strads_glm_options, .rare = false),       \
        STRADS_OPTION(BOOL, strads_glm_options, positive, "positive", NULL, \
                      "keep all coefficients at or above 0"),               \
        LINEAR_OPTION_WEIGHTS(strads_glm_options),                          \
    {                                                                       \
        .name = NULL                                                        \
    }

const strads_option glm_lasso_option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_glm_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(
        strads_glm_options, "lambda as a share of lambda_max (default: 0.01)"),
    GLM_OPTION_CUT(strads_glm_options), ROWS_AFTER_LAMBDA};

/* Uses only the options of the table, because other nodes receive only
 * these. */
strads_err glm_lasso_resolve(const void *config, glm_problem *out)
{
    const strads_glm_options *given = config ? config : &glm_lasso_defaults;
    strads_glm_options o = glm_lasso_defaults;

    o.lambda = given->lambda;
    o.lambda_ratio = given->lambda_ratio;
    o.l1_ratio = given->l1_ratio == 0 ? 1 : given->l1_ratio;
    o.intercept = given->intercept;
    o.standardize = given->standardize;
    o.positive = given->positive;
    o.weights = given->weights;
    o.row_weight = given->row_weight;
    o.penalty_factor = given->penalty_factor; /* the coordinator's */
    o.cut = given->cut;
    return glm_options_resolve(&o, out);
}

GLM_FIT(glm_lasso_resolve)

const strads_program strads_program_lasso = {
    GLM_FIT_PROGRAM,
    .name = "lasso",
    .summary = "least squares with an L1 penalty, or the elastic net",
    .options = glm_lasso_option_table,
    .config_size = sizeof(strads_glm_options),
    .defaults = &glm_lasso_defaults};

/* ---- a path -------------------------------------------------------------- */

const strads_glm_path_options glm_lasso_path_defaults =
    GLM_PATH_DEFAULTS("squared");

static const strads_option path_option_table[] = {
    GLM_PATH_OPTIONS, GLM_OPTION_CUT(strads_glm_options), ROWS_AFTER_LAMBDA};

const strads_option glm_lasso_path_columns_table[] = {
    GLM_PATH_OPTIONS, GLM_OPTION_CUT(strads_glm_options), GLM_FOLD_OPTIONS,
    ROWS_AFTER_LAMBDA};

const strads_program strads_program_lasso_path = {
    GLM_PATH_PROGRAM,
    .name = "lasso-path",
    .summary = "the same for one lambda after the other",
    .options = path_option_table,
    .config_size = sizeof(strads_glm_path_options),
    .defaults = &glm_lasso_path_defaults};
