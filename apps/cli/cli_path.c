/* strads lasso path, strads logistic path: a fit at each of many lambdas, as a
 * table, with the coefficients along them, and drawn. */
#include "cli_path.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_names.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "command.h"
#include "engine/base/atomic_file.h"

/* Lines and names in a diagram: more than that nobody tells apart. */
enum { LINES_MAX = 40, NOTES_MAX = 8 };

typedef struct path_job {
    const cli_path *path;
    const char *table, *coefficients, *svg, *names_path;
    bool json;
    double *seconds; /* [room] when each point was reached; n of them known */
    uint32_t n, room;
    strads_names *names;
    const strads_path_point *point; /* [n_points] of the run that has ended */
    uint32_t n_points;
} path_job;

static const strads_option output_table[] = {
    {.name = "output",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(path_job, table),
     .metavar = "FILE",
     .help = "write the table there (default: standard output)"},
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(path_job, json),
     .help = "the table as JSON lines (default: as CSV)"},
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
    const char *files[] = {job->table, job->coefficients, job->svg};
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
    const path_job *job = arg;
    const strads_path_point *point = job->point;
    const uint32_t n = job->n_points;
    if (!job->json) {
        (void)fputs("lambda,nonzeros,objective,gap,seconds,deviance\n", out);
    }
    for (uint32_t k = 0; k < n; k++) {
        const char *const format = job->json ? "%s, \"nonzeros\": %" PRIu64
                                               ", \"objective\": "
                                             : "%s,%" PRIu64 ",";
        const char *const gap = job->json ? ", \"gap\": " : ",";
        const char *const seconds = job->json ? ", \"seconds\": " : ",";
        const char *const deviance = job->json ? ", \"deviance\": " : ",";
        (void)fputs(job->json ? "{\"lambda\": " : "", out);
        cli_csv_number(out, point[k].lambda);
        (void)fprintf(out, format, "", point[k].nonzeros);
        cli_csv_number(out, point[k].objective);
        (void)fputs(gap, out);
        cli_csv_number(out, point[k].gap);
        (void)fputs(seconds, out);
        cli_csv_number(out, k < job->n ? job->seconds[k] : NAN);
        (void)fputs(deviance, out);
        cli_csv_number(out, point[k].deviance);
        (void)fputs(job->json ? "}\n" : "\n", out);
    }
    return STRADS_OK;
}

static strads_err write_coefficients(void *arg, FILE *out)
{
    const path_job *job = arg;
    const strads_path_point *point = job->point;
    const uint32_t n = job->n_points;
    char room[CLI_NAME_SIZE];
    (void)fputs("lambda,column,name,value\n", out);
    for (uint32_t k = 0; k < n; k++) {
        cli_csv_number(out, point[k].lambda);
        (void)fputs(",0,(intercept),", out);
        cli_csv_number(out, point[k].intercept);
        (void)fputc('\n', out);
        for (uint64_t e = 0; e < point[k].nonzeros; e++) {
            cli_csv_number(out, point[k].lambda);
            (void)fprintf(out, ",%" PRIu64 ",",
                          (uint64_t)point[k].index[e] + 1);
            cli_csv_text(out, cli_name(job->names, point[k].index[e], room));
            (void)fputc(',', out);
            cli_csv_number(out, point[k].value[e]);
            (void)fputc('\n', out);
        }
    }
    return STRADS_OK;
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

static void draw_coefficients(const path_job *job, cli_plot plot,
                              const strads_path_point *point, uint32_t n,
                              line *lines, const double *x, double *y)
{
    const strads_path_point *last = &point[n - 1];
    char room[CLI_NAME_SIZE];
    uint64_t m = last->nonzeros;
    for (uint64_t e = 0; e < m; e++) {
        lines[e] = (line){last->index[e], last->value[e]};
    }
    qsort(lines, m, sizeof *lines, larger);
    m = m < LINES_MAX ? m : LINES_MAX;
    for (uint64_t l = 0; l < m; l++) {
        for (uint32_t k = 0; k < n; k++) {
            double v = at_column(&point[k], lines[l].column);
            plot.low = fmin(plot.low, v);
            plot.high = fmax(plot.high, v);
        }
    }
    plot.title = "coefficients, the largest";
    cli_plot_frame(&plot);
    for (uint64_t l = 0; l < m; l++) {
        for (uint32_t k = 0; k < n; k++) {
            y[k] = at_column(&point[k], lines[l].column);
        }
        cli_plot_line(&plot, n, x, y, (unsigned)l);
        if (l < NOTES_MAX) {
            cli_plot_note(&plot, y[n - 1],
                          cli_name(job->names, lines[l].column, room),
                          (unsigned)l);
        }
    }
}

static void draw_nonzeros(cli_plot plot, const strads_path_point *point,
                          uint32_t n, const double *x, double *y)
{
    plot.place = 1;
    plot.title = "coefficients that are not 0";
    for (uint32_t k = 0; k < n; k++) {
        y[k] = (double)point[k].nonzeros;
        plot.high = fmax(plot.high, y[k]);
    }
    cli_plot_frame(&plot);
    cli_plot_line(&plot, n, x, y, 0);
}

static strads_err draw(void *arg, FILE *out)
{
    const path_job *job = arg;
    const strads_path_point *point = job->point;
    const uint32_t n = job->n_points;
    double *x = calloc(n + 1, sizeof *x);
    double *y = calloc(n + 1, sizeof *y);
    line *lines = calloc(point[n - 1].nonzeros + 1, sizeof *lines);
    strads_err err = STRADS_OK;
    if (x && y && lines) {
        for (uint32_t k = 0; k < n; k++) {
            x[k] = log10(fmax(point[k].lambda, 1e-300));
        }
        cli_plot plot = {.out = out,
                         .across = "lambda",
                         .x_first = x[0],
                         .x_last = x[n - 1]};
        cli_plot_begin(out, 2);
        draw_coefficients(job, plot, point, n, lines, x, y);
        draw_nonzeros(plot, point, n, x, y);
        cli_plot_end(out);
    } else {
        err = strads_fail(STRADS_ENOMEM, "no memory left to draw the path");
    }
    free(x);
    free(y);
    free(lines);
    return err;
}

static strads_err finish(void *arg, const cli_trained *trained)
{
    path_job *job = arg;
    job->point =
        job->path->points(strads_result_state(trained->result), &job->n_points);
    strads_err err = cli_output(job->table, write_table, job);
    if (!err && job->coefficients) {
        err = cli_output(job->coefficients, write_coefficients, job);
    }
    if (!err && job->svg && job->n_points > 0) {
        err = cli_output(job->svg, draw, job);
    }
    return err;
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
    path_job job = {.path = path};
    cli_train train = path->train;
    train.options = "Path:";
    train.more = output_table;
    train.arg = &job;
    train.check = check;
    train.look = look;
    train.note = note;
    train.finish = finish;
    const int code = cli_train_main(&train, argc, argv);
    strads_names_free(job.names);
    free(job.seconds);
    return code;
}
