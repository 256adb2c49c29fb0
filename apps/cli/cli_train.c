/* Training, from the command line to the model file.
 *
 * All user input is checked before the first round: options, the start model,
 * the data, and whether model and log can be written. After that, a model file
 * is written only if the run ends without an error, whatever the reason for its
 * end. It is written before anything is printed on standard output. */
#include "cli_train.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_job.h"
#include "cli_join.h"
#include "cli_liblinear.h"
#include "engine/base/atomic_file.h"
#include "engine/base/cores.h"
#include "engine/run/checkpoint_files.h"
#include "engine/run/run_setup.h"

/* ---- the command line ---------------------------------------------------- */

strads_err cli_plan_take(const strads_program *program,
                         strads_engine_options *engine, strads_plan **plan)
{
    if (!engine->plan)
        return STRADS_OK;
    CLI_TRY(strads_plan_read(engine->plan, plan));
    CLI_TRY(cli_option_refuse(program, "plan"));
    if (engine->partitions == 0)
        engine->partitions = (*plan)->partitions;
    engine->plan_given = *plan;
    return STRADS_OK;
}

static const strads_option file_table[] = {
    CLI_TEXT(cli_files, model, "model", "OUT.json",
             "write the model there (default: nowhere)"),
    CLI_TEXT(cli_files, log, "log", "RUN.jsonl",
             "write a JSON line per report (default: none)"),
    CLI_TEXT(cli_files, http, "http", "HOST:PORT",
             "serve a page to watch the run (default: none)"),
    STRADS_OPTION(STRING, cli_files, publish, "publish", "URL",
                  "publish the log's lines there by nng: ipc:///PATH or "
                  "tcp://127.0.0.1:PORT (default: no)",
                  .rare = true),
    STRADS_OPTION(STRING, cli_files, start, "start", "MODEL",
                  "start from a model's values (default: from 0)",
                  .rare = true),
    CLI_TEXT(cli_files, checkpoint, "checkpoint", "DIR",
             "keep checkpoints there, for --resume (default: none)"),
    STRADS_OPTION(F64, cli_files, checkpoint_every, "checkpoint-every",
                  "SECONDS", "from one checkpoint to the next (default: 60)",
                  .rare = true, .min = 1e-3, .max = 1e9),
    STRADS_OPTION(STRING, cli_files, resume, "resume", "DIR",
                  "continue from the newest checkpoint there (default: no)",
                  .rare = true),
    CLI_SAMPLES_OPTIONS(cli_files, samples),
    STRADS_OPTION(BOOL, cli_files, f32, "f32", NULL,
                  "values in 4 bytes instead of 8 (default: no)", .rare = true),
    CLI_FLAG(cli_files, quiet, "quiet", "print errors only (default: no)"),
    {.name = NULL},
};

strads_err cli_defaults(const strads_program *program,
                        strads_engine_options *engine, void **config)
{
    *engine = (strads_engine_options){
        .size = sizeof *engine,
        .policy = cli_option_suits(program, "policy") ? "priority" : NULL,
        .blocks = 1,
        .threshold = cli_option_suits(program, "threshold") ? 0.1 : 0,
        .tolerance = 1e-6,
        .shards = 1,
        .cache_bytes = UINT64_C(256) << 20,
    };
    CLI_TRY(cli_reserve(1, program->config_size, "the options", config));
    if (program->defaults)
        memcpy(*config, program->defaults, program->config_size);
    return STRADS_OK;
}

static strads_err set_defaults(cli_job *j)
{
    const cli_train *train = j->train;
    const uint32_t cores = sti_cores();
    CLI_TRY(cli_defaults(j->train->program, &j->engine, &j->config));
    for (size_t k = 0; k < sizeof train->other / sizeof *train->other; k++)
        if (train->other[k] &&
            cli_option_suits(train->other[k]->program, "policy"))
            j->engine.policy = "priority";
    j->engine.workers = cores > 1024 ? 1024 : cores;
    j->engine.nodes = 1;
    const size_t size = j->train->size ? j->train->size : sizeof(cli_use);
    CLI_TRY(cli_reserve(1, size, "the command", &j->state));
    if (j->train->initial)
        memcpy(j->state, j->train->initial, size);
    ((cli_use *)j->state)->command = j->command;
    ((cli_use *)j->state)->out.format = j->train->usual;
    return STRADS_OK;
}

