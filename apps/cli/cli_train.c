/* Training, from the command line to the model file.
 *
 * Whatever can be wrong with the user's input is looked at before the first
 * round: options, the start model, the data, and whether model and log can be
 * written at all. After that a model file appears only when a run has ended
 * without an error, however it ended; it is written before anything is printed
 * on standard output. */
#include "cli_train.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_job.h"
#include "cli_liblinear.h"
#include "cli_options.h"
#include "engine/base/atomic_file.h"
#include "engine/base/cores.h"

/* ---- the command line ------------------------------------------------------- */

strads_err cli_plan_take(const strads_program *program,
                         strads_engine_options *engine, strads_plan **plan)
{
    if (!engine->plan) {
        return STRADS_OK;
    }
    strads_err err = strads_plan_read(engine->plan, plan);
    if (!err) {
        err = cli_option_refuse(program, "plan");
    }
    if (!err && engine->partitions == 0) {
        engine->partitions = (*plan)->partitions;
    }
    engine->plan_given = *plan;
    return err;
}

static const strads_option file_table[] = {
    {.name = "model",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cli_files, model),
     .metavar = "OUT.json",
     .help = "write the model there (default: nowhere)"},
    {.name = "log",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cli_files, log),
     .metavar = "RUN.jsonl",
     .help = "write a JSON line per report (default: none)"},
    {.name = "start",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cli_files, start),
     .metavar = "MODEL",
     .help = "start from a model's values (default: from 0)"},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cli_files, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    {.name = "f32",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(cli_files, f32),
     .help = "values in 4 bytes instead of 8 (default: no)",
     .rare = true},
    CLI_OPTION_QUIET(offsetof(cli_files, quiet)),
    {.name = NULL},
};

static uint32_t cores(void)
{
    const uint32_t n = sti_cores();
    return n > 1024 ? 1024 : n;
}

/* The defaults in figures, so that --print-config shows what will be. */
static strads_err set_defaults(cli_job *j)
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
        .shards = 1,
        .cache_bytes = UINT64_C(256) << 20,
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

static strads_err check_files(const cli_job *j)
{
    strads_err err =
        j->files.model ? sti_atomic_file_check(j->files.model) : STRADS_OK;
    if (!err && j->engine.trace) {
        err = sti_atomic_file_check(j->engine.trace);
    }
    return err;
}

static strads_err check_options(const cli_job *j)
{
    if (j->train->all_rows && (j->engine.nodes > 1 || j->engine.listen)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: strads %s is for one process: it needs all "
                           "rows; leave it out",
                           j->engine.listen ? "--listen" : "--nodes",
                           j->train->name);
    }
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
    return check_files(j);
}

/* What scheduled rounds have options for does not concern a loop, and the
 * other way round. */
static const strads_option *running_table(const cli_job *j)
{
    return j->train->program->run ? strads_engine_loop_option_table()
                                  : strads_engine_option_table();
}

/* What goes into the model and the log: how it was run, not where it went. */
strads_err cli_job_keep_options(cli_job *j)
{
    sti_config_part part[] = {
        {j->train->program->options, j->config},
        {running_table(j), &j->engine},
    };
    free(j->config_text);
    j->config_text = sti_config_text(part, 2, 2);
    return j->config_text
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left for the options");
}

static strads_err read_command_line(cli_job *j, int argc, char **argv,
                                    bool *done)
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
        .one_process = j->train->all_rows,
        .program = j->train->program,
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
    syntax.groups[g++] = (cli_group){"Running:", running_table(j), &j->engine};
    syntax.groups[g++] = (cli_group){"Files:", file_table, &j->files};
    if (j->train->more) {
        syntax.groups[g++] = (cli_group){NULL, j->train->more, j->train->arg};
    }
    err = cli_parse(&syntax, argc, argv, &j->strings, &parsed);
    *done = parsed.done;
    if (err || parsed.done) {
        return err;
    }
    j->data_path = parsed.arg[0];
    err = cli_plan_take(j->train->program, &j->engine, &j->plan);
    if (err) {
        return err;
    }
    err = check_options(j);
    if (!err && j->train->check) {
        err = j->train->check(j->train->arg, j->config);
    }
    if (!err) {
        err = cli_job_keep_options(j);
    }
    if (!err && j->files.model &&
        j->train->program->kind == STRADS_KIND_SAMPLES) {
        err = cli_model_check(j->files.model, cli_train_model(j->train),
                              j->config_text);
    }
    return err;
}

