/* Predictions of a linear model: a sum over each row's entries, and what the
 * program makes of it. */
#include "cli_predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_cost.h"
#include "cli_liblinear.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"
#include "engine/base/number_text.h"

typedef struct predict_options {
    const char *output, *labels;
    uint32_t workers;
    bool quiet;
} predict_options;

static const strads_option predict_table[] = {
    CLI_OPTION_OUTPUT(offsetof(predict_options, output)),
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(predict_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    CLI_OPTION_READERS(offsetof(predict_options, workers)),
    CLI_OPTION_RESULT_ONLY(offsetof(predict_options, quiet)),
    {.name = NULL},
};

/* A model as it is used: coefficients by column, and room for a row. */
typedef struct scorer {
    uint32_t width;
    double *w;    /* [columns x width] */
    double *b;    /* [width] */
    double *sum;  /* [width] */
    double *told; /* [width] */
} scorer;

static void scorer_free(scorer *s)
{
    free(s->w);
    free(s->b);
}

static strads_err scorer_make(const strads_model *model, uint64_t columns,
                              scorer *s)
{
    const size_t width = model->width;
    *s = (scorer){.width = model->width};
    s->w = calloc((columns + 1) * width, sizeof *s->w);
    s->b = calloc(3 * width, sizeof *s->b);
    if (!s->w || !s->b) {
        return strads_fail(STRADS_ENOMEM,
                           "%" PRIu64 " coefficients need %" PRIu64
                           " bytes, which are not there",
                           columns * width,
                           columns * width * (uint64_t)sizeof *s->w);
    }
    s->sum = s->b + width;
    s->told = s->sum + width;
    for (uint64_t k = 0; k < model->n; k++) {
        memcpy(s->w + model->index[k] * width, model->value + k * width,
               width * sizeof *s->w);
    }
    for (size_t c = 0; c < width; c++) {
        s->b[c] = model->intercepts ? model->intercepts[c] : model->intercept;
    }
    return STRADS_OK;
}

static void add_up_row(const strads_sparse *rows, uint64_t i, scorer *s)
{
    memcpy(s->sum, s->b, s->width * sizeof *s->sum);
    for (uint64_t e = rows->start[i]; e < rows->start[i + 1]; e++) {
        const double *w = s->w + (size_t)rows->index[e] * s->width;
        for (uint32_t c = 0; c < s->width; c++) {
            s->sum[c] += rows->f64[e] * w[c];
        }
    }
}

/* Writes a line a row. */
typedef struct prediction {
    const cli_predict *predict;
    const strads_share *share;
    scorer *s;
    cli_tally tally; /* afterwards */
} prediction;

/* Names and numbers have no label in common: then it is none of the model's. */
static double label_of(const cli_predict *predict, const strads_share *share,
                       uint64_t i)
{
    const bool named = cli_predict_labels(predict)->names != NULL;
    return named == (share->label_names != NULL) ? share->label[i] : NAN;
}

static void write_row(const cli_predict *predict, scorer *s, FILE *out)
{
    char text[STI_NUMBER_SIZE];
    const char *name =
        predict->name_of ? predict->name_of(predict->arg, s->sum) : NULL;
    if (name) {
        (void)fprintf(out, "%s\n", name);
        return;
    }
    uint32_t n = predict->values(predict->arg, s->sum, s->told);
    for (uint32_t k = 0; k < n; k++) {
        (void)sti_number_format(s->told[k], text);
        (void)fputs(text, out);
        (void)fputc(k + 1 < n ? ' ' : '\n', out);
    }
}

static strads_err predict_all(void *arg, FILE *out)
{
    prediction *p = arg;
    const cli_predict *predict = p->predict;
    const strads_share *share = p->share;
    scorer *s = p->s;
    for (uint64_t i = 0; i < share->by_row.lines; i++) {
        add_up_row(&share->by_row, i, s);
        write_row(predict, s, out);
        if (share->label) {
            predict->judge(predict->arg, s->sum, label_of(predict, share, i),
                           &p->tally);
        }
    }
    p->tally.rows = share->label ? share->by_row.lines : 0;
    return STRADS_OK;
}

/* Names are numbered as the model has them; columns that it does not have take
 * no room, however far out they are. */
static strads_err read_rows(const cli_predict *predict, const char *path,
                            const strads_model *model,
                            const predict_options *options, strads_data **out)
{
    const cli_labels *labels = cli_predict_labels(predict);
    const uint64_t columns = model->columns > 0 ? model->columns : 1;
    strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .threads = options->workers,
        .min_cols = columns,
        .most_cols = columns,
        .labels_path = options->labels,
        .named_labels = labels->n > 0,
        .label_names = labels->names,
    };
    cli_cost_tell(options->quiet, path, &wanted);
    return strads_data_read(path, &wanted, out);
}

