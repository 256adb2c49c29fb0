/* cli_terminal.h - a run and the person before it: progress on one line that is
 * rewritten, Ctrl-C, and what loading a file will cost. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <pthread.h>
#include <stdbool.h>

#include "strads/strads.h"

/* Where the work ends, as far as that is known. */
typedef struct cli_goal {
    const char *unit; /* "round", "sweep" */
    double total;     /* of them; 0: not known */
    double seconds;   /* a limit of time; 0: none */
} cli_goal;

/* Progress for people: shown where standard error is a terminal, nothing in a
 * pipe or a file. A thread rewrites the line as time passes, whether the work
 * reports or not. */
typedef struct cli_progress {
    bool shown;
    cli_goal goal;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what is below */
    pthread_cond_t ended;
    bool ending;
    double begun, done; /* monotonic seconds; units of the goal */
    char figures[48];
} cli_progress;

void cli_progress_begin(cli_progress *line, bool quiet, cli_goal goal);
/* So much of the goal is done; `figures` go behind the time, or NULL. */
void cli_progress_at(cli_progress *line, double done, const char *figures);
/* The same from a report, with objective, gap and nonzeros. */
void cli_progress_show(cli_progress *line, double done,
                       const strads_progress *progress);
/* Takes the line away, so that something else may be printed. */
void cli_progress_end(cli_progress *line);

/* A sentence amid a run, on a clean line. Any thread. */
void cli_notice(const char *sentence);

/* From now on SIGINT, SIGTERM and SIGUSR1 set the flag that is returned, to be given to
 * an engine as its `stop`: the first ends the run at its next commit, the
 * second ends the process. */
const volatile bool *cli_signal_catch(void);

/* Sets it, as the first signal does. Any thread. */
void cli_signal_stop(void);

/* For files that take a while: says that `path` is being read, and about how
 * much memory the part that `options` keeps will take. Small files, and files
 * that cannot be read, are passed over in silence. */
void cli_cost_tell(bool quiet, const char *path,
                   const strads_data_options *options);

#endif
