/* strads svm train, strads svm predict. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_predict.h"
#include "cli_train.h"
#include "command.h"
#include "strads/svm.h"

/* ---- train ------------------------------------------------------------- */

/* A model tells its labels. */
static void resolve(const void *state, void *config)
{
    *(strads_svm_options *)config = *strads_svm_resolved(state);
}

static void complete(const void *state, strads_model *model)
{
    model->intercept = strads_svm_intercept(state);
}

static void describe(const void *state)
{
    const strads_svm_options *o = strads_svm_resolved(state);
    if (o->classes) {
        cli_say(false,
                "%s at C = %g, %" PRIu64 " support vectors; labels "
                "(negative,positive): %s",
                o->loss, o->c, strads_svm_supports(state), o->classes);
    } else {
        cli_say(false, "%s %g at C = %g, %" PRIu64 " support vectors", o->loss,
                o->epsilon, o->c, strads_svm_supports(state));
    }
}

int cli_svm_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_svm,
        .name = "svm train",
        .summary = "Trains a linear support vector machine, for two classes or "
                   "for numbers, on LIBSVM or MatrixMarket data.",
        .options = "Support vector machine:",
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- predict ----------------------------------------------------------- */

typedef struct machine {
    const char *write; /* the option */
    bool classifies;
    double label[2]; /* negative, positive */
} machine;

static const strads_option predict_table[] = {
    {.name = "write",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(machine, write),
     .metavar = "WHAT",
     .help = "label or decision (default label)",
     .choices = "label|decision"},
    {.name = NULL},
};

/* The labels stand among the model's options. */
static strads_err read_labels(void *arg, const char *path,
                              const strads_model *model)
{
    machine *m = arg;
    json_t *options = json_loads(model->options, 0, NULL);
    const char *loss = json_string_value(json_object_get(options, "loss"));
    const char *classes =
        json_string_value(json_object_get(options, "classes"));
    char *comma = NULL;
    m->classifies = loss && strstr(loss, "hinge");
    if (m->classifies && classes) {
        m->label[0] = strtod(classes, &comma);
        m->label[1] = *comma == ',' ? strtod(comma + 1, NULL) : NAN;
    }
    bool good = loss && (!m->classifies ||
                         (comma && *comma == ',' && isfinite(m->label[1])));
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: its options do not name the loss and the "
                              "labels, \"loss\" and \"classes\"",
                              path);
}

static double label_of(const machine *m, double sum)
{
    return sum > 0 ? m->label[1] : m->label[0];
}

static uint32_t values(const void *arg, const double *sum, double *out)
{
    const machine *m = arg;
    bool decision = m->write && strcmp(m->write, "decision") == 0;
    out[0] = m->classifies && !decision ? label_of(m, sum[0]) : sum[0];
    return 1;
}

static void judge(const void *arg, const double *sum, double label,
                  cli_tally *tally)
{
    const machine *m = arg;
    tally->right += m->classifies && label_of(m, sum[0]) == label;
    tally->loss += (sum[0] - label) * (sum[0] - label);
}

static void tell(const void *arg, const cli_tally *tally)
{
    const machine *m = arg;
    double rows = (double)tally->rows;
    if (m->classifies) {
        cli_say(false, "%" PRIu64 " rows, %.2f %% of labels right", tally->rows,
                100 * (double)tally->right / rows);
    } else {
        cli_say(false, "%" PRIu64 " rows, root mean squared error %.6g",
                tally->rows, sqrt(tally->loss / rows));
    }
}

int cli_svm_predict(int argc, char **argv)
{
    machine m = {0};
    const cli_predict predict = {
        .program = "svm",
        .name = "svm predict",
        .summary = "Writes a label for each row of the data, one a line; for "
                   "numbers, the number. Columns that the model does not know "
                   "count nothing.",
        .options = predict_table,
        .arg = &m,
        .check = read_labels,
        .values = values,
        .judge = judge,
        .tell = tell,
    };
    return cli_predict_main(&predict, argc, argv);
}

static cli_kind kind(const void *arg)
{
    const machine *m = arg;
    return (cli_kind){.n = m->classifies ? 2 : 0, .label = m->label};
}

int cli_svm_evaluate(int argc, char **argv)
{
    machine m = {0};
    const cli_predict predict = {
        .program = "svm",
        .arg = &m,
        .check = read_labels,
        .judge = judge,
        .kind = kind,
    };
    return cli_evaluate_main(&predict, "svm evaluate", argc, argv);
}
