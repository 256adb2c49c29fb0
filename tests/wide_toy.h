/* tests/wide_toy.h - a program whose partials are wide enough to go in slices:
 * sums and maxima of numbers whose sums depend on their order. Its aggregates
 * hold every one of them against a tree of their own. No part of it knows
 * Criterion. */
#ifndef TESTS_WIDE_TOY_H
#define TESTS_WIDE_TOY_H

#include "strads/strads.h"

/* Numbers of 8 bytes: 8 slices where there are 8 partitions. */
enum { WIDE_TOY_PARAMETERS = 17001, WIDE_TOY_ROUNDS = 6, WIDE_TOY_TOTALS = 3 };

extern const strads_program wide_toy;

#endif
