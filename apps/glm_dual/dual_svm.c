/* The SVM as a program: its options and their checks. The table checks
 * values from the command line and JSON; structs that programs fill in are
 * checked here. */
#include <string.h>

#include "apps/linear/linear_options.h"
#include "dual.h"

static const strads_svm_options defaults = {.loss = "squared-hinge",
                                            .c = 1,
                                            .epsilon = .1};

static const strads_option option_table[] = {
    STRADS_OPTION(STRING, strads_svm_options, loss, "loss", "LOSS",
                  "hinge, squared-hinge (default); of numbers: epsilon, "
                  "squared-epsilon",
                  .choices = "hinge|squared-hinge|epsilon|squared-epsilon"),
    STRADS_OPTION(F64, strads_svm_options, c, "c", "C",
                  "weight of the losses beside 1/2 |w|^2 (default: 1)",
                  .min = DBL_MIN, .max = DBL_MAX),
    STRADS_OPTION(F64, strads_svm_options, bias, "bias", "B",
                  "add a penalised column of value B (default: 0, none)",
                  .max = 1e100),
    STRADS_OPTION(F64, strads_svm_options, epsilon, "epsilon", "E",
                  "errors of a number up to E cost nothing (default: 0.1)",
                  .max = DBL_MAX),
    LINEAR_CLASS_OPTIONS(strads_svm_options)};

/* The logistic loss has its own options: dual_logistic.c. */
static strads_err find_loss(const char *name, const dual_loss **out)
{
    for (int k = 0; k < DUAL_LOSSES; k++)
        if (dual_losses[k] != &dual_log_loss &&
            strcmp(dual_losses[k]->name, name) == 0) {
            *out = dual_losses[k];
            return STRADS_OK;
        }
    return strads_fail(STRADS_EINVAL,
                       "loss is \"%s\"; expected hinge, squared-hinge, "
                       "epsilon or squared-epsilon",
                       name);
}

static bool is_given(const char *text)
{
    return text && *text && strcmp(text, "none") != 0;
}

/* A fit of numbers would ignore these silently. */
static strads_err refuse_classes(const strads_svm_options *o)
{
    const bool weights = is_given(o->class_weight);

    if (!weights && !is_given(o->classes))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "%s %s: the loss %s is for numbers, not classes; "
                       "expected hinge or squared-hinge, or leave it out",
                       weights ? "--class-weight" : "--classes",
                       weights ? o->class_weight : o->classes, o->loss);
}

static strads_err resolve_svm_dual(const void *config, dual_problem *out)
{
    strads_svm_options o = *(const strads_svm_options *)config;
    const dual_loss *loss = NULL;
    strads_err err;

    if (!o.loss)
        o.loss = defaults.loss;
    if (o.c == 0)
        o.c = defaults.c;
    if ((err = find_loss(o.loss, &loss)) ||
        (err = linear_check_number("c", o.c, DBL_MAX)) ||
        (err = linear_check_number("bias", o.bias, DBL_MAX)) ||
        (err = linear_check_number("epsilon", o.epsilon, DBL_MAX)))
        return err;
    if (o.intercept && o.bias > 0)
        return strads_fail(
            STRADS_EINVAL,
            "intercept is not penalised, and bias (%g) is; give one of them",
            o.bias);
    if (loss->classifies)
        o.epsilon = 0;
    else if ((err = refuse_classes(&o)))
        return err;
    *out = (dual_problem){.options = o,
                          .loss = loss,
                          .weights = {o.weights, o.row_weight}};
    return STRADS_OK;
}

/* ---- the program ------------------------------------------------------- */

/* `shape` reports errors in the options. */
static bool named_labels(const void *config)
{
    dual_problem problem;

    return resolve_svm_dual(config, &problem) != STRADS_OK ||
           problem.loss->classifies;
}

static strads_err objective_of_svm(void *user, strads_report *report)
{
    dual_report(user, 1, report);
    report->nonzeros = strads_svm_supports(user);
    return STRADS_OK;
}

const strads_svm_options *strads_svm_resolved(const void *state)
{
    return &((const dual_state *)state)->problem.options;
}

DUAL_SLOTS(resolve_svm_dual)

const strads_program strads_program_svm = {
    DUAL_COMPUTED,           .named_labels = named_labels,
    .name = "svm",           .summary = "linear support vector machine",
    .options = option_table, .config_size = sizeof(strads_svm_options),
    .defaults = &defaults,   .objective = objective_of_svm};
