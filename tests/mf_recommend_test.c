/* Recommendations: folded-in users against the closed form; lists and
 * rankings against a full sort and against cases computed by hand. */
#include <criterion/criterion.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/policy.h"
#include "strads/recommend.h"
#include "tests/expect.h"
#include "tests/mf_planted.h"
#include "tests/mf_trial.h"

enum { USERS = 30, ITEMS = 60, RANK = 7, WIDTH = RANK + 1, RATED = 20 };

static float draw(uint64_t what, uint64_t k)
{
    return (float)(2 * strads_random_unit(11, what, k, 0) - 1);
}

static float user_row[USERS * WIDTH], item_row[ITEMS * WIDTH];

static strads_mf_factors make_model(void)
{
    for (size_t k = 0; k < USERS * WIDTH; k++)
        user_row[k] = draw(1, k);
    for (size_t k = 0; k < ITEMS * WIDTH; k++)
        item_row[k] = draw(2, k);
    return (strads_mf_factors){.users = USERS,
                               .items = ITEMS,
                               .rank = RANK,
                               .mean = 3,
                               .user = user_row,
                               .item = item_row,
                               .penalty = .1,
                               .alpha = 2};
}

static strads_recommender *recommender_of(const strads_mf_factors *model)
{
    strads_recommender *r = NULL;
    expect_ok(strads_recommender_new(model, &r));
    return r;
}

/* ---- folding in -------------------------------------------------------- */

/* (sum w q q' + ridge I) p = sum y q */
static void closed_form(const strads_mf_factors *m, uint32_t n,
                        const uint32_t *item, const double *w, const double *y,
                        double ridge, double *p)
{
    gsl_matrix *a = gsl_matrix_alloc(RANK, RANK);
    gsl_vector *b = gsl_vector_calloc(RANK);
    gsl_matrix_set_identity(a);
    gsl_matrix_scale(a, ridge);
    for (uint32_t k = 0; k < n; k++) {
        const float *q = m->item + item[k] * WIDTH + 1;
        for (size_t i = 0; i < RANK; i++) {
            *gsl_vector_ptr(b, i) += y[k] * (double)q[i];
            for (size_t j = 0; j < RANK; j++)
                *gsl_matrix_ptr(a, i, j) += w[k] * (double)q[i] * (double)q[j];
        }
    }
    cr_assert_eq(gsl_linalg_cholesky_decomp1(a), 0);
    cr_assert_eq(gsl_linalg_cholesky_svx(a, b), 0);
    for (size_t k = 0; k < RANK; k++)
        p[k] = gsl_vector_get(b, k);
    gsl_matrix_free(a);
    gsl_vector_free(b);
}

/* Some ratings; one is of an item that the model does not have. */
static void make_ratings(uint32_t *item, float *rating)
{
    for (uint32_t k = 0; k < RATED; k++) {
        item[k] = 3 * k;
        rating[k] = 3 + draw(3, k);
    }
    item[RATED] = ITEMS + 5;
    rating[RATED] = 5;
}

Test(mf_recommend, a_folded_user_is_the_ridge_solution_for_the_items)
{
    for (int biased = 0; biased < 2; biased++) {
        strads_mf_factors m = make_model();
        uint32_t item[RATED + 1];
        float rating[RATED + 1], row[WIDTH];
        double w[RATED], y[RATED], p[RANK], bias = 0;
        make_ratings(item, rating);
        m.no_biases = !biased;
        strads_recommender *r = recommender_of(&m);
        for (uint32_t k = 0; k < RATED; k++) {
            w[k] = 1;
            y[k] = (double)rating[k] - 3 - (double)m.item[item[k] * WIDTH];
            bias += biased ? y[k] / (RATED + 5) : 0;
        }
        for (uint32_t k = 0; k < RATED; k++)
            y[k] -= bias;
        closed_form(&m, RATED, item, w, y, .1 * RATED, p);
        cr_assert_eq(strads_recommender_fold(r, RATED + 1, item, rating, row),
                     STRADS_OK);
        cr_expect_float_eq((double)row[0], bias, 1e-5);
        for (size_t k = 0; k < RANK; k++)
            cr_expect_float_eq((double)row[1 + k], p[k], 1e-4);
        cr_assert_eq(strads_recommender_fold(r, 0, item, rating, row),
                     STRADS_OK);
        for (size_t k = 0; k < WIDTH; k++)
            cr_expect_float_eq((double)row[k], 0, 0, "without a rating");
        strads_recommender_free(r);
    }
}

