/* Predictions of classes: sums over a row's entries become probabilities, a
 * label, or are written as they are. */
#include "cli_classes.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli_labels.h"
#include "cli_predict.h"
#include "command.h"

typedef struct classes {
    const char *write; /* the option */
    bool softmax;      /* of more than two: they were trained at once */
    cli_labels of;     /* of two the negative one first */
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

static strads_err read_labels(void *arg, const char *path,
                              const strads_model *model)
{
    json_t *options = json_loads(model->options, 0, NULL);
    classes *c = arg;
    const char *multiclass =
        json_string_value(json_object_get(options, "multiclass"));
    c->softmax = multiclass && strcmp(multiclass, "softmax") == 0;
    const char *all = json_string_value(json_object_get(options, "classes"));
    const bool good = all && cli_labels_read(all, &c->of) &&
                      model->width == cli_labels_sums(&c->of);
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: its options do not name the labels, "
                              "\"classes\", as many as the model has",
                              path);
}

static double probability_of(double sum)
{
    return 1 / (1 + exp(-sum));
}

/* log(1 / (1 + exp(-sum))), however small that is. */
static double log_probability_of(double sum)
{
    return sum < 0 ? sum - log1p(exp(sum)) : -log1p(exp(-sum));
}

/* Of more than two classes: the logarithms of their probabilities, those of
 * each against the rest brought to a sum of 1. */
static void find_logs(const classes *c, const double *sum, double *out)
{
    double most = -INFINITY, all = 0;
    for (uint32_t k = 0; k < c->of.n; k++) {
        out[k] = c->softmax ? sum[k] : log_probability_of(sum[k]);
        most = fmax(most, out[k]);
    }
    for (uint32_t k = 0; k < c->of.n; k++) {
        all += exp(out[k] - most);
    }
    for (uint32_t k = 0; k < c->of.n; k++) {
        out[k] -= most + log(all);
    }
}

/* Of two classes that of the positive one. */
static uint32_t find_probabilities(const classes *c, const double *sum,
                                   double *out)
{
    if (c->of.n == 2) {
        out[0] = probability_of(sum[0]);
        return 1;
    }
    find_logs(c, sum, out);
    for (uint32_t k = 0; k < c->of.n; k++) {
        out[k] = exp(out[k]);
    }
    return c->of.n;
}

static bool writes_labels(const classes *c)
{
    return c->write && strcmp(c->write, "label") == 0;
}

static const char *name_of(const void *arg, const double *sum)
{
    const classes *c = arg;
    return writes_labels(c)
               ? cli_labels_name(&c->of, cli_labels_best(&c->of, sum))
               : NULL;
}

static uint32_t values(const void *arg, const double *sum, double *out)
{
    const classes *c = arg;
    if (writes_labels(c)) {
        out[0] = c->of.label[cli_labels_best(&c->of, sum)];
        return 1;
    }
    if (c->write && strcmp(c->write, "decision") == 0) {
        memcpy(out, sum, cli_labels_sums(&c->of) * sizeof *out);
        return cli_labels_sums(&c->of);
    }
    return find_probabilities(c, sum, out);
}

/* Minus the logarithm of what a row's own label was given. */
static double log_loss(const classes *c, const double *sum, double label)
{
    double log_of[CLI_LABELS_MAX];
    const uint32_t k = cli_labels_find(&c->of, label);
    if (k == c->of.n) {
        return -log(DBL_MIN); /* a label that the model has never seen */
    }
    if (c->of.n == 2) {
        return -log_probability_of(k == 1 ? sum[0] : -sum[0]);
    }
    find_logs(c, sum, log_of);
    return -log_of[k];
}

static void judge(const void *arg, const double *sum, double label,
                  cli_tally *tally)
{
    const classes *c = arg;
    tally->right += c->of.label[cli_labels_best(&c->of, sum)] == label;
    tally->strange += cli_labels_find(&c->of, label) == c->of.n;
    const double loss = log_loss(c, sum, label);
    tally->loss += loss;
    tally->squares += loss * loss;
}

static void tell(const void *arg, const cli_tally *tally)
{
    double rows = (double)tally->rows;
    (void)arg;
    cli_say(false, "%" PRIu64 " rows, %.2f %% of labels right, log loss %.6g",
            tally->rows, 100 * (double)tally->right / rows, tally->loss / rows);
    cli_predict_tell_strange(tally);
}

static const cli_labels *labels(const void *arg)
{
    return &((const classes *)arg)->of;
}

int cli_classes_predict(const char *program, const char *name, int argc,
                        char **argv)
{
    classes c = {0};
    const cli_predict predict = {
        .program = program,
        .name = name,
        .summary = "Writes for each row of the data the probability of the "
                   "positive label, or of each of several, one line a row. "
                   "Columns that the model does not know count nothing.",
        .options = predict_table,
        .arg = &c,
        .check = read_labels,
        .many = true,
        .values = values,
        .name_of = name_of,
        .judge = judge,
        .tell = tell,
        .labels = labels,
    };
    const int code = cli_predict_main(&predict, argc, argv);
    cli_labels_free(&c.of);
    return code;
}

int cli_classes_evaluate(const char *program, const char *name, int argc,
                         char **argv)
{
    classes c = {0};
    const cli_predict predict = {
        .program = program,
        .arg = &c,
        .check = read_labels,
        .many = true,
        .judge = judge,
        .labels = labels,
        .probabilities = true,
    };
    const int code = cli_evaluate_main(&predict, name, argc, argv);
    cli_labels_free(&c.of);
    return code;
}