/* ---- input ------------------------------------------------------------- */

static strads_err listen_for_nodes(cli_job *j)
{
    j->full_path = realpath(j->data_path, NULL);
    j->engine.data_path = j->full_path ? j->full_path : j->data_path;
    strads_err err = strads_engine_listen(j->train->program, j->config,
                                          &j->engine, &j->nodes);
    if (!err) {
        cli_say(j->files.quiet,
                "waiting for %" PRIu32 " more processes: strads join %s",
                j->engine.nodes - 1, strads_engine_url(j->nodes));
    }
    return err;
}

static strads_err read_data(cli_job *j)
{
    strads_data_options options = {
        .size = sizeof options,
        .values = j->files.f32 ? STRADS_F32 : STRADS_F64,
        .threads = j->engine.workers,
        .labels_path = j->files.labels,
    };
    strads_err err = j->nodes ? strads_engine_keep(j->nodes, &options)
                              : strads_run_cut(j->train->program, j->config,
                                               &j->engine, &options);
    if (!err && j->train->read) {
        err = j->train->read(j->train->arg, j->data_path, &options);
    }
    if (!err) {
        cli_cost_tell(j->files.quiet, j->data_path, &options);
        err = strads_data_read(j->data_path, &options, &j->data);
    }
    if (!err) {
        strads_data_spend(j->data);
    }
    return err;
}

/* What comes down a pipe does not come again. */
static bool comes_again(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Where the data cannot be read anew, whoever suits all data. */
static const cli_train *choose(const cli_job *j, const cli_train *asked)
{
    const cli_train *other =
        asked->instead && comes_again(j->data_path)
            ? asked->instead(j->config, &j->engine, j->data)
            : NULL;
    return other ? other : asked;
}

/* Reads the data for the program that suits them. */
static strads_err read_for(cli_job *j, const cli_train *asked)
{
    strads_err err = read_data(j);
    if (err || j->nodes) {
        return err;
    }
    if (choose(j, asked) != j->train) {
        j->train = choose(j, asked);
        strads_data_free(j->data);
        j->data = NULL;
        err = read_data(j);
    }
    if (!err) {
        j->cut_by_size = j->engine.partitions == 0;
        j->engine.partitions = strads_data_partitions(j->data);
        err = cli_job_keep_options(j);
    }
    return err;
}

/* The parameters that the run will have: the program may want others than one
 * a column. */
static strads_err find_shape(const cli_job *j, strads_shape *shape)
{
    const strads_program *program = j->train->program;
    *shape = (strads_shape){.parameters = strads_data_cols(j->data),
                            .width = 1,
                            .block_max = 64};
    return program->shape ? program->shape(j->config, j->data, shape)
                          : STRADS_OK;
}

static strads_err check_shape(const cli_job *j, strads_shape *shape)
{
    const strads_kind kind = j->train->program->kind;
    strads_err err = find_shape(j, shape);
    /* A program may have parameters of its own, where the data has none. */
    const bool none =
        shape->parameters == 0 ||
        (kind == STRADS_KIND_SAMPLES && strads_data_cols(j->data) == 0);
    if (!err && none) {
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has no %s, so there is nothing to train",
                          j->data_path,
                          kind == STRADS_KIND_SAMPLES   ? "columns"
                          : kind == STRADS_KIND_RATINGS ? "items"
                                                        : "words that are "
                                                          "taken");
    }
    return err;
}

static void on_progress(void *arg, const strads_progress *progress)
{
    cli_job *j = arg;
    const double done = j->sweep < STRADS_MEASURES ? progress->measure[j->sweep]
                                                   : (double)progress->round;
    cli_log_round(&j->log, progress);
    cli_progress_show(&j->line, done, progress);
    if (j->train->note) {
        j->train->note(j->train->arg, progress);
    }
}

