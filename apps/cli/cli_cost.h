/* cli_cost.h - what loading a file will cost, told before it is spent. */
#ifndef CLI_COST_H
#define CLI_COST_H

#include <stdbool.h>

#include "strads/data.h"

/* For files that take a while: says that `path` is being read, and about how
 * much memory the part that `options` keeps will take. Small ones, and files
 * that cannot be read, are passed over in silence. */
void cli_cost_tell(bool quiet, const char *path,
                   const strads_data_options *options);

#endif
