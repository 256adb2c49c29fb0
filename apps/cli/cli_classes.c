/* Predictions of two classes: a sum over a row's entries becomes a probability,
 * a label, or is written as it is. */
#include "cli_classes.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_predict.h"
#include "command.h"

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

/* The labels stand among the model's options: "negative" and "positive", or
 * "classes": "NEGATIVE,POSITIVE". */
static bool find_labels(const json_t *options, classes *c)
{
    const json_t *negative = json_object_get(options, "negative");
    const json_t *positive = json_object_get(options, "positive");
    const char *both = json_string_value(json_object_get(options, "classes"));
    if (both) {
        char end;
        return sscanf(both, "%lf,%lf%c", &c->negative, &c->positive, &end) == 2;
    }
    if (!json_is_number(negative) || !json_is_number(positive)) {
        return false;
    }
    c->negative = json_number_value(negative);
    c->positive = json_number_value(positive);
    return true;
}

static strads_err read_labels(void *arg, const char *path,
                              const strads_model *model)
{
    json_t *options = json_loads(model->options, 0, NULL);
    bool good = find_labels(options, arg);
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: its options do not name the labels, "
                              "\"negative\" and \"positive\", or \"classes\"",
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

int cli_classes_predict(const char *program, const char *name, int argc,
                        char **argv)
{
    classes c = {0};
    const cli_predict predict = {
        .program = program,
        .name = name,
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
