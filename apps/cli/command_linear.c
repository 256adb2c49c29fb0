/* Training of the linear programs: lasso, glm, logistic, sgd-logistic, svm;
 * paths and cross-validation. Each program is a table of its differences. A
 * model contains the resolved values of its options. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli_linear.h"
#include "cli_path.h"
#include "cli_refit.h"
#include "cli_train.h"
#include "strads/glm.h"
#include "strads/lasso.h"
#include "strads/logistic.h"
#include "strads/pack.h"
#include "strads/sgd_logistic.h"
#include "strads/svm.h"

/* A lambda of 0 that was given is -0. */
static void describe_lambda(double lambda, double lambda_max)
{
    lambda = fabs(lambda);
    if (lambda_max > 0) {
        cli_say(false, "lambda %.6g, which is %.4g of lambda_max %.6g", lambda,
                lambda / lambda_max, lambda_max);
    } else {
        cli_say(false, "lambda %.6g; no column is related to the labels",
                lambda);
    }
}

static bool names_two(const char *classes)
{
    const char *comma = classes ? strchr(classes, ',') : NULL;
    return comma && !strchr(comma + 1, ',');
}

static void describe_labels(const char *classes, const char *loss)
{
    const char *many = strcmp(loss, "multinomial") == 0
                           ? ": all at once, by softmax"
                           : ": each against the rest";
    cli_say(false, "labels %s%s", classes,
            strcmp(loss, "ordinal") == 0 ? ": in this order"
            : names_two(classes)         ? ": the second is positive"
                                         : many);
}

/* All programs except the dual ones have glm's state. */
static void glm_complete(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_glm_intercepts(state), model);
    model->baseline = *strads_glm_baseline(state);
    model->thresholds = strads_glm_thresholds(state, &model->n_thresholds);
}

static void path_resolve(const void *state, void *config)
{
    const strads_glm_options *o = strads_glm_resolved(state);
    strads_glm_options *fit = &((strads_glm_path_options *)config)->fit;
    fit->loss = o->loss;
    fit->penalty = o->penalty;
    fit->l1_ratio = o->l1_ratio;
    fit->classes = o->classes;
}

static void glm_resolve(const void *state, void *config)
{
    *(strads_glm_options *)config = *strads_glm_resolved(state);
}

/* ---- fits in two steps --------------------------------------------------- */

typedef struct fit_job {
    cli_use use;
    cli_refit refit;
    strads_glm_options *fit; /* the run's options */
    /* Groups that overlap: the file, and the data before columns are repeated;
     * NULL: they do not. */
    const char *overlapping;
    strads_data *whole;
    strads_glm_overlap overlap;
} fit_job;

static const strads_option fit_table[] = {
    CLI_ADAPTIVE_OPTIONS(fit_job, refit),
    CLI_RELAX_OPTION(fit_job, refit),
    {.name = NULL},
};

static bool fit_tunes(const void *state, const void *config)
{
    (void)config;
    return ((const fit_job *)state)->refit.adaptive > 0;
}

static bool fit_needs_rows(const void *state)
{
    return ((const fit_job *)state)->refit.relax != 1;
}

/* Whether a line of a file of groups has more than one; errors are reported
 * later, when it is read. */
static bool lists_several_groups(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    int c = 0;
    while (file && c != EOF && c != ',')
        c = getc(file);
    if (file)
        (void)fclose(file);
    return c == ',';
}

static strads_err fit_check(void *state, void *config)
{
    fit_job *job = state;
    job->fit = config;
    if (lists_several_groups(job->fit->groups))
        job->overlapping = job->fit->groups;
    return cli_refit_check(&job->refit);
}

static bool fit_overlaps(const void *state)
{
    return ((const fit_job *)state)->overlapping != NULL;
}

