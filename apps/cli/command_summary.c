/* strads glm summary: a fit's coefficients with standard errors, tests and
 * intervals. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli_gsl.h"
#include "cli_liblinear.h"
#include "cli_linear.h"
#include "strads/glm.h"

typedef struct summary {
    cli_use use;
    const char *weights, *offset, *labels_path, *names_path;
    double level; /* of the intervals */
    strads_model *model;
    strads_data *data;
    const strads_names *names;
    strads_names *own_names;
    strads_glm_options of; /* options of the fit */
    uint64_t cols;
    double *w;  /* [cols] */
    double *se; /* [cols + 1] */
    strads_glm_dispersion dispersion;
} summary;

static const strads_option summary_table[] = {
    CLI_TEXT(summary, weights, "weights", "FILE",
             "the rows' weights of the fit, one a line (default: 1)"),
    CLI_TEXT(summary, offset, "offset", "FILE",
             "the rows' offsets of the fit, one a line (default: 0)"),
    CLI_F64(summary, level, "level", "P",
            "probability of the intervals, below 1 (default: 0.95)", 0.01,
            0.9999),
    CLI_TEXT(summary, names_path, "names", "FILE",
             "the columns' names, one a line (default: the model's)"),
    CLI_TEXT(summary, labels_path, "labels", "FILE",
             "labels of MatrixMarket data, one a line"),
    {.name = NULL},
};

/* The options of the fit that standard errors depend on. */
static strads_err read_options(summary *s, const char *path)
{
    const cli_model_kind *says;
    CLI_TRY(cli_model_kind_of(s->model->options, &says));
    const json_t *all = says->options;
    const char *penalty = json_string_value(json_object_get(all, "penalty"));
    if (!says->loss || !penalty) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: its options do not name the loss and the "
                           "penalty",
                           path);
    }
    if (s->model->width > 1) {
        return strads_fail(STRADS_EINVAL,
                           "%s: has several classes; a summary is for numbers "
                           "or two classes",
                           path);
    }
    s->of = (strads_glm_options){
        .loss = says->loss,
        .penalty = penalty,
        .loss_parameter =
            json_number_value(json_object_get(all, "loss-parameter")),
        .intercept = json_is_true(json_object_get(all, "intercept")),
        .lower = json_number_value(json_object_get(all, "lower")),
        .upper = json_number_value(json_object_get(all, "upper")),
        .classes = says->classes,
        .class_weight = json_string_value(json_object_get(all, "class-weight")),
        .weights = s->weights,
        .offset = s->offset};
    return STRADS_OK;
}

static strads_err read_fitted_rows(summary *s, const char *path)
{
    const strads_model *m = s->model;
    const strads_data_options wanted = {
        .size = sizeof wanted,
        .split = STRADS_SPLIT_ROWS,
        .layout = STRADS_LAYOUT_ROWS,
        .partitions = 1,
        .memory_limit = s->use.memory,
        .threads = s->use.workers,
        .min_cols = m->columns,
        .most_cols = m->columns,
        .labels_path = s->labels_path,
        .named_labels = s->of.classes != NULL,
        .table = m->names,
        .target = m->names ? m->target : NULL,
        .col_names = m->names,
        .col_means = m->means,
    };
    CLI_TRY(strads_data_read(path, &wanted, &s->data));
    s->cols = strads_data_cols(s->data);
    CLI_TRY(cli_reserve(s->cols + 1, sizeof *s->w, "the coefficients", &s->w));
    CLI_TRY(
        cli_reserve(s->cols + 1, sizeof *s->se, "the standard errors", &s->se));
    for (uint64_t k = 0; k < m->n; k++)
        s->w[m->index[k]] = m->value[k];
    const double b = m->intercepts ? m->intercepts[0] : m->intercept;
    s->w[s->cols] = b;
    return strads_glm_errors(s->data, &s->of, s->w, b, s->se, &s->dispersion);
}

static strads_err summarise_fit(void *state, const char *const *path)
{
    summary *s = state;
    CLI_TRY(cli_gsl_check("strads glm summary"));
    CLI_TRY(cli_model_read(path[0], "glm", &s->model));
    CLI_TRY(read_options(s, path[0]));
    CLI_TRY(cli_names_read(s->names_path, s->model->columns, &s->own_names));
    s->names = s->own_names ? s->own_names : s->model->names;
    return read_fitted_rows(s, path[1]);
}

