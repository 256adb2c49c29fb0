/* cli_join.h - this process as a node of another process's run, for `strads
 * join` and for ranks above 0 under srun or mpirun. */
#ifndef CLI_JOIN_H
#define CLI_JOIN_H

#include "cli_documents.h"
#include "cli_fm_rows.h"
#include "cli_options.h"
#include "strads/engine.h"

typedef struct cli_join {
    const char *data, *root, *program, *column[4];
    uint64_t memory;
    cli_samples samples;
    strads_join_options engine;
    cli_words words;
    /* Sets the options for reading data, if a training's own options determine
     * them; NULL: `words` determines them. */
    strads_err (*read)(void *state, const char *path,
                       strads_data_options *options);
    /* Makes the data from several files; NULL: it is read from one. */
    strads_err (*make)(void *state, const char *path,
                       const strads_data_options *options, strads_data **out);
    void *state;
    cli_fm_tables tables; /* of `strads join`; the columns are `column` */
    bool f32, quiet;
    const strads_program *own;  /* a program that is not built in, or NULL */
    char *path;                 /* path of the data */
    strads_data_options wanted; /* the options that it was read with */
    strads_data *held;
    bool running; /* errors are no longer bad input */
} cli_join;

/* Takes part in the run at `url` until its end. Returns an exit code. */
int cli_join_run(const char *url, cli_join *join);

#endif