/* Reads the data, and repeats columns for each of their groups. */
static strads_err fit_repeat_columns(void *state, const char *path,
                                     const strads_data_options *how,
                                     strads_data **out)
{
    fit_job *job = state;
    CLI_TRY(strads_data_read(path, how, &job->whole));
    CLI_TRY(strads_glm_overlap_read(job->overlapping,
                                    strads_data_cols(job->whole),
                                    &job->overlap));
    CLI_TRY(strads_glm_overlap_data(job->whole, &job->overlap, out));
    job->fit->column_group = job->overlap.group;
    return STRADS_OK;
}

/* Adds up the parts of each coefficient. */
static void fold_model(const fit_job *job, strads_model *model)
{
    uint32_t *index = (uint32_t *)(uintptr_t)model->index;
    double *value = (double *)(uintptr_t)model->value;
    uint64_t n = 0;
    for (uint64_t k = 0; k < model->n; k++) {
        const uint32_t column = job->overlap.source[index[k]];
        if (n > 0 && index[n - 1] == column) {
            value[n - 1] += value[k];
        } else {
            index[n] = column;
            value[n++] = value[k];
        }
    }
    model->n = n;
    model->columns = job->overlap.columns;
    cli_model_name(model, job->whole, NULL);
}

/* Also whether relaxed fits suit the data. */
static strads_err fit_tune(void *state, void *config, const strads_data *data,
                           const strads_engine_options *engine, bool quiet)
{
    const fit_job *job = state;
    CLI_TRY(cli_refit_look(job->refit.relax, config, data));
    return cli_refit_weigh(&job->refit, config, data, engine, quiet);
}

/* The run's coefficients as a point. */
static strads_err fit_point(const cli_trained *trained, double intercept,
                            strads_path_point *out)
{
    uint64_t n = 0;
    uint32_t width = 0, *index;
    double *value;
    const double *all = strads_result_values(trained->result, &n, &width);
    const uint64_t columns = strads_data_cols(trained->data);
    CLI_TRY(cli_reserve(columns + 1, sizeof *index, "the fit", &index));
    CLI_TRY(cli_reserve(columns + 1, sizeof *value, "the fit", &value));
    *out = (strads_path_point){.intercept = intercept,
                               .index = index,
                               .value = value};
    for (uint64_t j = 0; j < columns; j++) {
        if (all[j] == 0)
            continue;
        index[out->nonzeros] = (uint32_t)j;
        value[out->nonzeros++] = all[j];
    }
    return STRADS_OK;
}

static strads_err fit_finish(void *state, const cli_trained *trained)
{
    fit_job *job = state;
    const void *run = strads_result_state(trained->result);
    const bool columns = trained->train->program->split == STRADS_SPLIT_COLS;
    strads_path_point point;
    if (job->refit.relax == 1)
        return STRADS_OK;
    CLI_TRY(fit_point(trained,
                      columns ? strads_columns_intercept(run)
                              : strads_glm_intercepts(run)[0],
                      &point));
    return cli_refit_mix(job->refit.relax, trained, &point, 1,
                         &job->refit.mixed);
}

static void fit_refine(const void *state, strads_model *model)
{
    const fit_job *job = state;
    cli_refit_apply(&job->refit, model);
    if (job->overlapping)
        fold_model(job, model);
}

#define FIT_IN_STEPS                                                          \
    .size = sizeof(fit_job),                                                  \
    .initial = &(const fit_job){.refit = CLI_REFIT_DEFAULTS},                 \
    .more = fit_table, .check = fit_check, .makes_of = "groups that overlap", \
    .makes = fit_overlaps, .make = fit_repeat_columns, .tunes = fit_tunes,    \
    .tune = fit_tune, .needs_rows = fit_needs_rows, .finish = fit_finish,     \
    .refine = fit_refine

/* ---- lasso --------------------------------------------------------------- */

static void lasso_describe(const void *state)
{
    describe_lambda(strads_glm_resolved(state)->lambda,
                    strads_glm_lambda_max(state));
}

/* By columns. */