Test(mf_recommend, implicit_feedback_is_folded_in_over_all_items)
{
    strads_mf_factors m = make_model();
    uint32_t item[RATED + 1], all[ITEMS];
    float rating[RATED + 1], row[WIDTH];
    double w[ITEMS], y[ITEMS] = {0}, p[RANK];
    make_ratings(item, rating);
    m.implicit = m.no_biases = true;
    m.mean = 0;
    strads_recommender *r = recommender_of(&m);
    for (uint32_t k = 0; k < ITEMS; k++) {
        all[k] = k;
        w[k] = 1;
    }
    for (uint32_t k = 0; k < RATED; k++) {
        w[item[k]] += 2 * (double)rating[k];
        y[item[k]] = w[item[k]];
    }
    closed_form(&m, ITEMS, all, w, y, .1, p);
    cr_assert_eq(strads_recommender_fold(r, RATED + 1, item, rating, row),
                 STRADS_OK);
    cr_expect_float_eq((double)row[0], 0, 0);
    for (size_t k = 0; k < RANK; k++)
        cr_expect_float_eq((double)row[1 + k], p[k], 1e-4);
    strads_recommender_free(r);
}

/* Alternating least squares ends with each user exact for the items, so
 * folding a user in from its training ratings changes nothing. */
Test(mf_recommend, a_user_of_the_training_is_folded_in_to_where_it_is)
{
    char path[] = "/tmp/strads-mf-fold-XXXXXX";
    const strads_mf_options options[] = {
        {.method = "als", .rank = 5, .lambda = .1, .holdout = 1e-9},
        {.nonnegative = true, .rank = 5, .lambda = .1, .holdout = 1e-9},
        {.implicit = true, .rank = 5}};
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    (void)close(file);
    cr_assert_eq(mf_planted_counts_write(path), 0);
    for (size_t t = 0; t < sizeof options / sizeof *options; t++) {
        strads_result *result = mf_trial_run(path, &options[t], 1, 1, false);
        strads_data *data = mf_trial_read(path, 1);
        const strads_sparse *x = &strads_data_share(data, 0)->by_row;
        const void *state = strads_result_state(result);
        const strads_mf_options *o = strads_mf_resolved(state);
        uint64_t items;
        uint32_t width;
        const double *value = strads_result_values(result, &items, &width);
        float *item = calloc(items * width, sizeof *item), row[6];
        for (size_t k = 0; k < items * width; k++)
            item[k] = (float)value[k];
        const strads_mf_factors m = {.users = x->lines,
                                     .items = items,
                                     .rank = width - 1,
                                     .mean = strads_mf_mean(state),
                                     .user = strads_mf_users(state),
                                     .item = item,
                                     .penalty = strads_mf_penalty(state),
                                     .no_biases = o->no_biases,
                                     .nonnegative = o->nonnegative,
                                     .implicit = o->implicit,
                                     .alpha = o->alpha,
                                     .lift = strads_mf_lift(state),
                                     .raise = strads_mf_raise(state),
                                     .damping = strads_mf_damping(state)};
        strads_recommender *r = recommender_of(&m);
        for (uint64_t u = 0; u < x->lines; u += 9) {
            const uint64_t from = x->start[u];
            cr_assert_eq(
                strads_recommender_fold(r, (uint32_t)(x->start[u + 1] - from),
                                        x->index + from, x->f32 + from, row),
                STRADS_OK);
            for (size_t k = 0; k < width; k++)
                cr_expect_float_eq((double)row[k],
                                   (double)m.user[u * width + k], 2e-3,
                                   "trial %zu, user %d, number %zu", t, (int)u,
                                   k);
        }
        strads_recommender_free(r);
        strads_data_free(data);
        strads_result_free(result);
        free(item);
    }
    (void)unlink(path);
}

/* ---- lists ------------------------------------------------------------- */

