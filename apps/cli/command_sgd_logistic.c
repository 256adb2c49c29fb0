/* strads sgd-logistic train, predict, evaluate. */
#include <string.h>

#include "cli_classes.h"
#include "cli_train.h"
#include "command.h"
#include "strads/sgd_logistic.h"

/* ---- train ------------------------------------------------------------- */

/* A model tells its labels, and the F and L that steps came from. */
static void resolve(const void *state, void *config)
{
    *(strads_sgd_logistic_options *)config =
        *strads_sgd_logistic_resolved(state);
}

static void complete(const void *state, strads_model *model)
{
    model->intercept = strads_sgd_logistic_intercept(state);
}

static bool start(void *config, const double *intercepts)
{
    strads_sgd_logistic_options *o = config;
    o->start_intercept = intercepts;
    return o->intercept;
}

static void describe(const void *state)
{
    const strads_sgd_logistic_options *o = strads_sgd_logistic_resolved(state);
    cli_say(false, "labels %s: the second is positive; staleness %s",
            o->classes, o->staleness);
    if (strcmp(o->step, "theorem") == 0) {
        cli_say(false, "steps by the theorem with F %.6g and L %.6g",
                o->diameter, o->lipschitz);
    }
}

int cli_sgd_logistic_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_sgd_logistic,
        .name = "sgd-logistic train",
        .summary = "Trains an L2-regularised logistic regression on LIBSVM or "
                   "MatrixMarket data, by data-parallel stochastic gradients.",
        .options = "Logistic regression:",
        .start = start,
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- predict ----------------------------------------------------------- */

int cli_sgd_logistic_predict(int argc, char **argv)
{
    return cli_classes_predict("sgd-logistic", "sgd-logistic predict", argc,
                               argv);
}

int cli_sgd_logistic_evaluate(int argc, char **argv)
{
    return cli_classes_evaluate("sgd-logistic", "sgd-logistic evaluate", argc,
                                argv);
}
