/* strads sgd-logistic train, strads sgd-logistic predict. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli_predict.h"
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

static void describe(const void *state)
{
    const strads_sgd_logistic_options *o = strads_sgd_logistic_resolved(state);
    cli_say(false, "label %g is positive, %g negative; staleness %s",
            o->positive, o->negative, o->staleness);
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
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- predict ----------------------------------------------------------- */

typedef struct classes {
    const char *write; /* the option */
    double negative, positive;
} classes;

static const strads_option predict_table[] = {
    {.name = "write",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(classes, write),
     .metavar = "WHAT",
     .help = "probability, label or decision (default probability)",
     .choices = "probability|label|decision"},
    {.name = NULL},
};

/* The labels stand among the model's options. */
static strads_err read_labels(void *arg, const char *path,
                              const strads_model *model)
{
    classes *c = arg;
    json_t *options = json_loads(model->options, 0, NULL);
    const json_t *negative = json_object_get(options, "negative");
    const json_t *positive = json_object_get(options, "positive");
    bool good = json_is_number(negative) && json_is_number(positive);
    if (good) {
        c->negative = json_number_value(negative);
        c->positive = json_number_value(positive);
    }
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: its options do not name the labels, "
                              "\"negative\" and \"positive\"",
                              path);
}

static double label_of(const classes *c, double sum)
{
    return sum > 0 ? c->positive : c->negative;
}

static double value(const void *arg, double sum)
{
    const classes *c = arg;
    if (c->write && strcmp(c->write, "label") == 0) {
        return label_of(c, sum);
    }
    if (c->write && strcmp(c->write, "decision") == 0) {
        return sum;
    }
    return 1 / (1 + exp(-sum));
}

static void judge(const void *arg, double sum, double label, cli_tally *tally)
{
    const classes *c = arg;
    double margin = label == c->positive ? sum : -sum;
    tally->right += label_of(c, sum) == label;
    tally->loss +=
        margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

static void tell(const void *arg, const cli_tally *tally)
{
    double rows = (double)tally->rows;
    (void)arg;
    cli_say(false, "%" PRIu64 " rows, %.2f %% of labels right, log loss %.6g",
            tally->rows, 100 * (double)tally->right / rows, tally->loss / rows);
}

int cli_sgd_logistic_predict(int argc, char **argv)
{
    classes c = {0};
    const cli_predict predict = {
        .program = "sgd-logistic",
        .name = "sgd-logistic predict",
        .summary = "Writes for each row of the data the probability of the "
                   "positive label, one a line. Columns that the model does "
                   "not know count nothing.",
        .options = predict_table,
        .arg = &c,
        .check = read_labels,
        .value = value,
        .judge = judge,
        .tell = tell,
    };
    return cli_predict_main(&predict, argc, argv);
}
