/* The start model only sets start values, so values for parameters that the run
 * lacks are dropped. But values belong to classes, so the run must have the
 * same labels as the start model. */
#include "cli_job.h"

#include <inttypes.h>
#include <string.h>

#include "cli_labels.h"
#include "cli_liblinear.h"
#include "cli.h"

/* ---- the run's labels -------------------------------------------------- */

/* The program's option for label names, or NULL. */
static const char **classes_option(const cli_job *j)
{
    const strads_program *program = j->train->program;
    const strads_option *option =
        program->named_labels && program->named_labels(j->config)
            ? strads_option_find(program->options, "classes")
            : NULL;
    return option && option->kind == STRADS_OPTION_STRING
               ? (const char **)((char *)j->config + option->offset)
               : NULL;
}

/* from[k]: index in the start model of the run's class k. False: the classes
 * differ. */
static bool match_labels(const cli_labels *start, const cli_labels *run,
                         uint32_t *from)
{
    bool same = start->n == run->n;
    for (uint32_t k = 0; same && k < run->n; k++) {
        from[k] =
            cli_labels_class(start, cli_labels_name(run, k), run->label[k]);
        same = from[k] < start->n;
    }
    return same;
}

/* ---- values in the run's order ------------------------------------------- */

/* Reorders one row. With two classes a row has one value, which is for the
 * second class. */
static void turn_row(const double *from, const uint32_t *order, uint32_t width,
                     double *to)
{
    if (width == 1) {
        *to = order[0] == 0 ? *from : -*from;
        return;
    }
    for (uint32_t k = 0; k < width; k++)
        to[k] = from[order[k]];
}

/* Reorders all rows, then the intercepts. */
static strads_err reorder_values(cli_job *j, const uint32_t *order)
{
    const strads_model *m = j->start.model;
    const double *b = m->intercepts ? m->intercepts : &m->intercept;
    double *to;
    CLI_TRY(cli_reserve((m->n + 1) * m->width, sizeof *to, "the start", &to));
    for (uint64_t k = 0; k < m->n; k++)
        turn_row(m->value + k * m->width, order, m->width, to + k * m->width);
    if (m->width == 1 || m->intercepts)
        turn_row(b, order, m->width, to + m->n * m->width);
    j->start.turned = to;
    return STRADS_OK;
}

static strads_err match_classes(cli_job *j, const char *given)
{
    cli_labels *start, *run;
    uint32_t order[CLI_LABELS_MAX] = {0};
    CLI_TRY(cli_reserve(1, sizeof *start, "labels", &start));
    CLI_TRY(cli_reserve(1, sizeof *run, "labels", &run));
    if (!cli_labels_read(given, run))
        return STRADS_OK; /* the program will report the error */
    if (!cli_labels_read(j->start.classes, start) ||
        !match_labels(start, run, order)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: its labels are %s, those of --classes are "
                           "%s; a start has the same labels, in any order",
                           j->files.start, j->start.classes, given);
    }
    return reorder_values(j, order);
}

/* ---- reading ----------------------------------------------------------- */

/* Sets the run's labels, if the program has classes. */
static strads_err take_classes(cli_job *j)
{
    const char **classes = classes_option(j);
    const char *labels = j->start.classes;
    if (!classes != !labels) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is a model of %s, and this run is of %s; start "
                           "from a model of the same program",
                           j->files.start, labels ? "classes" : "numbers",
                           labels ? "numbers" : "classes");
    }
    if (classes && *classes)
        return match_classes(j, *classes);
    if (classes) {
        *classes = labels;
        return cli_job_keep_options(j);
    }
    return STRADS_OK;
}

/* Sets the intercepts, in the order of the run's classes. */
static void use_intercepts(cli_job *j)
{
    const strads_model *m = j->start.model;
    const double *b = m->width > 1 && !m->intercepts ? NULL
                      : j->start.turned ? j->start.turned + m->n * m->width
                      : m->intercepts   ? m->intercepts
                                        : &m->intercept;
    if (b && j->train->start && !j->train->start(j->config, b) && *b != 0) {
        cli_say(j->files.quiet,
                "the start's intercept is left out: this run fits none");
    }
}

