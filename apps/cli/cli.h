/* cli.h - shared by all commands: the tables of commands, exit codes, error
 * messages, and quantities with units. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

#include "strads/strads.h"

/* Exit codes; docs/command.md, the manual and `strads help` list the same. */
enum {
    CLI_OK = 0,           /* success; a training has converged */
    CLI_FAILED = 1,       /* failed while running: disk, memory, a node, a
                           * program */
    CLI_USAGE = 2,        /* wrong usage or bad input; nothing was run */
    CLI_BOUND = 3,        /* stopped at a bound; the model so far is written */
    CLI_INTERRUPTED = 130 /* Ctrl-C or SIGTERM; the model so far is written */
};

/* A row of a table of commands. A command trains (cli_train.h), reads and
 * writes (cli_verb in cli_options.h), or has its own function. */
typedef struct cli_command cli_command;
struct cli_command {
    const char *name;    /* "lasso train" */
    const char *args;    /* "MODEL DATA": exactly these arguments */
    const char *summary; /* one line, for lists of commands */
    const char *about;   /* one or two sentences, for --help and the manual */
    const struct cli_train *train;
    const struct cli_verb *verb;
    /* argv[0] is the first word after the name. Returns an exit code. */
    int (*run)(const cli_command *self, int argc, char **argv);
    const void *of; /* data for `run`, for example the kind of its models */
    const char *const *first; /* first arguments that select different options,
                               * for manual and completion; or NULL */
};

/* Families of commands. A row without a name ends each. main.c lists them. */
extern const cli_command cli_linear_commands[], cli_lda_commands[],
    cli_roles_commands[], cli_mf_commands[], cli_fm_commands[],
    cli_net_commands[], cli_run_commands[], cli_simulate_commands[],
    cli_join_commands[], cli_launch_commands[], cli_plan_commands[],
    cli_data_commands[], cli_synth_commands[], cli_report_commands[],
    cli_doctor_commands[], cli_watch_commands[], cli_export_commands[],
    cli_summary_commands[];

/* The command at a place in the list of all families, or NULL. */
const cli_command *cli_command_at(size_t place);

/* The command that a line starts with, and how many words its name has; or
 * NULL. */
const cli_command *cli_command_find(int argc, char **argv, int *words);

/* Runs a command and returns its exit code. */
int cli_command_run(const cli_command *command, int argc, char **argv);

/* When an error occurred. Before a run, an error means bad input; during a run,
 * the same error means a failure. */
typedef enum cli_stage { CLI_BEFORE = 0, CLI_RUNNING = 1 } cli_stage;

/* Called when the output begins. All input has been read and checked, so later
 * errors, such as a full disk, are failures while running. */
void cli_writing(void);

/* Prints "strads: " and the message of the last error; returns its exit
 * code. */
int cli_complain(strads_err err, cli_stage stage);

/* Prints one line on standard error, unless `quiet`. */
void cli_say(bool quiet, const char *format, ...) STRADS_PRINTF(2, 3);

/* Returns from the caller if the call fails. */
#define CLI_TRY(call)                   \
    do {                                \
        const strads_err err_ = (call); \
        if (err_)                       \
            return err_;                \
    } while (0)

/* Allocates zeroed memory that is never freed: a command needs its input until
 * the process ends. STRADS_ENOMEM, with the message "no memory left for
 * WHAT". */
strads_err cli_reserve(size_t n, size_t size, const char *what, void *out);

/* Seconds of the monotonic clock. */
double cli_now(void);

/* ---- quantities with units ---------------------------------------------- */

/* Formats bytes: "640 bytes", "1.5 MB". */
#define CLI_BYTES_SIZE 32
const char *cli_bytes(uint64_t bytes, char out[CLI_BYTES_SIZE]);

/* Formats a time: "12.3 us". */
#define CLI_TIME_SIZE 32
const char *cli_time(double seconds, char out[CLI_TIME_SIZE]);

/* Parses "50us": a number with ns, us, ms or s. The error message names
 * `option`. STRADS_EINVAL. */
strads_err cli_seconds(const char *option, const char *text, double *out);

/* Parses "10Gbit" into bytes per second: bit, Kbit, Mbit, Gbit, B, KB, MB or
 * GB, with or without "/s". STRADS_EINVAL. */
strads_err cli_rate(const char *option, const char *text, double *out);

/* Parses "A:B", two numbers of at least 0; *end points after them.
 * STRADS_EINVAL. */
strads_err cli_pair(const char *option, const char *text, double *a, double *b,
                    const char **end);

#endif