static cli_source job_source(const cli_job *j)
{
    const bool makes = j->train->makes && j->train->makes(j->state);
    return (cli_source){j->data_path, makes ? j->train->make : NULL, j->state};
}

static strads_err check_options(const cli_job *j)
{
    const cli_use *use = j->state;
    const cli_train *train = j->train;
    if (train->makes_of && train->makes && train->makes(j->state) &&
        (j->engine.nodes > 1 || j->engine.listen)) {
        return strads_fail(STRADS_EINVAL,
                           "%s are for one process: leave %s out",
                           train->makes_of,
                           j->engine.listen ? "--listen" : "--nodes");
    }
    if (j->engine.nodes > 1 && !j->engine.listen) {
        return strads_fail(STRADS_EINVAL,
                           "--nodes %" PRIu32 " needs --listen URL, where the "
                           "others find this process",
                           j->engine.nodes);
    }
    if (j->engine.listen && j->engine.nodes < 2) {
        return strads_fail(STRADS_EINVAL,
                           "--listen needs --nodes N, the number of processes "
                           "with this one, at least 2");
    }
    if (j->engine.advertise && !j->engine.listen) {
        return strads_fail(STRADS_EINVAL,
                           "--advertise needs --listen URL, where this process "
                           "accepts the others");
    }
    if (j->files.resume && j->files.start) {
        return strads_fail(STRADS_EINVAL,
                           "--start and --resume exclude each other: leave "
                           "--start out, the checkpoint has the parameters");
    }
    if (j->files.model)
        CLI_TRY(sti_atomic_file_check(j->files.model));
    if (use->out.path)
        CLI_TRY(cli_output_check(use->out.path));
    return j->engine.trace ? sti_atomic_file_check(j->engine.trace) : STRADS_OK;
}

/* Loops have other options than scheduled rounds. */
static const strads_option *running_table(const cli_job *j)
{
    return j->train->program->run ? strads_engine_loop_option_table()
                                  : strads_engine_option_table();
}

/* Model and log contain the options of the fit, but not the names of output
 * files. */
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

/* Under srun or mpirun: rank 0 listens, and the other ranks join it. */
static strads_err take_place(cli_job *j)
{
    if (j->engine.nodes > 1 || j->engine.listen)
        return STRADS_OK;
    CLI_TRY(cli_cluster_find(j->engine.tls_ca != NULL, &j->cluster));
    if (j->cluster.size > 1) {
        /* A rank that died before it joined must not keep the others. */
        if (!(j->engine.gather > 0))
            j->engine.gather = 600;
        j->engine.nodes = j->cluster.size;
        j->engine.listen = j->cluster.url;
    }
    return STRADS_OK;
}

/* A text among the program's own options; NULL: no such option. */
static const char *text_option(const cli_job *j, const char *name)
{
    const strads_option *option =
        j->train->program->options
            ? strads_option_find(j->train->program->options, name)
            : NULL;
    return option && option->kind == STRADS_OPTION_STRING
               ? *(const char *const *)((const char *)j->config +
                                        option->offset)
               : NULL;
}

/* Joins rank 0, which has the same command line. */
static int join_rank_zero(cli_job *j)
{
    cli_join *join;
    strads_err err = cli_cluster_hear(&j->cluster);
    err = err ? err : cli_reserve(1, sizeof *join, "the command", &join);
    if (err)
        return cli_complain(err, CLI_RUNNING);
    *join =
        (cli_join){.data = j->data_path,
                   .column = {text_option(j, "user"), text_option(j, "item"),
                              text_option(j, "rating"), text_option(j, "time")},
                   .memory = j->engine.memory,
                   .samples = j->files.samples,
                   .engine = {.workers = j->engine.workers,
                              .token_file = j->engine.token_file,
                              .tls_ca = j->engine.tls_ca,
                              .tls_cert = j->engine.tls_cert,
                              .tls_key = j->engine.tls_key},
                   .read = j->train->read,
                   .make = job_source(j).make,
                   .state = j->state,
                   .own = j->train->program,
                   .f32 = j->files.f32,
                   .quiet = j->files.quiet};
    return cli_join_run(j->cluster.url, join);
}

