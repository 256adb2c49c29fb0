/* cli_plan.h - the plan of a run, from --plan. */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include <stdbool.h>

#include "strads/strads.h"

/* Reads engine->plan, if it is set, into *plan, for the caller to free, and
 * gives it to the engine: it also says how many partitions there are, unless
 * that is set. STRADS_EINVAL: `program` takes none. */
strads_err cli_plan_take(const strads_program *program,
                         strads_engine_options *engine, strads_plan **plan);

#endif
