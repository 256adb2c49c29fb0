/* cli_options.h - a command's options, read from tables of strads_option, and
 * commands that read and then write as a table each. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "cli_output.h"
#include "engine/run/run_options.h"
#include "strads/options.h"

enum { CLI_MOST_ARGS = 4, CLI_MOST_GROUPS = 5 };

/* Options that stand together in --help, and the struct that they set. */
typedef struct cli_group {
    const char *title;
    const strads_option *table; /* NULL: none */
    void *values;
} cli_group;

typedef struct cli_syntax {
    const char *name;    /* "lasso train" */
    const char *args;    /* "DATA", "MODEL DATA": that many are needed, but for
                            the last ones in brackets: "LOG [MODEL]" */
    const char *summary; /* a sentence or two */
    const char *footer;  /* below the options, or NULL */
    cli_group groups[CLI_MOST_GROUPS];
    bool config;      /* --config and --print-config belong to it */
    bool one_process; /* --help leaves out what is for several */
    const strads_program *program; /* what suits it is listed, the rest
                                      refused; NULL: all */
} cli_syntax;

typedef struct cli_parsed {
    const char *arg[CLI_MOST_ARGS];
    bool done; /* --help or --print-config has been answered: exit with 0 */
    bool intercept_by_default; /* the fit has one, and no option asked for it */
} cli_parsed;

/* Whether an option can mean anything to this program. */
bool cli_option_suits(const strads_program *program, const char *name);

/* STRADS_EINVAL, with the reason, where it cannot. */
strads_err cli_option_refuse(const strads_program *program, const char *name);

/* The kind of data that an option of CLI_DATA_KINDS names; NULL: the usual one.
 */
strads_kind cli_data_kind(const char *name, strads_kind usual);
#define CLI_DATA_KINDS "samples|corpus|text|documents|ratings|graph"

/* Where the labels of samples are, and how a table of them is read. */
typedef struct cli_samples {
    const char *labels, *target, *drop, *categorical, *missing;
} cli_samples;

/* Lines of a table of options, of a struct `type` that has such a member. */
#define CLI_SAMPLES_OPTIONS(type, member)                                     \
    CLI_TEXT(type, member.labels, "labels", "FILE",                           \
             "labels of MatrixMarket data, one a line"),                      \
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

/* Sets what data are read with. STRADS_EINVAL: options without a target. */
strads_err cli_samples_use(const cli_samples *samples,
                           strads_data_options *options);

/* ---- rows of option tables ------------------------------------------------ */

/* An option without help is an old name that goes on working: --help, manual
 * and completion hide it. */
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

/* Reads options and arguments: the defaults stand in the groups' structs
 * already, then comes the file of --config, then the command line. Names are
 * taken in full only, and may stand before and after the arguments.
 * STRADS_EINVAL, STRADS_EFORMAT, STRADS_EIO. */
strads_err cli_parse(const cli_syntax *syntax, int argc, char **argv,
                     cli_parsed *parsed);

/* Takes the place of --help: a command that is asked for it hands over its
 * syntax, in the process as a whole. */
void cli_parse_describe(void (*take)(void *arg, const cli_syntax *syntax),
                        void *arg);

bool cli_parse_is_described(void);

/* Whether --help, manual and completion tell of the option. */
bool cli_option_listed(const cli_syntax *syntax, const strads_option *option);

/* Reports the new default, for this release, where it made a difference. */
void cli_intercept_notice(bool quiet);

/* The option as --help, manual and completion show it: a built-in program's
 * `intercept`, which is on, as the flag --no-intercept. */
strads_option cli_option_shown(const cli_syntax *syntax,
                               const strads_option *option);

/* The letter that stands for an option, too; 0: none does. */
char cli_option_letter(const char *name);

/* --config and --print-config. */
extern const strads_option cli_config_table[];

/* ---- commands that read, then write ----------------------------------------- */

/* What the state of every such command begins with. */
typedef struct cli_use {
    const cli_command *command;
    cli_out out;
    uint32_t workers; /* threads that read; 0: one per core */
    uint64_t memory;  /* bytes for what is read; 0: what is free */
    bool quiet;
} cli_use;

enum { CLI_HAS_WORKERS = 1, CLI_HAS_QUIET = 2 };

/* --output and --format of a cli_use, where `usual` is the format; NULL: NULL. */
const strads_option *cli_out_table(const char *usual);

typedef struct cli_verb {
    size_t size;         /* of the state */
    const void *initial; /* the state with the options' defaults; NULL: 0 */
    const strads_option *table, *more; /* options, fields of the state */
    const char *title;                 /* of `more`, or NULL */
    const char *usual; /* --output and --format are there, with that format
                          unless another is given; NULL: they are not */
    unsigned has;      /* CLI_HAS_...: of the options of cli_use */
    strads_err (*read)(void *state, const char *const *args);
    strads_err (*write)(void *state, FILE *out); /* or NULL */
    void (*tell)(const void *state); /* for people, after that; or NULL */
} cli_verb;

/* Carries one out; an exit code. */
int cli_verb_run(const cli_command *command, int argc, char **argv);

#endif