/* Selects the program that suits options and data. Data from a pipe cannot be
 * read twice, so it stays with the requested program. A resumed run keeps the
 * program of its checkpoint, even if the number of processes has changed. */
static const cli_train *choose(const cli_job *j, const cli_train *asked)
{
    struct stat info;
    char name[64];
    if (asked->instead && j->engine.resume &&
        sti_checkpoint_find(j->engine.resume, "program", name, sizeof name)) {
        for (size_t k = 0; k < sizeof asked->other / sizeof *asked->other; k++)
            if (asked->other[k] &&
                strcmp(name, asked->other[k]->program->name) == 0)
                return asked->other[k];
        return asked;
    }
    const bool again = stat(j->data_path, &info) == 0 && S_ISREG(info.st_mode);
    const cli_train *other = asked->instead && again
                                 ? asked->instead(asked, j->config, &j->engine,
                                                  j->data_path, j->data)
                                 : NULL;
    return other ? other : asked;
}

/* A program that needs all rows does not run on several processes. */
static strads_err check_place(const cli_job *j)
{
    const bool several = j->engine.nodes > 1 || j->engine.listen;
    const bool refits = j->train->needs_rows && j->train->needs_rows(j->state);
    if (several && refits)
        return strads_fail(STRADS_EINVAL,
                           "--relax is for one process: it needs all rows; "
                           "leave %s out",
                           j->cluster.size > 1 ? j->cluster.by
                           : j->engine.listen  ? "--listen"
                                               : "--nodes");
    if (!several || !j->train->all_rows || !choose(j, j->train)->all_rows)
        return STRADS_OK;
    if (j->cluster.size > 1)
        return strads_fail(STRADS_EINVAL,
                           "strads %s is for one process, and %s has started "
                           "%" PRIu32,
                           j->command->name, j->cluster.by, j->cluster.size);
    return strads_fail(STRADS_EINVAL,
                       "%s: strads %s is for one process: it needs all rows; "
                       "leave it out, or take --cut columns",
                       j->engine.listen ? "--listen" : "--nodes",
                       j->command->name);
}

static void take_notice(void *arg, const char *sentence)
{
    (void)arg;
    cli_notice(sentence);
}

static strads_err read_command_line(cli_job *j, int argc, char **argv,
                                    bool *done)
{
    const cli_train *train = j->train;
    cli_parsed parsed;
    CLI_TRY(set_defaults(j));
    const cli_syntax syntax = {
        .name = j->command->name,
        .args = "DATA",
        .summary = j->command->about,
        .footer = "Exit codes: 0 converged, 1 failed, 2 wrong input, 3 not "
                  "converged, 130 stopped.",
        .config = true,
        .one_process = train->all_rows,
        .program = train->program,
        .other = {train->other[0] ? train->other[0]->program : NULL,
                  train->other[1] ? train->other[1]->program : NULL},
        .groups = {{train->options, train->program->options, j->config},
                   {"Running:", running_table(j), &j->engine},
                   {"Files:", file_table, &j->files},
                   {NULL, train->more, j->state},
                   {NULL, cli_out_table(train->usual), j->state}},
    };
    CLI_TRY(cli_parse(&syntax, argc, argv, &parsed));
    *done = parsed.done;
    if (parsed.done)
        return STRADS_OK;
    j->data_path = parsed.arg[0];
    j->intercept_by_default = parsed.intercept_by_default;
    CLI_TRY(take_place(j));
    CLI_TRY(check_place(j));
    CLI_TRY(cli_plan_take(train->program, &j->engine, &j->plan));
    j->engine.checkpoint = j->files.checkpoint;
    j->engine.checkpoint_every = j->files.checkpoint_every;
    j->engine.resume = j->files.resume;
    j->engine.notice = take_notice;
    j->engine.regroup = true;
    if (train->check)
        CLI_TRY(train->check(j->state, j->config));
    CLI_TRY(check_options(j));
    CLI_TRY(cli_job_keep_options(j));
    return j->files.model && train->program->kind == STRADS_KIND_SAMPLES
               ? cli_model_check(j->files.model, cli_job_model(train),
                                 j->config_text)
               : STRADS_OK;
}

