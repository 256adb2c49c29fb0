/* cli_path.h - what the commands for paths have in common. */
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

#endif
