/* tests/sample.h - tests a part of a family's members.
 *
 * STRADS_SAMPLE=N in the environment tests one of N members, and so 1 tests all
 * of them. STRADS_SAMPLE_SEED=S chooses others. */
#ifndef TESTS_SAMPLE_H
#define TESTS_SAMPLE_H

#include <stdbool.h>

/* Whether to test the next member: the first one, and then one of every `n`. A
 * sanitizer takes ten times as long and looks for errors of memory, not of
 * numbers, so that under AddressSanitizer it is one of every 4 n. */
bool sample_takes_next(unsigned n);

#endif
