/* cli_train.h - training by any program: the way that `strads lasso train`,
 * `strads lda train` and `strads run` have in common. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli_log.h"
#include "cli_options.h"
#include "strads/strads.h"

/* What a run has left for its model. */
typedef struct cli_trained {
    const strads_result *result;
    const strads_data *data;
    const char *options; /* a JSON object */
    uint64_t seed;
    const void *config; /* the program's options */
    const strads_engine_options *engine;
    const char *target; /* of a table; or NULL */
    bool quiet;
    void *state; /* the command's own */
} cli_trained;

typedef struct cli_train cli_train;
struct cli_train {
    const strads_program *program;
    const char *model;   /* the program that models name; NULL: this one */
    const char *options; /* the heading of the program's options */
    bool all_rows;       /* needs them: no run of several processes */
    /* Puts into the options what they came to mean on this data, and into the
     * model what only the program knows; may be NULL. */
    void (*resolve)(const void *state, void *config);
    void (*complete)(const void *state, strads_model *model);
    /* Puts a start's intercepts into the options, as many as it has numbers a
     * coefficient; false: there is no use for them. NULL: the run finds those
     * that suit the start by itself. */
    bool (*start)(void *config, const double *intercepts);
    /* The objective of a model without weights: a run that ends above it has
     * diverged. NULL: the program cannot end there. */
    double (*at_zero)(const void *state);
    /* Says more about the result, for people; may be NULL. */
    void (*describe)(const void *state);
    /* Writes the model in a format of its own; NULL: as a strads_model. */
    strads_err (*write)(const cli_trained *trained, const char *path);

    /* Who trains with these options instead, or NULL; `data` is NULL before
     * they are read. One process asks again when they are, and where the
     * answer is another then, reads them anew. Both programs take the same
     * struct of options. */
    const cli_train *(*instead)(const void *config,
                                const strads_engine_options *engine,
                                const strads_data *data);
    const cli_train *other; /* the one that `instead` may return */

    /* A command that gives more than a model has a state, which begins with a
     * cli_use, options in it, and functions; each may be NULL. */
    size_t size;
    const void *initial;       /* the state; NULL: 0 */
    const strads_option *more; /* fields of the state */
    const char *usual; /* --output and --format are there, as in a cli_verb */
    /* Before data are read (it may change the program's options); what they are
     * read with, where that is more than the program says; once they are there;
     * after each report; when the run has ended without an error, before
     * its model is written. */
    strads_err (*check)(void *state, void *config);
    strads_err (*read)(void *state, const char *path,
                       strads_data_options *options);
    strads_err (*look)(void *state, const strads_data *data);
    void (*note)(void *state, const strads_progress *progress);
    strads_err (*finish)(void *state, const cli_trained *trained);
    /* After the model: so a reader that closes standard output costs none. */
    strads_err (*print)(void *state, FILE *out);
    /* Events for the log before its last line, when somebody reads it. */
    strads_err (*tell)(void *state, cli_log *log);
};

/* A model's intercepts: one, or as many as it has numbers a coefficient, which
 * stay the caller's. */
static inline void cli_train_intercepts(const double *b, strads_model *model)
{
    if (model->width > 1)
        model->intercepts = b;
    else
        model->intercept = b[0];
}

/* Gives a model the names of a table's columns, and what goes with them. */
static inline void cli_model_name(strads_model *model, const strads_data *data,
                                  const char *target)
{
    if (strads_data_col_names(data) &&
        strads_names_count(strads_data_col_names(data)) == model->columns) {
        model->names = strads_data_col_names(data);
        model->means = strads_data_col_means(data);
        model->target = target;
    }
}

/* The defaults of the engine in figures, so that --print-config shows what will
 * be; and the program's options as they are to begin with. */
strads_err cli_defaults(const strads_program *program,
                        strads_engine_options *engine, void **config);

/* Reads engine->plan, if it is set, into *plan, for the caller to free, and
 * gives it to the engine: it also says how many partitions there are, unless
 * that is set. STRADS_EINVAL: `program` takes none. */
strads_err cli_plan_take(const strads_program *program,
                         strads_engine_options *engine, strads_plan **plan);

/* Reads the command line, trains, writes model and log; an exit code. */
int cli_train_main(const cli_command *command, int argc, char **argv);

#endif
