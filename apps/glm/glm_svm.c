/* SVMs with an L1 penalty, or by columns: the squared hinge under the
 * options of strads/svm.h. With an L1 penalty there is no dual with one
 * variable per row (liblinear's solver 5; Yuan, Chang, Hsieh, Lin, JMLR 2010).
 */
#include <string.h>

#include <strads/svm.h>

#include "apps/linear/linear_options.h"
#include "glm_parts.h"

static strads_err check(const strads_svm_l1_options *o)
{
    const char *multiclass = o->fit.multiclass;

    if (o->loss && strcmp(o->loss, "squared-hinge") != 0)
        return strads_fail(STRADS_EINVAL,
                           "loss is \"%s\"; svm-l1 supports squared-hinge only",
                           o->loss);
    if (multiclass && *multiclass && strcmp(multiclass, "ovr") != 0)
        return strads_fail(STRADS_EINVAL,
                           "multiclass is \"%s\"; svm-l1 fits each of several "
                           "labels against the rest",
                           multiclass);
    return STRADS_OK;
}

static strads_err resolve_svm(const void *config, glm_problem *out)
{
    const strads_svm_l1_options *o = config;
    const strads_logistic_options *fit = &o->fit;
    const bool given = fit->lambda != 0 || fit->lambda_ratio != 0;
    strads_glm_options options = glm_of_classes(fit, "squared-hinge");
    strads_err err = check(o);

    if (fit->c == 0 && !given)
        options.c = 1;
    if (!err)
        err = glm_options_resolve(&options, out);
    if (!err) {
        out->loss = &glm_loss_svm;
        out->p = glm_loss_svm.usual;
    }
    return err;
}

GLM_FIT(resolve_svm)

static const strads_svm_l1_options defaults = {.fit = {.c = 1, .l1_ratio = 1},
                                               .loss = "squared-hinge"};

_Static_assert(offsetof(strads_svm_l1_options, fit) == 0,
               "the options of svm-l1 begin with those of a fit");

static const strads_option option_table[] = {
    STRADS_OPTION(STRING, strads_svm_l1_options, loss, "loss", "LOSS",
                  "squared-hinge (default)", .choices = "squared-hinge"),
    STRADS_OPTION(F64, strads_svm_l1_options, fit.c, "c", "C",
                  "weight of the losses beside the penalty (default: 1)",
                  .min = DBL_MIN, .max = DBL_MAX),
    LINEAR_OPTION_L1_RATIO(
        strads_logistic_options, 0,
        "share of |w|_1 in the penalty; 0: L2 alone (default: 1)"),
    LINEAR_CLASS_OPTIONS(strads_logistic_options)};

const strads_program strads_program_svm_l1 = {
    GLM_FIT_PROGRAM,
    .name = "svm-l1",
    .summary = "squared hinge with an L1 or L2 penalty, or both",
    .options = option_table,
    .config_size = sizeof(strads_svm_l1_options),
    .defaults = &defaults,
    .named_labels = linear_classes_named};