static double score_of(const strads_mf_factors *m, uint32_t u, uint32_t i)
{
    const float *p = m->user + u * WIDTH, *q = m->item + i * WIDTH;
    double sum = m->mean + (double)p[0] + (double)q[0];
    for (size_t k = 1; k < WIDTH; k++)
        sum += (double)p[k] * (double)q[k];
    return sum;
}

/* Counts the place of an item by descending score; seen items come last. */
static uint32_t place_of(const double *score, const bool *seen, uint32_t i)
{
    uint32_t place = 1;
    for (uint32_t k = 0; k < ITEMS; k++)
        place += !seen[k] &&
                 (score[k] > score[i] || (score[k] >= score[i] && k < i));
    return place;
}

Test(mf_recommend, a_list_has_the_highest_scores_of_unseen_items)
{
    const strads_mf_factors m = make_model();
    strads_recommender *r = recommender_of(&m);
    const uint32_t seen[] = {0, 7, 8, 31, ITEMS - 1};
    const uint32_t tops[] = {1, 2, 10, ITEMS - 5, ITEMS, ITEMS + 3};
    bool is_seen[ITEMS] = {0};
    strads_scored list[ITEMS + 3];
    for (size_t k = 0; k < 5; k++)
        is_seen[seen[k]] = true;
    for (uint32_t u = 0; u < USERS; u++) {
        double score[ITEMS];
        for (uint32_t i = 0; i < ITEMS; i++)
            score[i] = score_of(&m, u, i);
        for (size_t t = 0; t < sizeof tops / sizeof *tops; t++) {
            const uint32_t n = strads_recommender_top(r, m.user + u * WIDTH, 5,
                                                      seen, tops[t], list);
            cr_assert_eq(n, tops[t] < ITEMS - 5 ? tops[t] : ITEMS - 5);
            for (uint32_t k = 0; k < n; k++) {
                cr_assert_eq(place_of(score, is_seen, list[k].item), k + 1);
                cr_assert_float_eq((double)list[k].score, score[list[k].item],
                                   1e-5);
            }
        }
    }
    strads_recommender_free(r);
}

/* Many users over more than one panel of items, with ties: the lists are those
 * of a full sort. */
Test(mf_recommend, lists_of_many_users_are_those_of_a_sort)
{
    enum { MANY = 77, WIDE = 2100, SEEN = 30, TOP = 7, HIDDEN = 40 };
    static float user[MANY * WIDTH], item[WIDE * WIDTH];
    static uint64_t start[MANY + 1];
    static uint32_t seen[MANY * SEEN], found[MANY], hidden[HIDDEN];
    static strads_scored out[MANY * (WIDE + 5)];
    for (uint64_t k = 0; k < MANY * WIDTH; k++)
        user[k] = draw(41, k);
    for (uint64_t k = 0; k < WIDE * WIDTH; k++)
        item[k] = draw(42, k);
    for (size_t i = 5; i < WIDE; i += 5)
        memcpy(item + i * WIDTH, item + (i - 1) * WIDTH, sizeof *item * WIDTH);
    for (uint32_t u = 0; u < MANY; u++) {
        uint64_t n = start[u];
        for (uint32_t i = u % 3; i < WIDE && n < start[u] + SEEN; i += 71)
            seen[n++] = i;
        start[u + 1] = n;
    }
    for (uint32_t k = 0; k < HIDDEN; k++)
        hidden[k] = 17 * k + 1;
    const strads_mf_factors m = {.users = MANY,
                                 .items = WIDE,
                                 .rank = RANK,
                                 .mean = 3,
                                 .user = user,
                                 .item = item};
    const strads_top_users users = {.size = sizeof users,
                                    .n = MANY,
                                    .row = user,
                                    .start = start,
                                    .end = start + 1,
                                    .seen = seen};
    strads_recommender *r = recommender_of(&m);
    const uint32_t tops[] = {1, TOP, WIDE + 5};
    for (int round = 0; round < 2; round++) {
        strads_recommender_hide(r, round ? HIDDEN : 0, hidden);
        for (size_t t = 0; t < 3; t++) {
            expect_ok(
                strads_recommender_top_many(r, &users, tops[t], out, found));
            for (uint32_t u = 0; u < MANY; u += 4) {
                bool left_out[WIDE] = {0};
                uint32_t listed = WIDE;
                for (uint64_t e = start[u]; e < start[u + 1]; e++)
                    left_out[seen[e]] = true;
                for (uint32_t k = 0; k < HIDDEN && round; k++)
                    left_out[hidden[k]] = true;
                for (uint32_t i = 0; i < WIDE; i++)
                    listed -= left_out[i];
                const strads_scored *list = out + (size_t)u * tops[t];
                const uint32_t n = found[u];
                cr_assert_eq(n, listed < tops[t] ? listed : tops[t]);
                for (uint32_t k = 0; k < n; k++) {
                    const double score = score_of(&m, u, list[k].item);
                    cr_assert(!left_out[list[k].item]);
                    left_out[list[k].item] = true;
                    cr_assert_float_eq((double)list[k].score, score, 1e-5);
                    cr_assert(k == 0 || list[k - 1].score > list[k].score ||
                              (list[k - 1].score == list[k].score &&
                               list[k - 1].item < list[k].item));
                }
                for (uint32_t i = 0; i < WIDE; i++)
                    cr_assert(left_out[i] ||
                              score_of(&m, u, i) <=
                                  (double)list[n - 1].score + 1e-5);
            }
        }
    }
    cr_expect_eq(strads_recommender_top_many(r, &users, 0, out, found),
                 STRADS_EINVAL);
    strads_recommender_free(r);
}

