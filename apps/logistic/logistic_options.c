/* The options of the logistic regression: their table, their defaults, and what
 * must hold between them. The table checks what the command line and JSON say;
 * structs filled in by programs are checked here. */
#include <string.h>

#include "apps/linear/linear_options.h"
#include "logistic_parts.h"

const strads_logistic_options logistic_defaults = {.l1_ratio = 1};

const strads_option logistic_option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_logistic_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(
        strads_logistic_options,
        "share of lambda_max (default 0.01; L2 alone: --c 1)"),
    STRADS_OPTION(F64, strads_logistic_options, c, "c", "C",
                  "lambda = 1 / (C x rows), as in liblinear (not given)",
                  .max = DBL_MAX),
    LINEAR_OPTION_L1_RATIO(
        strads_logistic_options, 0,
        "share of |w|_1 in the penalty; 0: L2 alone (default 1)"),
    STRADS_OPTION(STRING, strads_logistic_options, multiclass, "multiclass",
                  "HOW",
                  "more labels: ovr, each against the rest; softmax (ovr)",
                  .choices = "ovr|softmax"),
    LINEAR_CLASS_OPTIONS(strads_logistic_options)};

strads_err logistic_options_resolve(const strads_logistic_options *given,
                                    strads_logistic_options *out)
{
    strads_logistic_options o = *given;
    strads_err err;

    if ((err = linear_check_number("lambda", o.lambda, DBL_MAX)) ||
        (err = linear_check_number("lambda-ratio", o.lambda_ratio, DBL_MAX)) ||
        (err = linear_check_number("c", o.c, DBL_MAX)) ||
        (err = linear_check_number("l1-ratio", o.l1_ratio, 1)))
        return err;
    if ((o.lambda > 0) + (o.lambda_ratio > 0) + (o.c > 0) > 1)
        return strads_fail(STRADS_EINVAL,
                           "lambda (%g), lambda-ratio (%g) and c (%g) say "
                           "the same thing; give one of them",
                           o.lambda, o.lambda_ratio, o.c);
    if (o.multiclass && *o.multiclass && strcmp(o.multiclass, "ovr") != 0 &&
        strcmp(o.multiclass, "softmax") != 0)
        return strads_fail(STRADS_EINVAL,
                           "multiclass is \"%s\"; expected ovr or softmax",
                           o.multiclass);
    if (o.l1_ratio > 0 && o.l1_ratio < LOGISTIC_L1_RATIO_MIN)
        return strads_fail(STRADS_EINVAL,
                           "l1-ratio is %g; it must be 0, or %g at least",
                           o.l1_ratio, LOGISTIC_L1_RATIO_MIN);
    if (o.lambda == 0 && o.lambda_ratio == 0 && o.c == 0) {
        if (o.l1_ratio > 0)
            o.lambda_ratio = 0.01;
        else
            o.c = 1;
    }
    *out = o;
    return STRADS_OK;
}
