/* cli_options.h - parses a command's options from tables of strads_option; also
 * commands that read, then write (cli_verb). */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "cli_output.h"
#include "engine/run/run_options.h"
#include "strads/options.h"

enum { CLI_MOST_ARGS = 64, CLI_MOST_GROUPS = 5 };

/* A group of options in --help, and the struct that they set. */
typedef struct cli_group {
    const char *title;
    const strads_option *table; /* NULL: none */
    void *values;
} cli_group;

typedef struct cli_syntax {
    const char *name;    /* "lasso train" */
    const char *args;    /* "DATA", "MODEL DATA": all are required except those
                          * in brackets at the end: "LOG [MODEL]"; or one or
                          * more up to CLI_MOST_ARGS - 1: "FILE..." */
    const char *tail;    /* shown after `args` and not parsed; or NULL */
    const char *summary; /* one or two sentences */
    const char *footer;  /* printed after the example, or NULL */
    cli_group groups[CLI_MOST_GROUPS];
    bool config;      /* accept --config and --print-config */
    bool one_process; /* --help omits options for several processes */
    const strads_program *program;  /* list its options and refuse those that it
                                    * does not use; NULL: accept all */
    const strads_program *other[2]; /* programs that may run in its place: an
                                     * option that one of them uses is listed
                                     * and accepted, too */
} cli_syntax;

typedef struct cli_parsed {
    const char *arg[CLI_MOST_ARGS]; /* NULL behind the last one */
    bool done; /* --help or --print-config was answered: exit with 0 */
    bool intercept_by_default; /* the fit has an intercept that no option asked
                                * for */
} cli_parsed;

/* Whether an option can have an effect on this program. */
bool cli_option_suits(const strads_program *program, const char *name);

/* STRADS_EINVAL, with the reason, if it cannot. */
strads_err cli_option_refuse(const strads_program *program, const char *name);

/* The kind of data for a value of CLI_DATA_KINDS; NULL: `usual`. */
strads_kind cli_data_kind(const char *name, strads_kind usual);
#define CLI_DATA_KINDS "samples|corpus|text|documents|ratings|graph"

/* Options for reading samples: where labels are, and how to read tables. */
typedef struct cli_samples {
    const char *labels, *target, *drop, *categorical, *missing;
} cli_samples;

/* Rows of a table of options, for a struct `type` with a cli_samples as
 * `member`. */
#define CLI_SAMPLES_OPTIONS(type, member)                                     \
    STRADS_OPTION(STRING, type, member.labels, "labels", "FILE",              \
                  "labels of MatrixMarket data, one a line", .rare = true),   \
        CLI_TEXT(type, member.target, "target", "NAME",                       \
                 "the data is CSV: its column of labels (default: no CSV)"),  \
        STRADS_OPTION(STRING, type, member.drop, "drop", "NAMES",             \
                      "CSV: columns to leave out, commas between (none)",     \
                      .rare = true),                                          \
        STRADS_OPTION(STRING, type, member.categorical, "categorical",        \
                      "one-hot[=NAMES]",                                      \
                      "CSV: a column of 0 and 1 for each text (refused)",     \
                      .rare = true),                                          \
        STRADS_OPTION(STRING, type, member.missing, "missing", "WHAT",        \
                      "CSV: refuse, or mean of the column (default: refuse)", \
                      .choices = "refuse|mean", .rare = true)

/* Sets the options for reading data. STRADS_EINVAL: options that need a target,
 * without one. */
strads_err cli_samples_use(const cli_samples *samples,
                           strads_data_options *options);

/* ---- rows of option tables ----------------------------------------------- */

/* An option without help text is an old name that still works. --help, manual
 * and completion omit it. */
#define CLI_TEXT(type, field, name, metavar, help) \
    STRADS_OPTION(STRING, type, field, name, metavar, help)
#define CLI_CHOICE(type, field, name, metavar, help, choices_) \
    STRADS_OPTION(STRING, type, field, name, metavar, help, .choices = choices_)
#define CLI_FLAG(type, field, name, help) \
    STRADS_OPTION(BOOL, type, field, name, NULL, help)
#define CLI_U32(type, field, name, metavar, help, min_, max_)         \
    STRADS_OPTION(U32, type, field, name, metavar, help, .min = min_, \
                  .max = max_)
#define CLI_F64(type, field, name, metavar, help, min_, max_)         \
    STRADS_OPTION(F64, type, field, name, metavar, help, .min = min_, \
                  .max = max_)

/* Reads options and arguments. Precedence: the command line, the file of
 * --config, then the defaults in the groups' structs. Options must be given in
 * full, and may stand before and after arguments. STRADS_EINVAL,
 * STRADS_EFORMAT, STRADS_EIO. */
strads_err cli_parse(const cli_syntax *syntax, int argc, char **argv,
                     cli_parsed *parsed);

/* Replaces --help in this process: a command that is asked for help passes its
 * syntax to `take`. */
void cli_parse_describe(void (*take)(void *arg, const cli_syntax *syntax),
                        void *arg);

bool cli_parse_is_described(void);

/* Whether --help, manual and completion list the option. */
bool cli_option_listed(const cli_syntax *syntax, const strads_option *option);

/* Announces the new default of the intercept, in this release, if it made a
 * difference. */
void cli_intercept_notice(bool quiet);

/* The option as --help, manual and completion show it. `intercept` of a
 * built-in program is on, so it is shown as --no-intercept. */
strads_option cli_option_shown(const cli_syntax *syntax,
                               const strads_option *option);

/* The short form of an option, or 0. */
char cli_option_letter(const char *name);

/* --config and --print-config. */
extern const strads_option cli_config_table[];

/* ---- commands that read, then write -------------------------------------- */

/* The state of every such command begins with this. */
typedef struct cli_use {
    const cli_command *command;
    cli_out out;
    uint32_t workers; /* threads that read; 0: one for each core */
    uint64_t memory;  /* bytes for data; 0: the free memory */
    bool quiet;
} cli_use;

enum {
    CLI_HAS_WORKERS = 1, /* --workers and --memory */
    CLI_HAS_QUIET = 2,
    CLI_HAS_THREADS = 4, /* --workers; a --memory in its own table */
};

/* --output and --format of a cli_use with `usual` as default format; NULL if
 * `usual` is NULL. */
const strads_option *cli_out_table(const char *usual);

typedef struct cli_verb {
    size_t size;         /* of the state */
    const void *initial; /* the state with the options' defaults; NULL: zeros */
    const strads_option *table, *more; /* options, as fields of the state */
    const char *title;                 /* heading of `more`, or NULL */
    const char *usual; /* default of --format; NULL: the command has neither
                        * --output nor --format */
    unsigned has;      /* CLI_HAS_...: which options of cli_use it has */
    strads_err (*read)(void *state, const char *const *args);
    strads_err (*write)(void *state, FILE *out); /* or NULL */
    strads_err (*tell)(const void *state); /* prints text, or judges, after
                                            * that; or NULL */
} cli_verb;

/* Runs a verb and returns its exit code. */
int cli_verb_run(const cli_command *command, int argc, char **argv);

#endif
