/* cli_train.h - training by any program, for `strads lasso train`, `strads lda
 * train`, `strads run` and others. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli_log.h"
#include "cli_options.h"
#include "strads/path.h"
#include "strads/strads.h"

/* A finished run, for writing its model. */
typedef struct cli_trained {
    const struct cli_train *train; /* the program that was selected */
    const strads_result *result;
    const strads_data *data;
    const char *options; /* a JSON object */
    uint64_t seed;
    const void *config; /* the program's options */
    const strads_engine_options *engine;
    const char *target; /* name of a table's target column, or NULL */
    bool quiet;
    void *state; /* state of the command */
} cli_trained;

typedef struct cli_train cli_train;
struct cli_train {
    const strads_program *program;
    const char *model;   /* program name in models; NULL: this program's */
    const char *options; /* heading of the program's options */
    bool all_rows; /* needs all rows: it cannot run on several processes */
    /* Of a path: its points; and, if the run has cross-validated it, its errors
     * (strads_columns_cv). NULL: another program; another run does that. */
    const strads_path_point *(*points)(const void *state, uint32_t *n);
    strads_err (*errors)(const void *state, strads_cv_point *points,
                         uint32_t *best, uint32_t *simplest);
    /* `resolve` replaces options by their resolved values; `complete` sets
     * members of the model that only the program knows. May be NULL. */
    void (*resolve)(const void *state, void *config);
    void (*complete)(const void *state, strads_model *model);
    /* Sets the options from a start model's intercepts, one for each value of a
     * coefficient. False: they are not used. NULL: the run computes intercepts
     * that fit the start values. */
    bool (*start)(void *config, const double *intercepts);
    /* Sets the options that decide the values of a coefficient, unless they are
     * given, to those of a start model. NULL: no such options. */
    void (*start_width)(void *config, uint32_t width);
    /* The objective of a model without weights. A run that ends above it has
     * diverged. NULL: no such check. */
    double (*at_zero)(const void *state);
    /* Prints more about the result; may be NULL. */
    void (*describe)(const void *state);
    /* Changes the model before it is written; may be NULL. */
    void (*refine)(const void *state, strads_model *model);
    /* Writes the model in a special format; NULL: as a strads_model. */
    strads_err (*write)(const cli_trained *trained, const char *path);

    /* Selects another program than `asked` for these options, or NULL. `data`,
     * of the file at `path`, is NULL before it is read. With one process,
     * `instead` is called again after the data is read; if the choice changes,
     * the data is read again. Both programs have the same struct of options. */
    const cli_train *(*instead)(const cli_train *asked, const void *config,
                                const strads_engine_options *engine,
                                const char *path, const strads_data *data);
    const cli_train *other[2]; /* the programs that `instead` may select */

    /* A command with more output than a model has a state with options, which
     * begins with a cli_use, and these functions. Each may be NULL. */
    size_t size;
    const void *initial;       /* the state; NULL: zeros */
    const strads_option *more; /* fields of the state */
    const char *usual;         /* default of --format, as in a cli_verb */
    /* Replaces options that are chosen by the data, which has all rows. With
     * several processes it is called before they join, so that all of them get
     * the choice; `tunes` is then asked whether to read the data for it. */
    bool (*tunes)(const void *state, const void *config);
    strads_err (*tune)(void *state, void *config, const strads_data *data,
                       const strads_engine_options *engine, bool quiet);
    /* In order of the calls: before the data is read (may change the program's
     * options); to set more options for reading, each time that the data is
     * read; after the data is read; after each report; and after a run without
     * an error, before its model is written. */
    strads_err (*check)(void *state, void *config);
    strads_err (*read)(void *state, const char *path,
                       strads_data_options *options);
    /* Whether the options need all rows in one process. */
    bool (*needs_rows)(const void *state);
    /* Whether `make` makes the data from several files, in place of
     * strads_data_read. */
    bool (*makes)(const void *state);
    const char *makes_of; /* what asks for it, for messages, if it is for one
                             process; or NULL */
    strads_err (*make)(void *state, const char *path,
                       const strads_data_options *options, strads_data **out);
    strads_err (*look)(void *state, const strads_data *data);
    /* Before the run, if there is a log: may set options of the program that
     * add events to it. These may take rounds, so a run with a bound on its
     * rounds has none. */
    void (*listen)(void *state, void *config, cli_log *log);
    void (*note)(void *state, const strads_progress *progress);
    strads_err (*finish)(void *state, const cli_trained *trained);
    /* After the model is written, so that closing standard output does not lose
     * it. */
    strads_err (*print)(void *state, FILE *out);
    /* Adds events to the log before its last line, if there is a log. */
    strads_err (*tell)(void *state, cli_log *log);
};

/* Sets a model's intercepts: one, or one for each value of a coefficient. The
 * caller keeps `b`. */
static inline void cli_train_intercepts(const double *b, strads_model *model)
{
    if (model->width > 1)
        model->intercepts = b;
    else
        model->intercept = b[0];
}

/* Copies the column names of a table, and related members, to a model. */
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

/* Sets the engine's defaults as numbers, so that --print-config shows them, and
 * a copy of the program's default options. */
strads_err cli_defaults(const strads_program *program,
                        strads_engine_options *engine, void **config);

/* Reads engine->plan, if it is set, into *plan, which the caller frees, and
 * passes it to the engine. Unless the number of partitions is set, the plan
 * sets it. STRADS_EINVAL: `program` does not use plans. */
strads_err cli_plan_take(const strads_program *program,
                         strads_engine_options *engine, strads_plan **plan);

/* Reads the command line, trains, writes model and log. Returns an exit
 * code. */
int cli_train_main(const cli_command *command, int argc, char **argv);

#endif
