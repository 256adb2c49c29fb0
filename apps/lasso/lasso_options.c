/* The options of the Lasso: their table, their defaults, and what must hold
 * between them. The table checks what the command line and JSON say; structs
 * filled in by programs are checked here. */
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "apps/linear/linear_options.h"
#include "lasso_parts.h"

const strads_lasso_options lasso_defaults = {.l1_ratio = 1};

const strads_option lasso_option_table[] = {
    {.name = "lambda",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(strads_lasso_options, lambda),
     .metavar = "L",
     .help = "weight of the penalty; 0: by --lambda-ratio (default 0)",
     .min = 0,
     .max = DBL_MAX},
    {.name = "lambda-ratio",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(strads_lasso_options, lambda_ratio),
     .metavar = "R",
     .help = "lambda as a share of lambda_max (default 0.01)",
     .min = 0,
     .max = DBL_MAX},
    {.name = "l1-ratio",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(strads_lasso_options, l1_ratio),
     .metavar = "A",
     .help = "share of |w|_1 in the penalty, 1: Lasso (default 1)",
     .min = LASSO_L1_RATIO_MIN,
     .max = 1},
    LINEAR_OPTION_INTERCEPT(offsetof(strads_lasso_options, intercept)),
    LINEAR_OPTION_STANDARDIZE(offsetof(strads_lasso_options, standardize)),
    {.name = "positive",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(strads_lasso_options, positive),
     .help = "keep all coefficients at or above 0"},
    LINEAR_OPTION_WEIGHTS(offsetof(strads_lasso_options, weights)),
    {.name = NULL}};

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
