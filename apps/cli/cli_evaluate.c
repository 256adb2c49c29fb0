/* How good a linear model's predictions are on rows with labels: for numbers
 * R2 and errors, for classes accuracy, AUC, and each class by itself. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/linear/linear_evaluate.h"
#include "cli_names.h"
#include "cli_options.h"
#include "cli_predict.h"
#include "command.h"

typedef struct evaluate_options {
    const char *labels;
    uint32_t workers;
    bool json;
} evaluate_options;

static const strads_option evaluate_table[] = {
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(evaluate_options, json),
     .help = "print one JSON object (default: for people)"},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(evaluate_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    CLI_OPTION_READERS(offsetof(evaluate_options, workers)),
    {.name = NULL},
};

/* A class by itself: how many rows have it, were given it, and both. */
typedef struct class_tally {
    uint64_t rows, given, both;
} class_tally;

/* What these rows do not tell is not there; one row tells no interval. */
static void print_interval(bool json, const char *key, const char *words,
                           linear_interval v)
{
    const bool whole = isfinite(v.low) && isfinite(v.high);
    if (!isfinite(v.value)) {
        (void)printf(json ? ", \"%s\": null"
                          : "%-12s not to be had from these "
                            "rows\n",
                     json ? key : words);
    } else if (json && whole) {
        (void)printf(", \"%s\": [%.9g, %.9g, %.9g]", key, v.value, v.low,
                     v.high);
    } else if (json) {
        (void)printf(", \"%s\": [%.9g, null, null]", key, v.value);
    } else if (whole) {
        (void)printf("%-12s %.6g (95 %%: %.6g to %.6g)\n", words, v.value,
                     v.low, v.high);
    } else {
        (void)printf("%-12s %.6g\n", words, v.value);
    }
}

static void print_number(bool json, const char *key, const char *words,
                         double v)
{
    if (!json) {
        (void)printf("%-12s %.6g\n", words, v);
    } else if (isfinite(v)) {
        (void)printf(", \"%s\": %.9g", key, v);
    } else {
        (void)printf(", \"%s\": null", key);
    }
}

static void evaluate_numbers(const cli_scores *s, bool json)
{
    linear_errors e = linear_evaluate_numbers(s->rows, s->sum, s->label);
    print_interval(json, "r2", "R2", e.r2);
    print_interval(json, "rmse", "RMSE", e.rmse);
    print_number(json, "mae", "mean |error|", e.absolute);
}

/* Of two classes that of the second; of more the mean, each against the rest,
 * of those that rows have, with the mean of their intervals, which is no
 * narrower than its own. */
static linear_interval find_auc(const cli_scores *s, const cli_labels *of,
                                double *score, unsigned char *is_class)
{
    linear_interval sum = {0};
    double n = 0;
    for (uint32_t c = of->n == 2; c < of->n; c++) {
        for (uint64_t i = 0; i < s->rows; i++) {
            score[i] = s->sum[i * s->width + (of->n == 2 ? 0 : c)];
            is_class[i] = s->label[i] == of->label[c];
        }
        linear_interval auc = linear_evaluate_auc(s->rows, score, is_class);
        if (isfinite(auc.value)) {
            sum.value += auc.value;
            sum.low += auc.low;
            sum.high += auc.high;
            n++;
        }
    }
    return (linear_interval){sum.value / n, sum.low / n, sum.high / n};
}

