/* cli_data_kind.h - what `--kind` of a data file says. */
#ifndef CLI_DATA_KIND_H
#define CLI_DATA_KIND_H

#include "strads/strads.h"

/* Of a name as data.h has them in small letters; NULL leaves *kind as it is.
 * STRADS_EINVAL. */
strads_err cli_data_kind_find(const char *name, strads_kind *kind);

#endif
