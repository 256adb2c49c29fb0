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
    if (argc == 0 || argv[0][0] == '-') {
        return without_program(argc, argv);
    }
    strads_err err = cli_plugin_open(argv[0], &plugin);
    if (err) {
        return cli_complain(err, CLI_BEFORE);
    }
    (void)snprintf(name, sizeof name, "run %s", argv[0]);
    (void)snprintf(heading, sizeof heading, "%s:", plugin.program.name);
    cli_train train = {
        .program = &plugin.program,
        .name = name,
        .summary = plugin.program.summary ? plugin.program.summary : summary,
        .options = heading,
    };
    int code = cli_train_main(&train, argc - 1, argv + 1);
    cli_plugin_close(&plugin);
    return code;
}
