/* Joined topics, compared with brute force on dense tables: the closest two
 * topics become one until no pair is close enough. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/lda.h"
#include "tests/expect.h"

enum { TOPICS_MAX = 12, WORDS_MAX = 300 };

typedef struct dense {
    uint32_t topics, words;
    double beta;
    double count[TOPICS_MAX][WORDS_MAX], alpha[TOPICS_MAX];
    uint32_t into[TOPICS_MAX]; /* group of each topic */
    bool gone[TOPICS_MAX];
} dense;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

static double cosine(const dense *d, uint32_t k, uint32_t l)
{
    double kl = 0, kk = 0, ll = 0;
    for (uint32_t w = 0; w < d->words; w++) {
        const double a = d->count[k][w] + d->beta;
        const double b = d->count[l][w] + d->beta;
        kl += a * b;
        kk += a * a;
        ll += b * b;
    }
    return kl / sqrt(kk * ll);
}

static uint32_t merge_dense(dense *d, double least)
{
    uint32_t left = d->topics;
    for (uint32_t k = 0; k < d->topics; k++)
        d->into[k] = k;
    while (left > 2) {
        double best = -1;
        uint32_t a = 0, b = 0;
        for (uint32_t k = 0; k < d->topics; k++)
            for (uint32_t l = k + 1; l < d->topics; l++)
                if (!d->gone[k] && !d->gone[l] && cosine(d, k, l) > best) {
                    best = cosine(d, k, l);
                    a = k;
                    b = l;
                }
        if (best < least)
            break;
        for (uint32_t w = 0; w < d->words; w++)
            d->count[a][w] += d->count[b][w];
        d->alpha[a] += d->alpha[b];
        d->gone[b] = true;
        for (uint32_t k = 0; k < d->topics; k++)
            if (d->into[k] == b)
                d->into[k] = a;
        left--;
    }
    return left;
}

static strads_lda_model *compress(const dense *d, uint32_t samples)
{
    strads_lda_model *m = calloc(1, sizeof *m);
    uint64_t n = 0;
    *m = (strads_lda_model){.topics = d->topics,
                            .words = d->words,
                            .samples = samples,
                            .beta = d->beta / samples,
                            .alpha = calloc(d->topics, sizeof(double)),
                            .total = calloc(d->topics, sizeof(uint64_t)),
                            .start = calloc(d->words + 1, sizeof(uint64_t)),
                            .topic = calloc(d->words * (size_t)d->topics,
                                            sizeof(uint32_t)),
                            .count = calloc(d->words * (size_t)d->topics,
                                            sizeof(uint32_t))};
    memcpy(m->alpha, d->alpha, d->topics * sizeof(double));
    for (uint32_t w = 0; w < d->words; w++) {
        for (uint32_t k = 0; k < d->topics; k++)
            if (d->count[k][w] > 0) {
                m->topic[n] = k;
                m->count[n++] = (uint32_t)d->count[k][w];
                m->total[k] += (uint64_t)d->count[k][w];
            }
        m->start[w + 1] = n;
    }
    return m;
}

static void fill(dense *d, uint64_t seed)
{
    uint64_t state = seed;
    d->topics = 4 + draw(&state, TOPICS_MAX - 3);
    d->words = 20 + draw(&state, WORDS_MAX - 19);
    d->beta = 0.01 + 0.1 * draw(&state, 5);
    for (uint32_t k = 0; k < d->topics; k++) {
        d->alpha[k] = 0.1 + 0.01 * k;
        /* Some topics repeat an earlier one, with other counts. */
        const bool same = k > 0 && draw(&state, 2);
        const uint32_t like = k > 0 ? draw(&state, k) : 0;
        for (uint32_t w = 0; w < d->words; w++)
            d->count[k][w] =
                same ? floor(d->count[like][w] / 2) + draw(&state, 2)
                : draw(&state, 4) ? 0
                                  : 1 + draw(&state, 40);
    }
}