/* ---- input ------------------------------------------------------------- */

static strads_err listen_for_nodes(cli_job *j)
{
    if (access(j->data_path, R_OK) != 0) { /* check before waiting for other
                                            * nodes */
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", j->data_path,
                           strerror(errno));
    }
    j->full_path = realpath(j->data_path, NULL);
    j->engine.data_path = j->full_path ? j->full_path : j->data_path;
    CLI_TRY(strads_engine_listen(j->train->program, j->config, &j->engine,
                                 &j->nodes));
    CLI_TRY(cli_cluster_tell(&j->cluster, strads_engine_url(j->nodes)));
    /* Each process loads a user's program itself. */
    const bool own = strads_program_find(j->train->program->name) == NULL;
    cli_say(j->files.quiet,
            "waiting for %" PRIu32 " more process%s: strads join %s%s",
            j->engine.nodes - 1, j->engine.nodes == 2 ? "" : "es",
            strads_engine_url(j->nodes), own ? " --program FILE.so" : "");
    return STRADS_OK;
}

static strads_err read_data(cli_job *j)
{
    strads_data_options options = {
        .size = sizeof options,
        .values = j->files.f32 ? STRADS_F32 : STRADS_F64,
        .threads = j->engine.workers,
        .user = text_option(j, "user"),
        .item = text_option(j, "item"),
        .rating = text_option(j, "rating"),
        .time = text_option(j, "time"),
    };
    CLI_TRY(cli_samples_use(&j->files.samples, &options));
    CLI_TRY(j->nodes ? strads_engine_keep(j->nodes, &options)
                     : strads_run_cut(j->train->program, j->config, &j->engine,
                                      &options));
    if (j->train->read)
        CLI_TRY(j->train->read(j->state, j->data_path, &options));
    cli_cost_tell(j->files.quiet, j->data_path, &options);
    const cli_source source = job_source(j);
    CLI_TRY(cli_source_read(&source, &options, &j->data));
    strads_data_spend(j->data);
    j->reading = options;
    return STRADS_OK;
}

/* Reads the data for the selected program. */
static strads_err read_for(cli_job *j, const cli_train *asked)
{
    CLI_TRY(read_data(j));
    if (j->nodes)
        return STRADS_OK;
    if (choose(j, asked) != j->train) {
        j->train = choose(j, asked);
        strads_data_free(j->data);
        j->data = NULL;
        CLI_TRY(read_data(j));
    }
    j->cut_by_size = j->engine.partitions == 0;
    j->engine.partitions = strads_data_partitions(j->data);
    return cli_job_keep_options(j);
}

/* Computes the run's parameters. A program may have more than one for each
 * column, or some even if the data has no columns. */
static strads_err check_shape(const cli_job *j, strads_shape *shape)
{
    const strads_program *program = j->train->program;
    const bool samples = program->kind == STRADS_KIND_SAMPLES;
    strads_engine_options cut = j->engine;
    cut.partitions = strads_data_partitions(j->data);
    cut.pools = cut.pools ? cut.pools : cut.nodes;
    CLI_TRY(sti_setup_shape(program, j->config, j->data, &cut, shape));
    if (shape->parameters > 0 && !(samples && strads_data_cols(j->data) == 0))
        return STRADS_OK;
    return strads_fail(STRADS_EFORMAT,
                       "%s: has no %s, so there is nothing to train",
                       j->data_path,
                       samples                                ? "columns"
                       : program->kind == STRADS_KIND_RATINGS ? "items"
                                                              : "words that "
                                                                "are taken");
}

static strads_err tune_options(cli_job *j, const strads_data *data)
{
    CLI_TRY(
        j->train->tune(j->state, j->config, data, &j->engine, j->files.quiet));
    return cli_job_keep_options(j);
}

/* Node 0 reads all of the data, chooses the options, and drops the data before
 * the other processes join. */
