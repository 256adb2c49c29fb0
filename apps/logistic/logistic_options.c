/* The options of the logistic regression: their table, their defaults, and what
 * must hold between them. The table checks what the command line and JSON say;
 * structs filled in by programs are checked here. */
#include <float.h>
#include <math.h>
#include <stddef.h>

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
     .help = "lambda as a share of lambda_max (default 0.01; L2: --c 1)",
     .max = DBL_MAX},
    {.name = "c",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(c),
     .metavar = "C",
     .help = "lambda = 1 / (C x rows), as in liblinear (default: not given)",
     .max = DBL_MAX},
    {.name = "l1-ratio",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(l1_ratio),
     .metavar = "A",
     .help = "share of |w|_1 in the penalty; 0: L2 alone (default 1)",
     .max = 1},
    {.name = "intercept",
     .kind = STRADS_OPTION_BOOL,
     .offset = FIELD(intercept),
     .help = "fit an intercept, which is not penalised"},
    {.name = "standardize",
     .kind = STRADS_OPTION_BOOL,
     .offset = FIELD(standardize),
     .help = "penalise columns as if their deviation were 1"},
    {.name = "class-weight",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(class_weight),
     .metavar = "W",
     .help = "balanced, or LABEL=WEIGHT,... (default none)"},
    {.name = "weights",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(weights),
     .metavar = "FILE",
     .help = "a weight for each row, one a line (default 1)"},
    {.name = "classes",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(classes),
     .metavar = "N,P",
     .help = "negative and positive label (default: the lower, the higher)"},
    {.name = NULL}};

/* A number that a program gave: finite and not negative. */
static strads_err check(const char *name, double value, double max)
{
    if (value >= 0 && value <= max)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "%s is %g; it must be a number from 0 to %g", name,
                       value, max);
}

strads_err logistic_options_resolve(const strads_logistic_options *given,
                                    strads_logistic_options *out)
{
    strads_logistic_options o = *given;
    strads_err err;

    if ((err = check("lambda", o.lambda, DBL_MAX)) ||
        (err = check("lambda-ratio", o.lambda_ratio, DBL_MAX)) ||
        (err = check("c", o.c, DBL_MAX)) ||
        (err = check("l1-ratio", o.l1_ratio, 1)))
        return err;
    if ((o.lambda > 0) + (o.lambda_ratio > 0) + (o.c > 0) > 1)
        return strads_fail(STRADS_EINVAL,
                           "lambda (%g), lambda-ratio (%g) and c (%g) say "
                           "the same thing; give one of them",
                           o.lambda, o.lambda_ratio, o.c);
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
