/* Training, from the command line to the model file.
 *
 * Whatever can be wrong with the user's input is looked at before the first
 * round: options, the start model, the data, and whether model and log can be
 * written at all. After that a model file appears only when a run has ended
 * without an error, however it ended. */
#include "cli_train.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_cost.h"
#include "cli_job.h"
#include "cli_signal.h"
#include "command.h"

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
    cli_log_round(&j->log, progress);
    cli_progress_show(&j->line, progress);
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

static strads_err run(cli_job *j)
{
    announce(j);
    cli_progress_begin(&j->line, j->files.quiet);
    strads_err err = j->nodes ? strads_engine_run(j->nodes, j->data, &j->result)
                              : strads_run(j->train->program, j->config,
                                           j->data, &j->engine, &j->result);
    cli_progress_end(&j->line);
    return err;
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
        const int end = cli_job_conclude(j);
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
    strads_err err = cli_job_options(&j, argc, argv, &done);
    int code = CLI_OK;
    if (err) {
        code = cli_complain(err, CLI_BEFORE);
    } else if (!done) {
        code = train_job(&j);
    }
    job_free(&j);
    return code;
}