static strads_err tune_for_nodes(cli_job *j)
{
    strads_data_options all = {
        .size = sizeof all,
        .threads = j->engine.workers,
        .memory_limit = j->engine.memory,
        .user = text_option(j, "user"),
        .item = text_option(j, "item"),
        .rating = text_option(j, "rating"),
        .time = text_option(j, "time"),
    };
    const strads_engine_options one = {.size = sizeof one, .partitions = 1};
    strads_data *data = NULL;
    if (!j->train->tunes || !j->train->tunes(j->state, j->config))
        return STRADS_OK;
    CLI_TRY(strads_run_cut(j->train->program, j->config, &one, &all));
    if (j->train->read)
        CLI_TRY(j->train->read(j->state, j->data_path, &all));
    const cli_source source = job_source(j);
    CLI_TRY(cli_source_read(&source, &all, &data));
    const strads_err err = tune_options(j, data);
    strads_data_free(data);
    return err;
}

static void on_progress(void *arg, const strads_progress *progress)
{
    cli_job *j = arg;
    const double done = j->sweep < STRADS_MEASURES ? progress->measure[j->sweep]
                                                   : (double)progress->round;
    cli_log_round(&j->log, progress);
    cli_progress_show(&j->line, done, progress);
    if (j->train->note)
        j->train->note(j->state, progress);
}

static strads_err prepare_training(cli_job *j)
{
    strads_shape shape;
    const cli_train *const asked = j->train;
    j->train = choose(j, asked);
    j->engine.stop = cli_signal_catch();
    j->engine.progress = on_progress;
    j->engine.progress_arg = j;
    if (j->files.start)
        CLI_TRY(cli_start_read(j));
    CLI_TRY(cli_watch_open(j->files.http, j->engine.token_file, j->files.quiet,
                           &j->watch));
    if (j->files.publish)
        CLI_TRY(sti_publisher_open(j->files.publish, &j->publisher));
    if (j->engine.listen) {
        CLI_TRY(tune_for_nodes(j));
        CLI_TRY(listen_for_nodes(j));
    }
    CLI_TRY(read_for(j, asked));
    if (j->train->tune && !j->nodes)
        CLI_TRY(tune_options(j, j->data));
    if (j->files.start)
        CLI_TRY(cli_start_check(j));
    CLI_TRY(check_shape(j, &shape));
    if (j->train->look)
        CLI_TRY(j->train->look(j->state, j->data));
    if (j->files.start)
        CLI_TRY(cli_start_cut(j, &shape));
    return cli_log_open(j->files.log, j->watch, j->publisher, &j->log);
}

/* ---- the run ----------------------------------------------------------- */

/* The run's threads in this process, and the reason if there are fewer than
 * cores. */
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

/* Whether the data is too small for a second partition, and therefore for a
 * second process. */
static bool one_would_do(const cli_job *j)
{
    const strads_engine_options alone = {.size = sizeof alone};
    strads_data_options cut = {.size = sizeof cut};
    return j->engine.nodes > 1 &&
           !strads_run_cut(j->train->program, j->config, &alone, &cut) &&
           strads_data_nnz(j->data) / 2 < cut.partition_entries;
}

/* The options for the log: those that the program has. The caller frees
 * them. */
static char *list_options(const cli_job *j)
{
    json_t *all = json_loads(j->config_text, 0, NULL);
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(all, next, name, value)
    {
        if (!strads_option_find(j->train->program->options, name) &&
            !cli_option_suits(j->train->program, name))
            (void)json_object_del(all, name);
    }
    char *text = json_dumps(all, JSON_REAL_PRECISION(15));
    json_decref(all);
    return text;
}

static void announce_training(cli_job *j)
{
    char workers[80];
    char *options = list_options(j);
    cli_log_start start = {
        .program = j->train->program->name,
        .measures = j->train->program->measures,
        .options = options ? options : "{}",
        .data_path = j->data_path,
        .data = j->data,
        .seed = j->engine.seed,
        .workers = tell_workers(j, workers, sizeof workers),
        .partitions = strads_data_partitions(j->data),
        .nodes = j->engine.nodes,
    };
    char held[CLI_BYTES_SIZE];
    cli_log_begin(&j->log, &start);
    free(options);
    if (j->intercept_by_default)
        cli_intercept_notice(j->files.quiet);
    cli_say(j->files.quiet,
            "%s on %s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64
            " entries, %s in memory; %s%s, seed %" PRIu64,
            start.program, j->data_path, strads_data_rows(j->data),
            strads_data_cols(j->data), strads_data_nnz(j->data),
            cli_bytes(strads_data_bytes(j->data), held), workers,
            one_would_do(j) ? " (one process would do)" : "", j->engine.seed);
    if (j->train->program->kind == STRADS_KIND_RATINGS &&
        strads_data_repeated(j->data) > 0) {
        cli_say(j->files.quiet,
                "repeated pairs of user and item: %" PRIu64
                "; the last rating of each pair counts",
                strads_data_repeated(j->data));
    }
}

