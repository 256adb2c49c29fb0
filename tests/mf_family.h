/* tests/mf_family.h - families of generated ratings for tests of matrix
 * factorisation:
 *
 *     r_ui = 3 + b_u + c_i + p_u'q_i + noise
 *
 * for pairs with popular items and active users. */
#ifndef TESTS_MF_FAMILY_H
#define TESTS_MF_FAMILY_H

#include "strads/mf.h"
#include "strads/strads.h"

typedef struct mf_family {
    uint64_t seed;
    uint32_t users, items, rank;
    double density; /* mean share of rated pairs */
    double factors; /* deviation of p_u'q_i */
    double noise;   /* deviation */
    bool stars;     /* rounded to 1, 2, ... 5 */
} mf_family;

/* Ratings to train on, and a tenth for the test, as compressed rows. */
typedef struct mf_split_ratings {
    strads_rows train, test;
} mf_split_ratings;

/* Draws size, rank, noise and density from a seed. */
mf_family mf_family_draw(uint64_t seed);

/* Exits the test without memory. The caller calls mf_family_free. */
mf_split_ratings mf_family_make(const mf_family *f);
void mf_family_free(mf_split_ratings *ratings);

/* The data set of the rows, in so many partitions. */
strads_data *mf_family_data(const strads_rows *rows, uint32_t partitions);

/* Trains and returns the root mean squared error on `test`, clipped. */
double mf_family_error(const strads_data *train, const strads_rows *test,
                       const strads_mf_options *config);

#endif
