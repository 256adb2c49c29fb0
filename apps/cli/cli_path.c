/* strads lasso path, logistic path: fits at a grid of lambdas, as a table, with
 * coefficients and a diagram. strads lasso cv, logistic cv: the same on all
 * rows, the error on held-out rows, and the model at the lambda that the errors
 * select. */
#include "cli_path.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_liblinear.h"
#include "cli_plot.h"
#include "cli_refit.h"
#include "strads/glm.h"

/* Most lines in a diagram; more are indistinguishable. */
enum { LINES_MAX = 40 };

typedef struct path_job {
    cli_use use;
    cli_refit refit;
    const char *coefficients, *svg, *names_path;
    double *seconds; /* [capacity] when each point was reached; the first n are
                   * set */
    uint32_t n, capacity;
    strads_names *own_names;        /* --names */
    const strads_names *names;      /* these, the data's, or NULL: numbers */
    const strads_path_point *point; /* [n_points] of the finished run */
    uint32_t n_points;
} path_job;

static const strads_option path_table[] = {
    STRADS_OPTION(STRING, path_job, coefficients, "coefficients", "FILE",
                  "CSV: lambda, column, name, value (default: none)",
                  .rare = true),
    STRADS_OPTION(STRING, path_job, svg, "svg", "FILE",
                  "draw coefficients and nonzeros (default: no)", .rare = true),
    STRADS_OPTION(STRING, path_job, names_path, "names", "FILE",
                  "the columns' names, one a line (default: the data's)",
                  .rare = true),
    CLI_ADAPTIVE_OPTIONS(path_job, refit),
    CLI_RELAX_OPTION(path_job, refit),
    {.name = NULL},
};

static const cli_path *path_of(const cli_use *use)
{
    return use->command->of;
}

/* ---- while it runs ----------------------------------------------------- */

static strads_err check_path(void *state, void *config)
{
    (void)config;
    const path_job *job = state;
    CLI_TRY(cli_refit_check(&job->refit));
    if (job->coefficients)
        CLI_TRY(cli_output_check(job->coefficients));
    return job->svg ? cli_output_check(job->svg) : STRADS_OK;
}

static bool path_tunes(const void *state, const void *config)
{
    (void)config;
    return ((const path_job *)state)->refit.adaptive > 0;
}

/* Also whether relaxed fits suit the data. */
static strads_err path_tune(void *state, void *config, const strads_data *data,
                            const strads_engine_options *engine, bool quiet)
{
    const path_job *job = state;
    CLI_TRY(cli_refit_look(job->refit.relax, config, data));
    return cli_refit_weigh(&job->refit, config, data, engine, quiet);
}

static bool path_needs_rows(const void *state)
{
    return ((const path_job *)state)->refit.relax != 1;
}

static void path_refine(const void *state, strads_model *model)
{
    cli_refit_apply(&((const path_job *)state)->refit, model);
}

static strads_err read_path_names(void *state, const strads_data *data)
{
    path_job *job = state;
    CLI_TRY(cli_names_read(job->names_path, strads_data_cols(data),
                           &job->own_names));
    job->names = job->own_names ? job->own_names : strads_data_col_names(data);
    return STRADS_OK;
}

/* Points reached in the same scan get the same time. */
static void note_points(void *state, const strads_progress *progress)
{
    path_job *job = state;
    uint32_t n = progress->measure[0] > 0 ? (uint32_t)progress->measure[0] : 0;
    if (n > job->capacity) {
        uint32_t capacity = n + n / 2 + 64;
        double *more = realloc(job->seconds, capacity * sizeof *more);
        if (!more)
            return; /* the table then has no seconds */
        job->seconds = more;
        job->capacity = capacity;
    }
    for (; job->n < n; job->n++)
        job->seconds[job->n] = progress->seconds;
}

/* ---- after the run ------------------------------------------------------ */

