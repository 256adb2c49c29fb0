/* cli_predict.h - predictions by a model with coefficients by column: what the
 * `predict` of all such programs has in common. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "strads/strads.h"

/* What is known of rows that have labels. */
typedef struct cli_tally {
    uint64_t rows, right;
    double loss;
} cli_tally;

typedef struct cli_predict {
    const char *program;          /* whose models it takes */
    const char *name;             /* of the command: "lasso predict" */
    const char *summary;          /* for --help */
    const strads_option *options; /* its own, of *arg; may be NULL */
    void *arg;                    /* for all below */
    bool many;                    /* models may have several numbers a column */
    /* Looks at the model, which is in `path`; may be NULL. */
    strads_err (*check)(void *arg, const char *path, const strads_model *model);
    /* What is written for a row with these sums, one for each number that the
     * model has a column: `out` has room for as many; returns how many. */
    uint32_t (*values)(const void *arg, const double *sum, double *out);
    /* Adds a row to the tally; says for people what came of it. */
    void (*judge)(const void *arg, const double *sum, double label,
                  cli_tally *tally);
    void (*tell)(const void *arg, const cli_tally *tally);
} cli_predict;

/* Reads the command line, the model and the data, writes; an exit code. */
int cli_predict_main(const cli_predict *predict, int argc, char **argv);

#endif
