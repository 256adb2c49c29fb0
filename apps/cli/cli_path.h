/* cli_path.h - paths over lambda, and the choice of lambda by cross-validation:
 * what these commands of all programs have in common. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include "cli_train.h"
#include "strads/path.h"

/* What the programs differ in: `of` of a command's row. */
typedef struct cli_path {
    cli_train train; /* program, `model`, `resolve` and `complete` */
    /* The points that a run has reached. */
    const strads_path_point *(*points)(const void *state, uint32_t *n);
    /* Cross-validation, with these options, from lambda `first` on. */
    strads_err (*validate)(const cli_trained *trained, uint32_t folds,
                           double first, strads_cv_point *error, uint32_t *best,
                           uint32_t *simplest);
    const char *title; /* of the errors, drawn */
    bool classifies;   /* there is an accuracy */
} cli_path;

/* `run` of the commands `path` and `cv`. */
int cli_path_main(const cli_command *self, int argc, char **argv);
int cli_cv_main(const cli_command *self, int argc, char **argv);

/* What the run on all rows has left of --time-limit, for the folds; 0: there is
 * none. */
double cli_cv_time_left(const cli_trained *trained);

#endif
