/* strads svm train, strads svm predict. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli_labels.h"
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
    cli_train_intercepts(strads_svm_intercepts(state), model);
}

static bool start(void *config, const double *intercepts)
{
    strads_svm_options *o = config;
    o->start_intercept = intercepts;
    return o->intercept || o->bias > 0;
}

static bool names_two(const char *classes)
{
    const char *comma = strchr(classes, ',');
    return comma && !strchr(comma + 1, ',');
}

static void describe(const void *state)
{
    const strads_svm_options *o = strads_svm_resolved(state);
    if (o->classes) {
        cli_say(false, "%s at C = %g, %" PRIu64 " support vectors; labels %s%s",
                o->loss, o->c, strads_svm_supports(state), o->classes,
                names_two(o->classes) ? ": the second is positive"
                                      : ": each against the rest");
    } else {
        cli_say(false, "%s %g at C = %g, %" PRIu64 " support vectors", o->loss,
                o->epsilon, o->c, strads_svm_supports(state));
    }
}

/* ---- train with an L1 penalty, or of several labels -------------------- */

static void resolve_l1(const void *state, void *config)
{
    ((strads_svm_l1_options *)config)->fit.classes =
        strads_logistic_resolved(state)->classes;
}

static void complete_l1(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_logistic_intercepts(state), model);
}

static void describe_l1(const void *state)
{
    const strads_logistic_options *o = strads_logistic_resolved(state);
    cli_say(false, "squared-hinge, l1-ratio %g; labels %s%s", o->l1_ratio,
            o->classes,
            names_two(o->classes) ? ": the second is positive"
                                  : ": each against the rest");
}

/* What comes behind an option's name in words k and k + 1; NULL: word k is not
 * that option. */
static const char *value_of(int argc, char **argv, int k, const char *name)
{
    const size_t n = strlen(name);
    if (strncmp(argv[k], name, n) != 0) {
        return NULL;
    }
    if (argv[k][n] == '\0') {
        return k + 1 < argc ? argv[k + 1] : "";
    }
    return argv[k][n] == '=' ? argv[k] + n + 1 : NULL;
}

/* What is wrong with the file is told when it is read as options. */
static bool file_has_l1_ratio(const char *path)
{
    json_t *options = json_load_file(path, 0, NULL);
    const json_t *ratio = json_object_get(options, "l1-ratio");
    const bool has = ratio && !json_is_null(ratio);
    json_decref(options);
    return has;
}

/* Whether the command line, or its file of options, asks for a program by
 * columns: that decides which options there are. */
static bool has_l1_ratio(int argc, char **argv)
{
    for (int k = 0; k < argc; k++) {
        const char *config = value_of(argc, argv, k, "--config");
        if (value_of(argc, argv, k, "--l1-ratio") ||
            (config && file_has_l1_ratio(config))) {
            return true;
        }
    }
    return false;
}

int cli_svm_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_svm,
        .name = "svm train",
        .summary = "Trains a linear support vector machine, for classes or for "
                   "numbers, on LIBSVM or MatrixMarket data. With --l1-ratio A "
                   "(then --help is about that): L1 penalties, an intercept "
                   "that is not penalised.",
        .options = "Support vector machine:",
        .start = start,
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    static const cli_train train_l1 = {
        .program = &strads_program_svm_l1,
        .model = "svm",
        .name = "svm train",
        .summary = "Trains a linear support vector machine with an L1 or L2 "
                   "penalty or both, for two classes or for several, each "
                   "against the rest, on LIBSVM or MatrixMarket data.",
        .options = "Support vector machine:",
        .resolve = resolve_l1,
        .complete = complete_l1,
        .describe = describe_l1,
    };
    return cli_train_main(has_l1_ratio(argc, argv) ? &train_l1 : &train, argc,
                          argv);
}

/* ---- predict ----------------------------------------------------------- */

typedef struct machine {
    const char *write; /* the option */
    cli_labels of;     /* of two the negative one first */
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
    bool good = loss != NULL;
    if (loss && strstr(loss, "hinge")) {
        good = classes && cli_labels_read(classes, &m->of);
    }
    good = good && model->width == cli_labels_sums(&m->of);
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: its options do not name the loss and the "
                              "labels, \"loss\" and \"classes\", as many as "
                              "the model has",
                              path);
}

static bool writes_decisions(const machine *m)
{
    return m->write && strcmp(m->write, "decision") == 0;
}

static const char *name_of(const void *arg, const double *sum)
{
    const machine *m = arg;
    return m->of.n && !writes_decisions(m)
               ? cli_labels_name(&m->of, cli_labels_best(&m->of, sum))
               : NULL;
}

static uint32_t values(const void *arg, const double *sum, double *out)
{
    const machine *m = arg;
    bool decision = writes_decisions(m);
    const uint32_t n = decision ? cli_labels_sums(&m->of) : 1;
    memcpy(out, sum, n * sizeof *out);
    if (m->of.n && !decision) {
        out[0] = m->of.label[cli_labels_best(&m->of, sum)];
    }
    return n;
}

static void judge(const void *arg, const double *sum, double label,
                  cli_tally *tally)
{
    const machine *m = arg;
    tally->right +=
        m->of.n && m->of.label[cli_labels_best(&m->of, sum)] == label;
    tally->strange += m->of.n && cli_labels_find(&m->of, label) == m->of.n;
    tally->loss += (sum[0] - label) * (sum[0] - label);
}

static void tell(const void *arg, const cli_tally *tally)
{
    const machine *m = arg;
    double rows = (double)tally->rows;
    if (m->of.n) {
        cli_say(false, "%" PRIu64 " rows, %.2f %% of labels right", tally->rows,
                100 * (double)tally->right / rows);
        cli_predict_tell_strange(tally);
    } else {
        cli_say(false, "%" PRIu64 " rows, root mean squared error %.6g",
                tally->rows, sqrt(tally->loss / rows));
    }
}

static const cli_labels *labels(const void *arg)
{
    return &((const machine *)arg)->of;
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
        .many = true,
        .values = values,
        .name_of = name_of,
        .judge = judge,
        .tell = tell,
        .labels = labels,
    };
    const int code = cli_predict_main(&predict, argc, argv);
    cli_labels_free(&m.of);
    return code;
}

int cli_svm_evaluate(int argc, char **argv)
{
    machine m = {0};
    const cli_predict predict = {
        .program = "svm",
        .arg = &m,
        .check = read_labels,
        .many = true,
        .judge = judge,
        .labels = labels,
    };
    const int code = cli_evaluate_main(&predict, "svm evaluate", argc, argv);
    cli_labels_free(&m.of);
    return code;
}