static strads_err prepare(cli_job *j)
{
    strads_shape shape;
    const cli_train *const asked = j->train;
    strads_err err = STRADS_OK;
    j->train = choose(j, asked);
    j->engine.stop = cli_signal_catch();
    j->engine.progress = on_progress;
    j->engine.progress_arg = j;
    if (j->engine.listen && access(j->data_path, R_OK) != 0) {
        /* Before others are asked to come. */
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", j->data_path,
                           strerror(errno));
    }
    if (j->files.start) {
        err = cli_start_read(j);
    }
    if (!err && j->engine.listen) {
        err = listen_for_nodes(j);
    }
    if (!err) {
        err = read_for(j, asked);
    }
    if (!err && j->files.start) {
        err = cli_start_check(j);
    }
    if (!err) {
        err = check_shape(j, &shape);
    }
    if (!err && j->train->look) {
        err = j->train->look(j->train->arg, j->data);
    }
    if (!err && j->files.start) {
        err = cli_start_cut(j, &shape);
    }
    if (!err) {
        err = cli_log_open(j->files.log, &j->log);
    }
    return err;
}

/* ---- the run ----------------------------------------------------------- */

/* Threads of this process that the run has, and why there are no more. */
static uint32_t tell_workers(const cli_job *j, char *text, size_t size)
{
    const uint32_t asked = j->engine.workers;
    const uint32_t K = strads_data_partitions(j->data);
    const uint32_t used = j->nodes || asked < K ? asked : K;
    if (used == asked) {
        (void)snprintf(text, size, "%" PRIu32 " %s", asked,
                       asked == 1 ? "worker" : "workers");
    } else {
        (void)snprintf(text, size, "%" PRIu32 " of %" PRIu32 " workers (%s)",
                       used, asked,
                       j->cut_by_size ? "more would not pay"
                                      : "a partition each");
    }
    return used;
}

static void announce(cli_job *j)
{
    char workers[80];
    cli_log_start start = {
        .program = j->train->program->name,
        .measures = j->train->program->measures,
        .options = j->config_text,
        .data_path = j->data_path,
        .data = j->data,
        .seed = j->engine.seed,
        .workers = tell_workers(j, workers, sizeof workers),
        .partitions = strads_data_partitions(j->data),
        .nodes = j->engine.nodes,
    };
    char held[CLI_BYTES_SIZE];
    cli_log_begin(&j->log, &start);
    cli_say(j->files.quiet,
            "%s on %s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64
            " entries, %s in memory; %s, seed %" PRIu64,
            start.program, j->data_path, strads_data_rows(j->data),
            strads_data_cols(j->data), strads_data_nnz(j->data),
            cli_bytes(strads_data_bytes(j->data), held), workers,
            j->engine.seed);
    if (j->train->program->kind == STRADS_KIND_RATINGS &&
        strads_data_repeated(j->data) > 0) {
        cli_say(j->files.quiet,
                "%" PRIu64 " of the ratings are of a pair that comes again: of "
                "each pair the last one counts",
                strads_data_repeated(j->data));
    }
}

/* Where the run ends at the latest. A program that is told a number of sweeps
 * or epochs, and counts them in a measure, is done when they are. */
static cli_goal find_goal(cli_job *j)
{
    static const char *const units[][2] = {{"sweeps", "sweep"},
                                           {"epochs", "epoch"},
                                           {"points", "points"}};
    const strads_program *program = j->train->program;
    cli_goal goal = {.unit = "round",
                     .total = (double)j->engine.max_rounds,
                     .seconds = j->engine.time_limit};
    j->sweep = STRADS_MEASURES;
    for (size_t u = 0; program->options && u < 3; u++) {
        const strads_option *option =
            strads_option_find(program->options, units[u][0]);
        for (uint32_t k = 0; option && option->kind == STRADS_OPTION_U32 &&
                             program->measures && program->measures[k];
             k++) {
            if (strcmp(program->measures[k], units[u][1]) == 0) {
                j->sweep = k;
                goal.unit = u == 2 ? "point" : units[u][1];
                goal.total =
                    *(const uint32_t *)(const void *)((const char *)j->config +
                                                      option->offset);
            }
        }
    }
    return goal;
}

