/* cli_prices.h - the costs of callbacks in a simulation: measured here, given
 * as a number, or read from a file of earlier measurements. */
#ifndef CLI_PRICES_H
#define CLI_PRICES_H

#include "strads/strads.h"

typedef struct cli_prices {
    const strads_program *program;
    const void *config;
    const strads_engine_options *engine; /* options of the run */
    const char *cost;   /* "measured", ns for each entry, or a file */
    const char *save;   /* file for the measured costs, or NULL */
    uint32_t few, many; /* workers of the first and the last run */
    /* Reads the data, split into this many partitions. */
    strads_err (*read)(const void *arg, uint32_t partitions, strads_data **out);
    const void *arg;
} cli_prices;

/* Sets net->phases, [net->n_phases], and the other costs. STRADS_EINVAL,
 * STRADS_EFORMAT, STRADS_EIO, and errors of a run and of `read`. */
strads_err cli_prices_find(const cli_prices *costs, strads_sim_options *net);

/* The name of a phase in files and reports. */
const char *cli_prices_phase(const strads_program *program, uint32_t phase);

#endif
