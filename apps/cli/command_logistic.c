/* strads logistic train, strads logistic predict. */
#include <string.h>

#include "cli_classes.h"
#include "cli_train.h"
#include "command.h"
#include "strads/logistic.h"

/* ---- train ------------------------------------------------------------- */

/* A model tells its labels, and its lambda, not how it was found. */
static void resolve(const void *state, void *config)
{
    *(strads_logistic_options *)config = *strads_logistic_resolved(state);
}

static void complete(const void *state, strads_model *model)
{
    const double *b = strads_logistic_intercepts(state);
    if (model->width > 1) {
        model->intercepts = b;
    } else {
        model->intercept = b[0];
    }
}

static void describe(const void *state)
{
    const strads_logistic_options *o = strads_logistic_resolved(state);
    double lambda_max = strads_logistic_lambda_max(state);
    cli_say(false, "labels %s%s", o->classes,
            strchr(strchr(o->classes, ',') + 1, ',') ? ": each against the rest"
                                                     : ": the second is "
                                                       "positive");
    if (lambda_max > 0) {
        cli_say(false, "lambda %.6g, which is %.4g of lambda_max %.6g",
                o->lambda, o->lambda / lambda_max, lambda_max);
    } else {
        cli_say(false, "lambda %.6g; no column says anything about the labels",
                o->lambda);
    }
}

int cli_logistic_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_logistic,
        .name = "logistic train",
        .summary = "Trains a logistic regression with an L1 or L2 penalty or "
                   "both on LIBSVM or MatrixMarket data.",
        .options = "Logistic regression:",
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- predict ----------------------------------------------------------- */

int cli_logistic_predict(int argc, char **argv)
{
    return cli_classes_predict("logistic", "logistic predict", argc, argv);
}

int cli_logistic_evaluate(int argc, char **argv)
{
    return cli_classes_evaluate("logistic", "logistic evaluate", argc, argv);
}