Test(mf_recommend, of_equal_scores_the_lower_number_comes_first)
{
    strads_mf_factors m = make_model();
    memset(item_row, 0, sizeof item_row);
    strads_recommender *r = recommender_of(&m);
    strads_scored list[4];
    cr_assert_eq(strads_recommender_top(r, m.user, 1, (uint32_t[]){1}, 4, list),
                 4);
    for (uint32_t k = 0; k < 4; k++)
        cr_expect_eq(list[k].item, k ? k + 1 : 0);
    strads_recommender_free(r);
}

/* ---- rankings ---------------------------------------------------------- */

/* One user, one factor: item i has score 10 - i. Item 1 was seen. The test
 * rates items 0, 2, 3 and 5 with 4, 1, 5 and 5, so three are relevant (4 or
 * more). Of the first three recommendations 0, 2, 3, places 1 and 3 are hits.
 * The most popular items are 1 (excluded), then 4 and 5, which others rated,
 * then 0. */
Test(mf_recommend, a_ranking_agrees_with_a_calculation_by_hand)
{
    enum { N = 10 };
    float user[4] = {0, 1, 0, 0}, item[2 * N];
    for (int i = 0; i < N; i++) {
        item[2 * i] = 0;
        item[2 * i + 1] = 10 - (float)i;
    }
    const strads_mf_factors m = {
        .users = 2, .items = N, .rank = 1, .user = user, .item = item};
    const strads_sparse train = {.lines = 3,
                                 .nnz = 4,
                                 .start = (uint64_t[]){0, 1, 3, 4},
                                 .index = (uint32_t[]){1, 4, 5, 4},
                                 .f64 = (double[]){5, 5, 5, 5}};
    const strads_sparse test = {.lines = 1,
                                .nnz = 5,
                                .start = (uint64_t[]){0, 5},
                                .index = (uint32_t[]){0, 1, 2, 3, 5},
                                .f64 = (double[]){4, 5, 1, 5, 5}};
    strads_ranking ours, theirs;
    strads_recommender *r = recommender_of(&m);
    cr_assert_eq(strads_recommender_judge(r, &m, &train, &test, 4, 3, &ours,
                                          &theirs),
                 STRADS_OK);
    const double best = 1 + 1 / log2(3) + 1 / log2(4);
    cr_expect_eq(ours.users, 1);
    cr_expect_float_eq(ours.ndcg, (1 + 1 / log2(4)) / best, 1e-12);
    cr_expect_float_eq(ours.recall, 2. / 3, 1e-12);
    cr_expect_float_eq(ours.map, (1 + 2. / 3) / 3, 1e-12);
    cr_expect_float_eq(ours.mrr, 1, 1e-12);
    /* Of 4, 6, 7, 8 and 9, and 2: all after 0, five after 3, four after 5. */
    cr_expect_float_eq(ours.auc, (6 + 5 + 4) / 18., 1e-12);
    cr_expect_float_eq(ours.coverage, .3, 1e-12);
    cr_expect_float_eq(ours.exposure, 0, 1e-12);
    cr_expect_float_eq(theirs.mrr, 1. / 2, 1e-12);
    cr_expect_float_eq(theirs.map, (1. / 2 + 2. / 3) / 3, 1e-12);
    cr_expect_float_eq(theirs.exposure, (2 + 1 + 0) / 3., 1e-12);
    /* 5 is before all but 4; 0 and 3 are equal to all but 4. */
    cr_expect_float_eq(theirs.auc, (5 + 2.5 + 2.5) / 18, 1e-12);
    /* 4, 5, 0: hits at 2 and 3 */
    cr_expect_float_eq(theirs.ndcg, (1 / log2(3) + 1 / log2(4)) / best, 1e-12);
    cr_expect_float_eq(theirs.recall, 2. / 3, 1e-12);
    /* no user has a relevant item */
    cr_assert_eq(strads_recommender_judge(r, &m, &train, &test, 9, 3, &ours,
                                          &theirs),
                 STRADS_OK);
    cr_expect(ours.users == 0 && isnan(ours.ndcg) && isnan(theirs.recall));
    cr_expect(isnan(ours.auc) && isnan(ours.coverage) && isnan(ours.mrr));
    cr_expect_eq(strads_recommender_judge(r, &m, &train, &test, 4, 0, &ours,
                                          &theirs),
                 STRADS_EINVAL);
    strads_recommender_free(r);
}

