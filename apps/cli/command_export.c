/* strads export: a linear model as an ONNX file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_liblinear.h"
#include "cli_linear.h"
#include "cli_onnx.h"
#include "strads/glm.h"

typedef struct exporting {
    cli_use use;
    bool f32;
    strads_model *model;
    cli_linear_outputs as;
    double *w;            /* [n x width] of the columns with a coefficient */
    double *column;       /* [n] their numbers */
    uint64_t n;           /* at least 1 */
    cli_onnx_type number; /* type of input and probabilities */
    cli_onnx onnx;
} exporting;

static const strads_option export_table[] = {
    CLI_FLAG(exporting, f32, "f32",
             "take and return numbers of 4 bytes (default: of 8)"),
    {.name = NULL},
};

static const cli_onnx_attribute along_columns[2] = {{"axis", 1}};

static void add_node(exporting *e, const char *operator_name,
                     const char *inputs, const char *output)
{
    cli_onnx_node(&e->onnx, operator_name, inputs, output, NULL);
}

/* Scores: the coefficients times the columns that have one, plus the
 * intercept. */
static void add_scores(exporting *e)
{
    const strads_model *m = e->model;
    const uint32_t width = m->width;
    const bool all = e->n == m->columns;
    cli_onnx_input(&e->onnx, "X", e->number, m->columns);
    if (!all) {
        cli_onnx_numbers(&e->onnx, "columns", CLI_ONNX_I64, e->n, 0, e->column);
        cli_onnx_node(&e->onnx, "Gather", "X columns", "used", along_columns);
    }
    cli_onnx_numbers(&e->onnx, "coefficients", e->number, e->n, width, e->w);
    cli_onnx_numbers(&e->onnx, "intercept", e->number, width, 0,
                     m->intercepts ? m->intercepts : &m->intercept);
    add_node(e, "Gemm",
             all ? "X coefficients intercept" : "used coefficients intercept",
             "scores");
}

static void add_prediction(exporting *e)
{
    /* The mean is the margin, or its exponential. */
    const bool logarithm = e->as.loss && strads_glm_mean(e->as.loss, 1) != 1;
    add_node(e, logarithm ? "Exp" : "Identity", "scores", "prediction");
    cli_onnx_output(&e->onnx, "prediction", e->number, 1);
}

static const char *label_name(const void *labels, uint64_t k)
{
    return cli_labels_name(labels, (uint32_t)k);
}

/* The labels as a constant; returns their type. */
static cli_onnx_type add_labels(exporting *e)
{
    const cli_labels *of = &e->as.of;
    cli_onnx_type type = CLI_ONNX_I64;
    if (of->names) {
        cli_onnx_texts(&e->onnx, "labels", of->n, label_name, of);
        return CLI_ONNX_STRING;
    }
    for (uint32_t k = 0; k < of->n; k++)
        if (of->label[k] != rint(of->label[k]) || fabs(of->label[k]) > 1e15)
            type = e->number;
    cli_onnx_numbers(&e->onnx, "labels", type, of->n, 0, of->label);
    return type;
}

/* The label with the highest score; of two, the second one if its score is
 * positive. */
static void add_best_label(exporting *e)
{
    static const cli_onnx_attribute best[2] = {{"axis", 1}, {"keepdims", 0}};
    static const double zero = 0, second_axis = 1;
    const cli_onnx_attribute to_integer[2] = {{"to", CLI_ONNX_I64}};
    const cli_onnx_type type = add_labels(e);
    if (e->as.of.n == 2) {
        cli_onnx_numbers(&e->onnx, "zero", e->number, 1, 0, &zero);
        cli_onnx_numbers(&e->onnx, "axis", CLI_ONNX_I64, 1, 0, &second_axis);
        add_node(e, "Greater", "scores zero", "positive");
        cli_onnx_node(&e->onnx, "Cast", "positive", "positive_number",
                      to_integer);
        add_node(e, "Squeeze", "positive_number axis", "class");
    } else {
        cli_onnx_node(&e->onnx, "ArgMax", "scores", "class", best);
    }
    add_node(e, "Gather", "labels class", "label");
    cli_onnx_output(&e->onnx, "label", type, 0);
}

