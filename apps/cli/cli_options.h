/* cli_options.h - a command's options, read from tables of strads_option. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/run/run_options.h"
#include "strads/options.h"
#include "strads/strads.h"

enum { CLI_MOST_ARGS = 4, CLI_MOST_GROUPS = 4 };

/* Options that stand together in --help, and the struct that they set. */
typedef struct cli_group {
    const char *title;
    const strads_option *table;
    void *values;
} cli_group;

typedef struct cli_syntax {
    const char *name;    /* "lasso train" */
    const char *args;    /* "DATA", "MODEL DATA": that many are needed */
    const char *summary; /* a sentence or two */
    const char *footer;  /* below the options, or NULL */
    cli_group groups[CLI_MOST_GROUPS]; /* up to the first without a table */
    bool config;      /* --config and --print-config belong to it */
    bool one_process; /* --help leaves out what is for several */
    const strads_program *program; /* what suits it is listed, the rest
                                      refused; NULL: all */
} cli_syntax;

typedef struct cli_parsed {
    const char *arg[CLI_MOST_ARGS];
    bool done; /* --help or --print-config has been answered: exit with 0 */
} cli_parsed;

/* Whether an option can mean anything to this program. */
bool cli_option_suits(const strads_program *program, const char *name);

/* STRADS_EINVAL, with the reason, where it cannot. */
strads_err cli_option_refuse(const strads_program *program, const char *name);

/* What `--kind` of a data file says: samples, corpus, text, documents or
 * ratings; NULL leaves *kind as it is. STRADS_EINVAL. */
strads_err cli_data_kind(const char *name, strads_kind *kind);

/* Rows that many tables have; `at` is the field's place. An option without help
 * is an old name that goes on working: --help, manual and completion hide it. */
#define CLI_OPTION_READERS(at)                                               \
    {                                                                        \
        .name = "workers", .kind = STRADS_OPTION_U32, .offset = (at),        \
        .metavar = "N", .help = "threads that read (default: one per core)", \
        .min = 1, .max = 1024                                                \
    }

#define CLI_OPTION_QUIET(at)                                         \
    {                                                                \
        .name = "quiet", .kind = STRADS_OPTION_BOOL, .offset = (at), \
        .help = "print errors only (default: no)"                    \
    }

#define CLI_OPTION_RESULT_ONLY(at)                                   \
    {                                                                \
        .name = "quiet", .kind = STRADS_OPTION_BOOL, .offset = (at), \
        .help = "print the result only (default: no)"                \
    }

/* Reads options and arguments: the defaults stand in the groups' structs
 * already, then comes the file of --config, then the command line. Names are
 * taken in full only, and may stand before and after the arguments. `strings`
 * holds what fields point to. STRADS_EINVAL, STRADS_EFORMAT, STRADS_EIO. */
strads_err cli_parse(const cli_syntax *syntax, int argc, char **argv,
                     sti_config_strings *strings, cli_parsed *parsed);

/* A command that reads, then writes: the line is read, `work` does it with the
 * arguments, what went wrong is told. An exit code. */
int cli_run(const cli_syntax *syntax, int argc, char **argv,
            strads_err (*work)(void *arg, const char *const *args), void *arg);

#endif
