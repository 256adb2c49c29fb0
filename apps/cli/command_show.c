/* strads lasso show MODEL, and the same of other linear models: the largest
 * coefficients by name, and all of them as CSV. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_names.h"
#include "cli_liblinear.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"

typedef struct show_options {
    const char *names, *csv;
    uint32_t top;
} show_options;

static const strads_option show_table[] = {
    {.name = "top",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(show_options, top),
     .metavar = "N",
     .help = "show the N largest (default 20)",
     .max = UINT32_MAX},
    {.name = "names",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(show_options, names),
     .metavar = "FILE",
     .help = "the columns' names, one a line (default: numbers)"},
    {.name = "csv",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(show_options, csv),
     .metavar = "FILE",
     .help = "write all coefficients there as CSV (default: no)"},
    {.name = NULL},
};

/* One number of the model: of column `index`, for sum `output`. */
typedef struct weight {
    uint32_t index, output;
    double value;
} weight;

static int larger(const void *a, const void *b)
{
    const weight *u = a, *v = b;
    double x = fabs(u->value), y = fabs(v->value);
    if (x != y) {
        return x < y ? 1 : -1;
    }
    return u->index < v->index ? -1 : u->index > v->index;
}

static double intercept_of(const strads_model *model, uint32_t output)
{
    return model->intercepts ? model->intercepts[output] : model->intercept;
}

/* A model with a sum a class has their labels among its options, as
 * "LABEL,LABEL,..."; NULL: it has one sum. */
static char *read_labels(const strads_model *model)
{
    json_t *options = json_loads(model->options, 0, NULL);
    const char *all = json_string_value(json_object_get(options, "classes"));
    char *labels = model->width > 1 && all ? strdup(all) : NULL;
    json_decref(options);
    return labels;
}

/* Room for a label: a name, or a number. */
enum { LABEL_SIZE = STRADS_LABEL_NAME_MAX + 1 };

/* The label of sum `output`, and how long it is. */
static const char *label_of(const char *labels, uint32_t output, int *length)
{
    for (; output > 0 && strchr(labels, ','); output--) {
        labels = strchr(labels, ',') + 1;
    }
    *length = (int)strcspn(labels, ",");
    return labels;
}

static void end_line(const char *labels, uint32_t output)
{
    int length;
    const char *label = labels ? label_of(labels, output, &length) : NULL;
    if (label) {
        (void)printf("  of label %.*s", length, label);
    }
    (void)putchar('\n');
}

static void print_top(const strads_model *model, const char *labels,
                      const strads_names *names, const weight *weights,
                      uint64_t n, uint32_t top)
{
    char room[CLI_NAME_SIZE];
    (void)printf("%s, %" PRIu64 " columns, %" PRIu64 " with weights\n",
                 model->program, model->columns, model->n);
    for (uint32_t c = 0; c < model->width; c++) {
        (void)printf("%14.6g  (intercept)", intercept_of(model, c));
        end_line(labels, c);
    }
    for (uint64_t k = 0; k < n && k < top; k++) {
        (void)printf("%14.6g  %s", weights[k].value,
                     cli_name(names, weights[k].index, room));
        end_line(labels, weights[k].output);
    }
}

static void put_line(FILE *out, const char *labels, uint64_t column,
                     const char *name, uint32_t output, double value)
{
    int length;
    const char *label = labels ? label_of(labels, output, &length) : NULL;
    (void)fprintf(out, "%" PRIu64 ",", column);
    cli_csv_text(out, name);
    if (label) {
        char text[LABEL_SIZE];
        (void)snprintf(text, sizeof text, "%.*s", length, label);
        (void)fputc(',', out);
        cli_csv_text(out, text);
    }
    (void)fputc(',', out);
    cli_csv_number(out, value);
    (void)fputc('\n', out);
}

typedef struct named_model {
    const strads_model *model;
    const strads_names *names;
    const char *labels;
} named_model;

static strads_err put_csv(void *arg, FILE *out)
{
    const strads_model *model = ((const named_model *)arg)->model;
    const strads_names *names = ((const named_model *)arg)->names;
    const char *labels = ((const named_model *)arg)->labels;
    char room[CLI_NAME_SIZE];
    (void)fputs(labels ? "column,name,label,value\n" : "column,name,value\n",
                out);
    for (uint32_t c = 0; c < model->width; c++) {
        put_line(out, labels, 0, "(intercept)", c, intercept_of(model, c));
    }
    for (uint64_t k = 0; k < model->n; k++) {
        const char *name = cli_name(names, model->index[k], room);
        for (uint32_t c = 0; c < model->width; c++) {
            put_line(out, labels, (uint64_t)model->index[k] + 1, name, c,
                     model->value[k * model->width + c]);
        }
    }
    return STRADS_OK;
}

static strads_err sort_weights(const strads_model *model, weight **out,
                               uint64_t *n)
{
    weight *weights = calloc(model->n * model->width + 1, sizeof *weights);
    *n = 0;
    if (!weights) {
        return strads_fail(STRADS_ENOMEM, "no memory left to sort weights");
    }
    for (uint64_t k = 0; k < model->n; k++) {
        for (uint32_t c = 0; c < model->width; c++) {
            double value = model->value[k * model->width + c];
            if (value != 0) {
                weights[(*n)++] = (weight){model->index[k], c, value};
            }
        }
    }
    qsort(weights, *n, sizeof *weights, larger);
    *out = weights;
    return STRADS_OK;
}

static strads_err show(const char *program, const char *path,
                       const show_options *options)
{
    strads_model *model = NULL;
    strads_names *names = NULL;
    weight *weights = NULL;
    char *labels = NULL;
    uint64_t n = 0;
    strads_err err = cli_model_read(path, program, &model);
    if (!err) {
        labels = read_labels(model);
        err = cli_names_read(options->names, model->columns, &names);
    }
    if (!err) {
        err = sort_weights(model, &weights, &n);
    }
    if (!err && options->csv) {
        named_model named = {model, names, labels};
        err = cli_output(options->csv, put_csv, &named);
    }
    if (!err) {
        print_top(model, labels, names, weights, n, options->top);
    }
    free(weights);
    free(labels);
    strads_names_free(names);
    strads_model_free(model);
    return err;
}

static int show_main(const char *program, const char *name, int argc,
                     char **argv)
{
    show_options options = {.top = 20};
    cli_syntax syntax = {
        .name = name,
        .args = "MODEL",
        .summary = "Shows the intercept and the largest weights of a model.",
        .groups = {{NULL, show_table, &options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = show(program, parsed.arg[0], &options);
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}

int cli_lasso_show(int argc, char **argv)
{
    return show_main("lasso", "lasso show", argc, argv);
}

int cli_logistic_show(int argc, char **argv)
{
    return show_main("logistic", "logistic show", argc, argv);
}

int cli_svm_show(int argc, char **argv)
{
    return show_main("svm", "svm show", argc, argv);
}

int cli_sgd_logistic_show(int argc, char **argv)
{
    return show_main("sgd-logistic", "sgd-logistic show", argc, argv);
}
