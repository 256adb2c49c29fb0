/* See mf_planted.h. */
#include "tests/mf_planted.h"

#include <math.h>
#include <stdio.h>

#include "strads/policy.h"

enum { SEED = 17, PAIR, NOISE, USER, ITEM };

/* Standard deviation 1, from twelve draws. */
static double normal(uint64_t purpose, uint64_t index, uint64_t k)
{
    double sum = -6;
    for (uint64_t j = 0; j < 12; j++)
        sum += strads_random_unit(SEED, purpose, index, 12 * k + j);
    return sum;
}

static double rating(uint64_t u, uint64_t i)
{
    double r = 3 + .3 * normal(USER, u, PLANTED_RANK) +
               .4 * normal(ITEM, i, PLANTED_RANK);
    for (uint64_t k = 0; k < PLANTED_RANK; k++)
        r += .5 * normal(USER, u, k) * normal(ITEM, i, k);
    return r + PLANTED_NOISE * normal(NOISE, u * PLANTED_ITEMS + i, 0);
}

int mf_planted_write(const char *path, double from, double to)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    for (uint64_t u = 0; u < PLANTED_USERS; u++) {
        for (uint64_t i = 0; i < PLANTED_ITEMS; i++) {
            double draw =
                strads_random_unit(SEED, PAIR, u * PLANTED_ITEMS + i, 0);
            if (draw >= from && draw < to)
                (void)fprintf(file, "%llu %llu %.4f\n", (unsigned long long)u,
                              (unsigned long long)i, rating(u, i));
        }
    }
    return fclose(file);
}

int mf_planted_counts_write(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    for (uint64_t u = 0; u < COUNTED_USERS; u++) {
        for (uint64_t i = 0; i < COUNTED_ITEMS; i++) {
            double r = .1;
            if (strads_random_unit(SEED, PAIR, u * COUNTED_ITEMS + i, 1) > .4)
                continue;
            for (uint64_t k = 0; k < 2; k++)
                r += fabs(normal(USER, u, k) * normal(ITEM, i, k));
            (void)fprintf(file, "%llu %llu %.4f\n", (unsigned long long)u,
                          (unsigned long long)i, r);
        }
    }
    return fclose(file);
}
