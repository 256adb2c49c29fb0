/* tests/mf_planted.h - ratings of known origin, for a part of all pairs:
 * r_ui = 3 + b_u + c_i + p_u'q_i + noise, as lines `user item rating`. */
#ifndef TESTS_MF_PLANTED_H
#define TESTS_MF_PLANTED_H

#include <stdint.h>

enum { PLANTED_USERS = 400, PLANTED_ITEMS = 300, PLANTED_RANK = 3 };

#define PLANTED_NOISE 0.2

/* Counts, all above 0, of known origin for two of five pairs: the sum of two
 * products of numbers from 0 up. */
enum { COUNTED_USERS = 90, COUNTED_ITEMS = 70 };
int mf_planted_counts_write(const char *path);

/* Pairs whose draw lies in [from, to): disjoint ranges, disjoint files. */
int mf_planted_write(const char *path, double from, double to);

#endif
