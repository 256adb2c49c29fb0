/* strads/recommend.h - what a matrix factorisation is for: the items that a
 * user would rate highest, users that were not there when it was trained, and
 * how good the order is.
 *
 * All functions but new and free use memory that the recommender holds: one
 * thread at a time. None blocks. */
#ifndef STRADS_RECOMMEND_H
#define STRADS_RECOMMEND_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model's numbers, in the ratings' unit. A row is a bias, then `rank`
 * factors. The arrays are the caller's. */
typedef struct strads_mf_factors {
    uint64_t users, items;
    uint32_t rank;
    double mean;
    const float *user; /* [users x (1 + rank)] */
    const float *item; /* [items x (1 + rank)] */
    /* How it was trained, for users that are to be fitted in the same way. */
    double penalty; /* on |p_u|^2: explicit, of each rating unless unweighted;
                       see strads_mf_penalty */
    bool no_biases, nonnegative, implicit, unweighted;
    double alpha; /* implicit: confidence 1 + alpha r */
} strads_mf_factors;

typedef struct strads_recommender strads_recommender;

/* Keeps the items' numbers in an order of its own: `model` is not needed
 * afterwards. *out is the caller's to free. STRADS_EINVAL: rank 0 or above
 * 1,024, no items or more than 2^32 - 2. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_new(const strads_mf_factors *model,
                                             strads_recommender **out);
/* NULL is fine. */
STRADS_API void strads_recommender_free(strads_recommender *recommender);

/* A user's row [1 + rank] from n ratings of items, for these items as they are:
 *     b = sum (r - mean - c_i) / (n + 5),
 *     (sum q q' + penalty n I) p = sum (r - mean - b - c_i) q,
 * with penalty I where the model is unweighted; of implicit ratings b = 0 and
 *     (Q'Q + sum alpha r q q' + penalty I) p = sum (1 + alpha r) q;
 * over p >= 0 where the model is not negative. Items that the model does not
 * have are passed over; without a rating the row is 0. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_fold(strads_recommender *recommender,
                                              uint32_t n, const uint32_t *item,
                                              const float *rating, float *row);

typedef struct strads_scored {
    uint32_t item;
    float score;
} strads_scored;

/* The `top` items of highest predicted rating for a row [1 + rank] go to out
 * [top], best first, of equal ones the lower number; those in seen [n_seen],
 * which ascends, are left out. Returns how many there are. */
STRADS_API uint32_t strads_recommender_top(strads_recommender *recommender,
                                           const float *row, uint64_t n_seen,
                                           const uint32_t *seen, uint32_t top,
                                           strads_scored *out);

/* Means over the users that have relevant items in the test. */
typedef struct strads_ranking {
    uint64_t users;
    double ndcg;      /* sum over hits of 1 / log2(1 + place), places from 1, by
                      what min(relevant, top) hits at the front would have */
    double recall;    /* hits by relevant items */
    double precision; /* hits by `top` */
} strads_ranking;

/* Ranks, for each user of the model, all items but those of its row in `train`
 * and looks for those of its row in `test` rated `relevant` or more (and not in
 * train) among the first `top`. *popular has the same for ranking by the number
 * of ratings in `train`, the same items left out. Rows and columns of both are
 * the model's; what is beyond them is passed over. Where no user has a relevant
 * item the means are NaN. STRADS_EINVAL: top is 0. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_judge(
    strads_recommender *recommender, const strads_mf_factors *model,
    const strads_sparse *train, const strads_sparse *test, double relevant,
    uint32_t top, strads_ranking *ranking, strads_ranking *popular);

#ifdef __cplusplus
}
#endif

#endif
