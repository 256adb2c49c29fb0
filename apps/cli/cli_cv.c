/* strads lasso cv, strads logistic cv: a path on all rows, its error on rows
 * left out, and the model at the lambda that the errors choose. */
#include "cli_cv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_liblinear.h"
#include "cli_names.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "command.h"
#include "engine/base/atomic_file.h"

typedef struct cv_job {
    const cli_cv *cv;
    const char *table, *svg, *choice;
    uint32_t folds;
    bool json;
    strads_cv_point *error; /* [n] */
    const strads_path_point *point;
    uint32_t n, best, simplest, chosen;
} cv_job;

static const strads_option output_table[] = {
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
    {.name = "output",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cv_job, table),
     .metavar = "FILE",
     .help = "write the table there (default: standard output)"},
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(cv_job, json),
     .help = "the table as JSON lines (default: as CSV)"},
    {.name = "svg",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cv_job, svg),
     .metavar = "FILE",
     .help = "draw errors and nonzeros (default: no)"},
    {.name = NULL},
};

static strads_err check(void *arg, void *config)
{
    (void)config;
    const cv_job *job = arg;
    strads_err err = job->table ? sti_atomic_file_check(job->table) : STRADS_OK;
    if (!err && job->svg) {
        err = sti_atomic_file_check(job->svg);
    }
    return err;
}

static strads_err look(void *arg, const strads_data *data)
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

/* ---- the table --------------------------------------------------------- */

static strads_err write_table(void *arg, FILE *out)
{
    const cv_job *job = arg;
    static const char *const keys[] = {"lambda", "nonzeros", "error",
                                       "deviation", "accuracy"};
    const size_t n = job->cv->classifies ? 5 : 4;
    for (size_t c = 0; c < n && !job->json; c++) {
        (void)fprintf(out, "%s,", keys[c]);
    }
    (void)fputs(job->json ? "" : "choice\n", out);
    for (uint32_t k = 0; k < job->n; k++) {
        const double values[] = {job->error[k].lambda,
                                 (double)job->point[k].nonzeros,
                                 job->error[k].error, job->error[k].deviation,
                                 job->error[k].accuracy};
        const char *choice = k == job->best ? "best" : "";
        if (k == job->simplest) {
            choice = k == job->best ? "best 1se" : "1se";
        }
        for (size_t c = 0; c < n; c++) {
            if (job->json) {
                (void)fprintf(out, "%s\"%s\": ", c ? ", " : "{", keys[c]);
            }
            cli_csv_number(out, values[c]);
            (void)fputs(job->json ? "" : ",", out);
        }
        (void)fprintf(out, job->json ? ", \"choice\": \"%s\"}\n" : "%s\n",
                      choice);
    }
    return STRADS_OK;
}

/* ---- the drawing ------------------------------------------------------- */

static void draw_errors(const cv_job *job, cli_plot plot, const double *x)
{
    plot.title = job->cv->title;
    plot.low = INFINITY;
    plot.high = -INFINITY;
    for (uint32_t k = 0; k < job->n; k++) {
        const strads_cv_point *e = &job->error[k];
        plot.low = fmin(plot.low, e->error - e->deviation);
        plot.high = fmax(plot.high, e->error + e->deviation);
    }
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
}

static strads_err draw(void *arg, FILE *out)
{
    const cv_job *job = arg;
    double *x = calloc(2 * (size_t)job->n + 1, sizeof *x);
    if (!x) {
        return strads_fail(STRADS_ENOMEM, "no memory left to draw the errors");
    }
    double *nonzeros = x + job->n;
    cli_plot plot = {.out = out, .across = "lambda"};
    for (uint32_t k = 0; k < job->n; k++) {
        x[k] = log10(fmax(job->error[k].lambda, 1e-300));
        nonzeros[k] = (double)job->point[k].nonzeros;
        plot.high = fmax(plot.high, nonzeros[k]);
    }
    plot.x_first = x[0];
    plot.x_last = x[job->n - 1];
    cli_plot_begin(out, 2);
    draw_errors(job, plot, x);
    plot.place = 1;
    plot.title = "coefficients that are not 0, on all rows";
    cli_plot_frame(&plot);
    cli_plot_line(&plot, job->n, x, nonzeros, 0);
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

static strads_err finish(void *arg, const cli_trained *trained)
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
    err = cli_output(job->table, write_table, job);
    return !err && job->svg ? cli_output(job->svg, draw, job) : err;
}

/* The model is the path's point at the choice: fitted on all rows. */
static strads_err write(const cli_trained *trained, const char *path)
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
    cv_job job = {.cv = cv, .folds = 10};
    const cli_train train = {
        .program = cv->program,
        .model = cv->model,
        .name = cv->name,
        .summary = cv->summary,
        .options = "Path:",
        .all_rows = true,
        .resolve = cv->resolve,
        .write = write,
        .more = output_table,
        .arg = &job,
        .check = check,
        .look = look,
        .finish = finish,
    };
    const int code = cli_train_main(&train, argc, argv);
    free(job.error);
    return code;
}
