/* Progress on a terminal; nothing at all in a pipe or a file. */
#include "cli_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const double SECONDS_APART = 0.1;

void cli_progress_begin(cli_progress *line, bool quiet)
{
    *line = (cli_progress){.shown = !quiet && isatty(STDERR_FILENO),
                           .last = -SECONDS_APART};
}

void cli_progress_show(cli_progress *line, const strads_progress *progress)
{
    char text[80]; /* a terminal's line: a longer one could not be rewritten */
    if (!line->shown || progress->seconds - line->last < SECONDS_APART) {
        return;
    }
    int at = snprintf(text, sizeof text, "round %" PRIu64 "  %.1f s",
                      progress->round, progress->seconds);
    if (!isnan(progress->objective)) {
        at += snprintf(text + at, sizeof text - (size_t)at, "  objective %.7g",
                       progress->objective);
    }
    if (!isnan(progress->gap)) {
        at += snprintf(text + at, sizeof text - (size_t)at, "  gap %.1e",
                       progress->gap);
    }
    if ((size_t)at < sizeof text) {
        (void)snprintf(text + at, sizeof text - (size_t)at,
                       "  nonzeros %" PRIu64, progress->nonzeros);
    }
    (void)fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
    line->last = progress->seconds;
    line->open = true;
}

void cli_progress_end(cli_progress *line)
{
    if (line->open) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        line->open = false;
    }
}
