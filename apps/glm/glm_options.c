/* The options: their table, their defaults, and conditions between them. The
 * table checks values from the command line and JSON; structs that programs
 * fill in are checked here. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "apps/linear/linear_options.h"
#include "glm_parts.h"

const strads_glm_options glm_defaults = {.lower = -DBL_MAX, .upper = DBL_MAX};

const strads_glm_path_options glm_path_defaults = {.fit = {.lower = -DBL_MAX,
                                                           .upper = DBL_MAX},
                                                   .points = GLM_POINTS,
                                                   .ratio = .01};

/* A path has the same options except lambda, at the same offsets. */
#define ROWS_BEFORE_LAMBDA                                                     \
    STRADS_OPTION(STRING, strads_glm_options, loss, "loss", "NAME",            \
                  "loss (default: squared)", .choices = GLM_LOSS_CHOICES),     \
        STRADS_OPTION(STRING, strads_glm_options, penalty, "penalty", "NAME",  \
                      "penalty (default: l1)",                                 \
                      .choices = GLM_PENALTY_CHOICES),                         \
        STRADS_OPTION(F64, strads_glm_options, loss_parameter,                 \
                      "loss-parameter", "P",                                   \
                      "of losses that have one (by the loss)", .max = DBL_MAX, \
                      .rare = true)

#define ROWS_AFTER_LAMBDA                                                      \
    LINEAR_OPTION_L1_RATIO(strads_glm_options, 0,                              \
                           "elastic-net, sparse-group: share of |w|_1 (0.5)"), \
        STRADS_OPTION(F64, strads_glm_options, gamma, "gamma", "G",            \
                      "mcp, scad: flat from G lambda on (3, 3.7)",             \
                      .max = DBL_MAX, .rare = true),                           \
        STRADS_OPTION(STRING, strads_glm_options, groups, "groups", "FILE",    \
                      "of groups: the number of each column's, one a line",    \
                      .rare = true),                                           \
        LINEAR_OPTION_INTERCEPT(strads_glm_options),                           \
        LINEAR_OPTION_STANDARDIZE(strads_glm_options, .rare = true),           \
        LINEAR_OPTION_WEIGHTS(strads_glm_options),                             \
        STRADS_OPTION(STRING, strads_glm_options, offset, "offset", "FILE",    \
                      "what is added to each row's sum, one a line (0)",       \
                      .rare = true),                                           \
        STRADS_OPTION(STRING, strads_glm_options, strata, "strata", "FILE",    \
                      "cox: the number of each row's stratum, one a line "     \
                      "(none)",                                                \
                      .rare = true),                                           \
        STRADS_OPTION(STRING, strads_glm_options, penalty_factors,             \
                      "penalty-factors", "FILE",                               \
                      "a factor of each column's penalty, one a line (1)",     \
                      .rare = true),                                           \
        STRADS_OPTION(F64, strads_glm_options, lower, "lower", "W",            \
                      "no coefficient below it (none)", .min = -DBL_MAX,       \
                      .rare = true),                                           \
        STRADS_OPTION(F64, strads_glm_options, upper, "upper", "W",            \
                      "nor above it (none)", .max = DBL_MAX, .rare = true),    \
        LINEAR_OPTION_CLASS_WEIGHT(strads_glm_options),                        \
        STRADS_OPTION(STRING, strads_glm_options, classes, "classes", "A,B",   \
                      "labels, of two the positive one last; more are each "   \
                      "fitted against the rest (ascending)",                   \
                      .rare = true),                                           \
    {                                                                          \
        .name = NULL                                                           \
    }

const strads_option glm_option_table[] = {
    ROWS_BEFORE_LAMBDA,
    LINEAR_OPTION_LAMBDA(strads_glm_options, "lambda-ratio"),
    LINEAR_OPTION_LAMBDA_RATIO(strads_glm_options,
                               "share of lambda_max (default: 0.01)"),
    STRADS_OPTION(F64, strads_glm_options, c, "c", "C",
                  "lambda = 1 / (C x sum of weights) (not given)",
                  .max = DBL_MAX, .rare = true),
    GLM_OPTION_CUT(strads_glm_options),
    ROWS_AFTER_LAMBDA};

