/* strads join URL: this process becomes a node of somebody else's run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_terminal.h"
#include "cli_options.h"
#include "cli_plugin.h"
#include "cli_terminal.h"
#include "cli_documents.h"
#include "cli.h"

typedef struct join_options {
    const char *data, *program, *labels;
    strads_join_options engine;
    cli_words words;
    bool f32, quiet;
} join_options;

static const strads_option join_table[] = {
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(join_options, engine.workers),
     .metavar = "N",
     .help = "threads of this process (default: one per core)",
     .min = 1,
     .max = 1024},
    {.name = "shard",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(join_options, engine.shard),
     .help = "no workers: a loop's tables (default: no)"},
    {.name = "journal",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(join_options, engine.journal),
     .metavar = "DIR",
     .help = "with --shard: come back when killed (default: none)"},
    {.name = "data",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(join_options, data),
     .metavar = "PATH",
     .help = "the data here (default: the coordinator's path)"},
    {.name = "listen",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(join_options, engine.listen),
     .metavar = "URL",
     .help = "where others reach this one (default: this machine)"},
    {.name = "program",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(join_options, program),
     .metavar = "FILE.so",
     .help = "the program of a `strads run` (default: none)"},
    {.name = "timeout",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(join_options, engine.timeout),
     .metavar = "SECONDS",
     .help = "seconds for the coordinator to answer (default: 30)",
     .min = 1e-3,
     .max = 1e9},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(join_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    {.name = "f32",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(join_options, f32),
     .help = "values in 4 bytes, as the coordinator's (default: no)"},
    {.name = "trace",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(join_options, engine.trace),
     .metavar = "FILE",
     .help = "write a Chrome/Perfetto trace (default: none)"},
    CLI_OPTION_QUIET(offsetof(join_options, quiet)),
    CLI_WORDS_OPTIONS(join_options, words),
    {.name = NULL},
};

static const strads_program *find_program(void *arg, const char *name)
{
    const cli_plugin *plugin = arg;
    if (plugin->handle && strcmp(plugin->program.name, name) == 0) {
        return &plugin->program;
    }
    return strads_program_find(name);
}

static strads_err read_share(strads_engine *engine, join_options *options,
                             strads_data **out)
{
    strads_data_options wanted = {
        .size = sizeof wanted,
        .values = options->f32 ? STRADS_F32 : STRADS_F64,
        .threads = options->engine.workers,
        .labels_path = options->labels,
    };
    const char *path =
        options->data ? options->data : strads_engine_data_path(engine);
    if (!path) {
        return strads_fail(STRADS_EINVAL,
                           "the coordinator named no data; give --data PATH");
    }
    strads_err err = strads_engine_keep(engine, &wanted);
    if (!err) {
        err = cli_words_use(&options->words, &wanted);
    }
    if (!err) {
        cli_cost_tell(options->quiet, path, &wanted);
        err = strads_data_read(path, &wanted, out);
    }
    if (!err) {
        char held[CLI_BYTES_SIZE];
        strads_data_spend(*out);
        cli_say(options->quiet, "keeps %s of the data in memory",
                cli_bytes(strads_data_bytes(*out), held));
    }
    return err;
}

/* *stage tells a wrong input from a run that broke. */
static strads_err take_part(const char *url, join_options *options,
                            cli_stage *stage)
{
    strads_engine *engine = NULL;
    strads_data *data = NULL;
    strads_result *none = NULL;
    *stage = CLI_RUNNING;
    strads_err err = strads_engine_join(url, &options->engine, &engine);
    if (err) {
        return err;
    }
    cli_say(options->quiet, "joined %s: program %s", url,
            strads_engine_program(engine)->name);
    *stage = CLI_BEFORE;
    err = read_share(engine, options, &data);
    if (!err) {
        *stage = CLI_RUNNING;
        err = strads_engine_run(engine, data, &none);
    }
    if (!err) {
        cli_say(options->quiet, "the run is over; the coordinator has it");
    }
    strads_result_free(none);
    strads_engine_free(engine);
    strads_data_free(data);
    return err;
}

static int join(const char *url, join_options *options)
{
    cli_plugin plugin = {0};
    cli_stage stage = CLI_BEFORE;
    strads_err err = STRADS_OK;
    if (options->program) {
        err = cli_plugin_open(options->program, &plugin);
    }
    if (!err) {
        options->engine.find = find_program;
        options->engine.find_arg = &plugin;
        options->engine.stop = cli_signal_catch();
        err = take_part(url, options, &stage);
    }
    int code = err ? cli_complain(err, stage) : CLI_OK;
    cli_plugin_close(&plugin);
    return code;
}

int cli_join(int argc, char **argv)
{
    join_options options = {.engine = {.size = sizeof options.engine}};
    cli_syntax syntax = {
        .name = "join",
        .args = "URL",
        .summary = "Joins the run that listens at URL, reads this process's "
                   "share of the data and works until the run is over.",
        .groups = {{NULL, join_table, &options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    int code = CLI_OK;
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (err) {
        code = cli_complain(err, CLI_BEFORE);
    } else if (!parsed.done) {
        code = join(parsed.arg[0], &options);
    }
    cli_words_free(&options.words);
    sti_config_strings_free(&strings);
    return code;
}
