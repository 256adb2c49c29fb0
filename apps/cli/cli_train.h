/* cli_train.h - training by any program: the way that `strads lasso train` and
 * `strads run` have in common. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "strads/strads.h"

typedef struct cli_train {
    const strads_program *program;
    const char *name;    /* of the command: "lasso train" */
    const char *summary; /* for --help */
    const char *options; /* the heading of the program's options */
    /* Puts into the options what they came to mean on this data, and into the
     * model what only the program knows; may be NULL. */
    void (*resolve)(const void *state, void *config);
    void (*complete)(const void *state, strads_model *model);
    /* Says more about the result, for people; may be NULL. */
    void (*describe)(const void *state);
} cli_train;

/* Reads the command line, trains, writes model and log; an exit code. */
int cli_train_main(const cli_train *train, int argc, char **argv);

#endif