_Static_assert(offsetof(strads_glm_path_options, fit) == 0,
               "the options of a path begin with those of a fit");

const strads_option glm_path_option_table[] = {
    ROWS_BEFORE_LAMBDA, GLM_PATH_OPTIONS, GLM_OPTION_CUT(strads_glm_options),
    ROWS_AFTER_LAMBDA};

const strads_option glm_path_columns_table[] = {
    ROWS_BEFORE_LAMBDA, GLM_PATH_OPTIONS, GLM_OPTION_CUT(strads_glm_options),
    GLM_FOLD_OPTIONS, ROWS_AFTER_LAMBDA};

static strads_err find_names(glm_problem *p)
{
    const strads_glm_options *o = &p->options;

    p->loss = glm_loss_find(o->loss);
    if (!p->loss)
        return strads_fail(STRADS_EINVAL, "loss is \"%s\"; expected one of %s",
                           o->loss, GLM_LOSS_CHOICES);
    p->penalty = glm_penalty_find(o->penalty);
    if (!p->penalty)
        return strads_fail(STRADS_EINVAL,
                           "penalty is \"%s\"; expected one of %s", o->penalty,
                           GLM_PENALTY_CHOICES);
    return STRADS_OK;
}

bool glm_has_bounds(const strads_glm_options *o)
{
    return (o->lower > -DBL_MAX || o->upper < DBL_MAX) &&
           (o->lower != 0 || o->upper != 0);
}

bool glm_weighs_classes(const strads_glm_options *o)
{
    return o->class_weight && *o->class_weight &&
           strcmp(o->class_weight, "none") != 0;
}

static strads_err check_parameters(const glm_problem *p)
{
    const strads_glm_options *o = &p->options;

    if (o->loss_parameter > 0 && p->loss->usual == 0)
        return strads_fail(STRADS_EINVAL,
                           "loss-parameter is %g, and the loss %s has none",
                           o->loss_parameter, o->loss);
    if (o->loss_parameter > 0 && p->loss->most > 0 &&
        !(o->loss_parameter > p->loss->least &&
          o->loss_parameter < p->loss->most))
        return strads_fail(STRADS_EINVAL,
                           "loss-parameter is %g; for the loss %s it must be "
                           "above %g and below %g",
                           o->loss_parameter, o->loss, p->loss->least,
                           p->loss->most);
    if (o->l1_ratio != 0 && !p->penalty->mixed)
        return strads_fail(STRADS_EINVAL,
                           "l1-ratio is %g, and the penalty %s has no mixture; "
                           "leave it out",
                           o->l1_ratio, o->penalty);
    if (o->l1_ratio != 0 && o->l1_ratio < 1e-3)
        return strads_fail(STRADS_EINVAL,
                           "l1-ratio is %g; it must be .001 at least, or the "
                           "penalty ridge",
                           o->l1_ratio);
    if (o->gamma != 0 &&
        !(o->gamma > p->penalty->least && p->penalty->usual != 0))
        return p->penalty->usual == 0
                   ? strads_fail(STRADS_EINVAL,
                                 "gamma is %g, and the penalty %s has none",
                                 o->gamma, o->penalty)
                   : strads_fail(
                         STRADS_EINVAL,
                         "gamma is %g; for the penalty %s it must be above %g",
                         o->gamma, o->penalty, p->penalty->least);
    const bool groups = o->column_group || (o->groups && *o->groups);
    if (groups && !p->penalty->grouped) /* other nodes do not have the groups */
        return strads_fail(STRADS_EINVAL,
                           "there are groups, and the penalty %s does not use "
                           "them; take the penalty group or sparse-group",
                           o->penalty);
    if (groups && glm_has_bounds(o) && !(o->lower == 0 && o->upper >= DBL_MAX))
        return strads_fail(STRADS_EINVAL,
                           "the penalty %s takes no bounds except a lower of "
                           "0; leave lower and upper out",
                           o->penalty);
    if (p->loss->joint && ((o->offset && *o->offset) || o->row_offset))
        return strads_fail(STRADS_EINVAL,
                           "the loss %s adds an offset to all classes alike, "
                           "which changes nothing; leave it out",
                           o->loss);
    if (p->loss->joint && glm_has_bounds(o))
        return strads_fail(STRADS_EINVAL,
                           "the loss %s takes no bounds; leave lower and upper "
                           "out",
                           o->loss);
    if (p->loss->labels != GLM_TIMES &&
        ((o->strata && *o->strata) || o->row_stratum))
        return strads_fail(STRADS_EINVAL,
                           "there are strata, and the loss %s has none; leave "
                           "strata out, or take the loss cox or cox-efron",
                           o->loss);
    const bool given = o->lambda > 0 || signbit(o->lambda);
    if (given + (o->lambda_ratio > 0) + (o->c > 0) > 1)
        return strads_fail(STRADS_EINVAL,
                           "lambda (%g), lambda-ratio (%g) and c (%g) set the "
                           "same number; give one of them",
                           o->lambda, o->lambda_ratio, o->c);
    if (p->penalty->off && (o->lambda > 0 || o->lambda_ratio > 0 || o->c > 0))
        return strads_fail(STRADS_EINVAL,
                           "the penalty none has no lambda; leave lambda, "
                           "lambda-ratio and c out");
    if (!glm_is_of_classes(p->loss) && (o->classes || glm_weighs_classes(o)))
        return strads_fail(STRADS_EINVAL,
                           "the loss %s is for numbers and has no classes; "
                           "leave classes and class-weight out",
                           o->loss);
    return STRADS_OK;
}