static double share(uint64_t part, uint64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

/* How class k begins. */
static void print_label(bool json, const cli_labels *of, uint32_t k)
{
    const char *name = cli_labels_name(of, k);
    if (json) {
        (void)fputs(k > 0 ? ", {\"label\": " : "{\"label\": ", stdout);
    } else {
        (void)fputs("class ", stdout);
    }
    if (name && json) {
        cli_json_text(stdout, name);
    } else if (name) {
        (void)printf("%-6s", name);
    } else {
        (void)printf(json ? "%.17g" : "%-6g", of->label[k]);
    }
}

static void print_class(bool json, const class_tally *t)
{
    double precision = share(t->both, t->given),
           recall = share(t->both, t->rows);
    linear_interval f1 = linear_evaluate_f1(t->both, t->given, t->rows);
    (void)printf(json ? ", \"rows\": %" PRIu64
                        ", \"precision\": %.9g, \"recall\": %.9g"
                      : " %" PRIu64 " rows, precision %.4g, recall %.4g",
                 t->rows, precision, recall);
    if (json) {
        print_interval(true, "f1", NULL, f1);
        (void)putchar('}');
    } else if (isfinite(f1.value)) {
        (void)printf(", F1 %.4g (95 %%: %.4g to %.4g)\n", f1.value, f1.low,
                     f1.high);
    } else {
        (void)putchar('\n');
    }
}

static strads_err evaluate_classes(const cli_scores *s, const cli_labels *of,
                                   bool probabilities, bool json)
{
    class_tally *tally = calloc(of->n, sizeof *tally);
    double *score = calloc(s->rows + 1, sizeof *score);
    unsigned char *is_class = calloc(s->rows + 1, 1);
    uint64_t right = 0;
    strads_err err = STRADS_OK;
    if (!tally || !score || !is_class) {
        err = strads_fail(STRADS_ENOMEM, "no memory left to rank the rows");
        goto done;
    }
    for (uint64_t i = 0; i < s->rows; i++) {
        uint32_t given = cli_labels_best(of, s->sum + i * s->width);
        bool good = s->label[i] == of->label[given];
        for (uint32_t c = 0; c < of->n; c++) {
            tally[c].rows += s->label[i] == of->label[c];
        }
        tally[given].given++;
        tally[given].both += good;
        right += good;
    }
    print_interval(json, "accuracy", "accuracy",
                   linear_evaluate_share(right, s->rows));
    print_interval(json, "auc", "AUC", find_auc(s, of, score, is_class));
    if (probabilities) {
        print_interval(json, "log_loss", "log loss",
                       linear_evaluate_mean(s->rows, s->tally.loss,
                                            s->tally.squares));
    }
    (void)fputs(json ? ", \"classes\": [" : "", stdout);
    for (uint32_t c = 0; c < of->n; c++) {
        print_label(json, of, c);
        print_class(json, &tally[c]);
    }
    (void)fputs(json ? "]" : "", stdout);
done:
    free(tally);
    free(score);
    free(is_class);
    return err;
}

static void print_rows(const cli_scores *s, bool json)
{
    (void)printf(json ? "{\"rows\": %" PRIu64 : "rows         %" PRIu64,
                 s->rows);
    if (s->tally.strange > 0) {
        (void)printf(json ? ", \"unknown_labels\": %" PRIu64
                          : ", %" PRIu64 " of labels that the model does not "
                            "know: they count as wrong",
                     s->tally.strange);
    }
    (void)fputs(json ? "" : "\n", stdout);
}

static strads_err evaluate(const cli_predict *predict, const char *model,
                           const char *data, const evaluate_options *options)
{
    cli_scores scores = {0};
    strads_err err = cli_predict_scores(predict, model, data, options->labels,
                                        options->workers, &scores);
    if (!err && scores.rows == 0) {
        err = strads_fail(STRADS_EINVAL,
                          "%s: has no rows with labels to judge the model by",
                          data);
    }
    if (!err) {
        const cli_labels *of = cli_predict_labels(predict);
        print_rows(&scores, options->json);
        if (of->n > 0) {
            err = evaluate_classes(&scores, of, predict->probabilities,
                                   options->json);
        } else {
            evaluate_numbers(&scores, options->json);
        }
        (void)fputs(options->json ? "}\n" : "", stdout);
    }
    free(scores.sum);
    free(scores.label);
    return err;
}

int cli_evaluate_main(const cli_predict *predict, const char *name, int argc,
                      char **argv)
{
    evaluate_options options = {0};
    cli_syntax syntax = {
        .name = name,
        .args = "MODEL DATA",
        .summary = "Tells how good a model's predictions are on rows with "
                   "labels.",
        .groups = {{NULL, evaluate_table, &options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = evaluate(predict, parsed.arg[0], parsed.arg[1], &options);
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
