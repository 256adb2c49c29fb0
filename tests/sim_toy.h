/* sim_toy.h - small programs to be simulated, data for them, and a run of any
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

/* Least squares, a coordinate at a time: min |y - X w|^2 / 2. The gap is the
 * largest change within a sweep. */
extern const strads_program sim_toy_squares;

/* Every kind of phase in turn, each checked by its aggregate: RING with a
 * payload that counts its hops, OWNER, CONCAT, MAX with the result to all
 * workers, OWN. Stops after `laps` turns. */
extern const strads_program sim_toy_phases;
typedef struct sim_toy_laps {
    uint32_t laps;
    uint32_t fail_at; /* 0: never; otherwise that lap's RING update fails */
} sim_toy_laps;

/* What the RING phase leaves in each of the `partitions` parameters. */
double sim_toy_ring_value(uint32_t partition, uint32_t partitions,
                          uint32_t laps);

/* Random X of independent columns, and labels; cut by rows. */
strads_data *sim_toy_data(uint32_t rows, uint32_t cols, uint32_t partitions);

/* The least-squares solution, by the normal equations: w[cols]. */
void sim_toy_solve(uint32_t rows, uint32_t cols, double *w);

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