static void columns_resolve(const void *state, void *config)
{
    *(strads_lasso_options *)config = strads_columns_resolved(state);
}

static void columns_complete(const void *state, strads_model *model)
{
    model->intercept = strads_columns_intercept(state);
}

static void columns_describe_path(const void *state)
{
    const strads_lasso_options o = strads_columns_resolved(state);
    const strads_columns_work work = strads_columns_worked(state);
    if (o.classes)
        describe_labels(o.classes, "logistic");
    cli_say(false,
            "solved by columns: %" PRIu64 " passes over all of them, %" PRIu64
            " unpacked, %" PRIu64 " coordinate updates, all on workers",
            work.scans, work.candidates, work.updates);
}

static void columns_describe(const void *state)
{
    describe_lambda(strads_columns_resolved(state).lambda,
                    strads_columns_lambda_max(state));
    columns_describe_path(state);
}

static void columns_resolve_path(const void *state, void *config)
{
    const strads_glm_options o = strads_columns_resolved(state);
    strads_glm_options *fit = &((strads_glm_path_options *)config)->fit;
    fit->loss = o.loss;
    fit->penalty = o.penalty;
    fit->l1_ratio = o.l1_ratio;
    fit->classes = o.classes;
}

#define COLUMNS_PATH                                                  \
    .resolve = columns_resolve_path, .complete = columns_complete,    \
    .describe = columns_describe_path, .points = strads_columns_path, \
    .errors = strads_columns_cv

static const cli_train lasso_columns = {
    .program = &strads_program_lasso_columns,
    .model = "lasso",
    FIT_IN_STEPS,
    .options = "Lasso:",
    .resolve = columns_resolve,
    .complete = columns_complete,
    .describe = columns_describe,
};

static const cli_train glm_columns = {
    .program = &strads_program_glm_columns,
    .model = "glm",
    FIT_IN_STEPS,
    .options = "Loss and penalty:",
    .resolve = columns_resolve,
    .complete = columns_complete,
    .describe = columns_describe,
};

bool cli_wants_columns(const char *cut, const strads_engine_options *engine,
                       const char *path)
{
    return cut && strcmp(cut, "auto") != 0
               ? strcmp(cut, "columns") == 0
               : strads_pack_exceeds(path, engine->memory);
}

static const cli_train *lasso_instead(const cli_train *asked,
                                      const void *config,
                                      const strads_engine_options *engine,
                                      const char *path, const strads_data *data)
{
    const strads_lasso_options *o = config;
    (void)asked;
    (void)data;
    return cli_wants_columns(o->cut, engine, path) ? &lasso_columns : NULL;
}

static const cli_train *glm_instead(const cli_train *asked, const void *config,
                                    const strads_engine_options *engine,
                                    const char *path, const strads_data *data)
{
    const strads_glm_options *o = config;
    (void)asked;
    (void)data;
    return cli_wants_columns(o->cut, engine, path) ? &glm_columns : NULL;
}

static const cli_train lasso_train = {
    .program = &strads_program_lasso,
    FIT_IN_STEPS,
    .options = "Lasso:",
    .resolve = glm_resolve,
    .complete = glm_complete,
    .describe = lasso_describe,
    .instead = lasso_instead,
    .other = {&lasso_columns},
};

static const cli_path lasso_path = {
    .train = {.program = &strads_program_lasso_path,
              .model = "lasso",
              .resolve = path_resolve,
              .complete = glm_complete,
              .describe = cli_say_separable,
              .points = strads_glm_path},
    .columns = {.program = &strads_program_lasso_path_columns,
                .model = "lasso",
                COLUMNS_PATH},
    .title = "squared error on rows left out",
};

/* ---- logistic ------------------------------------------------------------ */

static void logistic_resolve(const void *state, void *config)
{
    const strads_glm_options *o = strads_glm_resolved(state);
    strads_logistic_options *fit = config;
    fit->lambda = o->lambda;
    fit->lambda_ratio = fit->c = 0;
    fit->classes = o->classes;
}

