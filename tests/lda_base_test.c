/* Training from an existing model: counts add up, the likelihood is that of
 * the new documents given the old ones, topics keep their meaning. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/lda_chain.h"

enum { DOCUMENTS = 40, OLD_WORDS = 60, NEW_WORDS = 90 };

static strads_lda_options small(uint32_t topics)
{
    return (strads_lda_options){.topics = topics,
                                .alpha = 0.3,
                                .beta = 0.05,
                                .sweeps = 6,
                                .evaluate = 3};
}

static void check_counts(const lda_fit *old, const lda_fit *new)
{
    const strads_lda_model *m = new->model;
    uint32_t *count = calloc((size_t)NEW_WORDS * m->topics, sizeof *count);
    for (size_t i = 0; i < old->n; i++)
        count[(size_t)old->token[i].word * m->topics + old->token[i].topic]++;
    for (size_t i = 0; i < new->n; i++)
        count[(size_t) new->token[i].word * m->topics + new->token[i].topic]++;
    cr_assert_eq(m->tokens, old->n + new->n);
    cr_assert_eq(m->documents, 2 * DOCUMENTS);
    cr_assert_eq(m->words, NEW_WORDS);
    for (uint32_t w = 0; w < NEW_WORDS; w++) {
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            uint32_t *c = &count[(size_t)w * m->topics + m->topic[i]];
            cr_assert_eq(*c, m->count[i]);
            *c = 0;
        }
    }
    for (size_t i = 0; i < (size_t)NEW_WORDS * m->topics; i++)
        cr_assert_eq(count[i], 0);
    free(count);
}

/* log p(all) - log p(old), computed by the oracle. */
static double given_old(const lda_fit *old, const lda_fit *new)
{
    const size_t n = old->n + new->n;
    const strads_lda_model *m = new->model;
    lda_token *all = calloc(n, sizeof *all);
    memcpy(all, old->token, old->n * sizeof *all);
    memcpy(all + old->n, new->token, new->n * sizeof *all);
    for (size_t i = old->n; i < n; i++)
        all[i].document += DOCUMENTS;
    double both = lda_oracle(all, n, 2 * DOCUMENTS, NEW_WORDS, m->topics,
                             m->alpha, m->beta);
    double one = lda_oracle(all, old->n, DOCUMENTS, NEW_WORDS, m->topics,
                            m->alpha, m->beta);
    free(all);
    return both - one;
}

static void check_one(uint32_t topics, uint32_t partitions, bool learns)
{
    char path[LDA_PATH_SIZE];
    strads_lda_options config = small(topics);
    strads_data *first = lda_corpus(DOCUMENTS, OLD_WORDS, partitions);
    strads_data *more = lda_corpus(DOCUMENTS, NEW_WORDS, partitions);
    lda_fit old = lda_fit_run(&config, first, 1, 3);
    lda_keep_model(old.model, path);
    config.from = path;
    config.alpha = 7; /* ignored: the model's alpha is used */
    config.beta = 5;
    config.fit_alpha = learns ? "asymmetric" : "no";
    config.fit_beta = learns;
    config.burn_in = 1;
    lda_fit new = lda_fit_run(&config, more, 2, 4);
    cr_assert_eq(new.model->beta == 0.05, !learns);
    cr_assert_eq(new.model->alpha[0] == 0.3, !learns);
    cr_assert_lt(new.model->beta, 1);
    check_counts(&old, &new);
    const double want = given_old(&old, &new);
    cr_assert_lt(fabs(new.log_likelihood - want), 1e-9 * fabs(want),
                 "%u topics: %.17g, not %.17g", topics, new.log_likelihood,
                 want);
    lda_fit_free(&old);
    lda_fit_free(&new);
    strads_data_free(first);
    strads_data_free(more);
    lda_forget_model(path);
}

Test(lda_base, counts_add_up_and_the_likelihood_is_given_the_old_ones)
{
    const uint32_t topics[] = {2, 16, 128, 129, 300};
    for (size_t t = 0; t < sizeof topics / sizeof *topics; t++) {
        check_one(topics[t], 1, false);
        check_one(topics[t], 3, false);
    }
    check_one(20, 2, true);
}

static void check_refused(uint32_t topics, uint32_t words, const char *sentence)
{
    char path[LDA_PATH_SIZE];
    strads_result *result = NULL;
    strads_lda_options config = small(4);
    strads_data *first = lda_corpus(DOCUMENTS, OLD_WORDS, 1);
    strads_data *more = lda_corpus(DOCUMENTS, words, 1);
    lda_fit old = lda_fit_run(&config, first, 1, 3);
    lda_keep_model(old.model, path);
    config.from = path;
    config.topics = topics;
    strads_engine_options options = {.size = sizeof options, .partitions = 1};
    strads_err err =
        strads_run(&strads_program_lda, &config, more, &options, &result);
    cr_assert_eq(err, STRADS_EMISMATCH, "%s", strads_error_text());
    expect_says(sentence);
    lda_fit_free(&old);
    strads_data_free(first);
    strads_data_free(more);
    lda_forget_model(path);
}

Test(lda_base, a_model_of_other_sizes_is_refused)
{
    check_refused(5, OLD_WORDS, "the model has 4 topics, this run 5");
    check_refused(4, OLD_WORDS - 1, "the model has 60 words, the data 59");
}
