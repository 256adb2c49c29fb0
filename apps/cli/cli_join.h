/* cli_join.h - this process as a node of somebody else's run: what `strads join`
 * takes, and what a training does that srun or mpirun has started beside rank
 * 0. */
#ifndef CLI_JOIN_H
#define CLI_JOIN_H

#include "cli_documents.h"
#include "cli_options.h"
#include "strads/engine.h"

typedef struct cli_join {
    const char *data, *root, *program, *column[3];
    uint64_t memory;
    cli_samples samples;
    strads_join_options engine;
    cli_words words;
    /* What data are read with, where a training's own options say that; NULL: as
     * `words` say. */
    strads_err (*read)(void *state, const char *path,
                       strads_data_options *options);
    void *state;
    bool f32, quiet;
    const strads_program *own;  /* one that is not built in; NULL: none */
    char *path;                 /* the data's, and .. */
    strads_data_options wanted; /* .. how they were read */
    strads_data *held;
    bool running; /* what goes wrong from now on is no wrong input */
} cli_join;

/* Takes part in the run that listens at `url`, until it is over; an exit code. */
int cli_join_run(const char *url, cli_join *join);

#endif
