/* Coherence in windows, compared with the definitions of Roeder, Both and
 * Hinneburg (2015) on windows that are listed one by one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "strads/lda.h"
#include "tests/expect.h"

enum { WORDS = 40, DOCUMENTS = 12, LONGEST_TEXT = 300, TOPICS = 3, N = 5 };

typedef struct text {
    uint64_t size[DOCUMENTS];
    uint32_t word[DOCUMENTS][LONGEST_TEXT];
    uint32_t list[TOPICS * N];
} text;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

/* Documents of every length; frequent and absent words; lists that share words
 * and end early. */
static void make_text(text *t, uint64_t seed)
{
    uint64_t state = seed;
    const uint32_t used = 3 + draw(&state, WORDS - 3);
    const uint32_t longest[] = {8, 12, 115, LONGEST_TEXT};
    const uint32_t most = longest[seed % 4];
    for (int d = 0; d < DOCUMENTS; d++) {
        t->size[d] = draw(&state, most + 1);
        for (uint64_t i = 0; i < t->size[d]; i++) {
            const uint32_t w = draw(&state, used);
            t->word[d][i] = draw(&state, 4) ? w : UINT32_MAX;
        }
    }
    for (uint32_t k = 0; k < TOPICS; k++) {
        for (uint32_t i = 0; i < N; i++)
            t->list[k * N + i] = (7 * k + 5 * i + (uint32_t)seed) % WORDS;
        if (draw(&state, 3) == 0)
            t->list[k * N + N - 1] = STRADS_LDA_NO_WORD;
    }
}

/* The share of windows of s words that have all of the words a and b. */
static double share_of(const text *t, uint64_t s, uint32_t a, uint32_t b)
{
    double all = 0, both = 0;
    for (int d = 0; d < DOCUMENTS; d++) {
        for (uint64_t from = 0;
             t->size[d] > 0 && (from == 0 || from + s <= t->size[d]); from++) {
            bool has_a = false, has_b = false;
            for (uint64_t i = from; i < from + s && i < t->size[d]; i++) {
                has_a = has_a || t->word[d][i] == a;
                has_b = has_b || t->word[d][i] == b;
            }
            all++;
            both += has_a && has_b;
        }
    }
    return all > 0 ? both / all : 0;
}

static double npmi(const text *t, uint64_t s, uint32_t a, uint32_t b)
{
    const double p = share_of(t, s, a, b);
    if (p == 1)
        return a == b;
    return log((p + 1e-12) / (share_of(t, s, a, a) * share_of(t, s, b, b))) /
           -log(p + 1e-12);
}

static uint32_t present(const text *t, uint64_t s, const uint32_t *list,
                        uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        if (list[i] != STRADS_LDA_NO_WORD &&
            share_of(t, s, list[i], list[i]) > 0)
            out[n++] = list[i];
    return n;
}

static double plain_npmi(const text *t, const uint32_t *list)
{
    uint32_t w[N];
    const uint32_t n = present(t, 10, list, w);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            sum += npmi(t, 10, w[i], w[j]);
    return n > 1 ? sum / (n * (n - 1) / 2) : NAN;
}

static double plain_cv(const text *t, const uint32_t *list)
{
    uint32_t w[N];
    const uint32_t n = present(t, 110, list, w);
    double total[N] = {0}, sum = 0;
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < n; i++)
            total[j] += npmi(t, 110, w[i], w[j]);
    for (uint32_t i = 0; i < n; i++) {
        double dot = 0, own = 0, of = 0;
        for (uint32_t j = 0; j < n; j++) {
            const double x = npmi(t, 110, w[i], w[j]);
            dot += x * total[j];
            own += x * x;
            of += total[j] * total[j];
        }
        sum += own * of > 0 ? dot / sqrt(own * of) : 0;
    }
    return n > 1 ? sum / n : NAN;
}

static void same_number(double found, double wanted, uint64_t seed)
{
    if (isnan(wanted))
        cr_assert(isnan(found), "seed %lu: %g", (unsigned long)seed, found);
    else
        cr_assert_float_eq(found, wanted, 1e-8, "seed %lu: %.12g, not %.12g",
                           (unsigned long)seed, found, wanted);
}

Test(lda_windows, both_measures_are_those_of_windows_listed_one_by_one)
{
    static text t;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        strads_lda_windows *w = NULL;
        double found[TOPICS], cv[TOPICS];
        make_text(&t, seed);
        expect_ok(strads_lda_windows_new(TOPICS, N, t.list, WORDS, &w));
        for (int d = 0; d < DOCUMENTS; d++)
            expect_ok(strads_lda_windows_add(w, t.word[d], t.size[d]));
        expect_ok(strads_lda_windows_coherence(w, found, cv));
        for (uint32_t k = 0; k < TOPICS; k++) {
            same_number(found[k], plain_npmi(&t, t.list + k * N), seed);
            same_number(cv[k], plain_cv(&t, t.list + k * N), seed);
        }
        strads_lda_windows_free(w);
    }
}

Test(lda_windows, refuses_words_that_the_model_lacks)
{
    strads_lda_windows *w = NULL;
    const uint32_t word[] = {0, 5};
    expect_error(strads_lda_windows_new(1, 2, word, 5, &w), STRADS_EINVAL,
                 "word 5 is not one of 5");
    expect_error(strads_lda_windows_new(1, 1, word, 9, &w), STRADS_EINVAL,
                 "2 words or more");
}
