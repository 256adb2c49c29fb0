/* strads run PROGRAM.so DATA: trains by a user's own program. */
#include <stdio.h>
#include <string.h>

#include "cli_options.h"
#include "cli_plugin.h"
#include "cli_train.h"
#include "cli.h"

static const char summary[] =
    "Trains by a program from a shared object, which comes first: its options "
    "are known from then on.";

/* --check, of this command alone. */
typedef struct run_options {
    bool check;
    const strads_program *program;
    const void *config;
} run_options;

static const strads_option more[] = {
    {.name = "check",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(run_options, check),
     .help = "try the program for mistakes first (default: no)"},
    {.name = NULL}};

static strads_err keep_config(void *arg, void *config)
{
    ((run_options *)arg)->config = config;
    return STRADS_OK;
}

static strads_err try_program(void *arg, const char *path,
                              strads_data_options *how)
{
    const run_options *o = arg;
    if (!o->check)
        return STRADS_OK;
    strads_err err = strads_program_check(o->program, o->config, path, how);
    if (!err)
        (void)fprintf(stderr,
                      "strads: checked %s on %s: nothing wrong was found\n",
                      o->program->name, path);
    return err;
}

/* Without a program there are only the words around it to show. */
static int without_program(int argc, char **argv)
{
    cli_syntax syntax = {
        .name = "run",
        .args = "PROGRAM.so DATA",
        .summary = summary,
        .footer = "`strads run PROGRAM.so --help` lists the program's options "
                  "and those of every run.\n",
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = strads_fail(STRADS_EINVAL,
                          "strads run needs PROGRAM.so as its first argument");
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}

int cli_run_program(int argc, char **argv)
{
    char name[256];
    char heading[256];
    cli_plugin plugin;
    /* `run --check PROGRAM.so DATA` is `run PROGRAM.so DATA --check`. */
    if (argc > 1 && strcmp(argv[0], "--check") == 0 && argv[1][0] != '-') {
        argv[0] = argv[1];
        argv[1] = "--check";
    }
    if (argc == 0 || argv[0][0] == '-') {
        return without_program(argc, argv);
    }
    strads_err err = cli_plugin_open(argv[0], &plugin);
    if (err) {
        return cli_complain(err, CLI_BEFORE);
    }
    (void)snprintf(name, sizeof name, "run %s", argv[0]);
    (void)snprintf(heading, sizeof heading, "%s:", plugin.program.name);
    run_options own = {.program = &plugin.program};
    cli_train train = {
        .more = more,
        .arg = &own,
        .check = keep_config,
        .read = try_program,
        .program = &plugin.program,
        .name = name,
        .summary = plugin.program.summary ? plugin.program.summary : summary,
        .options = heading,
    };
    int code = cli_train_main(&train, argc - 1, argv + 1);
    cli_plugin_close(&plugin);
    return code;
}
