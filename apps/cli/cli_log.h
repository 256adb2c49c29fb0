/* cli_log.h - the run's log: JSON lines, each one flushed, to a file, to the
 * page that --http serves, or to both.
 *
 * The first line has "event": "start", then comes one with "event": "round" per
 * report of the program's objective, and "event": "end" is the last; a run on
 * several nodes has "event": "nodes", with who they are, before the first report
 * and whenever there are more or fewer. Each ends with
 * "schema", "time" (ISO 8601, UTC), "host" and "pid". What is
 * not known is null. docs/command.md lists the members. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "cli_output.h"

typedef struct cli_log {
    FILE *file; /* NULL: there is none */
    const char *path;
    struct sti_watch *watch; /* the page, or NULL; its owner's */
    double told;             /* monotonic seconds: when it had a report last */
    FILE *line;              /* in memory: text[size]; NULL: nobody reads */
    char *text;
    size_t size;
    const char *const *measures; /* the program's, or NULL */
    uint32_t named_nodes;        /* so many that a line has said who they are */
} cli_log;

typedef struct cli_log_start {
    const char *program;
    const char *const *measures; /* as in strads_program */
    const char *options;         /* a JSON object */
    const char *data_path;       /* as the user wrote it */
    const strads_data *data;
    uint64_t seed;
    uint32_t workers, partitions, nodes;
} cli_log_start;

/* Opens the log; an old one is overwritten. Without path and page there is no
 * log, and the calls below do nothing. STRADS_EIO, STRADS_ENOMEM. */
strads_err cli_log_open(const char *path, struct sti_watch *watch,
                        cli_log *log);
void cli_log_begin(cli_log *log, const cli_log_start *start);
/* The page has 50 of them a second at most. */
void cli_log_round(cli_log *log, const strads_progress *progress);
/* `reason` is a word: "converged", "error", ... */
void cli_log_end(cli_log *log, const char *reason,
                 const strads_progress *progress);
/* A line of another event: an object to be filled, and its end. There is a log.
 */
cli_json cli_log_line(const cli_log *log, const char *event);
void cli_log_end_line(cli_log *log, cli_json *j);
/* Closes it, but for the page. STRADS_EIO: some line did not reach the file. */
strads_err cli_log_close(cli_log *log);

#endif
