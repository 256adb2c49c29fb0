/* cli_terminal.h - the terminal: progress on one line that is rewritten,
 * Ctrl-C, and the expected cost of reading a file. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <pthread.h>
#include <stdbool.h>

#include "strads/strads.h"

/* The expected end of the work. */
typedef struct cli_goal {
    const char *unit; /* "round", "sweep" */
    double total;     /* number of units; 0: unknown */
    double seconds;   /* time limit; 0: none */
    /* Long passes over it are shown in bytes while they last; or NULL. */
    const struct strads_pack *pack;
} cli_goal;

/* A progress line, shown only if standard error is a terminal. A thread updates
 * the time between reports. */
typedef struct cli_progress {
    bool shown;
    cli_goal goal;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t ended;
    bool ending;
    double begun, done; /* begun: monotonic seconds; done: units of the goal */
    double pass_begun;  /* of the pass in progress; */
    uint64_t passed;    /* bytes of it at the last look */
    char figures[48];
} cli_progress;

void cli_progress_begin(cli_progress *line, bool quiet, cli_goal goal);
/* Sets how much of the goal is done; `figures` are printed after the time, or
 * NULL. */
void cli_progress_at(cli_progress *line, double done, const char *figures);
/* The same from a report, with objective, gap and nonzeros. */
void cli_progress_show(cli_progress *line, double done,
                       const strads_progress *progress);
/* Clears the line, so that other text can be printed. */
void cli_progress_end(cli_progress *line);

/* Prints a message during a run, on a clean line. Any thread. */
void cli_notice(const char *sentence);

/* From now on SIGINT, SIGTERM and SIGUSR1 set the returned flag, which is for
 * an engine's `stop`. The first signal ends the run at its next commit, the
 * second ends the process. */
const volatile bool *cli_signal_catch(void);

/* Sets the flag like a first signal. Any thread. */
void cli_signal_stop(void);

/* For a large file, reports that `path` is being read, and an estimate of the
 * memory for the part that `options` keep. Silent for small files and files
 * that cannot be read. */
void cli_cost_tell(bool quiet, const char *path,
                   const strads_data_options *options);

#endif
