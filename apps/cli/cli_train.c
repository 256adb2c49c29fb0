/* Training, from the command line to the model file.
 *
 * Whatever can be wrong with the user's input is looked at before the first
 * round: options, the start model, the data, and whether model and log can be
 * written at all. After that a model file appears only when a run has ended
 * without an error, however it ended. */
#include "cli_train.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_log.h"
#include "cli_options.h"
#include "cli_progress.h"
#include "cli_signal.h"
#include "command.h"
#include "engine/base/aside.h"

typedef struct file_options {
    const char *model, *log, *start, *labels;
    bool f32, quiet;
} file_options;

static const strads_option file_table[] = {
    {.name = "model",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(file_options, model),
     .metavar = "OUT.json",
     .help = "write the model there (default: nowhere)"},
    {.name = "log",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(file_options, log),
     .metavar = "RUN.jsonl",
     .help = "write a JSON line per report (default: none)"},
    {.name = "start",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(file_options, start),
     .metavar = "MODEL",
     .help = "start from a model's values (default: from 0)"},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(file_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    {.name = "f32",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(file_options, f32),
     .help = "values in 4 bytes instead of 8 (default: no)"},
    {.name = "quiet",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(file_options, quiet),
     .help = "print errors only (default: no)"},
    {.name = NULL},
};

/* Everything that a run needs, in the order of need; freed as a whole. */
typedef struct job {
    const cli_train *train;
    const char *data_path;
    char *full_path;   /* told to nodes in other folders */
    void *config;      /* the program's options */
    char *config_text; /* all options, as JSON */
    strads_engine_options engine;
    file_options files;
    sti_config_strings strings;
    strads_model *start;
    strads_engine *nodes; /* several processes: who takes part */
    strads_data *data;
    strads_result *result;
    cli_log log;
    cli_progress line;
} job;

static void job_free(job *j)
{
    strads_result_free(j->result);
    strads_engine_free(j->nodes);
    strads_data_free(j->data);
    strads_model_free(j->start);
    sti_config_strings_free(&j->strings);
    free(j->config_text);
    free(j->full_path);
    free(j->config);
}

/* ---- options ----------------------------------------------------------- */

static uint32_t cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (uint32_t)n;
}

/* The defaults in figures, so that --print-config shows what will be. */
static strads_err set_defaults(job *j)
{
    const strads_program *program = j->train->program;
    j->engine = (strads_engine_options){
        .size = sizeof j->engine,
        .workers = cores(),
        .policy = "priority",
        .blocks = 1,
        .threshold = 0.1,
        .tolerance = 1e-6,
        .nodes = 1,
    };
    j->config = calloc(1, program->config_size + 1);
    if (!j->config) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the options");
    }
    if (program->defaults) {
        memcpy(j->config, program->defaults, program->config_size);
    }
    return STRADS_OK;
}

/* An output that is the data itself would destroy what people cannot get
 * again. */
static strads_err check_output(const job *j, const char *option,
                               const char *path)
{
    struct stat data, output;
    if (path && stat(j->data_path, &data) == 0 && stat(path, &output) == 0 &&
        data.st_dev == output.st_dev && data.st_ino == output.st_ino) {
        return strads_fail(STRADS_EINVAL, "--%s %s: is the data itself", option,
                           path);
    }
    return STRADS_OK;
}

static strads_err check_outputs(const job *j)
{
    strads_err err = check_output(j, "model", j->files.model);
    if (!err) {
        err = check_output(j, "log", j->files.log);
    }
    if (!err) {
        err = check_output(j, "trace", j->engine.trace);
    }
    if (!err && j->files.model) {
        err = sti_aside_check(j->files.model);
    }
    return err;
}

static strads_err check_options(const job *j)
{
    if (j->engine.nodes > 1 && !j->engine.listen) {
        return strads_fail(STRADS_EINVAL,
                           "--nodes %" PRIu32 " needs --listen URL, where the "
                           "others find this process",
                           j->engine.nodes);
    }
    if (j->engine.listen && j->engine.nodes < 2) {
        return strads_fail(STRADS_EINVAL,
                           "--listen needs --nodes N, 2 or more: how many "
                           "processes take part, this one too");
    }
    return check_outputs(j);
}

/* What goes into the model and the log: how it was run, but no file names. */
static strads_err keep_options(job *j)
{
    sti_config_part part[] = {
        {j->train->program->options, j->config},
        {strads_engine_option_table(), &j->engine},
    };
    j->config_text = sti_config_text(part, 2, 2);
    return j->config_text
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left for the options");
}

