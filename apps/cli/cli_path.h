/* cli_path.h - paths over lambda and cross-validation, for all programs. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include "cli_train.h"

/* The program-specific part: `of` in a command's row. */
typedef struct cli_path {
    cli_train train;   /* for a path by glm: program, `model`, `resolve`, .. */
    cli_train columns; /* the same for a path by columns */
    const char *title; /* title of the diagram of errors */
} cli_path;

/* `run` of the commands `path` and `cv`. */
int cli_path_main(const cli_command *self, int argc, char **argv);
int cli_cv_main(const cli_command *self, int argc, char **argv);

/* Reports that a fit by glm, or the last point of a path, has no minimum. */
void cli_say_separable(const void *state);

/* Whether the option `cut`, or the size of the pack at `path`, asks for a
 * program by columns. */
bool cli_wants_columns(const char *cut, const strads_engine_options *engine,
                       const char *path);

#endif
