/* strads mf train, strads mf predict, strads mf evaluate. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_cost.h"
#include "cli_mf_model.h"
#include "cli_options.h"
#include "cli_train.h"
#include "command.h"
#include "engine/base/aside.h"
#include "engine/base/number_text.h"
#include "strads/mf.h"

/* ---- train ------------------------------------------------------------- */

static void resolve(const void *state, void *config)
{
    *(strads_mf_options *)config = *strads_mf_resolved(state);
}

static void describe(const void *state)
{
    double train = NAN;
    double validation = NAN;
    double test = NAN;
    char more[96] = "";
    size_t at = 0;
    uint32_t undone = strads_mf_undone(state);
    strads_mf_errors(state, &train, &validation, &test);
    const struct {
        const char *what;
        double error;
    } part[] = {{"training", train}, {"held out", validation}, {"test", test}};
    for (size_t k = 0; k < 3; k++) {
        if (!isnan(part[k].error)) {
            at += (size_t)snprintf(more + at, sizeof more - at, "%s%s %.6g",
                                   at ? ", " : "", part[k].what, part[k].error);
        }
    }
    if (at) {
        cli_say(false, "root mean squared error: %s", more);
    }
    if (undone > 0) {
        cli_say(false,
                "%" PRIu32 " sweeps were undone because their loss exploded, "
                "and the step halved each time",
                undone);
    }
}

int cli_mf_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_mf,
        .name = "mf train",
        .summary = "Factorises ratings of items by users: lines `user item "
                   "rating`, CSV with a header and names, or MatrixMarket.",
        .options = "Matrix factorisation:",
        .resolve = resolve,
        .describe = describe,
        .write = cli_mf_model_write,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- ratings and a model ----------------------------------------------- */

typedef struct judge_options {
    const char *output;
    uint32_t workers;
    bool quiet;
} judge_options;

static const strads_option judge_table[] = {
    {.name = "output",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(judge_options, output),
     .metavar = "FILE",
     .help = "write there (default: standard output)"},
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(judge_options, workers),
     .metavar = "N",
     .help = "threads that read (default: one per core)",
     .min = 1,
     .max = 1024},
    {.name = "quiet",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(judge_options, quiet),
     .help = "print the result only (default: no)"},
    {.name = NULL},
};

static strads_err read_ratings(const char *path, const cli_mf_model *model,
                               const judge_options *options, strads_data **out)
{
    strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .kind = STRADS_KIND_RATINGS,
        .threads = options->workers,
        .row_names = model->user_names,
        .col_names = model->item_names,
    };
    cli_cost_tell(options->quiet, path, &wanted);
    strads_err err = strads_data_read(path, &wanted, out);
    if (!err && strads_data_row_names(*out) && !model->user_names) {
        err = strads_fail(STRADS_EMISMATCH,
                          "%s: its users have names, the model's are numbers",
                          path);
    }
    if (!err && strads_data_unknown(*out) > 0) {
        cli_say(options->quiet,
                "%" PRIu64 " ratings are of users or items that the model does "
                "not know and are left out",
                strads_data_unknown(*out));
    }
    return err;
}

/* What a command does with both, on `out`. */
typedef void (*judgement)(const cli_mf_model *model, const strads_sparse *rows,
                          FILE *out);

static strads_err to_output(const cli_mf_model *model,
                            const strads_sparse *rows,
                            const judge_options *options, judgement judge)
{
    sti_aside aside = {0};
    if (!options->output) {
        judge(model, rows, stdout);
        return STRADS_OK;
    }
    strads_err err = sti_aside_open(options->output, &aside);
    if (err) {
        return err;
    }
    judge(model, rows, aside.file);
    return sti_aside_commit(&aside);
}

static int judge_main(cli_syntax syntax, int argc, char **argv, judgement judge)
{
    judge_options options = {0};
    cli_mf_model model = {0};
    strads_data *data = NULL;
    cli_parsed parsed;
    sti_config_strings strings = {0};
    syntax.groups[0] = (cli_group){NULL, judge_table, &options};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    bool go = !err && !parsed.done;
    if (go) {
        err = cli_mf_model_read(parsed.arg[0], &model);
    }
    if (go && !err) {
        err = read_ratings(parsed.arg[1], &model, &options, &data);
    }
    if (go && !err) {
        err = to_output(&model, &strads_data_share(data, 0)->by_row, &options,
                        judge);
    }
    strads_data_free(data);
    cli_mf_model_free(&model);
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}

