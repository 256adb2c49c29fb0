/* tests/mf_planted.h - ratings from planted factors, for a part of all
 * pairs: r_ui = 3 + b_u + c_i + p_u'q_i + noise, as lines `user item rating`.
 */
#ifndef TESTS_MF_PLANTED_H
#define TESTS_MF_PLANTED_H

#include <stdint.h>

enum { PLANTED_USERS = 400, PLANTED_ITEMS = 300, PLANTED_RANK = 3 };

#define PLANTED_NOISE 0.2

/* Planted positive counts for two of five pairs: the sum of two products of
 * nonnegative numbers. */
enum { COUNTED_USERS = 90, COUNTED_ITEMS = 70 };
int mf_planted_counts_write(const char *path);

/* Writes the pairs with draws in [from, to): disjoint ranges give disjoint
 * files. */
int mf_planted_write(const char *path, double from, double to);

#endif
