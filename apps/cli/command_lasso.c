/* strads lasso train, strads lasso predict. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_cost.h"
#include "cli_options.h"
#include "cli_train.h"
#include "command.h"
#include "engine/base/aside.h"
#include "engine/base/number_text.h"
#include "strads/lasso.h"

/* ---- train ------------------------------------------------------------- */

/* A model tells its lambda, not how it was found. */
static void resolve(const void *state, void *config)
{
    strads_lasso_options *options = config;
    options->lambda = strads_lasso_lambda(state);
    options->lambda_ratio = 0;
}

static void complete(const void *state, strads_model *model)
{
    model->intercept = strads_lasso_intercept(state);
}

static void describe(const void *state)
{
    double lambda = strads_lasso_lambda(state);
    double lambda_max = strads_lasso_lambda_max(state);
    if (lambda_max > 0) {
        cli_say(false, "lambda %.6g, which is %.4g of lambda_max %.6g", lambda,
                lambda / lambda_max, lambda_max);
    } else {
        cli_say(false, "lambda %.6g; no column says anything about the labels",
                lambda);
    }
}

int cli_lasso_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_lasso,
        .name = "lasso train",
        .summary = "Trains a Lasso or an elastic net on LIBSVM or "
                   "MatrixMarket data.",
        .options = "Lasso:",
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- predict ----------------------------------------------------------- */

typedef struct predict_options {
    const char *output, *labels;
    uint32_t workers;
    bool quiet;
} predict_options;

static const strads_option predict_table[] = {
    {.name = "output",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(predict_options, output),
     .metavar = "FILE",
     .help = "write there (default: standard output)"},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(predict_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(predict_options, workers),
     .metavar = "N",
     .help = "threads that read (default: one per core)",
     .min = 1,
     .max = 1024},
    {.name = "quiet",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(predict_options, quiet),
     .help = "print the values only (default: no)"},
    {.name = NULL},
};

/* The model's coefficients by column; columns that only the data has get 0. */
static strads_err spread(const strads_model *model, uint64_t columns,
                         double **out)
{
    double *w = calloc(columns + 1, sizeof *w);
    if (!w) {
        return strads_fail(STRADS_ENOMEM,
                           "%" PRIu64 " coefficients need %" PRIu64
                           " bytes, which are not there",
                           columns, columns * (uint64_t)sizeof *w);
    }
    for (uint64_t k = 0; k < model->n; k++) {
        w[model->index[k]] = model->value[k];
    }
    *out = w;
    return STRADS_OK;
}

static double predict_row(const strads_sparse *rows, uint64_t i,
                          const double *w, double intercept)
{
    double sum = intercept;
    for (uint64_t e = rows->start[i]; e < rows->start[i + 1]; e++) {
        sum += rows->f64[e] * w[rows->index[e]];
    }
    return sum;
}

/* Writes a value a line; the sum of squared errors goes to *squares. */
static void predict_all(const strads_share *share, const double *w,
                        double intercept, FILE *out, double *squares)
{
    char text[STI_NUMBER_SIZE];
    *squares = 0;
    for (uint64_t i = 0; i < share->by_row.lines; i++) {
        double value = predict_row(&share->by_row, i, w, intercept);
        (void)sti_number_format(value, text);
        (void)fputs(text, out);
        (void)fputc('\n', out);
        if (share->label) {
            double error = value - share->label[i];
            *squares += error * error;
        }
    }
}

static strads_err read_rows(const char *path, const strads_model *model,
                            const predict_options *options, strads_data **out)
{
    strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .threads = options->workers,
        .min_cols = model->columns,
        .labels_path = options->labels,
    };
    cli_cost_tell(options->quiet, path, &wanted);
    return strads_data_read(path, &wanted, out);
}

/* To a file: whole or not at all. To standard output: as it comes. */
static strads_err write_values(const predict_options *options,
                               const strads_share *share, const double *w,
                               double intercept)
{
    double squares = 0;
    sti_aside aside = {0};
    strads_err err = STRADS_OK;
    if (options->output) {
        err = sti_aside_open(options->output, &aside);
    }
    if (err) {
        return err;
    }
    predict_all(share, w, intercept, options->output ? aside.file : stdout,
                &squares);
    if (options->output) {
        err = sti_aside_commit(&aside);
    }
    uint64_t rows = share->by_row.lines;
    if (!err && share->label && rows > 0) {
        cli_say(options->quiet,
                "%" PRIu64 " rows, root mean squared error %.6g", rows,
                sqrt(squares / (double)rows));
    }
    return err;
}

static strads_err check_model(const char *path, const strads_model *model)
{
    if (model->width != 1) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: has %" PRIu32
                           " values for each coefficient, a lasso has one",
                           path, model->width);
    }
    return STRADS_OK;
}

static strads_err predict(const char *model_path, const char *data_path,
                          const predict_options *options)
{
    strads_model *model = NULL;
    strads_data *data = NULL;
    double *w = NULL;
    strads_err err = strads_model_read(model_path, "lasso", &model);
    if (!err) {
        err = check_model(model_path, model);
    }
    if (!err) {
        err = read_rows(data_path, model, options, &data);
    }
    if (!err) {
        err = spread(model, strads_data_cols(data), &w);
    }
    if (!err) {
        err = write_values(options, strads_data_share(data, 0), w,
                           model->intercept);
    }
    free(w);
    strads_data_free(data);
    strads_model_free(model);
    return err;
}

int cli_lasso_predict(int argc, char **argv)
{
    predict_options options = {0};
    cli_syntax syntax = {
        .name = "lasso predict",
        .args = "MODEL DATA",
        .summary = "Writes a model's prediction for each row of the data, one "
                   "a line. Columns that the model does not know count "
                   "nothing.",
        .groups = {{NULL, predict_table, &options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = predict(parsed.arg[0], parsed.arg[1], &options);
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
