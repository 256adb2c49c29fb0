/* Logistic regression and its paths, as declared in strads/logistic.h: glm
 * under other options. */
#include <float.h>
#include <string.h>

#include <strads/logistic.h>

#include "apps/linear/linear_options.h"
#include "glm_parts.h"

strads_glm_options glm_of_classes(const strads_logistic_options *o,
                                  const char *loss)
{
    return (strads_glm_options){.loss = loss,
                                .penalty =
                                    o->l1_ratio == 0 ? "ridge" : "elastic-net",
                                .lambda = o->lambda,
                                .lambda_ratio = o->lambda_ratio,
                                .c = o->c,
                                .l1_ratio = o->l1_ratio,
                                .intercept = o->intercept,
                                .standardize = o->standardize,
                                .weights = o->weights,
                                .class_weight = o->class_weight,
                                .classes = o->classes,
                                .row_weight = o->row_weight,
                                .cut = o->cut,
                                .start_intercept = o->start_intercept};
}

/* ---- a fit --------------------------------------------------------------- */

const strads_logistic_options glm_logistic_defaults = {.l1_ratio = 1};

const strads_option glm_logistic_option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_logistic_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(
        strads_logistic_options,
        "share of lambda_max (default: 0.01; L2 alone: --c 1)"),
    STRADS_OPTION(F64, strads_logistic_options, c, "c", "C",
                  "lambda = 1 / (C x rows), as in liblinear (not given)",
                  .max = DBL_MAX),
    LINEAR_OPTION_L1_RATIO(
        strads_logistic_options, 0,
        "share of |w|_1 in the penalty; 0: L2 alone (default: 1)"),
    STRADS_OPTION(STRING, strads_logistic_options, multiclass, "multiclass",
                  "HOW",
                  "several labels: ovr, one against the rest; softmax (ovr)",
                  .choices = "ovr|softmax"),
    GLM_OPTION_CUT(strads_logistic_options),
    LINEAR_CLASS_OPTIONS(strads_logistic_options)};

strads_err glm_logistic_resolve(const void *config, glm_problem *out)
{
    const strads_logistic_options *o = config ? config : &glm_logistic_defaults;
    const char *how = o->multiclass && *o->multiclass ? o->multiclass : "ovr";
    const bool softmax = strcmp(how, "softmax") == 0;
    strads_glm_options fit =
        glm_of_classes(o, softmax ? "multinomial" : "logistic");

    if (!softmax && strcmp(how, "ovr") != 0)
        return strads_fail(STRADS_EINVAL,
                           "multiclass is \"%s\"; expected ovr or softmax",
                           how);
    if (o->l1_ratio == 0 && o->lambda == 0 && !signbit(o->lambda) &&
        o->lambda_ratio == 0 && o->c == 0)
        fit.c = 1;
    return glm_options_resolve(&fit, out);
}

GLM_FIT(glm_logistic_resolve)

const strads_program strads_program_logistic = {
    GLM_FIT_PROGRAM,
    .name = "logistic",
    .summary = "logistic regression with an L1 or L2 penalty, or both",
    .options = glm_logistic_option_table,
    .config_size = sizeof(strads_logistic_options),
    .defaults = &glm_logistic_defaults,
    .named_labels = linear_classes_named};

/* ---- a path -------------------------------------------------------------- */

const strads_glm_path_options glm_logistic_path_defaults =
    GLM_PATH_DEFAULTS("logistic");

#define PATH_ROWS_AFTER_LAMBDA                                            \
    LINEAR_OPTION_L1_RATIO(strads_glm_options, 1e-3,                      \
                           "share of |w|_1 in the penalty (default: 1)"), \
        LINEAR_CLASS_OPTIONS(strads_glm_options)

static const strads_option path_option_table[] = {GLM_PATH_OPTIONS,
                                                  GLM_OPTION_CUT(
                                                      strads_glm_options),
                                                  PATH_ROWS_AFTER_LAMBDA};

const strads_option glm_logistic_path_columns_table[] = {
    GLM_PATH_OPTIONS, GLM_OPTION_CUT(strads_glm_options), GLM_FOLD_OPTIONS,
    PATH_ROWS_AFTER_LAMBDA};

const strads_program strads_program_logistic_path = {
    GLM_PATH_PROGRAM,
    .name = "logistic-path",
    .summary = "logistic regression for one lambda after the other",
    .options = path_option_table,
    .config_size = sizeof(strads_glm_path_options),
    .defaults = &glm_logistic_path_defaults,
    .named_labels = linear_classes_named};