/* The dual program and softmax use the intercepts; other programs compute their
 * own. */
static bool logistic_start(void *config, const double *intercepts)
{
    strads_logistic_options *o = config;
    o->start_intercept = intercepts;
    return true;
}

static void glm_describe(const void *state)
{
    const strads_glm_options *o = strads_glm_resolved(state);
    cli_say_separable(state);
    if (o->classes)
        describe_labels(o->classes, o->loss);
    if (o->lambda > 0)
        describe_lambda(o->lambda, strads_glm_lambda_max(state));
}

/* With only an L2 penalty, the dual is solved. */

static void logistic_resolve_dual(const void *state, void *config)
{
    *(strads_logistic_options *)config = strads_logistic_dual_resolved(state);
}

static void logistic_complete_dual(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_svm_intercepts(state), model);
}

static void logistic_describe_dual(const void *state)
{
    const strads_logistic_options o = strads_logistic_dual_resolved(state);
    describe_labels(o.classes, "logistic");
    cli_say(false, "lambda %.6g, an L2 penalty alone, solved in the dual",
            o.lambda);
}

static const cli_train logistic_dual = {
    .program = &strads_program_logistic_dual,
    .model = "logistic",
    .options = "Logistic regression:",
    .start = logistic_start,
    .resolve = logistic_resolve_dual,
    .complete = logistic_complete_dual,
    .describe = logistic_describe_dual,
};

static void logistic_resolve_columns(const void *state, void *config)
{
    const strads_glm_options o = strads_columns_resolved(state);
    strads_logistic_options *fit = config;
    fit->lambda = o.lambda;
    fit->lambda_ratio = fit->c = 0;
    fit->classes = o.classes;
}

static const cli_train logistic_columns = {
    .program = &strads_program_logistic_columns,
    .model = "logistic",
    .options = "Logistic regression:",
    .resolve = logistic_resolve_columns,
    .complete = columns_complete,
    .describe = columns_describe,
};

/* With several processes and more than two classes, both programs need the
 * labels as an option. */
static const cli_train *logistic_instead(const cli_train *asked,
                                         const void *config,
                                         const strads_engine_options *engine,
                                         const char *path,
                                         const strads_data *data)
{
    const strads_logistic_options *o = config;
    (void)asked;
    if (cli_wants_columns(o->cut, engine, path))
        return &logistic_columns;
    bool known = o->classes || engine->nodes < 2;
    return known && strads_logistic_suits_dual(o, data) ? &logistic_dual : NULL;
}

static const cli_train logistic_train = {
    .program = &strads_program_logistic,
    .options = "Logistic regression:",
    .start = logistic_start,
    .resolve = logistic_resolve,
    .complete = glm_complete,
    .describe = glm_describe,
    .instead = logistic_instead,
    .other = {&logistic_dual, &logistic_columns},
};

static const cli_path logistic_path = {
    .train = {.program = &strads_program_logistic_path,
              .model = "logistic",
              .resolve = path_resolve,
              .complete = glm_complete,
              .describe = cli_say_separable,
              .points = strads_glm_path},
    .columns = {.program = &strads_program_logistic_path_columns,
                .model = "logistic",
                COLUMNS_PATH},
    .title = "deviance on rows left out",
};

/* ---- glm ----------------------------------------------------------------- */

static bool glm_start(void *config, const double *intercepts)
{
    strads_glm_options *o = config;
    o->start_intercept = intercepts;
    return o->intercept;
}

static const cli_train glm_train = {
    .program = &strads_program_glm,
    FIT_IN_STEPS,
    .options = "Loss and penalty:",
    .start = glm_start,
    .resolve = glm_resolve,
    .complete = glm_complete,
    .describe = glm_describe,
    .instead = glm_instead,
    .other = {&glm_columns},
};