strads_err glm_options_resolve(const strads_glm_options *given,
                               glm_problem *out)
{
    glm_problem p = {.options = given ? *given : glm_defaults};
    strads_glm_options *o = &p.options;
    strads_err err;

    o->loss = o->loss && *o->loss ? o->loss : "squared";
    o->penalty = o->penalty && *o->penalty ? o->penalty : "l1";
    o->classes = o->classes && *o->classes ? o->classes : NULL;
    if (o->positive) {
        o->lower = 0;
        o->upper = o->upper > 0 ? o->upper : DBL_MAX;
    }
    if ((err = find_names(&p)) ||
        (err = linear_check_number("lambda", o->lambda, DBL_MAX)) ||
        (err = linear_check_number("lambda-ratio", o->lambda_ratio, DBL_MAX)) ||
        (err = linear_check_number("c", o->c, DBL_MAX)) ||
        (err = linear_check_number("l1-ratio", o->l1_ratio, 1)) ||
        (err = linear_check_number("gamma", o->gamma, DBL_MAX)) ||
        (err = linear_check_number("loss-parameter", o->loss_parameter,
                                   DBL_MAX)) ||
        (err = check_parameters(&p)))
        return err;
    if (p.loss->whole) { /* which changes nothing */
        o->intercept = true;
        o->start_intercept = NULL;
    }
    p.p = o->loss_parameter > 0 ? o->loss_parameter : p.loss->usual;
    if (o->l1_ratio == 0)
        o->l1_ratio = p.penalty->share;
    if (o->gamma == 0)
        o->gamma = p.penalty->usual;
    if (o->lambda == 0 && !signbit(o->lambda) && o->lambda_ratio == 0 &&
        o->c == 0 && !p.penalty->off)
        o->lambda_ratio = .01;
    if (!(o->lower <= 0 && o->upper >= 0))
        return strads_fail(STRADS_EINVAL,
                           "lower is %g and upper %g; 0 must be between them",
                           o->lower, o->upper);
    if (o->lower == 0 && o->upper == 0) {
        o->lower = -DBL_MAX;
        o->upper = DBL_MAX;
    }
    *out = p;
    return STRADS_OK;
}

bool glm_named_labels(const void *config)
{
    glm_problem p;

    return glm_options_resolve(config, &p) == STRADS_OK &&
           glm_is_of_classes(p.loss);
}
