/* The squared hinge in the place of the logistic loss, for SVMs with an L1
 * penalty, which have no dual of a variable a row (liblinear's solver 5; Yuan,
 * Chang, Hsieh, Lin, JMLR 2010). With t = max(0, 1 - m)
 *
 *     f = t^2,   u = 2 t,   f'' = 2 where t > 0, else 0,
 *     H(a) = a - a^2/4 for a >= 0,
 *
 * so that all sums of the certificate are exact. The Hessian is a generalised
 * one (Keerthi and DeCoste, JMLR 2005): steps in its model end at the minimum
 * once the rows with t > 0 are those of the minimum. */
#include <math.h>
#include <string.h>

#include <strads/svm.h>

#include "apps/linear/linear_options.h"
#include "logistic_hinge.h"

/* ---- the loss ---------------------------------------------------------- */

static double value(double m)
{
    return fmax(1 - m, 0) * fmax(1 - m, 0);
}

static double pull(double m)
{
    return 2 * fmax(1 - m, 0);
}

static double intercept(double positive, double negative)
{
    return (positive - negative) / (positive + negative);
}

static double entropy(const logistic_side *side, double t)
{
    return t * side->sum - t * t / 4 * side->squares;
}

/* In the place of another sum that this loss does not need. */
static double curvature(const logistic_side *side)
{
    return side->odds;
}

static const logistic_loss hinge = {.bend = 2,
                                    .reach = 4,
                                    .flat = true,
                                    .value = value,
                                    .pull = pull,
                                    .intercept = intercept,
                                    .entropy = entropy,
                                    .curvature = curvature};

static void look(const logistic_rows *rows, double *r, logistic_sides *sums)
{
    for (uint64_t i = 0; i < rows->n; i++) {
        const double y = rows->y[i], c = rows->c[i];
        const double t = fmax(1 - y * rows->z[i], 0);
        logistic_side *side = &sums->of[y > 0];
        r[i] = 2 * c * y * t;
        side->loss += c * t * t;
        side->sum += 2 * c * t;
        side->squares += 4 * c * t * t;
        side->odds += t > 0 ? 2 * c : 0;
    }
}

static double curve(const logistic_rows *rows, double *r, double *h)
{
    double loss = 0;

    for (uint64_t i = 0; i < rows->n; i++) {
        const double y = rows->y[i], c = rows->c[i];
        const double t = fmax(1 - y * rows->z[i], 0);
        if (r)
            r[i] = 2 * c * y * t;
        h[i] = t > 0 ? 2 * c : 0;
        loss += c * t * t;
    }
    return loss;
}

static const logistic_loops loops = {.name = "squared hinge",
                                     .loss = &hinge,
                                     .look = look,
                                     .curve = curve,
                                     .freeze = logistic_freeze_portable};

/* ---- slots of the program ---------------------------------------------- */

strads_err logistic_hinge_begin(const void *config, const strads_data *data,
                                const strads_shape *shape, void **out)
{
    const strads_svm_l1_options *o = config;
    strads_err err = STRADS_OK;

    if (o->loss && strcmp(o->loss, "squared-hinge") != 0)
        err = strads_fail(STRADS_EINVAL,
                          "loss is \"%s\"; svm-l1 has squared-hinge alone",
                          o->loss);
    if (!err && logistic_is_softmax(&o->fit, shape->width))
        err = strads_fail(STRADS_EINVAL,
                          "the squared hinge has no softmax; of several "
                          "labels each is fitted against the rest");
    if (!err)
        err = logistic_begin(config, data, shape, out);
    if (!err)
        ((logistic_state *)*out)->loops = &loops;
    return err;
}

strads_err logistic_hinge_open(const strads_task *task, void **out)
{
    const strads_err err = logistic_open(task, out);

    if (!err)
        ((logistic_local *)*out)->loops = &loops;
    return err;
}

const strads_svm_l1_options logistic_hinge_defaults = {.fit = {.c = 1,
                                                               .l1_ratio = 1},
                                                       .loss = "squared-hinge"};

_Static_assert(offsetof(strads_svm_l1_options, fit) == 0,
               "the options of svm-l1 begin with those of a fit");

const strads_option logistic_hinge_option_table[] = {
    STRADS_OPTION(STRING, strads_svm_l1_options, loss, "loss", "LOSS",
                  "squared-hinge (default)", .choices = "squared-hinge"),
    STRADS_OPTION(F64, strads_svm_l1_options, fit.c, "c", "C",
                  "weight of the losses beside the penalty (default 1)",
                  .min = DBL_MIN, .max = DBL_MAX),
    LINEAR_OPTION_L1_RATIO(
        strads_logistic_options, 0,
        "share of |w|_1 in the penalty; 0: L2 alone (default 1)"),
    LINEAR_CLASS_OPTIONS(strads_logistic_options)};
