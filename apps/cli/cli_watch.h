/* cli_watch.h - the page of a training (--http): the log's lines, and metrics
 * for Prometheus. See docs/watching.md. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli_log.h"
#include "engine/watch/watch.h"

/* Serves the page at `address` and reports its URL; NULL: no page. A request to
 * stop the run needs the token in `token_file` or in the environment; without
 * one, a token is generated. STRADS_EINVAL, STRADS_EIO. */
strads_err cli_watch_open(const char *address, const char *token_file,
                          bool quiet, sti_watch **out);
/* Updates the metrics; without a page, does nothing. */
void cli_watch_figures(sti_watch *watch, const cli_log *log,
                       const strads_progress *progress);

#endif
