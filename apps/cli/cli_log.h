/* cli_log.h - the run's log: JSON lines, each one flushed, to a file, to the
 * page of --http, or to the readers of --publish.
 *
 * The first line has "event": "start". Each report of the program's objective
 * adds a line with "event": "round". The last line has "event": "end". A run on
 * several nodes lists them in a line with "event": "nodes", before the first
 * report and whenever their number changes. Each line ends with "schema",
 * "time" (ISO 8601, UTC), "host" and "pid". Unknown values are null.
 * docs/command.md lists the members. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "cli_output.h"

typedef struct cli_log {
    FILE *file; /* NULL: no file */
    const char *path;
    struct sti_watch *watch;         /* the page, or NULL; not owned */
    struct sti_publisher *publisher; /* or NULL; not owned */
    double told; /* monotonic seconds of the last report to the
                              * page */
    FILE *line;  /* in memory: text[size]; NULL: no log */
    char *text;
    size_t size;
    const char *const *measures; /* names of the program's measures, or NULL */
    uint32_t named_nodes;        /* number of nodes in the last "nodes" line */
} cli_log;

typedef struct cli_log_start {
    const char *program;
    const char *const *measures; /* as in strads_program */
    const char *options;         /* a JSON object */
    const char *data_path;       /* as the user gave it */
    const strads_data *data;
    uint64_t seed;
    uint32_t workers, partitions, nodes;
} cli_log_start;

/* Opens the log and overwrites an old one. Without path, page and publisher
 * there is no log, and the calls below do nothing. STRADS_EIO,
 * STRADS_ENOMEM. */
strads_err cli_log_open(const char *path, struct sti_watch *watch,
                        struct sti_publisher *publisher, cli_log *log);
void cli_log_begin(cli_log *log, const cli_log_start *start);
/* Logs a report. The page gets at most 50 of them a second. */
void cli_log_round(cli_log *log, const strads_progress *progress);
/* `reason` is one word: "converged", "error", ... */
void cli_log_end(cli_log *log, const char *reason,
                 const strads_progress *progress);
/* A line of another event: begins an object for the caller to fill;
 * cli_log_end_line ends it. There must be a log. */
cli_json cli_log_line(const cli_log *log, const char *event);
void cli_log_end_line(cli_log *log, cli_json *j);
/* Closes the log, but not the page and the publisher. STRADS_EIO: a line did
 * not reach the file. */
strads_err cli_log_close(cli_log *log);

#endif
