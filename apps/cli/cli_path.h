/* cli_path.h - paths over lambda, and the choice of lambda by cross-validation:
 * what these commands of all programs have in common. */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include "cli_train.h"
#include "strads/path.h"

typedef struct cli_path {
    cli_train train; /* the program, its models, name, summary, and how to
                        resolve, complete and describe them */
    /* The points that a run has reached. */
    const strads_path_point *(*points)(const void *state, uint32_t *n);
} cli_path;

/* An exit code. */
int cli_path_main(const cli_path *path, int argc, char **argv);

/* Says where a path of n points began and ended, for people. */
void cli_path_describe(const strads_path_point *point, uint32_t n);

/* ---- cross-validation --------------------------------------------------- */

typedef struct cli_cv {
    const strads_program *program; /* of the path */
    const char *model;             /* the program that models name */
    const char *name, *summary;    /* of the command */
    const char *title;             /* of what is drawn */
    bool classifies;               /* there is an accuracy */
    void (*resolve)(const void *state, void *config); /* as in cli_train */
    /* How many points the options ask for; those that a run has reached. */
    uint32_t (*wanted)(const void *config);
    const strads_path_point *(*points)(const void *state, uint32_t *n);
    /* Validates with these options, from lambda `first` on. */
    strads_err (*run)(const cli_trained *trained, uint32_t folds, double first,
                      strads_cv_point *error, uint32_t *best,
                      uint32_t *simplest);
} cli_cv;

/* What the run on all rows has left of --time-limit, for the folds; 0: there is
 * none. */
double cli_cv_time_left(const cli_trained *trained);

/* An exit code. */
int cli_cv_main(const cli_cv *cv, int argc, char **argv);

#endif
