/* cli.h - what the command's parts have in common: the table of commands,
 * exit codes, how an error is told, and quantities with their units. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

#include "strads/strads.h"

/* Exit codes; docs/command.md and `strads help` tell the same. */
enum {
    CLI_OK = 0,           /* done; a training has converged */
    CLI_FAILED = 1,       /* while running: disk, memory, a node, a program */
    CLI_USAGE = 2,        /* wrong usage or bad input; nothing was run */
    CLI_BOUND = 3,        /* a bound came first; the model so far is written */
    CLI_INTERRUPTED = 130 /* Ctrl-C or SIGTERM; the model so far is written */
};

typedef struct cli_command {
    const char *name; /* "lasso train" */
    const char *args; /* "DATA" */
    const char *summary;
    /* argv[0] is the first word after the name; returns an exit code. */
    int (*run)(int argc, char **argv);
    /* Instead of `run`: of that program ("lasso"), the name's first word. */
    int (*of)(const char *program, const char *name, int argc, char **argv);
} cli_command;

int cli_lasso_train(int argc, char **argv);
int cli_lasso_cv(int argc, char **argv);
int cli_lasso_path(int argc, char **argv);
int cli_logistic_train(int argc, char **argv);
int cli_logistic_path(int argc, char **argv);
int cli_logistic_cv(int argc, char **argv);
int cli_sgd_logistic_train(int argc, char **argv);
int cli_svm_train(int argc, char **argv);
int cli_lda_train(int argc, char **argv);
int cli_lda_topics(int argc, char **argv);
int cli_lda_infer(int argc, char **argv);
int cli_lda_evaluate(int argc, char **argv);
int cli_mf_train(int argc, char **argv);
int cli_mf_predict(int argc, char **argv);
int cli_mf_evaluate(int argc, char **argv);
int cli_mf_recommend(int argc, char **argv);
int cli_mf_show(int argc, char **argv);
int cli_run_program(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_join(int argc, char **argv);
int cli_plan_make(int argc, char **argv);
int cli_plan_check(int argc, char **argv);
int cli_plan_show(int argc, char **argv);
int cli_data_info(int argc, char **argv);
int cli_data_synth_lasso(int argc, char **argv);

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