/* The latest end of the run. If a program has a number of sweeps or epochs and
 * counts them in a measure, the goal is that number. */
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
    const strads_share *share = NULL;
    for (uint32_t k = 0; k < strads_data_partitions(j->data) && !share; k++)
        share = strads_data_share(j->data, k);
    if (share)
        goal.pack = share->pack;
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

static strads_err run_training(cli_job *j)
{
    announce_training(j);
    if (j->train->listen && j->log.line && j->engine.max_rounds == 0)
        j->train->listen(j->state, j->config, &j->log);
    cli_progress_begin(&j->line, j->files.quiet, find_goal(j));
    strads_err err = j->nodes ? strads_engine_run(j->nodes, j->data, &j->result)
                              : strads_run(j->train->program, j->config,
                                           j->data, &j->engine, &j->result);
    while (err == STRADS_EREGROUP) {
        cli_progress_end(&j->line);
        const cli_source source = job_source(j);
        err = cli_regroup(j->nodes, j->files.quiet, &source, &j->reading,
                          &j->data);
        cli_progress_begin(&j->line, j->files.quiet, find_goal(j));
        if (!err)
            err = strads_engine_run(j->nodes, j->data, &j->result);
    }
    cli_progress_end(&j->line);
    return err;
}

/* ---- the outcome --------------------------------------------------------- */

typedef struct outcome {
    const char *word; /* for the log */
    const char *text; /* for the terminal */
    int code;
} outcome;

/* The objective of a model without weights, or NaN. */
static double find_at_zero(const cli_job *j)
{
    return j->train->at_zero ? j->train->at_zero(strads_result_state(j->result))
                             : NAN;
}

/* Allows for rounding. */
static bool has_diverged(const cli_job *j)
{
    return strads_result_progress(j->result)->objective >
           find_at_zero(j) * (1 + 1e-6);
}

/* For programs with a gap, ending at a bound or by the program's own decision
 * means that the run has not converged. */
static outcome judge_end(const cli_job *j)
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
        if (has_diverged(j))
            return (outcome){"diverged", "diverged", CLI_BOUND};
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

/* For a data-parallel loop: the times summed over all workers. */
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

/* If a fit cannot reach its tolerance, the scales of the columns usually differ
 * too much. */
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
    /* A model without a list of weights has no nonzeros. */
    if (!isnan(p->gap) || p->nonzeros > 0) {
        (void)snprintf(figures + at, sizeof figures - at,
                       " %" PRIu64 " nonzero%s,", p->nonzeros,
                       p->nonzeros == 1 ? "" : "s");
    }
    cli_say(j->files.quiet,
            "%s after %" PRIu64 " %s%s and %.3g s:%s seed %" PRIu64, end->text,
            p->round, loop ? "clock" : "round", p->round == 1 ? "" : "s",
            p->seconds, figures, j->engine.seed);
    const char *checkpoints =
        j->files.checkpoint ? j->files.checkpoint : j->files.resume;
    if (checkpoints && sti_checkpoint_partitions(checkpoints) > 0 &&
        strads_result_end(j->result) >= STRADS_END_ROUNDS) {
        cli_say(j->files.quiet,
                "to continue: the same command with --resume %s", checkpoints);
    }
    if (has_diverged(j) && end->code == CLI_BOUND) {
        cli_say(false,
                "the run ends above its start: the objective without weights "
                "is %.6g; scale the columns down or take shorter steps "
                "(--rate)",
                find_at_zero(j));
    } else if (end->code == CLI_BOUND &&
               strads_result_end(j->result) == STRADS_END_STOPPED) {
        advise(j);
    }
    if (loop)
        tell_times(j, p);
    if (!j->files.model && !j->train->print)
        cli_say(j->files.quiet, "no --model was given: the model is not kept");
    if (!j->files.quiet && j->train->describe)
        j->train->describe(strads_result_state(j->result));
}

