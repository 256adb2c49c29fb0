/* strads lasso path, logistic path: a fit at each of many lambdas, as a table,
 * with the coefficients along them, and drawn. strads lasso cv, logistic cv: the
 * same on all rows, its error on rows left out, and the model at the lambda that
 * the errors choose. */
#include "cli_path.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_liblinear.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "engine/base/atomic_file.h"

/* Lines in a diagram: more than that nobody tells apart. */
enum { LINES_MAX = 40 };

typedef struct path_job {
    const cli_path *path;
    cli_out out;
    const char *coefficients, *svg, *names_path;
    double *seconds; /* [room] when each point was reached; n of them known */
    uint32_t n, room;
    strads_names *names;
    const strads_path_point *point; /* [n_points] of the run that has ended */
    uint32_t n_points;
} path_job;

static const strads_option output_table[] = {
    CLI_OPTIONS_OUT(path_job, out, "csv"),
    {.name = "coefficients",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(path_job, coefficients),
     .metavar = "FILE",
     .help = "CSV: lambda, column, name, value (default: none)"},
    {.name = "svg",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(path_job, svg),
     .metavar = "FILE",
     .help = "draw coefficients and nonzeros (default: no)"},
    {.name = "names",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(path_job, names_path),
     .metavar = "FILE",
     .help = "the columns' names, one a line (default: numbers)"},
    {.name = NULL},
};

/* ---- while it runs ----------------------------------------------------- */

static strads_err check(void *arg, void *config)
{
    (void)config;
    path_job *job = arg;
    const char *files[] = {job->out.path, job->coefficients, job->svg};
    strads_err err = STRADS_OK;
    for (size_t k = 0; !err && k < sizeof files / sizeof *files; k++) {
        err = files[k] ? sti_atomic_file_check(files[k]) : STRADS_OK;
    }
    return err;
}

static strads_err look(void *arg, const strads_data *data)
{
    path_job *job = arg;
    return cli_names_read(job->names_path, strads_data_cols(data), &job->names);
}

/* Points reached by the same scan were reached at the same time. */
static void note(void *arg, const strads_progress *progress)
{
    path_job *job = arg;
    uint32_t n = progress->measure[0] > 0 ? (uint32_t)progress->measure[0] : 0;
    if (n > job->room) {
        uint32_t room = n + n / 2 + 64;
        double *more = realloc(job->seconds, room * sizeof *more);
        if (!more) {
            return; /* the table has no seconds then */
        }
        job->seconds = more;
        job->room = room;
    }
    for (; job->n < n; job->n++) {
        job->seconds[job->n] = progress->seconds;
    }
}

/* ---- afterwards -------------------------------------------------------- */

static strads_err write_table(void *arg, FILE *out)
{
    static const cli_column columns[] = {{"lambda", CLI_NUMBER, 0},
                                         {"nonzeros", CLI_COUNT, 0},
                                         {"objective", CLI_NUMBER, 0},
                                         {"gap", CLI_NUMBER, 0},
                                         {"seconds", CLI_NUMBER, 0},
                                         {"deviance", CLI_NUMBER, 0}};
    const path_job *job = arg;
    cli_table t = {.out = out,
                   .format = cli_format_of(&job->out),
                   .column = columns,
                   .n = 6,
                   .rows = job->n_points};
    strads_err err = cli_table_begin(&t);
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

static strads_err write_coefficients(void *arg, FILE *out)
{
    static const cli_column columns[] = {{"lambda", CLI_NUMBER, 0},
                                         {"column", CLI_COUNT, 0},
                                         {"name", CLI_STRING, 0},
                                         {"value", CLI_NUMBER, 0}};
    const path_job *job = arg;
    char room[CLI_NAME_SIZE];
    cli_table t = {.out = out,
                   .format = CLI_FORMAT_CSV,
                   .column = columns,
                   .n = 4};
    strads_err err = cli_table_begin(&t);
    for (uint32_t k = 0; k < job->n_points; k++) {
        const strads_path_point *point = &job->point[k];
        for (uint64_t e = 0; e <= point->nonzeros; e++) {
            const uint32_t index = e ? point->index[e - 1] : 0;
            cli_table_number(&t, point->lambda);
            cli_table_count(&t, e ? (uint64_t)index + 1 : 0);
            cli_table_text(&t, e ? cli_name(job->names, index, 1, room)
                                 : "(intercept)");
            cli_table_number(&t, e ? point->value[e - 1] : point->intercept);
        }
    }
    return err;
}

typedef struct line {
    uint32_t column;
    double value; /* at the last point */
} line;

static int larger(const void *a, const void *b)
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
        if (point->index[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
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
    char room[CLI_NAME_SIZE];
    uint64_t m = last->nonzeros;
    for (uint64_t e = 0; e < m; e++) {
        lines[e] = (line){last->index[e], last->value[e]};
    }
    qsort(lines, m, sizeof *lines, larger);
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
        for (uint32_t k = 0; k < n; k++) {
            y[k] = at_column(&point[k], lines[l].column);
        }
        cli_plot_line(&plot, n, x, y, (unsigned)l, 0);
        cli_plot_note(&plot, y[n - 1],
                      cli_name(job->names, lines[l].column, 1, room),
                      (unsigned)l);
    }
    cli_plot_finish(&plot);
}

/* How many coefficients are not 0, along lambda: the right diagram. */
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
    for (uint32_t k = 0; k < n; k++) {
        x[k] = fmax(point[k].lambda, 1e-300);
    }
    return (cli_axis){.name = "lambda (from strong to weak)",
                      .first = x[0],
                      .last = x[n - 1],
                      .logarithmic = true};
}

