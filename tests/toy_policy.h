/* tests/toy_policy.h - a policy as a user would write it: all parameters in
 * their order, block_max at a time, and a rest after each sweep. */
#ifndef TESTS_TOY_POLICY_H
#define TESTS_TOY_POLICY_H

#include "strads/strads.h"

extern const strads_policy toy_sweep_policy;

#endif