/* Random rows of train and test; test rows are twice as long. */
typedef struct pairs {
    uint64_t start[USERS + 1];
    uint32_t index[USERS * ITEMS];
    double value[USERS * ITEMS];
    strads_sparse x;
} pairs;

static void make_pairs(pairs *p, uint64_t what, double share)
{
    uint64_t n = 0;
    for (uint32_t u = 0; u < USERS; u++) {
        for (uint32_t i = 0; i < ITEMS; i++)
            if (strads_random_unit(what, u, i, 0) < share) {
                p->index[n] = i;
                p->value[n++] = strads_random_unit(what, u, i, 1);
            }
        p->start[u + 1] = n;
    }
    p->x = (strads_sparse){.lines = USERS,
                           .nnz = n,
                           .start = p->start,
                           .index = p->index,
                           .f64 = p->value};
}

static void expect_ranking(const pairs *train, const pairs *test,
                           const strads_mf_factors *m, bool popular,
                           uint32_t top, strads_ranking found)
{
    double count[ITEMS] = {0}, users = 0, with_auc = 0;
    strads_ranking sum = {0};
    bool listed[ITEMS] = {0};
    for (uint64_t e = 0; e < train->x.nnz; e++)
        count[train->index[e]]++;
    for (uint32_t u = 0; u < USERS; u++) {
        double score[ITEMS], gain = 0, best = 0, hits = 0, wanted = 0;
        double precisions = 0, reciprocal = 0, compared = 0, ordered = 0;
        double shown = 0, rated = 0;
        bool seen[ITEMS] = {0}, relevant[ITEMS] = {0};
        uint32_t place[ITEMS];
        for (uint32_t i = 0; i < ITEMS; i++)
            score[i] = popular ? count[i] : score_of(m, u, i);
        for (uint64_t e = train->start[u]; e < train->start[u + 1]; e++)
            seen[train->index[e]] = true;
        for (uint32_t i = 0; i < ITEMS; i++)
            place[i] = place_of(score, seen, i);
        for (uint64_t e = test->start[u]; e < test->start[u + 1]; e++) {
            const uint32_t i = test->index[e];
            if (seen[i] || test->value[e] < .5)
                continue;
            relevant[i] = true;
            wanted++;
            best += wanted <= top ? 1 / log2(1 + wanted) : 0;
            gain += place[i] <= top ? 1 / log2(1 + place[i]) : 0;
            hits += place[i] <= top;
        }
        if (wanted == 0)
            continue;
        for (uint32_t i = 0; i < ITEMS; i++) {
            double before = 0;
            for (uint32_t k = 0; k < ITEMS; k++) {
                before += relevant[k] && place[k] <= place[i];
                if (relevant[i] && !relevant[k] && !seen[k]) {
                    compared++;
                    ordered += score[i] > score[k]    ? 1
                               : score[i] >= score[k] ? .5
                                                      : 0;
                }
            }
            if (seen[i] || place[i] > top)
                continue;
            listed[i] = true;
            shown++;
            rated += count[i];
            if (!relevant[i])
                continue;
            precisions += before / place[i];
            reciprocal = fmax(reciprocal, 1. / place[i]);
        }
        users++;
        sum.ndcg += gain / best;
        sum.recall += hits / wanted;
        sum.precision += hits / top;
        sum.map += precisions / fmin(wanted, top);
        sum.mrr += reciprocal;
        sum.exposure += shown > 0 ? rated / shown : 0;
        sum.auc += compared > 0 ? ordered / compared : 0;
        with_auc += compared > 0;
    }
    for (uint32_t i = 0; i < ITEMS; i++)
        sum.coverage += listed[i];
    cr_expect_eq((double)found.users, users);
    if (users == 0)
        return;
    cr_expect_float_eq(found.ndcg, sum.ndcg / users, 1e-9);
    cr_expect_float_eq(found.recall, sum.recall / users, 1e-9);
    cr_expect_float_eq(found.precision, sum.precision / users, 1e-9);
    cr_expect_float_eq(found.map, sum.map / users, 1e-9);
    cr_expect_float_eq(found.mrr, sum.mrr / users, 1e-9);
    cr_expect_float_eq(found.auc, sum.auc / with_auc, 1e-9);
    cr_expect_float_eq(found.coverage, sum.coverage / ITEMS, 1e-9);
    cr_expect_float_eq(found.exposure, sum.exposure / users, 1e-9);
}

