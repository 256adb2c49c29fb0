/* cli_progress.h - progress for people: one line that is rewritten. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include "strads/engine.h"

typedef struct cli_progress {
    bool shown;  /* standard error is a terminal, and not --quiet */
    bool open;   /* a line stands there without its end */
    double last; /* seconds of the work when it was written */
} cli_progress;

void cli_progress_begin(cli_progress *line, bool quiet);
/* Rewrites the line, ten times a second at most. */
void cli_progress_show(cli_progress *line, const strads_progress *progress);
/* The same for what is no training: a text of at most 79 columns. */
void cli_progress_note(cli_progress *line, double seconds, const char *text);
/* Takes the line away, so that something else may be printed. */
void cli_progress_end(cli_progress *line);

#endif