static strads_err read_options(job *j, int argc, char **argv, bool *done)
{
    static const char footer[] =
        "Exit codes: 0 converged, 1 failed, 2 wrong input, 3 not converged, "
        "130 stopped.\n";
    cli_syntax syntax = {
        .name = j->train->name,
        .args = "DATA",
        .summary = j->train->summary,
        .footer = footer,
        .config = true,
    };
    cli_parsed parsed;
    size_t g = 0;
    strads_err err = set_defaults(j);
    if (err) {
        return err;
    }
    if (j->train->program->options) {
        syntax.groups[g++] = (cli_group){j->train->options,
                                         j->train->program->options, j->config};
    }
    syntax.groups[g++] =
        (cli_group){"Running:", strads_engine_option_table(), &j->engine};
    syntax.groups[g++] = (cli_group){"Files:", file_table, &j->files};
    err = cli_parse(&syntax, argc, argv, &j->strings, &parsed);
    *done = parsed.done;
    if (err || parsed.done) {
        return err;
    }
    j->data_path = parsed.arg[0];
    if (!j->engine.listen && j->engine.partitions == 0) {
        j->engine.partitions = j->engine.workers;
    }
    err = check_options(j);
    return err ? err : keep_options(j);
}

/* ---- input ------------------------------------------------------------- */

static strads_err listen_for_nodes(job *j)
{
    j->full_path = realpath(j->data_path, NULL);
    j->engine.data_path = j->full_path ? j->full_path : j->data_path;
    cli_say(j->files.quiet,
            "waiting for %" PRIu32 " more processes: strads join %s",
            j->engine.nodes - 1, j->engine.listen);
    return strads_engine_listen(j->train->program, j->config, &j->engine,
                                &j->nodes);
}

static strads_err read_data(job *j)
{
    strads_data_options options = {
        .size = sizeof options,
        .partitions = j->engine.partitions,
        .split = j->train->program->split,
        .layout = j->train->program->layout,
        .values = j->files.f32 ? STRADS_F32 : STRADS_F64,
        .threads = j->engine.workers,
        .labels_path = j->files.labels,
    };
    strads_err err = STRADS_OK;
    if (j->nodes) {
        err = strads_engine_keep(j->nodes, &options);
    }
    if (!err) {
        err = strads_data_read(j->data_path, &options, &j->data);
    }
    return err;
}

/* A start is but a start: what the data has no column for is left out. */
static void use_start(job *j)
{
    const strads_model *start = j->start;
    uint64_t n = 0;
    while (n < start->n && start->index[n] < strads_data_cols(j->data)) {
        n++;
    }
    j->engine.n_start = n;
    j->engine.start_param = start->index;
    j->engine.start_value = start->value;
    if (n < start->n) {
        cli_say(j->files.quiet,
                "%" PRIu64 " of the start's %" PRIu64 " coefficients have no "
                "column in the data and are left out",
                start->n - n, start->n);
    }
}

/* The start model is read first: it is told to the engine before nodes join,
 * and the columns that the data lacks are cut off before the run. */
static strads_err read_start(job *j)
{
    strads_err err =
        strads_model_read(j->files.start, j->train->program->name, &j->start);
    if (!err) {
        j->engine.n_start = j->start->n;
        j->engine.start_param = j->start->index;
        j->engine.start_value = j->start->value;
    }
    return err;
}

static void on_progress(void *arg, const strads_progress *progress)
{
    job *j = arg;
    cli_log_round(&j->log, progress);
    cli_progress_show(&j->line, progress);
}

static strads_err prepare(job *j)
{
    strads_err err = STRADS_OK;
    j->engine.stop = cli_signal_catch();
    j->engine.progress = on_progress;
    j->engine.progress_arg = j;
    if (j->engine.listen && access(j->data_path, R_OK) != 0) {
        /* Before others are asked to come. */
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", j->data_path,
                           strerror(errno));
    }
    if (j->files.start) {
        err = read_start(j);
    }
    if (!err && j->engine.listen) {
        err = listen_for_nodes(j);
    }
    if (!err) {
        err = read_data(j);
    }
    if (!err && j->start) {
        use_start(j);
    }
    if (!err) {
        err = cli_log_open(j->files.log, &j->log);
    }
    return err;
}

/* ---- the run ----------------------------------------------------------- */

