/* engine/run/simulate_loop.h - a program's `run` in virtual time. */
#ifndef STI_SIMULATE_LOOP_H
#define STI_SIMULATE_LOOP_H

#include "engine/run/run_setup.h"

/* Runs all partitions on simulated nodes. With `spent` (measuring): until so
 * many seconds were computed; and *spent is what a clock took. *out is to be
 * freed with an error, too. */
strads_err sti_simulate_loop(sti_setup *setup, const strads_sim_options *costs,
                             double *spent, strads_result **out,
                             strads_sim_outcome *outcome);

#endif