static strads_err run(cli_job *j)
{
    announce(j);
    cli_progress_begin(&j->line, j->files.quiet, find_goal(j));
    strads_err err = j->nodes ? strads_engine_run(j->nodes, j->data, &j->result)
                              : strads_run(j->train->program, j->config,
                                           j->data, &j->engine, &j->result);
    cli_progress_end(&j->line);
    return err;
}

/* ---- the outcome ---------------------------------------------------------- */

typedef struct outcome {
    const char *word; /* in the log */
    const char *text; /* for people */
    int code;
} outcome;

/* A bound, or a program's own end, is a failure to converge only where there is
 * a gap to judge by. */
static outcome judge(const cli_job *j)
{
    const strads_result *result = j->result;
    int bound = isnan(strads_result_progress(result)->gap) ? CLI_OK : CLI_BOUND;
    switch (strads_result_end(result)) {
    case STRADS_END_CONVERGED:
        return (outcome){"converged", "converged", CLI_OK};
    case STRADS_END_STOPPED:
        if (strads_result_progress(result)->gap > j->engine.tolerance) {
            return (outcome){"stalled", "stalled short of --tolerance",
                             CLI_BOUND};
        }
        return (outcome){"stopped", "done", CLI_OK};
    case STRADS_END_ROUNDS:
        return (outcome){"max-rounds", "stopped by --max-rounds", bound};
    case STRADS_END_TIME:
        return (outcome){"time-limit", "stopped by --time-limit", bound};
    case STRADS_END_CANCELED:
        break;
    }
    return (outcome){"interrupted", "interrupted", CLI_INTERRUPTED};
}

/* Of a data-parallel loop: the time of all workers, summed up. */
static void tell_times(const cli_job *j, const strads_progress *p)
{
    double all = p->callback_seconds + p->waiting_seconds + p->network_seconds;
    double percent = all > 0 ? 100 / all : 0;
    cli_say(j->files.quiet,
            "%.3g s of all workers: %.1f %% computing, %.1f %% waiting for "
            "others' clocks, %.1f %% network",
            all, percent * p->callback_seconds, percent * p->waiting_seconds,
            percent * p->network_seconds);
}

/* What keeps a fit from its last digits is nearly always that columns' scales
 * lie far apart. */
static void advise(const cli_job *j)
{
    const strads_option *option =
        j->train->program->options
            ? strads_option_find(j->train->program->options, "standardize")
            : NULL;
    if (option && option->kind == STRADS_OPTION_BOOL &&
        !*((const bool *)((const char *)j->config + option->offset))) {
        cli_say(j->files.quiet,
                "where columns have very different scales, --standardize "
                "helps");
    }
}

static void summarise(const cli_job *j, const outcome *end)
{
    char figures[200] = "";
    size_t at = 0;
    const strads_progress *p = strads_result_progress(j->result);
    bool loop = j->train->program->run != NULL;
    if (!isnan(p->objective)) {
        at += (size_t)snprintf(figures, sizeof figures, " objective %.9g,",
                               p->objective);
    }
    if (!isnan(p->gap)) {
        at += (size_t)snprintf(figures + at, sizeof figures - at, " gap %.1e,",
                               p->gap);
    }
    /* A model that is no list of weights counts none. */
    if (!isnan(p->gap) || p->nonzeros > 0) {
        (void)snprintf(figures + at, sizeof figures - at,
                       " %" PRIu64 " nonzeros,", p->nonzeros);
    }
    cli_say(j->files.quiet,
            "%s after %" PRIu64 " %s and %.3g s:%s seed %" PRIu64, end->text,
            p->round, loop ? "clocks" : "rounds", p->seconds, figures,
            j->engine.seed);
    if (end->code == CLI_BOUND &&
        strads_result_end(j->result) == STRADS_END_STOPPED) {
        advise(j);
    }
    if (loop) {
        tell_times(j, p);
    }
    if (!j->files.quiet && j->train->describe) {
        j->train->describe(strads_result_state(j->result));
    }
}