static const cli_path glm_path = {
    .train = {.program = &strads_program_glm_path,
              .model = "glm",
              .resolve = path_resolve,
              .complete = glm_complete,
              .describe = cli_say_separable,
              .points = strads_glm_path},
    .columns = {.program = &strads_program_glm_path_columns,
                .model = "glm",
                COLUMNS_PATH},
    .title = "twice the loss on rows left out",
};

/* ---- sgd-logistic -------------------------------------------------------- */

/* A model contains its labels, and the F and L of its step sizes. */
static void sgd_resolve(const void *state, void *config)
{
    *(strads_sgd_logistic_options *)config =
        *strads_sgd_logistic_resolved(state);
}

static void sgd_complete(const void *state, strads_model *model)
{
    model->intercept = strads_sgd_logistic_intercept(state);
}

static bool sgd_start(void *config, const double *intercepts)
{
    strads_sgd_logistic_options *o = config;
    o->start_intercept = intercepts;
    return o->intercept;
}

static void sgd_describe(const void *state)
{
    const strads_sgd_logistic_options *o = strads_sgd_logistic_resolved(state);
    cli_say(false, "labels %s: the second is positive; loss %s, staleness %s",
            o->classes, o->loss, o->staleness);
    if (strcmp(o->step, "theorem") == 0) {
        cli_say(false, "steps by the theorem with F %.6g and L %.6g",
                o->diameter, o->lipschitz);
    }
}

static const cli_train sgd_train = {
    .program = &strads_program_sgd_logistic,
    .options = "Model and steps:",
    .start = sgd_start,
    .resolve = sgd_resolve,
    .complete = sgd_complete,
    .at_zero = strads_sgd_logistic_at_zero,
    .describe = sgd_describe,
};

/* ---- svm ----------------------------------------------------------------- */

static void svm_resolve(const void *state, void *config)
{
    *(strads_svm_options *)config = *strads_svm_resolved(state);
}

static void svm_complete(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_svm_intercepts(state), model);
}

static bool svm_start(void *config, const double *intercepts)
{
    strads_svm_options *o = config;
    o->start_intercept = intercepts;
    return o->intercept || o->bias > 0;
}

static void svm_describe(const void *state)
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

static const cli_train svm_train = {
    .program = &strads_program_svm,
    .options = "Support vector machine:",
    .start = svm_start,
    .resolve = svm_resolve,
    .complete = svm_complete,
    .describe = svm_describe,
};

/* With an L1 penalty, or by columns. */

static void svm_resolve_l1(const void *state, void *config)
{
    ((strads_svm_l1_options *)config)->fit.classes =
        strads_glm_resolved(state)->classes;
}

static void svm_describe_l1(const void *state)
{
    const strads_glm_options *o = strads_glm_resolved(state);
    cli_say(false, "squared-hinge, l1-ratio %g; labels %s%s", o->l1_ratio,
            o->classes,
            names_two(o->classes) ? ": the second is positive"
                                  : ": each against the rest");
}

static const cli_train svm_l1_train = {
    .program = &strads_program_svm_l1,
    .model = "svm",
    .options = "Support vector machine:",
    .start = logistic_start, /* its options begin with logistic's */
    .resolve = svm_resolve_l1,
    .complete = glm_complete,
    .describe = svm_describe_l1,
};

/* The value of the option in words k and k + 1; NULL: word k is not that
 * option. */
static const char *value_of(int argc, char **argv, int k, const char *name)
{
    const size_t n = strlen(name);
    if (strncmp(argv[k], name, n) != 0)
        return NULL;
    if (argv[k][n] == '\0')
        return k + 1 < argc ? argv[k + 1] : "";
    return argv[k][n] == '=' ? argv[k] + n + 1 : NULL;
}

/* Errors in the file are reported later, when it is read as options. */
static bool file_has_l1_ratio(const char *path)
{
    json_t *options = json_load_file(path, 0, NULL);
    const json_t *ratio = json_object_get(options, "l1-ratio");
    const bool has = ratio && !json_is_null(ratio);
    json_decref(options);
    return has;
}

