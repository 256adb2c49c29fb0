/* cli.h - what the command's parts have in common: commands as rows of tables,
 * exit codes, how an error is told, and quantities with their units. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

#include "strads/strads.h"

/* Exit codes; docs/command.md, the manual and `strads help` tell the same. */
enum {
    CLI_OK = 0,           /* done; a training has converged */
    CLI_FAILED = 1,       /* while running: disk, memory, a node, a program */
    CLI_USAGE = 2,        /* wrong usage or bad input; nothing was run */
    CLI_BOUND = 3,        /* a bound came first; the model so far is written */
    CLI_INTERRUPTED = 130 /* Ctrl-C or SIGTERM; the model so far is written */
};

/* A command is a row: it trains (cli_train.h), it reads and writes (cli_verb in
 * cli_options.h), or it has a function of its own. */
typedef struct cli_command cli_command;
struct cli_command {
    const char *name;    /* "lasso train" */
    const char *args;    /* "MODEL DATA": that many are needed */
    const char *summary; /* a line, for lists of commands */
    const char *about;   /* a sentence or two, for --help and the manual */
    const struct cli_train *train;
    const struct cli_verb *verb;
    /* argv[0] is the first word after the name; returns an exit code. */
    int (*run)(const cli_command *self, int argc, char **argv);
    const void *of; /* what its functions know of it: whose models, say */
    const char *const *first; /* arguments that decide which options there are,
                                 as manual and completion list them; or NULL */
};

/* Families of commands, each ended by a row without a name; main.c lists them. */
extern const cli_command cli_linear_commands[], cli_lda_commands[],
    cli_roles_commands[], cli_mf_commands[], cli_net_commands[],
    cli_run_commands[], cli_simulate_commands[], cli_join_commands[],
    cli_launch_commands[], cli_plan_commands[], cli_data_commands[],
    cli_synth_commands[], cli_report_commands[];

/* The command of that place in all families, in order; NULL: there is none. */
const cli_command *cli_command_at(size_t place);

/* The command that a line begins with, and how many words name it; NULL. */
const cli_command *cli_command_find(int argc, char **argv, int *words);

/* Carries a command out; an exit code. */
int cli_command_run(const cli_command *command, int argc, char **argv);

/* When an error came up: the same code means bad input before a run, and a
 * failure during it. */
typedef enum cli_stage { CLI_BEFORE = 0, CLI_RUNNING = 1 } cli_stage;

/* Output begins: everything has been read and found good, so what the system
 * refuses from now on (a disk is full) is a failure while running. */
void cli_writing(void);

/* Prints "strads: " and the last error's sentence; returns its exit code. */
int cli_complain(strads_err err, cli_stage stage);

/* One line for people on standard error, unless `quiet`. */
void cli_say(bool quiet, const char *format, ...) STRADS_PRINTF(2, 3);

/* Passes an error on. */
#define CLI_TRY(call)                   \
    do {                                \
        const strads_err err_ = (call); \
        if (err_)                       \
            return err_;                \
    } while (0)

/* Zeroed memory that is held until the process ends, and never freed by hand:
 * a command holds what it reads to its end, and its end is the process's.
 * STRADS_ENOMEM, with the sentence "no memory left for WHAT". */
strads_err cli_reserve(size_t n, size_t size, const char *what, void *out);

/* Seconds by a clock that is never set. */
double cli_now(void);

/* ---- quantities with their unit ---------------------------------------- */

/* Bytes for people: "640 bytes", "1.5 MB". */
#define CLI_BYTES_SIZE 32
const char *cli_bytes(uint64_t bytes, char out[CLI_BYTES_SIZE]);

/* A time for people: "12.3 us". */
#define CLI_TIME_SIZE 32
const char *cli_time(double seconds, char out[CLI_TIME_SIZE]);

/* "50us": a number with ns, us, ms or s. `option` is named when it is wrong:
 * STRADS_EINVAL. */
strads_err cli_seconds(const char *option, const char *text, double *out);

/* "10Gbit": with bit, Kbit, Mbit, Gbit, or B, KB, MB, GB, and "/s" or not; in
 * bytes a second. STRADS_EINVAL. */
strads_err cli_rate(const char *option, const char *text, double *out);

/* "A:B", two numbers from 0 up; *end is behind them. STRADS_EINVAL. */
strads_err cli_pair(const char *option, const char *text, double *a, double *b,
                    const char **end);

#endif