static strads_err draw(void *arg, FILE *out)
{
    const path_job *job = arg;
    const uint32_t n = job->n_points;
    double *x = calloc(2 * (size_t)n + 1, sizeof *x);
    line *lines = calloc(job->point[n - 1].nonzeros + 1, sizeof *lines);
    strads_err err = STRADS_OK;
    if (x && lines) {
        cli_plot plot = {.out = out, .x = lambda_axis(job->point, n, x)};
        cli_plot_begin(out, 2, job->path->train.name);
        draw_coefficients(job, plot, lines, x, x + n);
        draw_nonzeros(plot, job->point, n, x, x + n);
        cli_plot_end(out);
    } else {
        err = strads_fail(STRADS_ENOMEM, "no memory left to draw the path");
    }
    free(x);
    free(lines);
    return err;
}

static strads_err finish(void *arg, const cli_trained *trained)
{
    path_job *job = arg;
    strads_err err = STRADS_OK;
    job->point =
        job->path->points(strads_result_state(trained->result), &job->n_points);
    if (job->coefficients) {
        err = cli_output(job->coefficients, write_coefficients, job);
    }
    if (!err && job->svg && job->n_points > 0) {
        err = cli_output(job->svg, draw, job);
    }
    return err;
}

static strads_err print(void *arg)
{
    path_job *job = arg;
    return cli_output(job->out.path, write_table, job);
}

void cli_path_describe(const strads_path_point *point, uint32_t n)
{
    if (n > 0) {
        cli_say(false,
                "%" PRIu32 " points from lambda %.6g to %.6g, %" PRIu64
                " nonzeros at the last",
                n, point[0].lambda, point[n - 1].lambda, point[n - 1].nonzeros);
    }
}

int cli_path_main(const cli_path *path, int argc, char **argv)
{
    path_job job = {.path = path, .out.format = "csv"};
    cli_train train = path->train;
    train.options = "Path:";
    train.more = output_table;
    train.arg = &job;
    train.check = check;
    train.look = look;
    train.note = note;
    train.finish = finish;
    train.print = print;
    const int code = cli_train_main(&train, argc, argv);
    strads_names_free(job.names);
    free(job.seconds);
    return code;
}

/* ---- cross-validation ---------------------------------------------------------- */

typedef struct cv_job {
    const cli_cv *cv;
    cli_out out;
    const char *svg, *choice;
    uint32_t folds;
    strads_cv_point *error; /* [n] */
    const strads_path_point *point;
    uint32_t n, best, simplest, chosen;
} cv_job;

