/* cli_job.h - the state of one training, shared by its parts: command line, run
 * and outcome (cli_train.c), and the start model (cli_start.c). */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>

#include "cli_cluster.h"
#include "cli_log.h"
#include "cli_terminal.h"
#include "cli_train.h"
#include "cli_watch.h"
#include "engine/watch/publish.h"
#include "engine/run/run_options.h"

/* The model of --start, mapped to the run's columns, classes and intercepts. */
typedef struct cli_start {
    strads_model *model;
    const char *classes; /* its labels; NULL: it predicts numbers */
    double *turned;      /* its values, if --classes has another order */
} cli_start;

/* Options that name files, and --quiet. */
typedef struct cli_files {
    const char *model, *log, *http, *publish, *start, *checkpoint, *resume;
    double checkpoint_every;
    cli_samples samples;
    bool f32, quiet;
} cli_files;

/* The state of a training, in the order in which it is set. */
typedef struct cli_job {
    const cli_command *command;
    const cli_train *train;
    void *state;
    const char *data_path;
    char *full_path;   /* absolute path, for nodes with another working
                        * directory */
    void *config;      /* the program's options */
    char *config_text; /* all options, as JSON */
    strads_engine_options engine;
    bool intercept_by_default;
    bool cut_by_size; /* no option gives the number of partitions */
    cli_files files;
    strads_plan *plan;
    cli_start start;
    cli_cluster cluster;  /* rank and size under srun or mpirun */
    strads_engine *nodes; /* the run's engine, with several processes */
    strads_data *data;
    strads_data_options reading; /* the options that it was read with */
    strads_result *result;
    sti_watch *watch;         /* the server of --http, or NULL */
    sti_publisher *publisher; /* of --publish, or NULL */
    cli_log log;
    cli_progress line;
    uint32_t sweep; /* the measure that counts the goal's units;
                     * STRADS_MEASURES: count rounds */
} cli_job;

/* The program name in models of `train`. */
static inline const char *cli_job_model(const cli_train *train)
{
    return train->model ? train->model : train->program->name;
}

/* Writes the options of program and engine into config_text again. */
strads_err cli_job_keep_options(cli_job *job);

/* Reads the start model and passes it to the engine before the data is read,
 * because an engine that listens needs it then. The run takes the classes and
 * their order from the start model, unless --classes gives another order of the
 * same classes. STRADS_EINVAL: --classes has other classes. */
strads_err cli_start_read(cli_job *job);

/* After the data is read. STRADS_EINVAL: the labels of this process's rows are
 * not those of the start model. */
strads_err cli_start_check(const cli_job *job);

/* Drops values for parameters that the run lacks. STRADS_EMISMATCH: the run has
 * another number of values for each parameter. */
strads_err cli_start_cut(cli_job *job, const strads_shape *shape);

#endif
