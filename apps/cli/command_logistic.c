/* strads logistic train, strads logistic predict. */
#include <string.h>

#include "cli_classes.h"
#include "cli_train.h"
#include "command.h"
#include "strads/logistic.h"
#include "strads/svm.h"

/* A model tells its labels, and its lambda, not how it was found. */
static void resolve(const void *state, void *config)
{
    *(strads_logistic_options *)config = *strads_logistic_resolved(state);
}

static void complete(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_logistic_intercepts(state), model);
}

/* The dual program and a softmax have a use for them; others find their own. */
static bool start(void *config, const double *intercepts)
{
    strads_logistic_options *o = config;
    o->start_intercept = intercepts;
    return true;
}

static bool names_two(const char *classes)
{
    const char *comma = classes ? strchr(classes, ',') : NULL;
    return comma && !strchr(comma + 1, ',');
}

static void describe_labels(const char *classes, const char *multiclass)
{
    bool softmax = multiclass && strcmp(multiclass, "softmax") == 0;
    const char *many =
        softmax ? ": all at once, by softmax" : ": each against the rest";
    cli_say(false, "labels %s%s", classes,
            names_two(classes) ? ": the second is positive" : many);
}

static void describe(const void *state)
{
    const strads_logistic_options *o = strads_logistic_resolved(state);
    double lambda_max = strads_logistic_lambda_max(state);
    describe_labels(o->classes, o->multiclass);
    if (lambda_max > 0) {
        cli_say(false, "lambda %.6g, which is %.4g of lambda_max %.6g",
                o->lambda, o->lambda / lambda_max, lambda_max);
    } else {
        cli_say(false, "lambda %.6g; no column says anything about the labels",
                o->lambda);
    }
}

/* ---- an L2 penalty alone ----------------------------------------------- */

static void resolve_dual(const void *state, void *config)
{
    *(strads_logistic_options *)config = strads_logistic_dual_resolved(state);
}

static void complete_dual(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_svm_intercepts(state), model);
}

static void describe_dual(const void *state)
{
    const strads_logistic_options o = strads_logistic_dual_resolved(state);
    describe_labels(o.classes, NULL);
    cli_say(false, "lambda %.6g, an L2 penalty alone, solved in the dual",
            o.lambda);
}

static const char summary[] =
    "Trains a logistic regression with an L1 or L2 penalty or both on LIBSVM "
    "or MatrixMarket data.";

static const cli_train dual = {
    .program = &strads_program_logistic_dual,
    .model = "logistic",
    .name = "logistic train",
    .summary = summary,
    .options = "Logistic regression:",
    .start = start,
    .resolve = resolve_dual,
    .complete = complete_dual,
    .describe = describe_dual,
};

/* Several processes must be told the labels: so they are with either program,
 * where there are more than two. */
static const cli_train *instead(const void *config,
                                const strads_engine_options *engine,
                                const strads_data *data)
{
    const strads_logistic_options *o = config;
    bool known = o->classes || engine->nodes < 2;
    return known && strads_logistic_suits_dual(o, data) ? &dual : NULL;
}

/* ---- train ------------------------------------------------------------- */

int cli_logistic_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_logistic,
        .name = "logistic train",
        .summary = summary,
        .options = "Logistic regression:",
        .start = start,
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
        .instead = instead,
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
