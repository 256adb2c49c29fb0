/* cli_watch.h - the page to watch a training with (--http): what the log says,
 * and the figures for Prometheus. docs/watching.md. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli_log.h"
#include "engine/watch/watch.h"

/* Serves the page at `address`, and says where; NULL: no page. The token of
 * `token_file` or of the environment stops the run; without one its own is
 * drawn. STRADS_EINVAL, STRADS_EIO. */
strads_err cli_watch_open(const char *address, const char *token_file,
                          bool quiet, sti_watch **out);
/* The figures of now; without a page nothing. */
void cli_watch_figures(sti_watch *watch, const cli_log *log,
                       const strads_progress *progress);

#endif
