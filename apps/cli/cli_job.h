/* cli_job.h - one training, as its parts hand it on: command line, run and
 * outcome (cli_train.c), and the model that it starts from (cli_start.c). */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>

#include "cli_cluster.h"
#include "cli_log.h"
#include "cli_terminal.h"
#include "cli_train.h"
#include "cli_watch.h"
#include "engine/run/run_options.h"

/* The model that --start names, brought into what the run is: its columns, its
 * classes, its intercept. */
typedef struct cli_start {
    strads_model *model;
    const char *classes; /* its labels; NULL: it is of numbers */
    double *turned;      /* its values, where --classes has another order */
} cli_start;

/* The options that name files, and what is printed. */
typedef struct cli_files {
    const char *model, *log, *http, *start, *checkpoint, *resume;
    double checkpoint_every;
    cli_samples samples;
    bool f32, quiet;
} cli_files;

/* Everything that a training needs, in the order of need. */
typedef struct cli_job {
    const cli_command *command;
    const cli_train *train;
    void *state;
    const char *data_path;
    char *full_path;   /* told to nodes in other folders */
    void *config;      /* the program's options */
    char *config_text; /* all options, as JSON */
    strads_engine_options engine;
    bool intercept_by_default;
    bool cut_by_size; /* nobody said into how many partitions */
    cli_files files;
    strads_plan *plan;
    cli_start start;
    cli_cluster cluster;  /* what srun or mpirun has made of this process */
    strads_engine *nodes; /* several processes: who takes part */
    strads_data *data;
    strads_data_options reading; /* how it was read */
    strads_result *result;
    sti_watch *watch; /* the page of --http, or NULL */
    cli_log log;
    cli_progress line;
    uint32_t sweep; /* the measure that counts the goal's units;
                       STRADS_MEASURES: rounds do */
} cli_job;

/* The program that the models of `train` name. */
static inline const char *cli_job_model(const cli_train *train)
{
    return train->model ? train->model : train->program->name;
}

/* Writes the options of program and engine into config_text, anew. */
strads_err cli_job_keep_options(cli_job *job);

/* Reads the model and gives it to the engine, before data are read: an engine
 * that listens takes it from there, whole. Classes are those of the start, in
 * its order, unless --classes has another one of the same. STRADS_EINVAL: of
 * others. */
strads_err cli_start_read(cli_job *job);

/* With the data: STRADS_EINVAL where their labels are not the start's, as far
 * as the rows that this process keeps tell. */
strads_err cli_start_check(const cli_job *job);

/* Leaves out what the run has no parameters for. STRADS_EMISMATCH: it has
 * another number of values for each. */
strads_err cli_start_cut(cli_job *job, const strads_shape *shape);

#endif
