/* strads fm: trains a factorisation machine; predict, evaluate and show use its
 * models. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_fm_rows.h"
#include "cli_linear.h"
#include "cli_train.h"
#include "strads/fm.h"

static void resolve_fm(const void *state, void *config)
{
    *(strads_fm_options *)config = *strads_fm_resolved(state);
}

static void start_fm(void *config, uint32_t width)
{
    strads_fm_options *o = config;
    if (o->rank == 0)
        o->rank = width > 1 ? width - 1 : STRADS_FM_LINEAR;
}

static void complete_fm(const void *state, strads_model *model)
{
    cli_train_intercepts(strads_fm_intercepts(state), model);
}

static void describe_fm(const void *state)
{
    const strads_fm_options *o = strads_fm_resolved(state);
    cli_say(false, "rank %" PRIu32 ", lambda %.4g, of the factors %.4g",
            o->rank == STRADS_FM_LINEAR ? 0 : o->rank, o->lambda,
            o->lambda_factors);
    cli_say(false, "mean loss of %s %.6g%s%s",
            o->context > 0 ? "pairs of training rows and drawn items"
                           : "the training rows",
            strads_fm_loss(state), o->classes ? "; labels " : "",
            o->classes ? o->classes : "");
}

/* Training on ratings with tables of attributes. */
typedef struct training {
    cli_use use;
    cli_fm_tables tables;
    strads_fm_options *config; /* of the run */
    strads_fm_tuning tuning;
} training;

static const strads_option tables_options[] = {CLI_FM_TABLES_OPTIONS(training,
                                                                     tables),
                                               {.name = NULL}};

static strads_err check_fm_tables(void *state, void *config)
{
    training *t = state;
    bool used;
    t->config = config;
    CLI_TRY(cli_fm_tables_check(&t->tables, &used));
    if (used && t->config->context > 0)
        return strads_fail(STRADS_EINVAL,
                           "--context: with --users or --items the columns of "
                           "the user are known; leave it out");
    return STRADS_OK;
}

static bool has_tables(const void *state)
{
    const cli_fm_tables *t = &((const training *)state)->tables;
    return t->users || t->items;
}

static strads_err make_fm_rows(void *state, const char *path,
                               const strads_data_options *options,
                               strads_data **out)
{
    training *t = state;
    uint32_t context;
    CLI_TRY(cli_fm_rows_read(&t->tables, path, NULL, options, &context, out));
    if (t->config->loss && strcmp(t->config->loss, "bpr") == 0)
        t->config->context = context;
    return STRADS_OK;
}

/* With several processes nothing is chosen, but the columns of the users, which
 * bpr needs, are counted. */
static bool tunes_fm(const void *state, const void *config)
{
    const strads_fm_options *o = config;
    (void)state;
    return o->context == 0 && o->loss && strcmp(o->loss, "bpr") == 0;
}

static strads_err tune_fm(void *state, void *config, const strads_data *data,
                          const strads_engine_options *engine, bool quiet)
{
    strads_fm_tuning *t = &((training *)state)->tuning;
    CLI_TRY(strads_fm_tune(config, data, engine, t));
    *(strads_fm_options *)config = t->options;
    if (t->trials > 0) {
        const strads_fm_trial *best = &t->trial[t->best];
        cli_say(quiet,
                "chose rank %" PRIu32 ", lambda %.4g by %" PRIu32 " fits of "
                "%" PRIu64 " rows: mean loss %.6g of %" PRIu64 " held-out rows",
                best->rank, best->lambda, t->trials, t->rows, best->loss,
                t->held);
    }
    return STRADS_OK;
}

static strads_err log_fm_trials(void *state, cli_log *log)
{
    const strads_fm_tuning *t = &((const training *)state)->tuning;
    for (uint32_t k = 0; k < t->trials; k++) {
        cli_json j = cli_log_line(log, "trial");
        cli_json_count(&j, "rank", t->trial[k].rank);
        cli_json_number(&j, "lambda", t->trial[k].lambda);
        cli_json_number(&j, "validation_loss", t->trial[k].loss);
        cli_json_raw(&j, "chosen", k == t->best ? "true" : "false");
        cli_log_end_line(log, &j);
    }
    return STRADS_OK;
}