static void announce(job *j)
{
    cli_log_start start = {
        .program = j->train->program->name,
        .options = j->config_text,
        .data_path = j->data_path,
        .data = j->data,
        .seed = j->engine.seed,
        .workers = j->engine.workers,
        .partitions = j->engine.partitions,
        .nodes = j->engine.nodes,
    };
    char held[CLI_BYTES_SIZE];
    cli_log_begin(&j->log, &start);
    cli_say(j->files.quiet,
            "%s on %s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64
            " entries, %s in memory; %" PRIu32 " workers, seed %" PRIu64,
            start.program, j->data_path, strads_data_rows(j->data),
            strads_data_cols(j->data), strads_data_nnz(j->data),
            cli_bytes(strads_data_bytes(j->data), held), j->engine.workers,
            j->engine.seed);
}

static strads_err run(job *j)
{
    announce(j);
    cli_progress_begin(&j->line, j->files.quiet);
    strads_err err = j->nodes ? strads_engine_run(j->nodes, j->data, &j->result)
                              : strads_run(j->train->program, j->config,
                                           j->data, &j->engine, &j->result);
    cli_progress_end(&j->line);
    return err;
}

/* ---- the outcome ------------------------------------------------------- */

typedef struct outcome {
    const char *word; /* in the log */
    const char *text; /* for people */
    int code;
} outcome;

/* A bound is a failure to converge only where there is a gap to judge by. */
static outcome judge(const strads_result *result)
{
    int bound = isnan(strads_result_progress(result)->gap) ? CLI_OK : CLI_BOUND;
    switch (strads_result_end(result)) {
    case STRADS_END_CONVERGED:
        return (outcome){"converged", "converged", CLI_OK};
    case STRADS_END_STOPPED:
        return (outcome){"stopped", "stopped by the program", CLI_OK};
    case STRADS_END_ROUNDS:
        return (outcome){"max-rounds", "stopped by --max-rounds", bound};
    case STRADS_END_TIME:
        return (outcome){"time-limit", "stopped by --time-limit", bound};
    case STRADS_END_CANCELED:
        break;
    }
    return (outcome){"interrupted", "interrupted", CLI_INTERRUPTED};
}

static void summarise(const job *j, const outcome *end)
{
    char figures[160] = "";
    size_t at = 0;
    const strads_progress *p = strads_result_progress(j->result);
    if (!isnan(p->objective)) {
        at += (size_t)snprintf(figures, sizeof figures, " objective %.9g,",
                               p->objective);
    }
    if (!isnan(p->gap)) {
        (void)snprintf(figures + at, sizeof figures - at, " gap %.1e,", p->gap);
    }
    cli_say(j->files.quiet,
            "%s after %" PRIu64 " rounds and %.3g s:%s %" PRIu64
            " nonzeros, seed %" PRIu64,
            end->text, p->round, p->seconds, figures, p->nonzeros,
            j->engine.seed);
    if (!j->files.quiet && j->train->describe) {
        j->train->describe(strads_result_state(j->result));
    }
}

static strads_err write_model(const job *j)
{
    strads_model *model;
    strads_err err =
        strads_model_from_result(j->result, j->train->program->name,
                                 j->config_text, j->engine.seed, &model);
    if (err) {
        return err;
    }
    if (j->train->complete) {
        j->train->complete(strads_result_state(j->result), model);
    }
    err = strads_model_write(model, j->files.model);
    strads_model_free(model);
    if (!err) {
        cli_say(j->files.quiet, "the model is in %s", j->files.model);
    }
    return err;
}

/* The model comes first: a log that cannot be finished costs no model. */
static int conclude(job *j)
{
    outcome end = judge(j->result);
    strads_err err = STRADS_OK;
    summarise(j, &end);
    if (j->files.model) {
        err = write_model(j);
    }
    cli_log_end(&j->log, err ? "error" : end.word,
                strads_result_progress(j->result));
    if (!err) {
        err = cli_log_close(&j->log);
    }
    return err ? cli_complain(err, CLI_RUNNING) : end.code;
}

static int train_job(job *j)
{
    strads_err err = prepare(j);
    if (err) {
        return cli_complain(err, CLI_BEFORE);
    }
    err = run(j);
    if (!err) {
        return conclude(j);
    }
    int code = cli_complain(err, CLI_RUNNING);
    cli_log_end(&j->log, "error", NULL);
    (void)cli_log_close(&j->log);
    return code;
}

int cli_train_main(const cli_train *train, int argc, char **argv)
{
    job j = {.train = train};
    bool done = false;
    strads_err err = read_options(&j, argc, argv, &done);
    int code = CLI_OK;
    if (err) {
        code = cli_complain(err, CLI_BEFORE);
    } else if (!done) {
        code = train_job(&j);
    }
    job_free(&j);
    return code;
}
