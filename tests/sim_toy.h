/* sim_toy.h - small programs for simulations, and runs of them on the
 * runtime that a test selects. */
#ifndef SIM_TOY_H
#define SIM_TOY_H

#include "strads/strads.h"

/* Only rounds: each adds 1 to its parameters, and fails unless every
 * partition took part exactly once. config: parameters, or NULL for 1000. */
extern const strads_program sim_toy_rounds;
typedef struct sim_toy_size {
    uint32_t parameters, width;
} sim_toy_size;

/* Common defaults of the tests. */
strads_engine_options sim_toy_options(uint32_t partitions, uint32_t depth);
strads_sim_options sim_toy_nodes(uint32_t nodes);

/* Simulates and expects success; the caller frees the result. */
strads_result *sim_toy_simulate(const strads_program *program,
                                const void *config, const strads_data *data,
                                const strads_engine_options *options,
                                const strads_sim_options *sim,
                                strads_sim_outcome *outcome);

#endif