/* Probabilities of all classes, in the order of the labels. */
static void add_probabilities(exporting *e)
{
    static const double second_axis = 1;
    if (e->as.of.n == 2) {
        add_node(e, "Neg", "scores", "negative_scores");
        add_node(e, "Sigmoid", "scores", "of_second");
        add_node(e, "Sigmoid", "negative_scores", "of_first");
        cli_onnx_node(&e->onnx, "Concat", "of_first of_second", "probabilities",
                      along_columns);
    } else if (e->as.softmax) {
        cli_onnx_node(&e->onnx, "Softmax", "scores", "probabilities",
                      along_columns);
    } else {
        cli_onnx_numbers(&e->onnx, "axis", CLI_ONNX_I64, 1, 0, &second_axis);
        add_node(e, "Sigmoid", "scores", "against_rest");
        add_node(e, "ReduceSum", "against_rest axis", "all");
        add_node(e, "Div", "against_rest all", "probabilities");
    }
    cli_onnx_output(&e->onnx, "probabilities", e->number, e->as.of.n);
}

/* Adds the names of the columns of X, one a line, as metadata. */
static strads_err add_column_names(exporting *e)
{
    const strads_names *names = e->model->names;
    char buffer[CLI_NAME_SIZE];
    char *text = NULL;
    size_t size = 0;
    FILE *lines = names ? open_memstream(&text, &size) : NULL;
    if (!names)
        return STRADS_OK;
    for (uint64_t k = 0; lines && k < e->model->columns; k++)
        (void)fprintf(lines, "%s\n", cli_name(names, k, 1, buffer));
    if (!lines || fclose(lines) != 0)
        return strads_fail(STRADS_ENOMEM, "no memory left for the names");
    cli_onnx_about(&e->onnx, "columns", text);
    free(text);
    return STRADS_OK;
}

/* Copies the coefficients. A model without any gets one that is 0: operators
 * need not take empty matrices. */
static strads_err take_coefficients(exporting *e)
{
    const strads_model *m = e->model;
    e->n = m->n > 0 ? m->n : 1;
    CLI_TRY(
        cli_reserve(e->n * m->width, sizeof *e->w, "the coefficients", &e->w));
    CLI_TRY(cli_reserve(e->n, sizeof *e->column, "the columns", &e->column));
    if (m->n == 0)
        return STRADS_OK;
    memcpy(e->w, m->value, m->n * m->width * sizeof *e->w);
    for (uint64_t k = 0; k < m->n; k++)
        e->column[k] = m->index[k];
    return STRADS_OK;
}

static strads_err put_onnx(void *state, FILE *out)
{
    exporting *e = state;
    add_scores(e);
    if (e->as.of.n == 0) {
        add_prediction(e);
    } else {
        add_best_label(e);
        if (e->as.probabilities)
            add_probabilities(e);
        else
            cli_onnx_output(&e->onnx, "scores", e->number, e->as.width);
    }
    cli_onnx_about(&e->onnx, "program", e->model->program);
    CLI_TRY(add_column_names(e));
    return cli_onnx_end(&e->onnx, out);
}

static strads_err export_model(void *state, const char *const *path)
{
    exporting *e = state;
    CLI_TRY(cli_model_read(path[0], NULL, &e->model));
    CLI_TRY(
        cli_linear_outputs_read(e->use.command->of, path[0], e->model, &e->as));
    if (e->as.ordinal) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is of the loss ordinal, which export does not "
                           "write; use strads glm predict",
                           path[0]);
    }
    if (e->model->columns == 0) {
        return strads_fail(STRADS_EINVAL, "%s: the model has no columns",
                           path[0]);
    }
    e->number = e->f32 ? CLI_ONNX_F32 : CLI_ONNX_F64;
    CLI_TRY(take_coefficients(e));
    CLI_TRY(cli_output_check(path[1]));
    return cli_output(path[1], put_onnx, e);
}

static const cli_verb export_verb = {.size = sizeof(exporting),
                                     .table = export_table,
                                     .read = export_model};

const cli_command cli_export_commands[] = {
    {.name = "export",
     .args = "MODEL OUT.onnx",
     .summary = "write a linear model as an ONNX file",
     .about = "Writes a linear model as an ONNX file: input X, one row a "
              "sample; output prediction, or label with probabilities (of a "
              "hinge: scores). `strads show` has the coefficients as CSV, JSON "
              "and npy.",
     .verb = &export_verb,
     .of = &cli_linear_any},
    {.name = NULL},
};
