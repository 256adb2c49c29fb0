/* The options of a training: the program's, the engine's and the command's own,
 * and what has to hold between them before anything is read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_job.h"
#include "cli_liblinear.h"
#include "cli_options.h"
#include "cli_plan.h"
#include "engine/base/atomic_file.h"
#include "engine/base/cores.h"

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

static strads_err check_outputs(const cli_job *j)
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
    return check_outputs(j);
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

strads_err cli_job_options(cli_job *j, int argc, char **argv, bool *done)
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
