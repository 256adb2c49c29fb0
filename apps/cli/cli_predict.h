/* cli_predict.h - predictions by a model with coefficients by column: what the
 * `predict` of all such programs has in common. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli_labels.h"
#include "strads/strads.h"

/* What is known of rows that have labels. */
typedef struct cli_tally {
    uint64_t rows, right;
    uint64_t strange;     /* rows whose label is none of the model's */
    double loss, squares; /* sums of the rows' losses, and of their squares */
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
    /* What is written instead, where that is a name: NULL otherwise. The slot
     * may be NULL. */
    const char *(*name_of)(const void *arg, const double *sum);
    /* Adds a row to the tally; says for people what came of it. */
    void (*judge)(const void *arg, const double *sum, double label,
                  cli_tally *tally);
    void (*tell)(const void *arg, const cli_tally *tally);
    /* After `check`: the classes that the sums tell apart; NULL, or none of
     * them: the sum is the number predicted. */
    const cli_labels *(*labels)(const void *arg);
    bool probabilities; /* of classes: the tally's loss is a log loss */
} cli_predict;

/* None where the program has none. */
static inline const cli_labels *cli_predict_labels(const cli_predict *predict)
{
    static const cli_labels none = {0};
    return predict->labels ? predict->labels(predict->arg) : &none;
}

/* For people: rows whose label no model of these classes can tell. */
void cli_predict_tell_strange(const cli_tally *tally);

/* Reads the command line, the model and the data, writes; an exit code. */
int cli_predict_main(const cli_predict *predict, int argc, char **argv);

/* The sums of all rows that have labels; sum and label are the caller's to
 * free, after an error too. */
typedef struct cli_scores {
    uint64_t rows;
    uint32_t width;
    double *sum;   /* [rows x width] */
    double *label; /* [rows] */
    cli_tally tally;
} cli_scores;

strads_err cli_predict_scores(const cli_predict *predict, const char *model,
                              const char *data, const char *labels,
                              uint32_t workers, cli_scores *out);

/* cli_evaluate.c: `evaluate` of the same models, under that name; an exit
 * code. */
int cli_evaluate_main(const cli_predict *predict, const char *name, int argc,
                      char **argv);

#endif
