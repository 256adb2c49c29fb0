/* strads mf evaluate: a model's errors on ratings, and how good the order of
 * its recommendations is, beside the order by popularity. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_mf_ratings.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"
#include "engine/base/number_text.h"
#include "strads/recommend.h"

typedef struct evaluate_options {
    const char *train, *output;
    double relevant;
    uint32_t top, workers;
    bool quiet;
} evaluate_options;

#define FIELD(name) offsetof(evaluate_options, name)

static const strads_option evaluate_table[] = {
    {.name = "train",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(train),
     .metavar = "RATINGS",
     .help = "what it was trained on: errors there, and ranking (none)"},
    {.name = "top",
     .kind = STRADS_OPTION_U32,
     .offset = FIELD(top),
     .metavar = "K",
     .help = "places of a ranking that count (default 10)",
     .min = 1,
     .max = 1e6},
    {.name = "relevant",
     .kind = STRADS_OPTION_F64,
     .offset = FIELD(relevant),
     .metavar = "R",
     .help = "ratings from R up are to be found (default: the model's mean)"},
    CLI_OPTION_OUTPUT(FIELD(output)),
    CLI_OPTION_READERS(FIELD(workers)),
    CLI_OPTION_RESULT_ONLY(FIELD(quiet)),
    {.name = NULL},
};

typedef struct evaluation {
    evaluate_options o;
    cli_mf_model model;
    strads_data *test, *train;
    strads_ranking ours, popular;
} evaluation;

/* ---- errors ------------------------------------------------------------ */

/* Mean of n numbers from their sum and the sum of their squares, and half the
 * width of its 95 % interval by the normal distribution: NaN of one number. */
typedef struct estimate {
    double mean, half;
} estimate;

static estimate estimate_of(double n, double sum, double squares)
{
    double mean = sum / n;
    double variance = fmax(squares - sum * mean, 0) / (n - 1);
    return (estimate){mean, n > 1 ? 1.959964 * sqrt(variance / n) : NAN};
}

/* Errors are not below 0; what is not known stays so. */
static double low_of(const estimate *e)
{
    return isnan(e->half) ? NAN : fmax(e->mean - e->half, 0);
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

static void put_errors(FILE *out, const cli_mf_model *model,
                       const strads_data *data)
{
    const strads_sparse *rows = &strads_data_share(data, 0)->by_row;
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
    (void)fprintf(out, "\"ratings\": %" PRIu64, rows->nnz);
    put_figure(out, "rmse", sqrt(mse.mean), sqrt(low_of(&mse)),
               sqrt(mse.mean + mse.half));
    put_figure(out, "mae", mae.mean, low_of(&mae), mae.mean + mae.half);
}

/* ---- ranking ----------------------------------------------------------- */

static strads_err rank(evaluation *e)
{
    const strads_mf_factors factors = cli_mf_model_factors(&e->model);
    strads_recommender *recommender = NULL;
    strads_err err = strads_recommender_new(&factors, &recommender);
    if (!err) {
        err = strads_recommender_judge(recommender, &factors,
                                       &strads_data_share(e->train, 0)->by_row,
                                       &strads_data_share(e->test, 0)->by_row,
                                       e->o.relevant, e->o.top, &e->ours,
                                       &e->popular);
    }
    strads_recommender_free(recommender);
    return err;
}

static void put_number(FILE *out, const char *name, double value)
{
    char text[STI_NUMBER_SIZE];
    (void)sti_number_format(value, text);
    (void)fprintf(out, ", \"%s\": %s", name, isnan(value) ? "null" : text);
}

static void put_ranking(FILE *out, const evaluation *e)
{
    (void)fprintf(out,
                  ", \"ranking\": {\"top\": %" PRIu32 ", \"users\": %" PRIu64,
                  e->o.top, e->ours.users);
    put_number(out, "relevant", e->o.relevant);
    put_number(out, "ndcg", e->ours.ndcg);
    put_number(out, "recall", e->ours.recall);
    put_number(out, "popularity_ndcg", e->popular.ndcg);
    put_number(out, "popularity_recall", e->popular.recall);
    (void)fputc('}', out);
}

/* ---- the command ------------------------------------------------------- */

static strads_err read_input(evaluation *e, const cli_parsed *parsed)
{
    const cli_mf_reading reading = {.workers = e->o.workers,
                                    .quiet = e->o.quiet};
    strads_err err = cli_mf_model_read(parsed->arg[0], &e->model);
    if (!err) {
        err =
            cli_mf_ratings_read(parsed->arg[1], &e->model, &reading, &e->test);
    }
    if (!err && e->o.train) {
        err = cli_mf_ratings_read(e->o.train, &e->model, &reading, &e->train);
    }
    if (isnan(e->o.relevant)) {
        e->o.relevant = e->model.mean;
    }
    return err || !e->train ? err : rank(e);
}

static strads_err put_all(void *arg, FILE *out)
{
    const evaluation *e = arg;
    (void)fputc('{', out);
    put_errors(out, &e->model, e->test);
    if (e->train) {
        (void)fputs(", \"train\": {", out);
        put_errors(out, &e->model, e->train);
        (void)fputc('}', out);
        put_ranking(out, e);
    }
    (void)fputs("}\n", out);
    return STRADS_OK;
}

int cli_mf_evaluate(int argc, char **argv)
{
    evaluation e = {.o = {.top = 10, .relevant = NAN}};
    const cli_syntax syntax = {
        .name = "mf evaluate",
        .args = "MODEL DATA",
        .summary = "Writes, as JSON, root mean squared error and mean absolute "
                   "error of a model on ratings, each with its 95 % interval; "
                   "with --train there, too, and how well it ranks.",
        .groups = {{NULL, evaluate_table, &e.o}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    const bool go = !err && !parsed.done;
    if (go) {
        err = read_input(&e, &parsed);
    }
    if (go && !err) {
        err = cli_output(e.o.output, put_all, &e);
    }
    strads_data_free(e.test);
    strads_data_free(e.train);
    cli_mf_model_free(&e.model);
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