strads_err cli_start_read(cli_job *j)
{
    cli_start *start = &j->start;
    CLI_TRY(
        cli_model_read(j->files.start, cli_job_model(j->train), &start->model));
    if (j->train->program->named_labels) {
        const cli_model_kind *says;
        CLI_TRY(cli_model_kind_of(start->model->options, &says));
        start->classes = says->classes;
        CLI_TRY(take_classes(j));
    }
    if (j->train->start_width) {
        j->train->start_width(j->config, start->model->width);
        CLI_TRY(cli_job_keep_options(j));
    }
    j->engine.n_start = start->model->n;
    j->engine.start_param = start->model->index;
    j->engine.start_value = start->turned ? start->turned : start->model->value;
    use_intercepts(j);
    return STRADS_OK;
}

/* ---- with the data ----------------------------------------------------- */

/* Each row of this process must have one of the labels. If the process has all
 * rows, each label must have a row. */
static strads_err check_rows(const cli_job *j, const cli_labels *labels)
{
    bool seen[CLI_LABELS_MAX] = {false};
    uint64_t rows = 0;
    const strads_share *share;
    char buffer[CLI_LABEL_SIZE];
    for (uint32_t p = 0; (share = strads_data_share(j->data, p)); p++) {
        const uint64_t n = share->rows.end - share->rows.begin;
        for (uint64_t i = 0; share->label && i < n; i++) {
            const double label = share->label[i];
            const char *name =
                share->label_names
                    ? strads_names_at(share->label_names, (uint32_t)label)
                    : NULL;
            const uint32_t k = cli_labels_class(labels, name, label);
            if (k == labels->n) {
                (void)snprintf(buffer, sizeof buffer, "%g", label);
                return strads_fail(STRADS_EINVAL,
                                   "%s: its labels are %s, and the data has "
                                   "rows with the label %s; start from a model "
                                   "of the same labels",
                                   j->files.start, j->start.classes,
                                   name ? name : buffer);
            }
            seen[k] = true;
        }
        rows += n;
    }
    for (uint32_t k = 0; rows == strads_data_rows(j->data) && k < labels->n;
         k++) {
        if (!seen[k]) {
            return strads_fail(STRADS_EINVAL,
                               "%s: its labels are %s, and no row of the data "
                               "has the label %s; start from a model of the "
                               "same labels",
                               j->files.start, j->start.classes,
                               cli_labels_text(labels, k, buffer));
        }
    }
    return STRADS_OK;
}

/* Columns of tables are matched by name. */
static strads_err check_names(const cli_job *j)
{
    const strads_names *start = j->start.model->names;
    const strads_names *run = strads_data_col_names(j->data);
    bool same = !start == !run;
    for (uint32_t k = 0; start && run && k < strads_names_count(start); k++) {
        same = same && k < strads_names_count(run) &&
               strcmp(strads_names_at(start, k), strads_names_at(run, k)) == 0;
    }
    return same || j->train->program->kind != STRADS_KIND_SAMPLES
               ? STRADS_OK
               : strads_fail(STRADS_EMISMATCH,
                             "%s: was trained on columns with other names than "
                             "those of %s; a start must have the same names",
                             j->files.start, j->data_path);
}

strads_err cli_start_check(const cli_job *j)
{
    cli_labels *labels;
    CLI_TRY(check_names(j));
    if (!j->start.classes || j->start.turned)
        return STRADS_OK; /* the program then compares them with --classes */
    CLI_TRY(cli_reserve(1, sizeof *labels, "labels", &labels));
    return cli_labels_read(j->start.classes, labels)
               ? check_rows(j, labels)
               : strads_fail(STRADS_EFORMAT,
                             "%s: its classes are \"%s\"; expected labels "
                             "separated by commas",
                             j->files.start, j->start.classes);
}

strads_err cli_start_cut(cli_job *j, const strads_shape *shape)
{
    const strads_model *start = j->start.model;
    uint64_t n = 0;
    if (start->width != shape->width) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: has %" PRIu32 " values for each coefficient, "
                           "this run needs %" PRIu32,
                           j->files.start, start->width, shape->width);
    }
    const uint64_t most =
        shape->coefficients ? shape->coefficients : shape->parameters;
    while (n < start->n && start->index[n] < most)
        n++;
    j->engine.n_start = n;
    if (n < start->n) {
        cli_say(j->files.quiet,
                "%" PRIu64 " of the start's %" PRIu64 " coefficients have no "
                "column in the data and are left out",
                start->n - n, start->n);
    }
    return STRADS_OK;
}
