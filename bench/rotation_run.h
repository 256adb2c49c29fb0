/* bench/rotation_run.h - runs and output that the benchmarks of rotation
 * against a data-parallel loop share. */
#ifndef BENCH_ROTATION_RUN_H
#define BENCH_ROTATION_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "strads/strads.h"

/* One method on one data set. */
typedef struct rotation_run {
    const strads_program *program;
    const void *config;
    const strads_data *data;
    uint32_t workers;
    uint32_t blocks; /* of a ring; 0: its own number */
    /* Of a simulated worker on a node of its own; NULL: threads. */
    const strads_sim_phase *phases;
    uint32_t n_phases;
    /* The value of an output line, after its sweep and its seconds. */
    double (*value)(const strads_progress *progress);
} rotation_run;

/* Runs it, and prints a line "SWEEP SECONDS VALUE" for each report. */
strads_err rotation_run_print(const rotation_run *run);

/* "infinite", or a number of clocks. */
uint32_t rotation_staleness(const char *method);

/* n zeroed elements, aligned to a cache line, with some spare bytes; ends the
 * process if memory runs out. */
void *rotation_zeroed(size_t n, size_t size);

#endif