/* ---- predict ----------------------------------------------------------- */

static void put_id(const cli_mf_model *model, const strads_names *names,
                   uint64_t id, FILE *out)
{
    if (names) {
        (void)fputs(strads_names_at(names, (uint32_t)id), out);
    } else {
        (void)fprintf(out, "%" PRIu64, id + model->index_base);
    }
    (void)fputc('\t', out);
}

static void predict(const cli_mf_model *model, const strads_sparse *rows,
                    FILE *out)
{
    char text[STI_NUMBER_SIZE];
    for (uint64_t u = 0; u < rows->lines; u++) {
        for (uint64_t e = rows->start[u]; e < rows->start[u + 1]; e++) {
            put_id(model, model->user_names, u, out);
            put_id(model, model->item_names, rows->index[e], out);
            double value = cli_mf_model_predict(model, u, rows->index[e]);
            (void)sti_number_format((double)(float)value, text);
            (void)fprintf(out, "%s\n", text);
        }
    }
}

int cli_mf_predict(int argc, char **argv)
{
    const cli_syntax syntax = {
        .name = "mf predict",
        .args = "MODEL DATA",
        .summary = "Writes `user item rating`, tabs between, for each pair of "
                   "user and item in the data, users in order.",
    };
    return judge_main(syntax, argc, argv, predict);
}

/* ---- evaluate ---------------------------------------------------------- */

/* Mean of n numbers from their sum and the sum of their squares, and half the
 * width of its 95 % interval by the normal distribution. */
typedef struct estimate {
    double mean, half;
} estimate;

static estimate estimate_of(double n, double sum, double squares)
{
    double mean = sum / n;
    double variance = n > 1 ? (squares - sum * mean) / (n - 1) : NAN;
    return (estimate){mean, 1.959964 * sqrt(fmax(variance, 0) / n)};
}

static void put_figure(FILE *out, const char *name, double value, double low,
                       double high)
{
    char text[3][STI_NUMBER_SIZE];
    (void)sti_number_format(value, text[0]);
    (void)sti_number_format(low, text[1]);
    (void)sti_number_format(high, text[2]);
    (void)fprintf(out, ", \"%s\": %s, \"%s_95\": [%s, %s]", name, text[0], name,
                  text[1], text[2]);
}

static void evaluate(const cli_mf_model *model, const strads_sparse *rows,
                     FILE *out)
{
    double n = (double)rows->nnz;
    double absolute = 0;
    double squares = 0;
    double fourths = 0;
    for (uint64_t u = 0; u < rows->lines; u++) {
        for (uint64_t e = rows->start[u]; e < rows->start[u + 1]; e++) {
            double error =
                rows->f64[e] - cli_mf_model_predict(model, u, rows->index[e]);
            absolute += fabs(error);
            squares += error * error;
            fourths += error * error * error * error;
        }
    }
    estimate mse = estimate_of(n, squares, fourths);
    estimate mae = estimate_of(n, absolute, squares);
    (void)fprintf(out, "{\"ratings\": %" PRIu64, rows->nnz);
    put_figure(out, "rmse", sqrt(mse.mean), sqrt(fmax(mse.mean - mse.half, 0)),
               sqrt(mse.mean + mse.half));
    put_figure(out, "mae", mae.mean, fmax(mae.mean - mae.half, 0),
               mae.mean + mae.half);
    (void)fputs("}\n", out);
}

int cli_mf_evaluate(int argc, char **argv)
{
    const cli_syntax syntax = {
        .name = "mf evaluate",
        .args = "MODEL DATA",
        .summary = "Writes, as JSON, root mean squared error and mean absolute "
                   "error of a model on ratings, each with its 95 % interval.",
    };
    return judge_main(syntax, argc, argv, evaluate);
}
