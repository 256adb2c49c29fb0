/* engine/run/loop_run.h - running a program's `run`: a data-parallel loop on
 * every partition, each with a session of the store. */
#ifndef STI_LOOP_RUN_H
#define STI_LOOP_RUN_H

#include "engine/run/run_setup.h"

/* Runs one thread a partition until all have returned; progress is told on the
 * caller's. The first error, by partition, is the run's. The result is as that
 * of any run; with an error it is to be freed all the same. */
strads_err sti_loop_run(sti_setup *setup, strads_result **out);

#endif
