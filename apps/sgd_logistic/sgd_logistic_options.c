/* The options of sgd-logistic: table, defaults and checks. The table checks
 * options from the command line and JSON. Structs that C programs fill in are
 * checked here. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_options.h"

#include "sgd_logistic_parts.h"

#define MOST_STALENESS 1000000

const strads_sgd_logistic_options sgd_defaults = {.lambda = 1e-4,
                                                  .loss = "logistic",
                                                  .epochs = 20,
                                                  .batch = 32,
                                                  .staleness = "1",
                                                  .staleness_max = 16,
                                                  .step = "theorem",
                                                  .rate = 0.5};

const strads_option sgd_option_table[] = {
    STRADS_OPTION(F64, strads_sgd_logistic_options, lambda, "lambda", "L",
                  "weight of the penalty (default: 0.0001)", .min = DBL_MIN,
                  .max = DBL_MAX),
    LINEAR_OPTION_INTERCEPT(strads_sgd_logistic_options),
    STRADS_OPTION(STRING, strads_sgd_logistic_options, loss, "loss", "NAME",
                  "logistic, or hinge: a support vector machine (logistic)",
                  .choices = "logistic|hinge"),
    STRADS_OPTION(U32, strads_sgd_logistic_options, epochs, "epochs", "N",
                  "passes over the data (default: 20)", .min = 1,
                  .max = UINT32_MAX),
    STRADS_OPTION(U32, strads_sgd_logistic_options, batch, "batch", "N",
                  "rows of a mini-batch (default: 32)", .min = 1,
                  .max = UINT32_MAX),
    STRADS_OPTION(STRING, strads_sgd_logistic_options, staleness, "staleness",
                  "S",
                  "clocks that reads may lag; infinite, adaptive, hogwild (1)"),
    STRADS_OPTION(U32, strads_sgd_logistic_options, staleness_max,
                  "staleness-max", "S",
                  "limit of an adaptive staleness (default: 16)", .min = 1,
                  .max = MOST_STALENESS),
    STRADS_OPTION(STRING, strads_sgd_logistic_options, step, "step", "RULE",
                  "theorem, constant or decay (default: theorem)",
                  .choices = "theorem|constant|decay"),
    STRADS_OPTION(F64, strads_sgd_logistic_options, rate, "rate", "R",
                  "constant: the step; decay: the first (default: 0.5)",
                  .min = DBL_MIN, .max = DBL_MAX),
    STRADS_OPTION(F64, strads_sgd_logistic_options, diameter, "diameter", "F",
                  "of --step theorem; 0: sqrt(log 2 / lambda) (default: 0)",
                  .max = DBL_MAX),
    STRADS_OPTION(F64, strads_sgd_logistic_options, lipschitz, "lipschitz", "L",
                  "of --step theorem; 0: measured on the data (default: 0)",
                  .max = DBL_MAX),
    STRADS_OPTION(
        U32, strads_sgd_logistic_options, push_bits, "push-bits", "BITS",
        "8: changes of weights go to other nodes rounded (default: 0, no)",
        .rare = true, .max = 8),
    LINEAR_OPTION_CLASSES(strads_sgd_logistic_options),
    {.name = NULL}};

static strads_err check_number(const char *name, double value)
{
    if (value >= 0 && value <= DBL_MAX)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL, "%s is %g; it must be a number from 0 up",
                       name, value);
}

static strads_err read_staleness(const char *text, uint32_t *out)
{
    char *end;
    errno = 0;
    const unsigned long s = strtoul(text, &end, 10);
    if (strcmp(text, "infinite") == 0) {
        *out = STRADS_STALENESS_INFINITE;
        return STRADS_OK;
    }
    if (strcmp(text, "adaptive") == 0) {
        *out = STRADS_STALENESS_ADAPTIVE;
        return STRADS_OK;
    }
    if (strcmp(text, "hogwild") == 0) {
        *out = SGD_STALENESS_HOGWILD;
        return STRADS_OK;
    }
    if (*text < '0' || *text > '9' || *end || errno || s > MOST_STALENESS)
        return strads_fail(STRADS_EINVAL,
                           "--staleness %s: expected a number from 0 to %d, "
                           "infinite, adaptive or hogwild",
                           text, MOST_STALENESS);
    *out = (uint32_t)s;
    return STRADS_OK;
}

static strads_err read_step(const char *text, sgd_step *out)
{
    static const char *const name[] = {[SGD_THEOREM] = "theorem",
                                       [SGD_CONSTANT] = "constant",
                                       [SGD_DECAY] = "decay"};
    for (int k = SGD_THEOREM; k <= SGD_DECAY; k++)
        if (strcmp(text, name[k]) == 0) {
            *out = (sgd_step)k;
            return STRADS_OK;
        }
    return strads_fail(STRADS_EINVAL,
                       "--step %s: expected theorem, constant or decay", text);
}

static strads_err read_loss(const char *text, bool *hinge)
{
    *hinge = strcmp(text, "hinge") == 0;
    if (*hinge || strcmp(text, "logistic") == 0)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL, "--loss %s: expected logistic or hinge",
                       text);
}

strads_err sgd_rules_make(const strads_sgd_logistic_options *given,
                          sgd_rules *out)
{
    strads_sgd_logistic_options *o = &out->options;
    strads_err err;

    *o = *given;
    if ((err = check_number("lambda", o->lambda)) ||
        (err = check_number("rate", o->rate)) ||
        (err = check_number("diameter", o->diameter)) ||
        (err = check_number("lipschitz", o->lipschitz)))
        return err;
    if (o->lambda == 0)
        o->lambda = sgd_defaults.lambda;
    if (!o->loss)
        o->loss = sgd_defaults.loss;
    if (o->rate == 0)
        o->rate = sgd_defaults.rate;
    if (o->epochs == 0)
        o->epochs = sgd_defaults.epochs;
    if (o->batch == 0)
        o->batch = sgd_defaults.batch;
    if (!o->staleness)
        o->staleness = sgd_defaults.staleness;
    if (o->staleness_max == 0)
        o->staleness_max = sgd_defaults.staleness_max;
    if (!o->step)
        o->step = sgd_defaults.step;
    if ((err = read_staleness(o->staleness, &out->staleness)) ||
        (err = read_loss(o->loss, &out->hinge)))
        return err;
    out->staleness_most = out->staleness == STRADS_STALENESS_ADAPTIVE
                              ? o->staleness_max
                              : out->staleness;
    err = read_step(o->step, &out->step);
    if (!err && out->step == SGD_THEOREM &&
        (out->staleness == STRADS_STALENESS_INFINITE ||
         out->staleness == SGD_STALENESS_HOGWILD))
        return strads_fail(STRADS_EINVAL,
                           "--staleness %s: the theorem has no step for it; "
                           "give --step constant or decay, and --rate",
                           o->staleness);
    return err;
}
