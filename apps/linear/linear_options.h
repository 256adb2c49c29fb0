/* Options that linear programs have in common: rows for their tables, where
 * `at` is the option's place in the program's struct, and what a number that a
 * program gave must be. */
#ifndef LINEAR_OPTIONS_H
#define LINEAR_OPTIONS_H

#include <strads/options.h>

#define LINEAR_OPTION_INTERCEPT(at)                                      \
    {                                                                    \
        .name = "intercept", .kind = STRADS_OPTION_BOOL, .offset = (at), \
        .help = "fit an intercept, which is not penalised"               \
    }

#define LINEAR_OPTION_STANDARDIZE(at)                                      \
    {                                                                      \
        .name = "standardize", .kind = STRADS_OPTION_BOOL, .offset = (at), \
        .help = "penalise columns as if their deviation were 1"            \
    }

#define LINEAR_OPTION_CLASS_WEIGHT(at)                                        \
    {                                                                         \
        .name = "class-weight", .kind = STRADS_OPTION_STRING, .offset = (at), \
        .metavar = "W",                                                       \
        .help = "balanced, or LABEL=WEIGHT,... (default none)", .rare = true  \
    }

#define LINEAR_OPTION_WEIGHTS(at)                                             \
    {                                                                         \
        .name = "weights", .kind = STRADS_OPTION_STRING, .offset = (at),      \
        .metavar = "FILE",                                                    \
        .help = "a weight for each row, one a line (default 1)", .rare = true \
    }

#define LINEAR_OPTION_CLASSES(at)                                        \
    {                                                                    \
        .name = "classes", .kind = STRADS_OPTION_STRING, .offset = (at), \
        .metavar = "A,B,..",                                             \
        .help = "labels in order, of two the positive last (ascending)"  \
    }

/* STRADS_EINVAL unless `value` is a number from 0 to `max`. */
strads_err linear_check_number(const char *name, double value, double max);

#endif