/* Of every fourth item the row is that of the item before: scores are tied. */
static void tie_items(void)
{
    for (size_t i = 3; i < ITEMS; i += 4)
        memcpy(item_row + i * WIDTH, item_row + (i - 1) * WIDTH,
               sizeof *item_row * WIDTH);
}

Test(mf_recommend, rankings_agree_over_random_families)
{
    static pairs train, test;
    const strads_mf_factors m = make_model();
    tie_items();
    strads_recommender *r = recommender_of(&m);
    for (uint64_t k = 0; k < 20; k++) {
        make_pairs(&train, 31 + k, strads_random_unit(30, k, 0, 0));
        make_pairs(&test, 61 + k, strads_random_unit(30, k, 1, 0) * .2);
        const uint32_t top = 1 + (uint32_t)(k * 7 % (ITEMS + 9));
        strads_ranking ours, theirs;
        cr_assert_eq(strads_recommender_judge(r, &m, &train.x, &test.x, .5, top,
                                              &ours, &theirs),
                     STRADS_OK);
        expect_ranking(&train, &test, &m, false, top, ours);
        expect_ranking(&train, &test, &m, true, top, theirs);
    }
    strads_recommender_free(r);
}

Test(mf_recommend, rankings_agree_with_counting_pairs)
{
    static pairs train, test;
    const strads_mf_factors m = make_model();
    strads_recommender *r = recommender_of(&m);
    make_pairs(&train, 21, .2);
    make_pairs(&test, 22, .15);
    for (uint32_t top = 1; top <= 20; top += 9) {
        strads_ranking ours, theirs;
        cr_assert_eq(strads_recommender_judge(r, &m, &train.x, &test.x, .5, top,
                                              &ours, &theirs),
                     STRADS_OK);
        expect_ranking(&train, &test, &m, false, top, ours);
        expect_ranking(&train, &test, &m, true, top, theirs);
    }
    strads_recommender_free(r);
}

Test(mf_recommend, a_model_without_items_or_rank_is_refused)
{
    strads_mf_factors m = make_model();
    strads_recommender *r = NULL;
    m.rank = 1025;
    cr_expect_eq(strads_recommender_new(&m, &r), STRADS_EINVAL);
    m.rank = RANK;
    m.items = 0;
    cr_expect_eq(strads_recommender_new(&m, &r), STRADS_EINVAL);
    cr_expect_null(r);
    strads_recommender_free(NULL);
}
