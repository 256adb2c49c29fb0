/* cli_start.h - the model that --start names, brought into what the run is: its
 * columns, its classes, its intercept. */
#ifndef CLI_START_H
#define CLI_START_H

#include <stdint.h>

#include "strads/strads.h"

typedef struct cli_job cli_job;

typedef struct cli_start {
    strads_model *model;
    char *classes;  /* its labels; NULL: it is of numbers */
    double *turned; /* its values, where --classes has another order */
} cli_start;

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

void cli_start_free(cli_start *start);

#endif