/* ---- the model ----------------------------------------------------------- */

static strads_err write_common_model(const cli_job *j)
{
    strads_model *model = NULL;
    CLI_TRY(strads_model_from_result(j->result, cli_job_model(j->train),
                                     j->config_text, j->engine.seed, &model));
    if (j->train->complete)
        j->train->complete(strads_result_state(j->result), model);
    if (j->train->refine)
        j->train->refine(j->state, model);
    cli_model_name(model, j->data, j->files.samples.target);
    if (model->names)
        model->target = j->files.samples.target;
    const strads_err err =
        cli_model_write(model, j->files.model, j->files.quiet);
    strads_model_free(model);
    return err;
}

/* Writes the options with their resolved values. */
static strads_err write_model(cli_job *j, cli_trained *trained)
{
    j->engine.partitions = strads_result_partitions(j->result);
    if (j->train->resolve)
        j->train->resolve(strads_result_state(j->result), j->config);
    CLI_TRY(cli_job_keep_options(j));
    trained->options = j->config_text;
    CLI_TRY(j->train->write ? j->train->write(trained, j->files.model)
                            : write_common_model(j));
    cli_say(j->files.quiet, "the model is in %s", j->files.model);
    return STRADS_OK;
}

static strads_err write_outputs(cli_job *j)
{
    cli_trained trained = {.train = j->train,
                           .result = j->result,
                           .data = j->data,
                           .options = j->config_text,
                           .seed = j->engine.seed,
                           .config = j->config,
                           .engine = &j->engine,
                           .target = j->files.samples.target,
                           .quiet = j->files.quiet,
                           .state = j->state};
    if (j->train->finish)
        CLI_TRY(j->train->finish(j->state, &trained));
    if (j->files.model)
        CLI_TRY(write_model(j, &trained));
    return j->train->print ? cli_output(((cli_use *)j->state)->out.path,
                                        j->train->print, j->state)
                           : STRADS_OK;
}

/* The model is written first, so that a failure of the log cannot lose it. */
static int conclude_training(cli_job *j)
{
    const outcome end = judge_end(j);
    summarise(j, &end);
    strads_err err = write_outputs(j);
    if (!err && j->train->tell && j->log.line)
        err = j->train->tell(j->state, &j->log);
    cli_log_end(&j->log, err ? "error" : end.word,
                strads_result_progress(j->result));
    int code = err ? cli_complain(err, CLI_RUNNING) : end.code;
    if (err == STRADS_ECANCELED && !*j->engine.stop)
        code = CLI_BOUND; /* stopped at a bound */
    if (err == STRADS_ESTATE && end.code == CLI_INTERRUPTED)
        code = CLI_INTERRUPTED; /* stopped before there was a model */
    err = cli_log_close(&j->log);
    return err ? cli_complain(err, CLI_RUNNING) : code;
}

/* ---- the whole training -------------------------------------------------- */

static int train_job(cli_job *j)
{
    strads_err err = prepare_training(j);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    err = run_training(j);
    const int code = err ? cli_complain(err, CLI_RUNNING) : CLI_OK;
    if (j->result) { /* an error of the trace does not lose the model */
        const int end = conclude_training(j);
        return code ? code : end;
    }
    cli_log_end(&j->log, "error", NULL);
    (void)cli_log_close(&j->log);
    return code;
}

int cli_train_main(const cli_command *command, int argc, char **argv)
{
    cli_job *j;
    bool done = false;
    strads_err err = cli_reserve(1, sizeof *j, "a training", &j);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    j->command = command;
    j->train = command->train;
    err = read_command_line(j, argc, argv, &done);
    const int code = err                   ? cli_complain(err, CLI_BEFORE)
                     : done                ? CLI_OK
                     : j->cluster.rank > 0 ? join_rank_zero(j)
                                           : train_job(j);
    cli_cluster_abort(&j->cluster, code);
    /* Closes only objects with effects outside the process: the page, the
     * program's state, the other nodes. */
    sti_watch_close(j->watch);
    sti_publisher_close(j->publisher);
    strads_result_free(j->result);
    strads_engine_free(j->nodes);
    return code;
}
