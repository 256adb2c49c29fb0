/* The options of the Lasso: their table, their defaults, and what must hold
 * between them. The table checks what the command line and JSON say; structs
 * filled in by programs are checked here. */
#include "apps/linear/linear_options.h"
#include "lasso_path.h"

const strads_lasso_options lasso_defaults = {.l1_ratio = 1};

const strads_lasso_path_options lasso_path_defaults = {.fit = {.l1_ratio = 1},
                                                       .points = LINEAR_POINTS,
                                                       .ratio = 0.01};

#define ROWS_AFTER_LAMBDA                                                     \
    LINEAR_OPTION_L1_RATIO(                                                   \
        strads_lasso_options, LASSO_L1_RATIO_MIN,                             \
        "share of |w|_1 in the penalty, 1: Lasso (default 1)"),               \
        LINEAR_OPTION_INTERCEPT(strads_lasso_options),                        \
        LINEAR_OPTION_STANDARDIZE(strads_lasso_options, .rare = false),       \
        STRADS_OPTION(BOOL, strads_lasso_options, positive, "positive", NULL, \
                      "keep all coefficients at or above 0"),                 \
        LINEAR_OPTION_WEIGHTS(strads_lasso_options),                          \
    {                                                                         \
        .name = NULL                                                          \
    }

const strads_option lasso_option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_lasso_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(
        strads_lasso_options, "lambda as a share of lambda_max (default 0.01)"),
    ROWS_AFTER_LAMBDA};

_Static_assert(offsetof(strads_lasso_path_options, fit) == 0,
               "the options of a path begin with those of a fit");

const strads_option lasso_path_option_table[] = {LINEAR_PATH_OPTIONS(
                                                     strads_lasso_path_options),
                                                 ROWS_AFTER_LAMBDA};

strads_err lasso_options_resolve(const strads_lasso_options *given,
                                 strads_lasso_options *out)
{
    strads_lasso_options o = *given;
    strads_err err;

    if ((err = linear_check_number("lambda", o.lambda, DBL_MAX)) ||
        (err = linear_check_number("lambda-ratio", o.lambda_ratio, DBL_MAX)) ||
        (err = linear_check_number("l1-ratio", o.l1_ratio, 1)))
        return err;
    if (o.lambda > 0 && o.lambda_ratio > 0)
        return strads_fail(STRADS_EINVAL,
                           "both lambda (%g) and lambda-ratio (%g) are given; "
                           "give one of them",
                           o.lambda, o.lambda_ratio);
    if (o.l1_ratio > 0 && o.l1_ratio < LASSO_L1_RATIO_MIN)
        return strads_fail(STRADS_EINVAL,
                           "l1-ratio is %g; it must be at least %g (a ridge "
                           "regression is not a Lasso)",
                           o.l1_ratio, LASSO_L1_RATIO_MIN);
    if (o.l1_ratio == 0)
        o.l1_ratio = 1;
    if (o.lambda == 0 && o.lambda_ratio == 0)
        o.lambda_ratio = 0.01;
    *out = o;
    return STRADS_OK;
}
