/* The options of the logistic regression: their table, their defaults, and what
 * must hold between them. The table checks what the command line and JSON say;
 * structs filled in by programs are checked here. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "apps/linear/linear_options.h"
#include "logistic_parts.h"

const strads_logistic_options logistic_defaults = {.l1_ratio = 1};

#define FIELD(name) offsetof(strads_logistic_options, name)

const strads_option logistic_option_table[] = {
    {.name = "lambda",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(lambda),
     .metavar = "L",
     .help = "weight of the penalty; 0: by --lambda-ratio (default 0)",
     .max = DBL_MAX},
    {.name = "lambda-ratio",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(lambda_ratio),
     .metavar = "R",
     .help = "share of lambda_max (default 0.01; L2 alone: --c 1)",
     .max = DBL_MAX},
    {.name = "c",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(c),
     .metavar = "C",
     .help = "lambda = 1 / (C x rows), as in liblinear (not given)",
     .max = DBL_MAX},
    {.name = "l1-ratio",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(l1_ratio),
     .metavar = "A",
     .help = "share of |w|_1 in the penalty; 0: L2 alone (default 1)",
     .max = 1},
    LINEAR_OPTION_INTERCEPT(FIELD(intercept)),
    LINEAR_OPTION_STANDARDIZE(FIELD(standardize)),
    LINEAR_OPTION_CLASS_WEIGHT(FIELD(class_weight)),
    LINEAR_OPTION_WEIGHTS(FIELD(weights)),
    LINEAR_OPTION_CLASSES(FIELD(classes)),
    {.name = "multiclass",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(multiclass),
     .metavar = "HOW",
     .help = "more labels: ovr, each against the rest; softmax (ovr)",
     .choices = "ovr|softmax"},
    {.name = NULL}};

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