static strads_err write_table(void *state, FILE *out)
{
    static const cli_column columns[] = {{"lambda", CLI_NUMBER, 0},
                                         {"nonzeros", CLI_COUNT, 0},
                                         {"objective", CLI_NUMBER, 0},
                                         {"gap", CLI_NUMBER, 0},
                                         {"seconds", CLI_NUMBER, 0},
                                         {"deviance", CLI_NUMBER, 0}};
    const path_job *job = state;
    cli_table t = {.column = columns, .n = 6, .rows = job->n_points};
    strads_err err = cli_table_begin(&t, &job->use.out, out);
    for (uint32_t k = 0; k < job->n_points && !err; k++) {
        const strads_path_point *point = &job->point[k];
        cli_table_number(&t, point->lambda);
        cli_table_count(&t, point->nonzeros);
        cli_table_number(&t, point->objective);
        cli_table_number(&t, point->gap);
        cli_table_number(&t, k < job->n ? job->seconds[k] : NAN);
        cli_table_number(&t, point->deviance);
    }
    return err;
}

static strads_err write_coefficients(void *state, FILE *out)
{
    static const cli_column columns[] = {{"lambda", CLI_NUMBER, 0},
                                         {"column", CLI_COUNT, 0},
                                         {"name", CLI_STRING, 0},
                                         {"value", CLI_NUMBER, 0}};
    const path_job *job = state;
    char buffer[CLI_NAME_SIZE];
    cli_table t = {.column = columns, .n = 4};
    strads_err err = cli_table_begin(&t, &(cli_out){.format = "csv"}, out);
    for (uint32_t k = 0; k < job->n_points; k++) {
        const strads_path_point *point = &job->point[k];
        for (uint64_t e = 0; e <= point->nonzeros; e++) {
            const uint32_t index = e ? point->index[e - 1] : 0;
            cli_table_number(&t, point->lambda);
            cli_table_count(&t, e ? (uint64_t)index + 1 : 0);
            cli_table_text(&t, e ? cli_name(job->names, index, 1, buffer)
                                 : "(intercept)");
            cli_table_number(&t, e ? point->value[e - 1] : point->intercept);
        }
    }
    return err;
}

typedef struct line {
    uint32_t column;
    double value; /* value at the last point */
} line;

static int compare_lines(const void *a, const void *b)
{
    double u = fabs(((const line *)a)->value);
    double v = fabs(((const line *)b)->value);
    return (u < v) - (u > v);
}

