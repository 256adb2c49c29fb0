/* strads/recommend.h - recommendations from a matrix factorisation: the items
 * with the highest predicted ratings, factors of new users, and the quality of
 * a ranking.
 *
 * All functions except new and free use the recommender's scratch memory: one
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

/* The parameters of a model, in the ratings' unit. A row has a bias, then
 * `rank` factors. The caller owns the arrays. */
typedef struct strads_mf_factors {
    uint64_t users, items;
    uint32_t rank; /* 0: biases alone */
    double mean;
    const float *user; /* [users x (1 + rank)] */
    const float *item; /* [items x (1 + rank)] */
    /* The training's options, for fitting new users in the same way. */
    double penalty; /* on |p_u|^2; explicit ratings: for each rating unless
                       unweighted; see strads_mf_penalty */
    bool no_biases, nonnegative, implicit, unweighted;
    double alpha;       /* implicit: confidence 1 + alpha r */
    double lift, raise; /* non-negative: strads_mf_lift, strads_mf_raise */
    double damping; /* d of a new user's bias; 0: 5. See strads_mf_damping */
} strads_mf_factors;

typedef struct strads_recommender strads_recommender;

/* Makes a recommender from a copy of the items' parameters; `model` may be
 * freed afterwards. The caller frees *out. STRADS_EINVAL: rank above 1,024, no
 * items or more than 2^32 - 2. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_new(const strads_mf_factors *model,
                                             strads_recommender **out);
/* Frees a recommender. NULL is allowed. */
STRADS_API void strads_recommender_free(strads_recommender *recommender);

/* Computes a user's row [1 + rank] from n ratings, with the items' parameters
 * fixed:
 *     b = sum (r - mean - c_i) / (n + d),
 *     (sum q q' + penalty n I) p = sum (r - mean - b - c_i) q,
 * with penalty I if the model is unweighted. For implicit ratings b = 0 and
 *     (Q'Q + sum alpha r q q' + penalty I) p = sum (1 + alpha r) q.
 * For a non-negative model p >= 0; the mean is that without the lift, and the
 * equations are for remainders raised by `raise`. Unknown items are ignored;
 * without ratings the row is 0. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_fold(strads_recommender *recommender,
                                              uint32_t n, const uint32_t *item,
                                              const float *rating, float *row);

typedef struct strads_scored {
    uint32_t item;
    float score;
} strads_scored;

/* Finds the `top` items with the highest predicted ratings for a row [1 +
 * rank], into out[top], best first; ties in order of item number. Items in
 * seen[n_seen], which ascends, are excluded. Returns the number of items
 * found. */
STRADS_API uint32_t strads_recommender_top(strads_recommender *recommender,
                                           const float *row, uint64_t n_seen,
                                           const uint32_t *seen, uint32_t top,
                                           strads_scored *out);

/* Leaves n items out of all later lists of strads_recommender_top_many, in
 * place of those of earlier calls; n 0: none. The array is copied. Items that
 * the model lacks are ignored. */
STRADS_API void strads_recommender_hide(strads_recommender *recommender,
                                        uint64_t n, const uint32_t *item);

/* The users of strads_recommender_top_many. */
typedef struct strads_top_users {
    size_t size; /* sizeof(strads_top_users) */
    uint64_t n;
    const float *row; /* [n x (1 + rank)] */
    /* User u has seen seen[start[u]] .. seen[end[u] - 1], ascending. Of rows
     * that follow each other, end = start + 1. start NULL: nothing. */
    const uint64_t *start, *end;
    const uint32_t *seen;
} strads_top_users;

/* Finds the lists of many users at once, by blocks of users and items:
 * found[u] items at out + u * top, best first, as strads_recommender_top.
 * Scores may differ from its in the last bits. A user's list does not depend on
 * the others. STRADS_EINVAL: no top, or another size. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_top_many(
    strads_recommender *recommender, const strads_top_users *users,
    uint32_t top, strads_scored *out, uint32_t *found);

/* Means over the users that have relevant items in the test. Places are from 1;
 * hits are relevant items among the first `top`. */
typedef struct strads_ranking {
    uint64_t users;
    double ndcg;      /* sum over hits of 1 / log2(1 + place), divided by that
                         of min(relevant, top) hits in front (Jarvelin and
                         Kekalainen 2002) */
    double recall;    /* hits / relevant items */
    double precision; /* hits / top */
    double map;       /* average precision: the sum over hits of hits up to its
                         place / place, divided by min(relevant, top) (Manning,
                         Raghavan and Schuetze 2008, section 8.4) */
    double mrr;      /* 1 / place of the first hit, 0 without (Voorhees 1999) */
    double auc;      /* share of the pairs of a relevant and another item that
                         are in order, ties are half; over all items that are
                         ranked (Rendle et al. 2009). Of users with other
                         items */
    double coverage; /* share of the items that are among the first `top` of
                         a user (Ge et al. 2010) */
    double exposure; /* ratings in `train` of an item among the first `top`:
                         the mean over items, then users (Yin et al. 2012) */
} strads_ranking;

/* Measures rankings. For each user of the model it ranks all items except those
 * of the user's row in `train`. Items of the user's row in `test` with a rating
 * of at least `relevant` are relevant; those among the first `top` are hits.
 * *popular has the same measures for ranking by the number of ratings in
 * `train`. Rows and columns of both are the model's; further ones are ignored.
 * The means and the coverage are NaN if no user has a relevant item.
 * STRADS_EINVAL: top is 0. STRADS_ENOMEM. */
STRADS_API strads_err strads_recommender_judge(
    strads_recommender *recommender, const strads_mf_factors *model,
    const strads_sparse *train, const strads_sparse *test, double relevant,
    uint32_t top, strads_ranking *ranking, strads_ranking *popular);

#ifdef __cplusplus
}
#endif

#endif