static const strads_option cv_table[] = {
    {.name = "folds",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(cv_job, folds),
     .metavar = "K",
     .help = "parts of the rows, each left out once (default 10)",
     .min = 2,
     .max = 1e6},
    {.name = "choose",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cv_job, choice),
     .metavar = "WHICH",
     .help = "the model's lambda: best or 1se (default 1se)",
     .choices = "best|1se"},
    CLI_OPTIONS_OUT(cv_job, out, "csv"),
    {.name = "svg",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cv_job, svg),
     .metavar = "FILE",
     .help = "draw errors and nonzeros (default: no)"},
    {.name = NULL},
};

static strads_err cv_check(void *arg, void *config)
{
    (void)config;
    const cv_job *job = arg;
    strads_err err =
        job->out.path ? sti_atomic_file_check(job->out.path) : STRADS_OK;
    return !err && job->svg ? sti_atomic_file_check(job->svg) : err;
}

static strads_err cv_look(void *arg, const strads_data *data)
{
    const cv_job *job = arg;
    const strads_share *first = strads_data_share(data, 0);
    for (uint32_t k = 0; first && k < first->partitions; k++) {
        if (!strads_data_share(data, k)) {
            first = NULL;
        }
    }
    if (!first) {
        return strads_fail(STRADS_EINVAL,
                           "%s needs all rows in one process; leave --listen "
                           "and --nodes out",
                           job->cv->name);
    }
    if (job->folds > strads_data_rows(data)) {
        return strads_fail(STRADS_EINVAL,
                           "--folds %" PRIu32 ": the data has %" PRIu64
                           " rows, and each fold needs one",
                           job->folds, strads_data_rows(data));
    }
    return STRADS_OK;
}

static strads_err cv_write_table(void *arg, FILE *out)
{
    static const cli_column columns[] = {{"lambda", CLI_NUMBER, 0},
                                         {"nonzeros", CLI_COUNT, 0},
                                         {"error", CLI_NUMBER, 0},
                                         {"deviation", CLI_NUMBER, 0},
                                         {"choice", CLI_STRING, 0},
                                         {"accuracy", CLI_NUMBER, 0},
                                         {"choice", CLI_STRING, 0}};
    cli_column used[6];
    const cv_job *job = arg;
    const bool classifies = job->cv->classifies;
    memcpy(used, columns, sizeof used);
    if (classifies) {
        used[4] = columns[5];
        used[5] = columns[6];
    }
    cli_table t = {.out = out,
                   .format = cli_format_of(&job->out),
                   .column = used,
                   .n = classifies ? 6 : 5,
                   .rows = job->n};
    strads_err err = cli_table_begin(&t);
    for (uint32_t k = 0; k < job->n && !err; k++) {
        const strads_cv_point *e = &job->error[k];
        const bool best = k == job->best, simplest = k == job->simplest;
        cli_table_number(&t, e->lambda);
        cli_table_count(&t, job->point[k].nonzeros);
        cli_table_number(&t, e->error);
        cli_table_number(&t, e->deviation);
        if (classifies) {
            cli_table_number(&t, e->accuracy);
        }
        cli_table_text(&t, best && simplest ? "best 1se"
                           : best           ? "best"
                           : simplest       ? "1se"
                                            : "");
    }
    return err;
}

static strads_err cv_draw(void *arg, FILE *out)
{
    const cv_job *job = arg;
    double *x = calloc(2 * (size_t)job->n + 1, sizeof *x);
    if (!x) {
        return strads_fail(STRADS_ENOMEM, "no memory left to draw the errors");
    }
    cli_plot plot = {.out = out,
                     .title = job->cv->title,
                     .x = lambda_axis(job->point, job->n, x),
                     .y = {.name = "error, with its standard error",
                           .first = INFINITY,
                           .last = -INFINITY}};
    cli_plot both = plot;
    for (uint32_t k = 0; k < job->n; k++) {
        const strads_cv_point *e = &job->error[k];
        plot.y.first = fmin(plot.y.first, e->error - e->deviation);
        plot.y.last = fmax(plot.y.last, e->error + e->deviation);
    }
    cli_plot_begin(out, 2, job->cv->name);
    cli_plot_frame(&plot);
    for (uint32_t k = 0; k < job->n; k++) {
        const strads_cv_point *e = &job->error[k];
        cli_plot_bar(&plot, x[k], e->error, e->error - e->deviation,
                     e->error + e->deviation);
    }
    cli_plot_mark(&plot, x[job->best],
                  job->best == job->simplest ? "best, 1se" : "best");
    if (job->best != job->simplest) {
        cli_plot_mark(&plot, x[job->simplest], "1se");
    }
    draw_nonzeros(both, job->point, job->n, x, x + job->n);
    cli_plot_end(out);
    free(x);
    return STRADS_OK;
}

