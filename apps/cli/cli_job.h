/* cli_job.h - one training, as its parts hand it on: options (read in
 * cli_train_options.c), input and run (cli_train.c, cli_start.c), the outcome
 * (cli_outcome.c). */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>

#include "cli_log.h"
#include "cli_progress.h"
#include "cli_start.h"
#include "cli_train.h"
#include "engine/run/run_options.h"

/* The options that name files, and what is printed. */
typedef struct cli_files {
    const char *model, *log, *start, *labels;
    bool f32, quiet;
} cli_files;

/* Everything that a training needs, in the order of need. Start with {0} and
 * `train`; freed as a whole. */
struct cli_job {
    const cli_train *train;
    const char *data_path;
    char *full_path;   /* told to nodes in other folders */
    void *config;      /* the program's options */
    char *config_text; /* all options, as JSON */
    strads_engine_options engine;
    bool cut_by_size; /* nobody said into how many partitions */
    cli_files files;
    sti_config_strings strings;
    strads_plan *plan;
    cli_start start;
    strads_engine *nodes; /* several processes: who takes part */
    strads_data *data;
    strads_result *result;
    cli_log log;
    cli_progress line;
};

/* Reads and checks the command line; *done: it asked for help or options, and
 * has been answered. */
strads_err cli_job_options(cli_job *job, int argc, char **argv, bool *done);

/* Writes the options of program and engine into config_text, anew. */
strads_err cli_job_keep_options(cli_job *job);

/* Tells the result of a run, writes model and log; an exit code. */
int cli_job_conclude(cli_job *job);

#endif