static const cli_train train = {
    .tunes = tunes_fm,
    .tune = tune_fm,
    .tell = log_fm_trials,
    .program = &strads_program_fm,
    .options = "Factorisation machine:",
    .size = sizeof(training),
    .more = tables_options,
    .check = check_fm_tables,
    .makes = has_tables,
    .make = make_fm_rows,
    .start_width = start_fm,
    .resolve = resolve_fm,
    .complete = complete_fm,
    .describe = describe_fm,
};

/* ---- show -------------------------------------------------------------- */

typedef struct shown {
    cli_use use;
    strads_model *model;
} shown;

static strads_err read_fm(void *state, const char *const *path)
{
    return strads_model_read(path[0], "fm", &((shown *)state)->model);
}

/* Columns column, name, weight, factor_1, factor_2, ...; the first line is that
 * of w_0. */
static strads_err put_columns(void *state, FILE *out)
{
    const shown *s = state;
    const strads_model *m = s->model;
    const uint32_t width = m->width > 0 ? m->width : 1;
    char buffer[CLI_NAME_SIZE];
    cli_column *column;
    char(*title)[24];
    CLI_TRY(cli_reserve((size_t)width + 2, sizeof *column, "a table", &column));
    CLI_TRY(cli_reserve(width, sizeof *title, "a table", &title));
    column[0] = (cli_column){"column", CLI_COUNT, 0};
    column[1] = (cli_column){"name", CLI_STRING, 0};
    column[2] = (cli_column){"weight", CLI_NUMBER, 0};
    for (uint32_t f = 1; f < width; f++) {
        (void)snprintf(title[f], sizeof title[f], "factor_%" PRIu32, f);
        column[f + 2] = (cli_column){title[f], CLI_NUMBER, 0};
    }
    cli_table t = {.column = column, .n = width + 2, .rows = m->n + 1};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    cli_table_count(&t, 0);
    cli_table_text(&t, "(intercept)");
    cli_table_number(&t, m->intercepts ? m->intercepts[0] : m->intercept);
    for (uint32_t f = 1; f < width; f++)
        cli_table_number(&t, 0);
    for (uint64_t k = 0; k < m->n; k++) {
        cli_table_count(&t, (uint64_t)m->index[k] + 1);
        cli_table_text(&t, cli_name(m->names, m->index[k], 1, buffer));
        for (uint32_t f = 0; f < width; f++)
            cli_table_number(&t, m->value[k * width + f]);
    }
    return STRADS_OK;
}

static const cli_verb show_verb = {
    .size = sizeof(shown),
    .usual = "csv",
    .read = read_fm,
    .write = put_columns,
};

static const cli_linear_kind fm = {.program = "fm",
                                   .classifies = true,
                                   .by_loss = true,
                                   .probabilities = true,
                                   .fm = true};

const cli_command cli_fm_commands[] = {
    {.name = "fm train",
     .args = "DATA",
     .summary = "train a factorisation machine",
     .about = "Trains a factorisation machine, for numbers or for two classes, "
              "on LIBSVM or MatrixMarket data, or on ratings with tables of "
              "attributes: weights of columns, and of pairs of columns by "
              "factors.",
     .train = &train},
    {.name = "fm predict",
     .args = "MODEL DATA",
     .summary = "write its predictions, one a line",
     .about = "Writes a number or, with the logistic loss, the probability of "
              "the positive label, one line for each row of the data. Columns "
              "that the model does not have are ignored.",
     .verb = &cli_fm_predict,
     .of = &fm},
    {.name = "fm evaluate",
     .args = "MODEL DATA",
     .summary = "measure its predictions",
     .about = "Measures a model's predictions on rows with labels.",
     .verb = &cli_fm_evaluate,
     .of = &fm},
    {.name = "fm show",
     .args = "MODEL",
     .summary = "write its weights and factors as CSV",
     .about = "Writes a model's weights and factors as CSV with a header, a "
              "line a column.",
     .verb = &show_verb},
    {.name = NULL},
};