/* Whether the command line or its file of options selects a program by columns,
 * which has other options. */
static bool has_l1_ratio(int argc, char **argv)
{
    for (int k = 0; k < argc; k++) {
        const char *config = value_of(argc, argv, k, "--config");
        if (value_of(argc, argv, k, "--l1-ratio") ||
            (config && file_has_l1_ratio(config)))
            return true;
    }
    return false;
}

/* Options of the second program only, because manual and completion list those
 * of both. */
static const strads_option *l1_options(void)
{
    static strads_option table[32];
    size_t n = 0;
    for (const strads_option *o = strads_program_svm_l1.options;
         o->name && n + 1 < sizeof table / sizeof *table; o++)
        if (!strads_option_find(strads_program_svm.options, o->name))
            table[n++] = *o;
    table[n] = (strads_option){.name = NULL};
    return table;
}

static int run_svm_train(const cli_command *self, int argc, char **argv)
{
    cli_train both = svm_train;
    cli_command command = *self;
    command.train = &svm_train;
    if (cli_parse_is_described()) {
        both.more = l1_options();
        command.train = &both;
    }
    if (has_l1_ratio(argc, argv)) {
        command.train = &svm_l1_train;
        command.about =
            "Trains a linear support vector machine with an L1 or L2 penalty "
            "or both, for two classes or for several, each against the rest, "
            "on LIBSVM or MatrixMarket data.";
    }
    return cli_train_main(&command, argc, argv);
}

/* ---- the commands -------------------------------------------------------- */

static const cli_linear_kind lasso = {.program = "lasso"};
static const cli_linear_kind logistic = {.program = "logistic",
                                         .classifies = true,
                                         .probabilities = true};
static const cli_linear_kind sgd_logistic = {.program = "sgd-logistic",
                                             .classifies = true,
                                             .probabilities = true};
static const cli_linear_kind glm = {.program = "glm",
                                    .classifies = true,
                                    .by_loss = true,
                                    .probabilities = true};
static const cli_linear_kind svm = {.program = "svm",
                                    .classifies = true,
                                    .by_loss = true};

/* Models of any program: the model determines its kind. */
const cli_linear_kind cli_linear_any = {.program = NULL};

strads_err cli_linear_kind_find(const cli_linear_kind *of_command,
                                const char *path, const strads_model *model,
                                const cli_linear_kind **out)
{
    static const cli_linear_kind *const kinds[] = {&lasso, &logistic,
                                                   &sgd_logistic, &glm, &svm};
    *out = of_command;
    if (of_command->program)
        return STRADS_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k]->program, model->program) == 0)
            *out = kinds[k];
    return *out != of_command || !strads_program_find(model->program)
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s: is a model of %s: `strads help %s` lists the "
                             "commands that read it",
                             path, model->program, model->program);
}

#define PROBABILITIES                                                      \
    "Writes the probability of the positive label, or of each of several " \
    "labels, one line for each row of the data."

