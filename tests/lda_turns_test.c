/* Interleaved words (used from 1,024 tokens per topic on), against a
 * textbook sampler in this file: the final likelihoods of both have the same
 * distribution. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/lda_chain.h"

enum {
    DOCUMENTS = 300,
    WORDS = 16,
    TOPICS = 2,
    SWEEPS = 60,
    RUNS = 300,
    FIRST_SEED = 1000 /* of the runs; the textbook sampler uses 1 */
};
static const double alpha[TOPICS] = {0.6, 0.6};
static const double beta = 0.4;

/* Statistics of the final likelihoods of independent chains. */
typedef struct ends {
    double mean, variance;
} ends;

static ends sum_up(const double *value)
{
    ends e = {0};
    for (int i = 0; i < RUNS; i++)
        e.mean += value[i] / RUNS;
    for (int i = 0; i < RUNS; i++)
        e.variance += (value[i] - e.mean) * (value[i] - e.mean) / (RUNS - 1);
    return e;
}

/* ---- the textbook (Griffiths and Steyvers, 2004) ------------------------- */

typedef struct counts {
    double document[DOCUMENTS][TOPICS], word[WORDS][TOPICS], topic[TOPICS];
} counts;

static void count(counts *c, const lda_token *t, double by)
{
    c->document[t->document][t->topic] += by;
    c->word[t->word][t->topic] += by;
    c->topic[t->topic] += by;
}

static double weight(const counts *c, const lda_token *t, uint32_t k)
{
    return (c->document[t->document][k] + alpha[k]) *
           (c->word[t->word][k] + beta) / (c->topic[k] + WORDS * beta);
}

static int by_word(const void *a, const void *b)
{
    const lda_token *x = a, *y = b;
    return x->word != y->word
               ? (x->word > y->word) - (x->word < y->word)
               : (x->document > y->document) - (x->document < y->document);
}

/* Leaves the tokens in the final state of a separate chain. It goes word by
 * word and starts without topics: the first sweep sees only the tokens that it
 * has drawn. */
static void sample(lda_token *token, size_t n, uint64_t chain)
{
    counts c = {0};
    qsort(token, n, sizeof *token, by_word);
    for (uint64_t sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t i = 0; i < n; i++) {
            if (sweep > 0)
                count(&c, &token[i], -1);
            const double first = weight(&c, &token[i], 0);
            const double all = first + weight(&c, &token[i], 1);
            token[i].topic =
                strads_random_unit(1, chain, sweep, i) * all >= first;
            count(&c, &token[i], 1);
        }
    }
}

/* ---- both ---------------------------------------------------------------- */

static double likelihood(const lda_token *token, size_t n)
{
    return lda_oracle(token, n, DOCUMENTS, WORDS, TOPICS, alpha, beta);
}

Test(lda_turns, chains_end_at_the_likelihoods_of_a_textbooks_chains)
{
    const strads_lda_options config = {.topics = TOPICS,
                                       .alpha = alpha[0],
                                       .beta = beta,
                                       .sweeps = SWEEPS,
                                       .evaluate = SWEEPS};
    static double by_turns[RUNS], textbook[RUNS];
    strads_data *data = lda_corpus(DOCUMENTS, WORDS, 1);
    cr_assert_not_null(data, "%s", strads_error_text());
    for (int r = 0; r < RUNS; r++) {
        lda_fit f = lda_fit_run(&config, data, 1, FIRST_SEED + (uint64_t)r);
        cr_assert_geq(f.n, 1024 * TOPICS);
        by_turns[r] = likelihood(f.token, f.n);
        sample(f.token, f.n, (uint64_t)r);
        textbook[r] = likelihood(f.token, f.n);
        lda_fit_free(&f);
    }
    strads_data_free(data);
    const ends a = sum_up(by_turns), b = sum_up(textbook);
    const double off =
        fabs(a.mean - b.mean) / sqrt((a.variance + b.variance) / RUNS);
    cr_log_info("means %g and %g, %g standard errors; variances %g and %g",
                a.mean, b.mean, off, a.variance, b.variance);
    cr_assert_lt(off, 4.5, "means are %g standard errors apart", off);
    /* The logarithm of a ratio of variances has a standard error of 2 /
     * sqrt(RUNS). */
    cr_assert_lt(fabs(log(a.variance / b.variance)), 4.5 * 2 / sqrt(RUNS),
                 "variances are %g and %g", a.variance, b.variance);
}
