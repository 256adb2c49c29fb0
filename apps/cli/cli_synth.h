/* cli_synth.h - synthetic data with known weights (`strads data synth`). */
#ifndef CLI_SYNTH_H
#define CLI_SYNTH_H

#include "cli_options.h"

typedef struct cli_synth {
    cli_use use;
    const char *truth; /* file for the weights, or NULL */
    uint32_t rows, columns, support;
    uint32_t entries; /* slots of a column, at most `rows`; unused if dense */
    double correlation, snr;
    uint64_t seed;
    bool dense, uniform, signs;
} cli_synth;

/* Writes a design and its labels to `path`, and the weights to `truth`. Needs
 * GSL. STRADS_ENOMEM, STRADS_EIO, STRADS_ECANCELED. */
strads_err cli_synth_lasso(const cli_synth *options, const char *path);

#endif
