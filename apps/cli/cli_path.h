/* cli_path.h - paths over lambda, and the choice of lambda by cross-validation:
 * what these commands of all programs have in common. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include "cli_train.h"
#include "strads/path.h"

/* Who is left out, and at which lambdas. */
typedef struct cli_folds {
    uint32_t n;
    const char *file; /* each row's; or NULL */
    uint32_t points;
    const double *lambda; /* [points] */
} cli_folds;

/* What the programs differ in: `of` of a command's row. */
typedef struct cli_path {
    cli_train train; /* program, `model`, `resolve` and `complete` */
    /* The points that a run has reached. */
    const strads_path_point *(*points)(const void *state, uint32_t *n);
    /* Cross-validation, with these options. */
    strads_err (*validate)(const cli_trained *trained, const cli_folds *folds,
                           strads_cv_point *error, uint32_t *best,
                           uint32_t *simplest);
    const char *title; /* of the errors, drawn */
} cli_path;

/* `run` of the commands `path` and `cv`. */
int cli_path_main(const cli_command *self, int argc, char **argv);
int cli_cv_main(const cli_command *self, int argc, char **argv);

/* What the run on all rows has left of --time-limit, for the folds; 0: there is
 * none. */
double cli_cv_time_left(const cli_trained *trained);

#endif
