/* tests/toy_policy.h - a user-defined policy: all parameters in order,
 * block_max at a time, and idle after each sweep. */
#ifndef TESTS_TOY_POLICY_H
#define TESTS_TOY_POLICY_H

#include "strads/strads.h"

extern const strads_policy toy_sweep_policy;

#endif