const cli_command cli_linear_commands[] = {
    {.name = "lasso train",
     .args = "DATA",
     .summary = "train a Lasso or an elastic net",
     .about = "Trains a Lasso or an elastic net on LIBSVM or MatrixMarket "
              "data.",
     .train = &lasso_train},
    CLI_LINEAR_USE("lasso", &lasso, cli_predict_numbers,
                   "write its predictions, one a line",
                   "Writes a model's prediction for each row of the data, one "
                   "a line."),
    {.name = "lasso path",
     .args = "DATA",
     .summary = "fit at one lambda after the other",
     .about = "Fits a Lasso at one lambda after the other; --model keeps the "
              "last.",
     .run = cli_path_main,
     .of = &lasso_path},
    {.name = "lasso cv",
     .args = "DATA",
     .summary = "choose the lambda that predicts best",
     .about = "Chooses a Lasso's lambda by its error on rows left out.",
     .run = cli_cv_main,
     .of = &lasso_path},
    {.name = "glm train",
     .args = "DATA",
     .summary = "train a model of any loss and penalty",
     .about = "Trains a generalised linear model, a loss with a penalty, on "
              "LIBSVM or MatrixMarket data.",
     .train = &glm_train},
    CLI_LINEAR_USE(
        "glm", &glm, cli_predict_glm,
        "write means or probabilities, one a line",
        "Writes a line for each row of the data: the expected label, "
        "the probability of the positive class, or for times until an event "
        "the relative risk or probabilities of survival."),
    {.name = "glm path",
     .args = "DATA",
     .summary = "fit at one lambda after the other",
     .about = "Fits at one lambda after the other; --model keeps the last.",
     .run = cli_path_main,
     .of = &glm_path},
    {.name = "glm cv",
     .args = "DATA",
     .summary = "choose the lambda that predicts best",
     .about = "Chooses the lambda of any loss and penalty by the loss on rows "
              "left out.",
     .run = cli_cv_main,
     .of = &glm_path},
    {.name = "logistic train",
     .args = "DATA",
     .summary = "train a logistic regression",
     .about = "Trains a logistic regression with an L1 or L2 penalty or both "
              "on LIBSVM or MatrixMarket data.",
     .train = &logistic_train},
    CLI_LINEAR_USE("logistic", &logistic, cli_predict_probabilities,
                   "write its probabilities, one a line", PROBABILITIES),
    {.name = "logistic path",
     .args = "DATA",
     .summary = "fit at one lambda after the other",
     .about = "Fits a logistic regression at one lambda after the other; "
              "--model keeps the last.",
     .run = cli_path_main,
     .of = &logistic_path},
    {.name = "logistic cv",
     .args = "DATA",
     .summary = "choose the lambda that predicts best",
     .about = "Chooses a logistic regression's lambda by its deviance on rows "
              "left out.",
     .run = cli_cv_main,
     .of = &logistic_path},
    {.name = "sgd-logistic train",
     .args = "DATA",
     .summary = "train by stochastic gradients",
     .about =
         "Trains an L2-regularised logistic regression, or a support "
         "vector machine, on LIBSVM or MatrixMarket data, by data-parallel "
         "stochastic gradients.",
     .train = &sgd_train},
    CLI_LINEAR_USE("sgd-logistic", &sgd_logistic, cli_predict_probabilities,
                   "write its probabilities, one a line", PROBABILITIES),
    {.name = "svm train",
     .args = "DATA",
     .summary = "train a linear support vector machine",
     .about = "Trains a linear support vector machine, for classes or for "
              "numbers, on LIBSVM or MatrixMarket data. --l1-ratio A adds an "
              "L1 penalty; `strads svm train --l1-ratio A --help` lists its "
              "options.",
     .run = run_svm_train},
    CLI_LINEAR_USE("svm", &svm, cli_predict_labels,
                   "write labels or decision values, one a line",
                   "Writes a label, or a number for a regression, for each row "
                   "of the data, one a line."),
    {.name = "predict",
     .args = "MODEL DATA",
     .summary = "predict by a linear model of any program",
     .about = "Writes a prediction for each row of the data, one a line, by a "
              "linear model of any program. For a program of your own (strads "
              "run), it is the sum of coefficient times entry.",
     .verb = &cli_predict_probabilities,
     .of = &cli_linear_any},
    {.name = "evaluate",
     .args = "MODEL DATA",
     .summary = "measure its predictions",
     .about = "Measures the predictions of a linear model of any program on "
              "rows with labels.",
     .verb = &cli_linear_evaluate,
     .of = &cli_linear_any},
    {.name = "show",
     .args = "MODEL",
     .summary = "print its largest weights, by name",
     .about = "Shows the intercept and the largest weights of a linear model "
              "of any program, also of your own (strads run).",
     .verb = &cli_linear_show,
     .of = &cli_linear_any},
    {.name = NULL},
};
