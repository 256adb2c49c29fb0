/* strads mf train, strads mf predict. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_mf_ratings.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_train.h"
#include "command.h"
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
    CLI_OPTION_OUTPUT(offsetof(predict_options, output)),
    CLI_OPTION_READERS(offsetof(predict_options, workers)),
    CLI_OPTION_RESULT_ONLY(offsetof(predict_options, quiet)),
    {.name = NULL},
};

typedef struct predictions {
    const cli_mf_model *model;
    const strads_sparse *rows;
} predictions;

static strads_err put_predictions(void *arg, FILE *out)
{
    const predictions *p = arg;
    const cli_mf_model *m = p->model;
    const strads_sparse *rows = p->rows;
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
    return STRADS_OK;
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
        predictions p = {&model, &strads_data_share(data, 0)->by_row};
        err = cli_output(options.output, put_predictions, &p);
    }
    strads_data_free(data);
    cli_mf_model_free(&model);
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