/* ---- output -------------------------------------------------------------- */

/* The figures of one coefficient. */
typedef struct figures {
    double value, se, statistic, p, low, high;
} figures;

static figures figures_of(const summary *s, uint64_t j)
{
    const double value = s->w[j], se = s->se[j];
    /* With an estimated dispersion the statistic has a t distribution. */
    const double dof = s->dispersion.estimated ? s->dispersion.dof : 0;
    const double reach = cli_gsl_critical_value(1 - s->level, dof) * se;
    return (figures){value,         se,
                     value / se,    cli_gsl_p_value(value / se, dof),
                     value - reach, value + reach};
}

static void put_line(const summary *s, FILE *out, const char *name, uint64_t j)
{
    const figures f = figures_of(s, j);
    (void)fprintf(out, "%-20s %12.6g %12.6g %9.3f %10.4g  %12.6g %12.6g\n",
                  name, f.value, f.se, f.statistic, f.p, f.low, f.high);
}

static void put_page(const summary *s, FILE *out)
{
    char buffer[CLI_NAME_SIZE], interval[32];
    const char *sign = s->dispersion.estimated ? "t" : "z";
    (void)snprintf(interval, sizeof interval, "%.4g %% interval",
                   100 * s->level);
    (void)fprintf(out, "%-20s %12s %12s %9s %10s  %25s\n", "", "estimate",
                  "std. error", sign, "p", interval);
    if (s->of.intercept)
        put_line(s, out, "(intercept)", s->cols);
    for (uint64_t j = 0; j < s->cols; j++)
        put_line(s, out, cli_name(s->names, j, 1, buffer), j);
    (void)fprintf(out, "\n%.0f degrees of freedom, dispersion %.6g%s\n",
                  s->dispersion.dof, s->dispersion.value,
                  s->dispersion.estimated ? "" : " by the family");
}

static void put_test(const summary *s, cli_table *t, const char *name,
                     uint64_t j)
{
    const figures f = figures_of(s, j);
    cli_table_text(t, name);
    cli_table_number(t, f.value);
    cli_table_number(t, f.se);
    cli_table_number(t, f.statistic);
    cli_table_number(t, f.p);
    cli_table_number(t, f.low);
    cli_table_number(t, f.high);
}

static strads_err put_summary(void *state, FILE *out)
{
    static const cli_column columns[] = {{"name", CLI_STRING, 0},
                                         {"estimate", CLI_NUMBER, 0},
                                         {"std_error", CLI_NUMBER, 0},
                                         {"statistic", CLI_NUMBER, 0},
                                         {"p", CLI_NUMBER, 0},
                                         {"low", CLI_NUMBER, 0},
                                         {"high", CLI_NUMBER, 0}};
    const summary *s = state;
    char buffer[CLI_NAME_SIZE];
    cli_table t = {.column = columns,
                   .n = 7,
                   .rows = s->cols + s->of.intercept};
    if (cli_format_of(&s->use.out) == CLI_FORMAT_TEXT) {
        put_page(s, out);
        return STRADS_OK;
    }
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    if (s->of.intercept)
        put_test(s, &t, "(intercept)", s->cols);
    for (uint64_t j = 0; j < s->cols; j++)
        put_test(s, &t, cli_name(s->names, j, 1, buffer), j);
    return STRADS_OK;
}

static const cli_verb summary_verb = {.size = sizeof(summary),
                                      .initial =
                                          &(const summary){.level = 0.95},
                                      .table = summary_table,
                                      .usual = "text",
                                      .has = CLI_HAS_WORKERS,
                                      .read = summarise_fit,
                                      .write = put_summary};

const cli_command cli_summary_commands[] = {
    {.name = "glm summary",
     .args = "MODEL DATA",
     .summary = "print standard errors, p-values and intervals",
     .about = "Prints standard errors, tests and confidence intervals of the "
              "coefficients of a fit with --penalty none, from the data that "
              "it was fitted to.",
     .verb = &summary_verb},
    {.name = NULL},
};
