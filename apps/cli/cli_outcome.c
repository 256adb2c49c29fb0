/* How a run ended: told to people, to the log, to whoever reads exit codes, and
 * kept as a model. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_job.h"
#include "cli_liblinear.h"
#include "command.h"

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
int cli_job_conclude(cli_job *j)
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