/* What the options came to mean is what a model tells of them. */
static strads_err resolve_options(cli_job *j)
{
    j->engine.partitions = strads_result_partitions(j->result);
    if (j->train->resolve) {
        j->train->resolve(strads_result_state(j->result), j->config);
    }
    return cli_job_keep_options(j);
}

static cli_trained look_back(const cli_job *j)
{
    return (cli_trained){.result = j->result,
                         .data = j->data,
                         .options = j->config_text,
                         .seed = j->engine.seed,
                         .config = j->config,
                         .engine = &j->engine,
                         .quiet = j->files.quiet,
                         .arg = j->train->arg};
}

static strads_err write_common_model(const cli_job *j)
{
    strads_model *model = NULL;
    strads_err err =
        strads_model_from_result(j->result, cli_train_model(j->train),
                                 j->config_text, j->engine.seed, &model);
    if (err) {
        return err;
    }
    if (j->train->complete) {
        j->train->complete(strads_result_state(j->result), model);
    }
    err = cli_model_write(model, j->files.model, j->files.quiet);
    strads_model_free(model);
    return err;
}

static strads_err write_model(cli_job *j)
{
    strads_err err = resolve_options(j);
    if (!err && j->train->write) {
        const cli_trained trained = look_back(j);
        err = j->train->write(&trained, j->files.model);
    } else if (!err) {
        err = write_common_model(j);
    }
    if (!err) {
        cli_say(j->files.quiet, "the model is in %s", j->files.model);
    }
    return err;
}

/* The model comes first: a log that cannot be finished costs no model. */
static int conclude(cli_job *j)
{
    outcome end = judge(j);
    strads_err err = STRADS_OK;
    summarise(j, &end);
    if (j->train->finish) {
        const cli_trained trained = look_back(j);
        err = j->train->finish(j->train->arg, &trained);
    }
    if (!err && j->files.model) {
        err = write_model(j);
    }
    if (!err && j->train->print) {
        err = j->train->print(j->train->arg);
    }
    cli_log_end(&j->log, err ? "error" : end.word,
                strads_result_progress(j->result));
    int code = err ? cli_complain(err, CLI_RUNNING) : end.code;
    if (err == STRADS_ECANCELED && !*j->engine.stop) {
        code = CLI_BOUND; /* nobody did but a bound */
    }
    if (err == STRADS_ESTATE && end.code == CLI_INTERRUPTED) {
        code = CLI_INTERRUPTED; /* it was, before there was a model */
    }
    err = cli_log_close(&j->log);
    return err ? cli_complain(err, CLI_RUNNING) : code;
}

/* ---- all of it ------------------------------------------------------------ */

static void job_free(cli_job *j)
{
    strads_result_free(j->result);
    strads_engine_free(j->nodes);
    strads_data_free(j->data);
    cli_start_free(&j->start);
    strads_plan_free(j->plan);
    sti_config_strings_free(&j->strings);
    free(j->config_text);
    free(j->full_path);
    free(j->config);
}

static int train_job(cli_job *j)
{
    strads_err err = prepare(j);
    if (err) {
        return cli_complain(err, CLI_BEFORE);
    }
    err = run(j);
    int code = err ? cli_complain(err, CLI_RUNNING) : CLI_OK;
    if (j->result) { /* a trace that cannot be finished costs no model */
        const int end = conclude(j);
        return code ? code : end;
    }
    cli_log_end(&j->log, "error", NULL);
    (void)cli_log_close(&j->log);
    return code;
}

int cli_train_main(const cli_train *train, int argc, char **argv)
{
    cli_job j = {.train = train};
    bool done = false;
    strads_err err = read_command_line(&j, argc, argv, &done);
    int code = CLI_OK;
    if (err) {
        code = cli_complain(err, CLI_BEFORE);
    } else if (!done) {
        code = train_job(&j);
    }
    job_free(&j);
    return code;
}