static void compare(const dense *d, const strads_lda_model *m,
                    const uint32_t *into)
{
    uint32_t number[TOPICS_MAX] = {0}, next = 0;
    for (uint32_t k = 0; k < d->topics; k++)
        number[k] = d->into[k] == k ? next++ : number[d->into[k]];
    cr_assert_eq(m->topics, next);
    for (uint32_t k = 0; k < d->topics; k++) {
        cr_assert_eq(into[k], number[k]);
        if (!d->gone[k])
            cr_assert_float_eq(m->alpha[number[k]], d->alpha[k], 1e-12);
    }
    uint64_t total[TOPICS_MAX] = {0};
    for (uint32_t w = 0; w < d->words; w++) {
        uint64_t i = m->start[w];
        for (uint32_t k = 0; k < d->topics; k++) {
            if (d->gone[k] || d->count[k][w] < 1)
                continue;
            cr_assert(i < m->start[w + 1]);
            cr_assert_eq(m->topic[i], number[k]);
            cr_assert_eq(m->count[i], (uint32_t)d->count[k][w]);
            total[number[k]] += m->count[i++];
        }
        cr_assert_eq(i, m->start[w + 1]);
    }
    for (uint32_t k = 0; k < next; k++)
        cr_assert_eq(m->total[k], total[k]);
}

Test(lda_merge, joins_the_closest_topics_as_brute_force_does)
{
    uint32_t joined = 0, kept = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        dense d = {0};
        uint32_t into[TOPICS_MAX];
        strads_lda_model *out;
        fill(&d, seed);
        strads_lda_model *m = compress(&d, 1 + (uint32_t)(seed % 3));
        const double least = seed % 2 ? 0.9 : 0.6;
        expect_ok(strads_lda_merge(m, least, into, &out));
        const uint32_t left = merge_dense(&d, least);
        joined += left < d.topics;
        kept += left == d.topics;
        compare(&d, out, into);
        strads_lda_model_free(out);
        strads_lda_model_free(m);
    }
    cr_assert(joined > 10);
    cr_assert(kept > 0);
}

Test(lda_merge, leaves_two_topics_and_the_names)
{
    dense d = {.topics = 3, .words = 20, .beta = 0.1};
    uint32_t into[TOPICS_MAX];
    strads_lda_model *out;
    for (uint32_t w = 0; w < d.words; w++)
        d.count[0][w] = d.count[1][w] = d.count[2][w] = w;
    strads_lda_model *m = compress(&d, 1);
    m->topic_name = calloc(3, sizeof *m->topic_name);
    m->topic_name[1] = strdup("second");
    expect_ok(strads_lda_merge(m, 1, into, &out));
    cr_assert_eq(out->topics, 2);
    cr_assert_str_eq(out->topic_name[into[1]], "second");
    strads_lda_model_free(out);
    strads_lda_model_free(m);
}

Test(lda_merge, refuses_what_it_cannot_join)
{
    dense d = {.topics = 3, .words = 20, .beta = 0.1};
    uint32_t into[TOPICS_MAX];
    strads_lda_model *out = NULL;
    d.count[0][1] = d.count[1][1] = 4e9;
    strads_lda_model *m = compress(&d, 1);
    cr_assert_eq(strads_lda_merge(m, 0, into, &out), STRADS_EINVAL);
    cr_assert_eq(strads_lda_merge(m, 1.1, into, &out), STRADS_EINVAL);
    cr_assert_eq(strads_lda_merge(m, NAN, into, &out), STRADS_EINVAL);
    cr_assert_eq(strads_lda_merge(m, 0.5, into, &out), STRADS_ELIMIT);
    m->network = true;
    cr_assert_eq(strads_lda_merge(m, 0.5, into, &out), STRADS_EINVAL);
    m->network = false;
    m->classes = 2;
    cr_assert_eq(strads_lda_merge(m, 0.5, into, &out), STRADS_EINVAL);
    m->classes = 0;
    cr_assert_null(out);
    strads_lda_model_free(m);
}