void cli_predict_tell_strange(const cli_tally *tally)
{
    if (tally->strange > 0) {
        cli_say(false,
                "%" PRIu64 " of them have labels that the model does not know, "
                "and count as wrong",
                tally->strange);
    }
}

static strads_err write_values(const cli_predict *predict,
                               const predict_options *options,
                               const strads_share *share, scorer *s)
{
    prediction p = {.predict = predict, .share = share, .s = s};
    strads_err err = cli_output(options->output, predict_all, &p);
    if (!err && p.tally.rows > 0 && !options->quiet) {
        predict->tell(predict->arg, &p.tally);
    }
    return err;
}

static strads_err check_model(const cli_predict *predict, const char *path,
                              const strads_model *model)
{
    if (model->width != 1 && !predict->many) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: has %" PRIu32
                           " values for each coefficient, a %s model has one",
                           path, model->width, predict->program);
    }
    return predict->check ? predict->check(predict->arg, path, model)
                          : STRADS_OK;
}

/* Model, data, and a scorer of them; all to be freed, after an error too. */
typedef struct pair {
    strads_model *model;
    strads_data *data;
    scorer s;
} pair;

static void pair_free(pair *p)
{
    scorer_free(&p->s);
    strads_data_free(p->data);
    strads_model_free(p->model);
}

static strads_err pair_read(const cli_predict *predict, const char *model_path,
                            const char *data_path,
                            const predict_options *options, pair *p)
{
    strads_err err = cli_model_read(model_path, predict->program, &p->model);
    if (!err) {
        err = check_model(predict, model_path, p->model);
    }
    if (!err) {
        err = read_rows(predict, data_path, p->model, options, &p->data);
    }
    return err ? err : scorer_make(p->model, strads_data_cols(p->data), &p->s);
}

static strads_err run_predict(const cli_predict *predict,
                              const char *model_path, const char *data_path,
                              const predict_options *options)
{
    pair p = {0};
    strads_err err = pair_read(predict, model_path, data_path, options, &p);
    if (!err) {
        err =
            write_values(predict, options, strads_data_share(p.data, 0), &p.s);
    }
    pair_free(&p);
    return err;
}

static strads_err take_scores(const cli_predict *predict,
                              const strads_share *share, scorer *s,
                              cli_scores *out)
{
    const uint64_t rows = share->label ? share->by_row.lines : 0;
    out->width = s->width;
    out->sum = calloc(rows * s->width + 1, sizeof *out->sum);
    out->label = calloc(rows + 1, sizeof *out->label);
    if (!out->sum || !out->label) {
        return strads_fail(STRADS_ENOMEM,
                           "no memory left for the sums of %" PRIu64 " rows",
                           rows);
    }
    for (uint64_t i = 0; i < rows; i++) {
        add_up_row(&share->by_row, i, s);
        memcpy(out->sum + i * s->width, s->sum, s->width * sizeof *s->sum);
        out->label[i] = label_of(predict, share, i);
        predict->judge(predict->arg, s->sum, out->label[i], &out->tally);
    }
    out->rows = rows;
    return STRADS_OK;
}

strads_err cli_predict_scores(const cli_predict *predict, const char *model,
                              const char *data, const char *labels,
                              uint32_t workers, cli_scores *out)
{
    const predict_options options = {.labels = labels,
                                     .workers = workers,
                                     .quiet = true};
    pair p = {0};
    strads_err err = pair_read(predict, model, data, &options, &p);
    if (!err) {
        err = take_scores(predict, strads_data_share(p.data, 0), &p.s, out);
    }
    pair_free(&p);
    return err;
}

int cli_predict_main(const cli_predict *predict, int argc, char **argv)
{
    predict_options options = {0};
    cli_syntax syntax = {
        .name = predict->name,
        .args = "MODEL DATA",
        .summary = predict->summary,
        .groups = {{NULL, predict_table, &options},
                   {NULL, predict->options, predict->arg}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = run_predict(predict, parsed.arg[0], parsed.arg[1], &options);
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
