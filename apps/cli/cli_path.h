/* cli_path.h - paths over lambda, and the choice of lambda by cross-validation:
 * what these commands of all programs have in common. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include "cli_train.h"

/* What the programs differ in: `of` of a command's row. */
typedef struct cli_path {
    cli_train train;   /* a path of glm's: program, `model`, `resolve`, .. */
    const char *title; /* of the errors, drawn */
} cli_path;

/* `run` of the commands `path` and `cv`. */
int cli_path_main(const cli_command *self, int argc, char **argv);
int cli_cv_main(const cli_command *self, int argc, char **argv);

#endif
