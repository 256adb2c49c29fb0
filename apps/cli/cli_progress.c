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

static bool is_due(const cli_progress *line, double seconds)
{
    return line->shown && seconds - line->last >= SECONDS_APART;
}

void cli_progress_note(cli_progress *line, double seconds, const char *text)
{
    if (!is_due(line, seconds)) {
        return;
    }
    (void)fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
    line->last = seconds;
    line->open = true;
}

void cli_progress_show(cli_progress *line, const strads_progress *progress)
{
    char text[80]; /* a terminal's line: a longer one could not be rewritten */
    if (!is_due(line, progress->seconds)) {
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
    /* A model that is no list of weights counts none. */
    if ((size_t)at < sizeof text &&
        (!isnan(progress->gap) || progress->nonzeros > 0)) {
        (void)snprintf(text + at, sizeof text - (size_t)at,
                       "  nonzeros %" PRIu64, progress->nonzeros);
    }
    cli_progress_note(line, progress->seconds, text);
}

void cli_progress_end(cli_progress *line)
{
    if (line->open) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        line->open = false;
    }
}
