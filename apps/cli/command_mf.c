/* strads mf train, strads mf predict. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_mf_ratings.h"
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

/* ---- predict ----------------------------------------------------------- */

typedef struct predict_options {
    const char *output;
    uint32_t workers;
    bool quiet;
} predict_options;

static const strads_option predict_table[] = {
    {.name = "output",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(predict_options, output),
     .metavar = "FILE",
     .help = "write there (default: standard output)"},
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
     .help = "print the result only (default: no)"},
    {.name = NULL},
};

static void put_predictions(const cli_mf_model *m, const strads_sparse *rows,
                            FILE *out)
{
    char user[CLI_MF_ID_SIZE];
    char item[CLI_MF_ID_SIZE];
    char text[STI_NUMBER_SIZE];
    for (uint64_t u = 0; u < rows->lines; u++) {
        for (uint64_t e = rows->start[u]; e < rows->start[u + 1]; e++) {
            const uint32_t i = rows->index[e];
            double value = cli_mf_model_predict(m, u, i);
            (void)sti_number_format((double)(float)value, text);
            (void)fprintf(out, "%s\t%s\t%s\n",
                          cli_mf_id(m->user_names, u, m->index_base, user),
                          cli_mf_id(m->item_names, i, m->index_base, item),
                          text);
        }
    }
}

static strads_err write_predictions(const cli_mf_model *model,
                                    const strads_sparse *rows, const char *path)
{
    sti_aside aside = {0};
    if (!path) {
        put_predictions(model, rows, stdout);
        return STRADS_OK;
    }
    strads_err err = sti_aside_open(path, &aside);
    if (err) {
        return err;
    }
    put_predictions(model, rows, aside.file);
    return sti_aside_commit(&aside);
}

int cli_mf_predict(int argc, char **argv)
{
    predict_options options = {0};
    const cli_syntax syntax = {
        .name = "mf predict",
        .args = "MODEL DATA",
        .summary = "Writes `user item rating`, tabs between, for each pair of "
                   "user and item in the data, users in order.",
        .groups = {{NULL, predict_table, &options}},
    };
    cli_mf_model model = {0};
    strads_data *data = NULL;
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    bool go = !err && !parsed.done;
    if (go) {
        err = cli_mf_model_read(parsed.arg[0], &model);
    }
    if (go && !err) {
        const cli_mf_reading reading = {.workers = options.workers,
                                        .quiet = options.quiet};
        err = cli_mf_ratings_read(parsed.arg[1], &model, &reading, &data);
    }
    if (go && !err) {
        err = write_predictions(&model, &strads_data_share(data, 0)->by_row,
                                options.output);
    }
    strads_data_free(data);
    cli_mf_model_free(&model);
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
