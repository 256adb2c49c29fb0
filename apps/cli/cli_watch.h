/* cli_watch.h - the page to watch a training with (--http): what the log says,
 * and the figures for Prometheus. docs/watching.md. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli.h"
#include "cli_log.h"

typedef struct sti_watch cli_watch;

/* Serves the page at `address`, and says where. NULL: no page, and the calls
 * below do nothing. The token of `token_file` or of the environment stops the
 * run; without one its own is drawn. STRADS_EINVAL, STRADS_EIO. */
strads_err cli_watch_open(const char *address, const char *token_file,
                          bool quiet, cli_watch **out);
/* A line of the log. Reports may be thinned. */
void cli_watch_line(cli_watch *watch, const char *line, size_t size,
                    bool report);
/* The figures of now. */
void cli_watch_figures(cli_watch *watch, const cli_log *log,
                       const strads_progress *progress);
void cli_watch_close(cli_watch *watch);

#endif
