/* cli_prices.h - what callbacks cost in a simulation: measured here, given as a
 * number, or read from the file that an earlier measurement left. */
#ifndef CLI_PRICES_H
#define CLI_PRICES_H

#include "strads/strads.h"

typedef struct cli_prices {
    const strads_program *program;
    const void *config;
    const strads_engine_options *engine; /* of the run */
    const char *cost;   /* "measured", a number of ns an entry, or a file */
    const char *save;   /* where to keep what was measured, or NULL */
    uint32_t few, many; /* workers of the first and the last run */
    /* Reads the data, cut into that many partitions. */
    strads_err (*read)(const void *arg, uint32_t partitions, strads_data **out);
    const void *arg;
} cli_prices;

/* Sets net->phases, [net->n_phases], and the other prices. STRADS_EINVAL, STRADS_EFORMAT, STRADS_EIO; as a run and as `read`. */
strads_err cli_prices_find(const cli_prices *costs, strads_sim_options *net);

/* The name of a phase in files and reports. */
const char *cli_prices_phase(const strads_program *program, uint32_t phase);

#endif
