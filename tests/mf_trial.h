/* tests/mf_trial.h - runs of matrix factorisation for tests: on threads, on
 * simulated nodes, over TCP, always with seed 5. */
#ifndef TESTS_MF_TRIAL_H
#define TESTS_MF_TRIAL_H

#include "strads/mf.h"
#include "strads/strads.h"

/* The ratings of a file. */
strads_data *mf_trial_read(const char *path, uint32_t partitions);

/* Runs and expects success. The caller frees the result. */
strads_result *mf_trial_run(const char *path, const strads_mf_options *config,
                            uint32_t workers, uint32_t partitions,
                            bool simulated);

/* Expects the same bits in all factors and biases of the first `users` users
 * and of all items. */
void mf_trial_expect_same(const strads_result *a, const strads_result *b,
                          uint64_t users);

/* Expects the same bits on 1, 2 and 4 workers, simulated, and on two nodes
 * over TCP, all with 4 partitions. */
void mf_trial_expect_same_everywhere(const char *path,
                                     const strads_mf_options *config,
                                     uint64_t users);

/* Stores the objectives of a run's reports in order, at most `most`. Returns
 * the number of reports. */
uint32_t mf_trial_objectives(const char *path, const strads_mf_options *config,
                             uint32_t partitions, uint32_t most, double *out);

#endif
