/* cli_data.h - the commands of `strads data`. */
#ifndef CLI_DATA_H
#define CLI_DATA_H

#include "cli_options.h"

extern const cli_verb cli_synth_lasso;

#endif