static double at_column(const strads_path_point *point, uint32_t column)
{
    uint64_t low = 0, high = point->nonzeros;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (point->index[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < point->nonzeros && point->index[low] == column
               ? point->value[low]
               : 0;
}

static void draw_coefficients(const path_job *job, cli_plot plot, line *lines,
                              const double *x, double *y)
{
    const strads_path_point *point = job->point;
    const uint32_t n = job->n_points;
    const strads_path_point *last = &point[n - 1];
    char buffer[CLI_NAME_SIZE];
    uint64_t m = last->nonzeros;
    for (uint64_t e = 0; e < m; e++)
        lines[e] = (line){last->index[e], last->value[e]};
    qsort(lines, m, sizeof *lines, compare_lines);
    m = m < LINES_MAX ? m : LINES_MAX;
    plot.title = last->nonzeros > LINES_MAX ? "the 40 largest coefficients"
                                            : "coefficients";
    plot.y = (cli_axis){.name = "coefficient"};
    for (uint64_t l = 0; l < m; l++) {
        for (uint32_t k = 0; k < n; k++) {
            double v = at_column(&point[k], lines[l].column);
            plot.y.first = fmin(plot.y.first, v);
            plot.y.last = fmax(plot.y.last, v);
        }
    }
    cli_plot_frame(&plot);
    for (uint64_t l = 0; l < m; l++) {
        for (uint32_t k = 0; k < n; k++)
            y[k] = at_column(&point[k], lines[l].column);
        cli_plot_line(&plot, n, x, y, (unsigned)l, 0);
        cli_plot_note(&plot, y[n - 1],
                      cli_name(job->names, lines[l].column, 1, buffer),
                      (unsigned)l);
    }
    cli_plot_finish(&plot);
}

/* Draws the diagram in the middle: the number of nonzero coefficients against
 * lambda. */
static void draw_nonzeros(cli_plot plot, const strads_path_point *point,
                          uint32_t n, const double *x, double *y)
{
    plot.place = 1;
    plot.title = "coefficients that are not 0";
    plot.y = (cli_axis){.name = "nonzeros"};
    for (uint32_t k = 0; k < n; k++) {
        y[k] = (double)point[k].nonzeros;
        plot.y.last = fmax(plot.y.last, y[k]);
    }
    cli_plot_frame(&plot);
    cli_plot_line(&plot, n, x, y, 0, 0);
}

static cli_axis lambda_axis(const strads_path_point *point, uint32_t n,
                            double *x)
{
    for (uint32_t k = 0; k < n; k++)
        x[k] = fmax(point[k].lambda, 1e-300);
    return (cli_axis){.name = "lambda (from strong to weak)",
                      .first = x[0],
                      .last = x[n - 1],
                      .logarithmic = true};
}

/* The sum of |w| at each point. */
static cli_axis size_axis(const strads_path_point *point, uint32_t n, double *x)
{
    double most = 0;
    for (uint32_t k = 0; k < n; k++) {
        x[k] = 0;
        for (uint64_t e = 0; e < point[k].nonzeros; e++)
            x[k] += fabs(point[k].value[e]);
        most = fmax(most, x[k]);
    }
    return (cli_axis){.name = "sum of |w|", .first = 0, .last = most};
}

static strads_err draw_path(void *state, FILE *out)
{
    const path_job *job = state;
    const uint32_t n = job->n_points;
    double *x;
    line *lines;
    CLI_TRY(cli_reserve(2 * (size_t)n, sizeof *x, "the drawing", &x));
    CLI_TRY(cli_reserve(job->point[n - 1].nonzeros, sizeof *lines,
                        "the drawing", &lines));
    cli_plot plot = {.out = out, .x = lambda_axis(job->point, n, x)};
    cli_plot_begin(out, 3, job->use.command->name);
    draw_coefficients(job, plot, lines, x, x + n);
    draw_nonzeros(plot, job->point, n, x, x + n);
    plot.place = 2;
    plot.x = size_axis(job->point, n, x);
    draw_coefficients(job, plot, lines, x, x + n);
    cli_plot_end(out);
    return STRADS_OK;
}

void cli_say_separable(const void *state)
{
    if (strads_glm_separable(state))
        cli_say(false, "no minimum: without a penalty the data are separable, "
                       "and coefficients grow without bound; give a penalty "
                       "(--penalty ridge --lambda 0.001), or leave out the "
                       "columns that separate");
}

static strads_err finish_path(void *state, const cli_trained *trained)
{
    path_job *job = state;
    job->point = trained->train->points(strads_result_state(trained->result),
                                        &job->n_points);
    const uint32_t n = job->n_points;
    CLI_TRY(
        cli_refit_mix(job->refit.relax, trained, job->point, n, &job->point));
    if (n > 0 && job->refit.relax != 1)
        job->refit.mixed = &job->point[n - 1];
    if (n > 0) {
        cli_say(trained->quiet,
                "%" PRIu32 " points from lambda %.6g to %.6g, %" PRIu64
                " nonzeros at the last",
                n, job->point[0].lambda, job->point[n - 1].lambda,
                job->point[n - 1].nonzeros);
    }
    if (job->coefficients)
        CLI_TRY(cli_output(job->coefficients, write_coefficients, job));
    return job->svg && n > 0 ? cli_output(job->svg, draw_path, job) : STRADS_OK;
}

/* The command's other program, for data that it takes by columns. */
static const cli_train *path_instead(const cli_train *asked, const void *config,
                                     const strads_engine_options *engine,
                                     const char *path, const strads_data *data)
{
    const strads_glm_path_options *o = config;
    (void)data;
    return cli_wants_columns(o->fit.cut, engine, path) ? asked->other[0] : NULL;
}

/* Trains by the path's program or by that of columns, with the members of
 * `common` or `by_columns`. */
static int run_path(const cli_command *self, const cli_train *common,
                    const cli_train *by_columns, int argc, char **argv)
{
    const cli_path *path = self->of;
    cli_command command = *self;
    cli_train columns = *by_columns, train = *common;
    columns.program = path->columns.program;
    columns.model = path->columns.model;
    columns.resolve = path->columns.resolve;
    columns.describe = path->columns.describe;
    columns.points = path->columns.points;
    columns.errors = path->columns.errors;
    columns.all_rows = false;
    train.program = path->train.program;
    train.model = path->train.model;
    train.resolve = path->train.resolve;
    train.describe = path->train.describe;
    train.points = path->train.points;
    if (!common->write) {
        columns.complete = path->columns.complete;
        train.complete = path->train.complete;
    }
    train.instead = path_instead;
    train.other[0] = &columns;
    command.train = &train;
    return cli_train_main(&command, argc, argv);
}

int cli_path_main(const cli_command *self, int argc, char **argv)
{
    const cli_train common = {.options = "Path:",
                              .size = sizeof(path_job),
                              .initial = &(
                                  const path_job){.refit = CLI_REFIT_DEFAULTS},
                              .tunes = path_tunes,
                              .tune = path_tune,
                              .needs_rows = path_needs_rows,
                              .refine = path_refine,
                              .more = path_table,
                              .usual = "csv",
                              .check = check_path,
                              .look = read_path_names,
                              .note = note_points,
                              .finish = finish_path,
                              .print = write_table};
    return run_path(self, &common, &common, argc, argv);
}

/* ---- cross-validation ---------------------------------------------------- */

/* A path on all rows, and its errors on held-out rows. */
typedef struct cv_path {
    char ratio[32];         /* its l1-ratio, as given; "": only one */
    strads_result *own;     /* its own fit; NULL: the command's run */
    void *config;           /* its options */
    strads_cv_point *error; /* [n] */
    const strads_path_point *point;
    uint32_t n, best, simplest;
} cv_path;

typedef struct cv_job {
    cli_use use;
    const char *svg, *choice, *fold_file, *ratios;
    cli_refit refit; /* without `relax` */
    const char *relax;
    double *share; /* [shares] of relax, descending */
    uint32_t shares;
    uint32_t folds;
    cv_path *path; /* [n_paths] */
    uint32_t n_paths;
    const cv_path *chosen; /* and the selected point on it */
    uint32_t at;
} cv_job;

static const strads_option cv_table[] = {
    CLI_U32(cv_job, folds, "folds", "K",
            "parts of the rows, each held out once (default: 10)", 2, 1e6),
    STRADS_OPTION(STRING, cv_job, fold_file, "fold-file", "FILE",
                  "each row's part, from 1, one a line (default: drawn)",
                  .rare = true),
    CLI_CHOICE(cv_job, choice, "choose", "WHICH",
               "the model's lambda: best or 1se (default: 1se)", "best|1se"),
    STRADS_OPTION(STRING, cv_job, ratios, "l1-ratios", "LIST",
                  "choose among these mixtures, too: A,A,... (no)",
                  .rare = true),
    CLI_ADAPTIVE_OPTIONS(cv_job, refit),
    STRADS_OPTION(STRING, cv_job, relax, "relax", "LIST",
                  "choose among shares of penalised coefficients, S,S,... or "
                  "auto: 1,.75,.5,.25,0 (1)",
                  .rare = true),
    CLI_TEXT(cv_job, svg, "svg", "FILE",
             "draw errors and nonzeros (default: no)"),
    {.name = NULL},
};

/* The number of mixtures: the given l1-ratios, or the command's only one. */
static uint32_t count_ratios(const cv_job *job)
{
    uint32_t n = 1;
    for (const char *c = job->ratios; c && *c; c++)
        n += *c == ',';
    return n;
}

/* Sets a program's options to number k of the l1-ratios, if any were given. */
static strads_err set_ratio(const cv_job *job, uint32_t k, void *config,
                            char text[32])
{
    if (!job->ratios)
        return STRADS_OK;
    const strads_option *table = path_of(&job->use)->train.program->options;
    const char *at = job->ratios;
    for (; k > 0; k--)
        at += strcspn(at, ",") + 1;
    const size_t n = strcspn(at, ",");
    (void)snprintf(text, 32, "%.*s", (int)(n < 31 ? n : 31), at);
    return strads_option_set(strads_option_find(table, "l1-ratio"), config,
                             text);
}

static int compare_shares(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Parses --relax; without it the only share is 1. */
static strads_err read_shares(cv_job *job)
{
    const char *text = !job->relax                       ? "1"
                       : strcmp(job->relax, "auto") == 0 ? "1,.75,.5,.25,0"
                                                         : job->relax;
    uint32_t n = 1;
    for (const char *c = text; *c; c++)
        n += *c == ',';
    CLI_TRY(cli_reserve(n, sizeof *job->share, "the shares", &job->share));
    for (const char *c = text; job->shares < n; job->shares++) {
        char *end;
        const double share = strtod(c, &end);
        if (end == c || !(share >= 0 && share <= 1) ||
            (*end != ',' && *end != '\0'))
            return strads_fail(STRADS_EINVAL,
                               "--relax: found \"%s\"; expected auto, or "
                               "numbers from 0 to 1 separated by commas",
                               c);
        job->share[job->shares] = share;
        c = *end ? end + 1 : end;
    }
    qsort(job->share, n, sizeof *job->share, compare_shares);
    return STRADS_OK;
}

static bool cv_tunes(const void *state, const void *config)
{
    (void)config;
    return ((const cv_job *)state)->refit.adaptive > 0;
}

/* Whether fits are relaxed: another share than 1 is asked for. */
static bool cv_relaxes(const cv_job *job)
{
    return job->share[job->shares - 1] != 1;
}

/* Also whether relaxed fits suit the data. */
static strads_err cv_tune(void *state, void *config, const strads_data *data,
                          const strads_engine_options *engine, bool quiet)
{
    const cv_job *job = state;
    CLI_TRY(cli_refit_look(job->share[job->shares - 1], config, data));
    return cli_refit_weigh(&job->refit, config, data, engine, quiet);
}

/* The same by columns, whose run validates its own path. */
static strads_err cv_tune_columns(void *state, void *config,
                                  const strads_data *data,
                                  const strads_engine_options *engine,
                                  bool quiet)
{
    if (cv_relaxes(state))
        return strads_fail(STRADS_EINVAL,
                           "--relax needs the rows of the selected columns, "
                           "and this cross-validation is by columns; take "
                           "--cut rows");
    return cv_tune(state, config, data, engine, quiet);
}

static bool cv_needs_rows(const void *state)
{
    return ((const cv_job *)state)->relax != NULL;
}

static strads_err cv_check(void *state, void *config)
{
    cv_job *job = state;
    strads_glm_path_options *options = config;
    char text[32];
    CLI_TRY(cli_refit_check(&job->refit));
    CLI_TRY(read_shares(state));
    /* Used if the path is by columns. */
    options->folds = job->fold_file ? 0 : job->folds;
    options->fold_file = job->fold_file;
    for (uint32_t k = count_ratios(job);
         k-- > 0;) /* ends with the first, which the run
                                                    * fits */
        CLI_TRY(set_ratio(job, k, config, text));
    return job->svg ? cli_output_check(job->svg) : STRADS_OK;
}

static strads_err cv_look(void *state, const strads_data *data)
{
    const cv_job *job = state;
    if (!job->fold_file && job->folds > strads_data_rows(data)) {
        return strads_fail(STRADS_EINVAL,
                           "--folds %" PRIu32 ": the data has %" PRIu64
                           " rows, and each fold needs one",
                           job->folds, strads_data_rows(data));
    }
    return STRADS_OK;
}

static bool has_accuracy(const cv_path *path)
{
    return path->n > 0 && !isnan(path->error[0].accuracy);
}

static void cv_write_point(cli_table *t, const cv_job *job, const cv_path *path,
                           uint32_t k)
{
    const strads_cv_point *e = &path->error[k];
    const bool best = k == path->best, simplest = k == path->simplest;
    if (job->ratios)
        cli_table_number(t, strtod(path->ratio, NULL));
    cli_table_number(t, e->lambda);
    if (job->relax)
        cli_table_number(t, job->share[k % job->shares]);
    cli_table_count(t, path->point[k / job->shares].nonzeros);
    cli_table_number(t, e->error);
    cli_table_number(t, e->deviation);
    if (has_accuracy(path))
        cli_table_number(t, e->accuracy);
    cli_table_text(t, path != job->chosen ? ""
                      : best && simplest  ? "best 1se"
                      : best              ? "best"
                      : simplest          ? "1se"
                                          : "");
}

static strads_err cv_write_table(void *state, FILE *out)
{
    static const cli_column ratio = {"l1_ratio", CLI_NUMBER, 0},
                            lambda = {"lambda", CLI_NUMBER, 0},
                            share = {"relax", CLI_NUMBER, 0},
                            all[] = {{"nonzeros", CLI_COUNT, 0},
                                     {"error", CLI_NUMBER, 0},
                                     {"deviation", CLI_NUMBER, 0}},
                            right = {"accuracy", CLI_NUMBER, 0},
                            choice = {"choice", CLI_STRING, 0};
    const cv_job *job = state;
    cli_column used[8];
    uint32_t n = 0, rows = 0;
    if (job->ratios)
        used[n++] = ratio;
    used[n++] = lambda;
    if (job->relax)
        used[n++] = share;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        used[n++] = all[k];
    if (has_accuracy(job->chosen))
        used[n++] = right;
    used[n++] = choice;
    for (uint32_t p = 0; p < job->n_paths; p++)
        rows += job->path[p].n * job->shares;
    cli_table t = {.column = used, .n = n, .rows = rows};
    strads_err err = cli_table_begin(&t, &job->use.out, out);
    for (uint32_t p = 0; p < job->n_paths && !err; p++)
        for (uint32_t k = 0; k < job->path[p].n * job->shares; k++)
            cv_write_point(&t, job, &job->path[p], k);
    return err;
}

static strads_err cv_draw(void *state, FILE *out)
{
    const cv_job *job = state;
    const cv_path *path = job->chosen;
    const uint32_t shares = job->shares;
    const strads_cv_point *error = path->error + job->at % shares;
    const uint32_t best = path->best / shares;
    const uint32_t simplest = path->simplest / shares;
    double *x;
    CLI_TRY(cli_reserve(2 * (size_t)path->n, sizeof *x, "the drawing", &x));
    cli_plot plot = {.out = out,
                     .title = path_of(&job->use)->title,
                     .x = lambda_axis(path->point, path->n, x),
                     .y = {.name = "error, with its standard error",
                           .first = INFINITY,
                           .last = -INFINITY}};
    cli_plot both = plot;
    for (uint32_t k = 0; k < path->n; k++) {
        const strads_cv_point *e = &error[(size_t)k * shares];
        plot.y.first = fmin(plot.y.first, e->error - e->deviation);
        plot.y.last = fmax(plot.y.last, e->error + e->deviation);
    }
    cli_plot_begin(out, 2, job->use.command->name);
    cli_plot_frame(&plot);
    for (uint32_t k = 0; k < path->n; k++) {
        const strads_cv_point *e = &error[(size_t)k * shares];
        cli_plot_bar(&plot, x[k], e->error, e->error - e->deviation,
                     e->error + e->deviation);
    }
    cli_plot_mark(&plot, x[best], best == simplest ? "best, 1se" : "best");
    if (best != simplest)
        cli_plot_mark(&plot, x[simplest], "1se");
    draw_nonzeros(both, path->point, path->n, x, x + path->n);
    cli_plot_end(out);
    return STRADS_OK;
}

/* ---- after the path on all rows ---------------------------------------- */

/* The part of --time-limit that the run on all rows has left for the folds; 0:
 * no limit. */
static double time_left(const cli_trained *trained)
{
    const double limit = trained->engine->time_limit;
    const double left =
        limit - strads_result_progress(trained->result)->seconds;
    return limit > 0 ? fmax(left, 1e-9) : 0;
}

static strads_err validate(const cv_job *job, const cli_trained *trained,
                           cv_path *out)
{
    const strads_end end = strads_result_end(trained->result);
    double *lambda;
    out->point =
        trained->train->points(strads_result_state(trained->result), &out->n);
    if (end != STRADS_END_CONVERGED && end != STRADS_END_STOPPED) {
        return strads_fail(STRADS_ECANCELED,
                           "the path on all rows was cut short after %" PRIu32
                           " points, and has no errors",
                           out->n);
    }
    CLI_TRY(cli_reserve((size_t)out->n * job->shares, sizeof *out->error,
                        "the errors", &out->error));
    if (trained->train->errors)
        return trained->train->errors(strads_result_state(trained->result),
                                      out->error, &out->best, &out->simplest);
    CLI_TRY(cli_reserve(out->n, sizeof *lambda, "the lambdas", &lambda));
    for (uint32_t k = 0; k < out->n; k++)
        lambda[k] = out->point[k].lambda;
    strads_glm_cv_options options = {.path = *(const strads_glm_path_options *)
                                                  trained->config,
                                     .folds = job->folds,
                                     .fold_file = job->fold_file,
                                     .threads = trained->engine->workers,
                                     .seed = trained->seed,
                                     .tolerance = trained->engine->tolerance,
                                     .stop = trained->engine->stop,
                                     .time_limit = time_left(trained)};
    options.path.points = out->n;
    options.path.lambda = lambda;
    options.relax = cv_relaxes(job) ? job->share : NULL;
    options.relaxes = job->shares;
    return strads_glm_cv(trained->data, &options, out->error, &out->best,
                         &out->simplest);
}

/* Fits a path on all rows at another mixture than the command's. */
static strads_err fit_again(const cli_trained *trained,
                            const strads_program *program, const void *config,
                            strads_result **out)
{
    strads_engine_options engine = *trained->engine;
    engine.time_limit = time_left(trained);
    engine.progress = NULL;
    engine.checkpoint = engine.resume = engine.trace = NULL;
    return strads_run(program, config, trained->data, &engine, out);
}

/* Validates each mixture. */
static strads_err validate_all(cv_job *job, const cli_trained *trained)
{
    const strads_program *program = trained->train->program;
    cli_trained again = *trained;
    void *config;
    const uint32_t n = count_ratios(job);
    CLI_TRY(cli_reserve(n, sizeof *job->path, "the mixtures", &job->path));
    for (; job->n_paths < n; job->n_paths++) {
        cv_path *path = &job->path[job->n_paths];
        CLI_TRY(cli_reserve(program->config_size, 1, "options", &config));
        memcpy(config, trained->config, program->config_size);
        again.config = path->config = config;
        CLI_TRY(set_ratio(job, job->n_paths, config, path->ratio));
        if (job->n_paths > 0) {
            CLI_TRY(fit_again(trained, program, config, &path->own));
            again.result = path->own;
        }
        CLI_TRY(validate(job, &again, path));
    }
    return STRADS_OK;
}

static void tell_place(const cv_job *job, const char *what, uint32_t place)
{
    const cv_path *path = job->chosen;
    const strads_cv_point *e = &path->error[place];
    char right[64] = "", mixture[64] = "", share[64] = "";
    if (has_accuracy(path)) {
        (void)snprintf(right, sizeof right, ", %.2f %% of labels right",
                       100 * e->accuracy);
    }
    if (job->ratios)
        (void)snprintf(mixture, sizeof mixture, "l1-ratio %s, ", path->ratio);
    if (job->relax)
        (void)snprintf(share, sizeof share, "relax %g, ",
                       job->share[place % job->shares]);
    cli_say(false,
            "%s: %s%slambda %.6g, error %.6g +- %.2g, %" PRIu64 " nonzeros%s",
            what, mixture, share, e->lambda, e->error, e->deviation,
            path->point[place / job->shares].nonzeros, right);
}

static strads_err cv_finish(void *state, const cli_trained *trained)
{
    cv_job *job = state;
    CLI_TRY(validate_all(job, trained));
    job->chosen = job->path;
    for (uint32_t k = 1; k < job->n_paths; k++)
        if (job->path[k].error[job->path[k].best].error <
            job->chosen->error[job->chosen->best].error)
            job->chosen = &job->path[k];
    const bool best = job->choice && strcmp(job->choice, "best") == 0;
    job->at = best ? job->chosen->best : job->chosen->simplest;
    if (!trained->quiet) {
        tell_place(job, "best", job->chosen->best);
        tell_place(job, "within one standard error", job->chosen->simplest);
    }
    return job->svg ? cli_output(job->svg, cv_draw, job) : STRADS_OK;
}

/* The run's options with the selected mixture; the caller frees them. */
static char *options_of(const cv_job *job, const char *options)
{
    if (!job->ratios)
        return strdup(options);
    json_t *all = json_loads(options, 0, NULL);
    char *text = NULL;
    if (all &&
        !json_object_set_new(all, "l1-ratio",
                             json_real(strtod(job->chosen->ratio, NULL))))
        text = json_dumps(all, JSON_PRESERVE_ORDER | JSON_INDENT(2) |
                                   JSON_REAL_PRECISION(15));
    json_decref(all);
    return text;
}

/* The model is the path's selected point, which is fitted on all rows. */
static strads_err write_path_model(const cli_trained *trained, const char *path)
{
    const cv_job *job = trained->state;
    const strads_path_point *point = &job->chosen->point[job->at / job->shares];
    const strads_result *result =
        job->chosen->own ? job->chosen->own : trained->result;
    cli_trained own = *trained;
    own.config = job->chosen->config;
    CLI_TRY(cli_refit_mix(job->share[job->at % job->shares], &own, point, 1,
                          &point));
    char *options = options_of(job, trained->options);
    if (!options)
        return strads_fail(STRADS_ENOMEM, "no memory for the options");
    strads_model model = {.program = path_of(&job->use)->train.model,
                          .columns = strads_data_cols(trained->data),
                          .width = 1,
                          .intercept = point->intercept,
                          .n = point->nonzeros,
                          .index = point->index,
                          .value = point->value,
                          .options = options,
                          .fit = {.objective = point->objective,
                                  .gap = point->gap,
                                  .rounds = point->round,
                                  .seconds =
                                      strads_result_progress(result)->seconds,
                                  .seed = trained->seed,
                                  .partitions =
                                      strads_result_partitions(result)}};
    cli_model_name(&model, trained->data, trained->target);
    double *thresholds = NULL;
    if (!trained->train->errors) /* no state of columns */
        (void)strads_glm_thresholds(strads_result_state(result),
                                    &model.n_thresholds);
    CLI_TRY(cli_reserve(model.n_thresholds + 1, sizeof *thresholds,
                        "the thresholds", &thresholds));
    model.thresholds = thresholds;
    if (model.n_thresholds > 0)
        CLI_TRY(strads_glm_point_thresholds(trained->data, own.config, point,
                                            model.n_thresholds, thresholds));
    const strads_err err = cli_model_write(&model, path, trained->quiet);
    free(options);
    return err;
}

int cli_cv_main(const cli_command *self, int argc, char **argv)
{
    const cli_train common = {.options = "Path:",
                              .all_rows = true,
                              .write = write_path_model,
                              .size = sizeof(cv_job),
                              .initial = &(const cv_job){.folds = 10},
                              .tunes = cv_tunes,
                              .tune = cv_tune,
                              .needs_rows = cv_needs_rows,
                              .more = cv_table,
                              .usual = "csv",
                              .check = cv_check,
                              .look = cv_look,
                              .finish = cv_finish,
                              .print = cv_write_table};
    cli_train by_columns = common;
    by_columns.tune = cv_tune_columns;
    return run_path(self, &common, &by_columns, argc, argv);
}