/* ---- after the path on all rows ---------------------------------------- */

double cli_cv_time_left(const cli_trained *trained)
{
    const double limit = trained->engine->time_limit;
    const double left =
        limit - strads_result_progress(trained->result)->seconds;
    return limit > 0 ? fmax(left, 1e-9) : 0;
}

static strads_err validate(cv_job *job, const cli_trained *trained)
{
    const uint32_t wanted = job->cv->wanted(trained->config);
    job->point = job->cv->points(strads_result_state(trained->result), &job->n);
    if (job->n < wanted) {
        return strads_fail(STRADS_ECANCELED,
                           "the path on all rows ended at %" PRIu32
                           " of %" PRIu32 " points, and has no errors",
                           job->n, wanted);
    }
    job->error = calloc(job->n, sizeof *job->error);
    if (!job->error) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the errors");
    }
    return job->cv->run(trained, job->folds, job->point[0].lambda, job->error,
                        &job->best, &job->simplest);
}

static void tell_place(const cv_job *job, const char *what, uint32_t place)
{
    const strads_cv_point *e = &job->error[place];
    char right[64] = "";
    if (job->cv->classifies) {
        (void)snprintf(right, sizeof right, ", %.2f %% of labels right",
                       100 * e->accuracy);
    }
    cli_say(false,
            "%s: lambda %.6g, error %.6g +- %.2g, %" PRIu64 " nonzeros%s", what,
            e->lambda, e->error, e->deviation, job->point[place].nonzeros,
            right);
}

static strads_err cv_finish(void *arg, const cli_trained *trained)
{
    cv_job *job = arg;
    strads_err err = validate(job, trained);
    if (err) {
        return err;
    }
    bool best = job->choice && strcmp(job->choice, "best") == 0;
    job->chosen = best ? job->best : job->simplest;
    if (!trained->quiet) {
        tell_place(job, "best", job->best);
        tell_place(job, "within one standard error", job->simplest);
    }
    return job->svg ? cli_output(job->svg, cv_draw, job) : STRADS_OK;
}

static strads_err cv_print(void *arg)
{
    cv_job *job = arg;
    return cli_output(job->out.path, cv_write_table, job);
}

/* The model is the path's point at the choice: fitted on all rows. */
static strads_err write_model(const cli_trained *trained, const char *path)
{
    const cv_job *job = trained->arg;
    const strads_path_point *point = &job->point[job->chosen];
    const strads_progress *p = strads_result_progress(trained->result);
    const strads_model model = {.program = job->cv->model,
                                .columns = strads_data_cols(trained->data),
                                .width = 1,
                                .intercept = point->intercept,
                                .n = point->nonzeros,
                                .index = point->index,
                                .value = point->value,
                                .options = trained->options,
                                .fit = {.objective = point->objective,
                                        .gap = point->gap,
                                        .rounds = point->round,
                                        .seconds = p->seconds,
                                        .seed = trained->seed,
                                        .partitions = strads_result_partitions(
                                            trained->result)}};
    return cli_model_write(&model, path, trained->quiet);
}

int cli_cv_main(const cli_cv *cv, int argc, char **argv)
{
    cv_job job = {.cv = cv, .folds = 10, .out.format = "csv"};
    const cli_train train = {
        .program = cv->program,
        .model = cv->model,
        .name = cv->name,
        .summary = cv->summary,
        .options = "Path:",
        .all_rows = true,
        .resolve = cv->resolve,
        .write = write_model,
        .more = cv_table,
        .arg = &job,
        .check = cv_check,
        .look = cv_look,
        .finish = cv_finish,
        .print = cv_print,
    };
    const int code = cli_train_main(&train, argc, argv);
    free(job.error);
    return code;
}
