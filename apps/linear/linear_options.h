/* Options that linear programs share: rows for their option tables, for a
 * struct `type` with fields of those names; and checks of numbers. A path's
 * options begin with those of a fit and share their rows. */
#ifndef LINEAR_OPTIONS_H
#define LINEAR_OPTIONS_H

#include <float.h>

#include <strads/options.h>

#define LINEAR_OPTION_LAMBDA(type, other)                                     \
    STRADS_OPTION(F64, type, lambda, "lambda", "L",                           \
                  "weight of the penalty, 0: none (default: by --" other ")", \
                  .max = DBL_MAX, .keeps_zero = true)
#define LINEAR_OPTION_LAMBDA_RATIO(type, help)                        \
    STRADS_OPTION(F64, type, lambda_ratio, "lambda-ratio", "R", help, \
                  .max = DBL_MAX)
#define LINEAR_OPTION_L1_RATIO(type, least, help)                           \
    STRADS_OPTION(F64, type, l1_ratio, "l1-ratio", "A", help, .min = least, \
                  .max = 1)
#define LINEAR_OPTION_INTERCEPT(type)                       \
    STRADS_OPTION(BOOL, type, intercept, "intercept", NULL, \
                  "fit an intercept, which is not penalised")
#define LINEAR_OPTION_STANDARDIZE(type, ...)                       \
    STRADS_OPTION(BOOL, type, standardize, "standardize", NULL,    \
                  "penalise columns as if their deviation were 1", \
                  __VA_ARGS__)
#define LINEAR_OPTION_CLASS_WEIGHT(type)                           \
    STRADS_OPTION(STRING, type, class_weight, "class-weight", "W", \
                  "balanced, or LABEL=WEIGHT,... (default: none)", \
                  .rare = true)
#define LINEAR_OPTION_WEIGHTS(type)                                 \
    STRADS_OPTION(STRING, type, weights, "weights", "FILE",         \
                  "a weight for each row, one a line (default: 1)", \
                  .rare = true)
#define LINEAR_OPTION_CLASSES(type)                           \
    STRADS_OPTION(STRING, type, classes, "classes", "A,B,..", \
                  "labels in order; of two, the last is positive (ascending)")

/* Last options of all programs with classes. */
#define LINEAR_CLASS_OPTIONS(type)                                     \
    LINEAR_OPTION_INTERCEPT(type),                                     \
        LINEAR_OPTION_STANDARDIZE(type, .rare = false),                \
        LINEAR_OPTION_CLASS_WEIGHT(type), LINEAR_OPTION_WEIGHTS(type), \
        LINEAR_OPTION_CLASSES(type),                                   \
    {                                                                  \
        .name = NULL                                                   \
    }

/* STRADS_EINVAL unless `value` is a number from 0 to `max`. */
strads_err linear_check_number(const char *name, double value, double max);

#endif
