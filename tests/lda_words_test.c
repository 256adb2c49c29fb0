/* FREX and exclusivity of topics' words, compared with their definitions on
 * dense tables of random models. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "strads/lda.h"
#include "tests/expect.h"

typedef struct table {
    uint32_t topics, words;
    uint32_t *count; /* [words x topics] */
    strads_lda_model model;
} table;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

/* Small counts, so that words tie. */
static table make_table(uint64_t seed, uint32_t topics, uint32_t words)
{
    uint64_t state = seed, n = 0;
    table t = {topics,
               words,
               calloc((size_t)words * topics, sizeof(uint32_t)),
               {.topics = topics,
                .words = words,
                .beta = 0.01 + 0.1 * (double)draw(&state, 5),
                .samples = draw(&state, 4)}};
    strads_lda_model *m = &t.model;
    m->total = calloc(topics, sizeof *m->total);
    m->start = calloc(words + 1, sizeof *m->start);
    m->topic = calloc((size_t)words * topics, sizeof *m->topic);
    m->count = calloc((size_t)words * topics, sizeof *m->count);
    const uint32_t largest = 1 + draw(&state, 12);
    for (uint32_t w = 0; w < words; w++) {
        for (uint32_t k = 0; k < topics; k++) {
            const uint32_t c = draw(&state, 3) ? 0 : draw(&state, largest + 1);
            t.count[w * topics + k] = c;
            if (c > 0) {
                m->topic[n] = k;
                m->count[n++] = c;
                m->total[k] += c;
            }
        }
        m->start[w + 1] = n;
    }
    return t;
}

static void free_table(table *t)
{
    free(t->count);
    free(t->model.total);
    free(t->model.start);
    free(t->model.topic);
    free(t->model.count);
}

static double phi(const table *t, uint32_t w, uint32_t k)
{
    const double beta =
        t->model.beta * (t->model.samples ? t->model.samples : 1);
    double all = 0;
    for (uint32_t v = 0; v < t->words; v++)
        all += t->count[v * t->topics + k] + beta;
    return (t->count[w * t->topics + k] + beta) / all;
}

static double only(const table *t, uint32_t w, uint32_t k)
{
    double sum = 0;
    for (uint32_t j = 0; j < t->topics; j++)
        sum += phi(t, w, j);
    return phi(t, w, k) / sum;
}

/* The share of the topic's words with at most the value of w. */
static double rank_of(const table *t, uint32_t w, uint32_t k,
                      double (*value)(const table *t, uint32_t w, uint32_t k))
{
    const double mine = value(t, w, k) * (1 + 1e-12);
    double has = 0, below = 0;
    for (uint32_t v = 0; v < t->words; v++) {
        if (t->count[v * t->topics + k] > 0) {
            has++;
            below += value(t, v, k) <= mine;
        }
    }
    return below / has;
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void check_topic(const table *t, uint32_t k, double weight, uint32_t n,
                        const uint32_t *word, const double *score)
{
    double *all = calloc(t->words, sizeof *all);
    uint32_t has = 0;
    for (uint32_t w = 0; w < t->words; w++) {
        if (t->count[w * t->topics + k] > 0) {
            all[has++] = 1 / (weight / rank_of(t, w, k, only) +
                              (1 - weight) / rank_of(t, w, k, phi));
        }
    }
    qsort(all, has, sizeof *all, falling);
    for (uint32_t i = 0; i < n; i++) {
        if (i >= has) {
            cr_assert_eq(word[i], STRADS_LDA_NO_WORD);
            continue;
        }
        cr_assert_float_eq(score[i], all[i], 1e-9);
        const double own = 1 / (weight / rank_of(t, word[i], k, only) +
                                (1 - weight) / rank_of(t, word[i], k, phi));
        cr_assert_float_eq(score[i], own, 1e-9);
    }
    free(all);
}

Test(lda_words, frex_is_the_weighted_harmonic_mean_of_two_ranks)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t state = seed;
        const uint32_t topics = 2 + draw(&state, 6);
        const uint32_t n = 1 + draw(&state, 12);
        table t = make_table(seed, topics, 4 + draw(&state, 50));
        const double weight = draw(&state, 5) / 4.0;
        uint32_t *word = calloc((size_t)topics * n, sizeof *word);
        double *score = calloc((size_t)topics * n, sizeof *score);
        expect_ok(strads_lda_frex(&t.model, weight, n, word, score));
        for (uint32_t k = 0; k < topics; k++)
            check_topic(&t, k, weight, n, word + k * n, score + k * n);
        free(word);
        free(score);
        free_table(&t);
    }
}

Test(lda_words, exclusivity_is_the_share_of_a_topic_in_a_word)
{
    enum { N = 6 };
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const uint32_t topics = 2 + (uint32_t)seed % 5;
        table t = make_table(seed, topics, 8);
        uint32_t word[6 * N];
        double x[6 * N];
        expect_ok(strads_lda_top_words(&t.model, 1, N, word, x));
        expect_ok(strads_lda_exclusivity(&t.model, N, word, x));
        for (uint32_t i = 0; i < topics * N; i++)
            if (word[i] == STRADS_LDA_NO_WORD)
                cr_assert(isnan(x[i]));
            else
                cr_assert_float_eq(x[i], only(&t, word[i], i / N), 1e-9);
        free_table(&t);
    }
}

Test(lda_words, refuses_weights_and_words_that_do_not_exist)
{
    table t = make_table(1, 3, 8);
    uint32_t word[3] = {8, 8, 8};
    double score[3];
    expect_error(strads_lda_frex(&t.model, 1.5, 1, word, score), STRADS_EINVAL,
                 "from 0 to 1");
    expect_error(strads_lda_frex(&t.model, 0.5, 0, word, score), STRADS_EINVAL,
                 "1 or more words");
    word[0] = 8;
    expect_error(strads_lda_exclusivity(&t.model, 1, word, score),
                 STRADS_EINVAL, "word 8 is not in the model");
    free_table(&t);
}
