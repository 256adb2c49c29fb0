/* sim_toy.h - a small program to be simulated, and a run of any
 * of them on the runtime that a test names. */
#ifndef SIM_TOY_H
#define SIM_TOY_H

#include "strads/strads.h"

/* Rounds and nothing else: each adds 1 to its parameters, and fails unless
 * every partition has taken part once. config: parameters, or NULL for 1000. */
extern const strads_program sim_toy_rounds;
typedef struct sim_toy_size {
    uint32_t parameters, width;
} sim_toy_size;

/* Sizes filled in: what any test starts from. */
strads_engine_options sim_toy_options(uint32_t partitions, uint32_t depth);
strads_sim_options sim_toy_nodes(uint32_t nodes);

/* Simulates and expects success; the result is the caller's. */
strads_result *sim_toy_simulate(const strads_program *program,
                                const void *config, const strads_data *data,
                                const strads_engine_options *options,
                                const strads_sim_options *sim,
                                strads_sim_outcome *outcome);

#endif
