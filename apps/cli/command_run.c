/* strads run PROGRAM.so DATA: trains with a user's program. */
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>
#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include "cli_plugin.h"
#include "cli_train.h"

/* --check, for this command only. */
typedef struct run_state {
    cli_use use;
    bool check;
    const void *config;
} run_state;

static const strads_option more[] = {
    CLI_FLAG(run_state, check, "check",
             "test the program for mistakes first (default: no)"),
    {.name = NULL},
};

static strads_err keep_config(void *state, void *config)
{
    ((run_state *)state)->config = config;
    return STRADS_OK;
}

static strads_err try_program(void *state, const char *path,
                              strads_data_options *how)
{
    const run_state *s = state;
    const strads_program *program = s->use.command->train->program;
    if (!s->check)
        return STRADS_OK;
    CLI_TRY(strads_program_check(program, s->config, path, how));
    cli_say(false, "checked %s on %s: nothing wrong was found", program->name,
            path);
    return STRADS_OK;
}

/* For manual and completion: lists the options of all programs. */
static int describe_options(const cli_command *self, int argc, char **argv)
{
    static const strads_phase phases[] = {{.when = STRADS_WHEN_POLICY},
                                          {.when = STRADS_WHEN_PROBE}};
    static const strads_program any = {.size = sizeof any,
                                       .name = "program",
                                       .phases = phases,
                                       .n_phases = 2};
    const cli_train train = {.program = &any,
                             .size = sizeof(run_state),
                             .more = more};
    cli_command command = *self;
    command.train = &train;
    return cli_train_main(&command, argc, argv);
}

/* Python programs are run by the package `strads` (python/), which replaces
 * this process. Returns only if there is no Python. */
static int become_python(int argc, char **argv)
{
    const char *python = getenv("STRADS_PYTHON");
    char **words = calloc((size_t)argc + 4, sizeof *words);
    strads_err err = words ? STRADS_EIO : STRADS_ENOMEM;
    if (words) {
        words[0] = (char *)(uintptr_t)(python ? python : "python3");
        words[1] = (char *)(uintptr_t) "-m";
        words[2] = (char *)(uintptr_t) "strads";
        memcpy(words + 3, argv, (size_t)argc * sizeof *words);
        (void)execvp(words[0], words);
        err = strads_fail(STRADS_EIO,
                          "%s: is a program in Python, and %s cannot be "
                          "started: %s; STRADS_PYTHON may name another",
                          argv[0], words[0], strerror(errno));
    }
    free(words);
    return cli_complain(err, CLI_BEFORE);
}

static bool is_python(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".py") == 0;
}

static int run_program(const cli_command *self, int argc, char **argv)
{
    char name[256], heading[256];
    cli_plugin plugin;
    /* `run --check PROGRAM.so DATA` is `run PROGRAM.so DATA --check`. */
    if (argc > 1 && strcmp(argv[0], "--check") == 0 && argv[1][0] != '-') {
        argv[0] = argv[1];
        argv[1] = "--check";
    }
    if (cli_parse_is_described() && (argc < 2 || is_python(argv[0])))
        return describe_options(self, argc, argv);
    if (argc == 0 || argv[0][0] == '-') {
        return cli_plugin_missing(
            self, argc, argv,
            "strads run needs PROGRAM.so as its first argument",
            "`strads run PROGRAM.so --help` lists the program's options and "
            "those of every run. --check tests the program for mistakes first, "
            "on the data.");
    }
    if (is_python(argv[0]))
        return become_python(argc, argv);
    const strads_err err = cli_plugin_open(argv[0], &plugin);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    (void)snprintf(name, sizeof name, "run %s", argv[0]);
    (void)snprintf(heading, sizeof heading, "%s:", plugin.program.name);
    const cli_train train = {
        .program = &plugin.program,
        .options = heading,
        .size = sizeof(run_state),
        .more = more,
        .check = keep_config,
        .read = try_program,
    };
    cli_command command = *self;
    command.name = name;
    command.train = &train;
    if (plugin.program.summary)
        command.about = plugin.program.summary;
    const int code = cli_train_main(&command, argc - 1, argv + 1);
    cli_plugin_close(&plugin);
    return code;
}

const cli_command cli_run_commands[] = {
    {.name = "run",
     .args = "PROGRAM.so DATA",
     .summary = "train with a program of your own",
     .about =
         "Trains with a program of your own. PROGRAM.so comes first, because "
         "it may define further options. PROGRAM.py is a program in Python, "
         "which the package strads runs.",
     .run = run_program},
    {.name = NULL},
};
