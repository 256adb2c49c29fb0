/* Chains on a corpus so small that all assignments can be enumerated. They
 * must converge to the posterior. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/lda_chain.h"

enum {
    MANY = 130
}; /* with so many topics, the counts of documents are
                      * lists */

static const uint32_t both[] = {0, 1};
static const double alpha_of_two[] = {0.6, 0.6};

static strads_lda_options short_run(uint32_t topics)
{
    return (strads_lda_options){.topics = topics,
                                .alpha = 0.6,
                                .beta = 0.4,
                                .sweeps = 8,
                                .evaluate = 8};
}

Test(lda_posterior, chains_of_few_topics_agree_with_it)
{
    const strads_lda_options config = short_run(2);
    const lda_space space = {.n_topics = 2,
                             .all = 2,
                             .words = LDA_TINY_WORDS,
                             .topics = both,
                             .alpha = alpha_of_two,
                             .beta = 0.4};
    lda_check_posterior(&space, &config, 1, 600);
}

/* Totals are one sweep old in other partitions. With many unused words the
 * totals hardly matter, and all other counts are exact. */
Test(lda_posterior, chains_over_two_partitions_agree_with_it)
{
    const strads_lda_options config = short_run(2);
    const lda_space space = {.n_topics = 2,
                             .all = 2,
                             .words = 500,
                             .topics = both,
                             .alpha = alpha_of_two,
                             .beta = 0.4};
    lda_check_posterior(&space, &config, 2, 600);
}

/* Old tokens of two more documents: (document, word, topic). With many
 * topics, some topics are beyond 16 and 256, to test their positions in the
 * sums. */
static const lda_token old_of_two[] = {{2, 0, 0}, {2, 0, 0}, {2, 1, 1},
                                       {2, 2, 1}, {3, 2, 1}, {3, 2, 1},
                                       {3, 0, 0}, {3, 1, 0}};
static const uint32_t three[] = {0, 77, MANY - 1};
static const lda_token old_of_many[] = {{2, 0, 77},  {2, 0, 77},  {2, 1, 0},
                                        {2, 2, 129}, {3, 2, 129}, {3, 0, 0}};

/* A model of those tokens; topics outside `live` have the smallest prior
 * that a file allows. */
static void make_model(const lda_token *token, size_t n, uint32_t topics,
                       const uint32_t *live, uint32_t n_live,
                       char path[LDA_PATH_SIZE], double *alpha)
{
    enum { WORDS = LDA_TINY_WORDS };
    strads_lda_model m = {.topics = topics,
                          .words = WORDS,
                          .documents = 2,
                          .tokens = n,
                          .beta = 0.4,
                          .alpha = alpha};
    m.total = calloc(topics, sizeof *m.total);
    m.start = calloc(WORDS + 1, sizeof *m.start);
    m.topic = calloc(n, sizeof *m.topic);
    m.count = calloc(n, sizeof *m.count);
    for (uint32_t k = 0; k < topics; k++)
        alpha[k] = 1e-9;
    for (uint32_t i = 0; i < n_live; i++)
        alpha[live[i]] = 0.15 + 0.1 * i;
    uint64_t pairs = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        for (uint32_t k = 0; k < topics; k++) {
            uint32_t count = 0;
            for (size_t i = 0; i < n; i++)
                count += token[i].word == w && token[i].topic == k;
            if (count == 0)
                continue;
            m.topic[pairs] = k;
            m.count[pairs++] = count;
            m.total[k] += count;
        }
        m.start[w + 1] = pairs;
    }
    lda_keep_model(&m, path);
    free(m.total);
    free(m.start);
    free(m.topic);
    free(m.count);
}

Test(lda_posterior, chains_that_continue_a_model_agree_with_it)
{
    char path[LDA_PATH_SIZE];
    double alpha[2];
    strads_lda_options config = short_run(2);
    const lda_space space = {.n_topics = 2,
                             .all = 2,
                             .words = LDA_TINY_WORDS,
                             .topics = both,
                             .alpha = alpha,
                             .beta = 0.4,
                             .old = old_of_two,
                             .n_old = 8,
                             .old_documents = 2};
    make_model(old_of_two, 8, 2, both, 2, path, alpha);
    config.from = path;
    lda_check_posterior(&space, &config, 1, 600);
    lda_forget_model(path);
}

/* Only three of 130 topics have a prior that is not negligible, so 3^6
 * assignments cover all that happen. */
Test(lda_posterior, chains_of_many_topics_agree_with_it)
{
    char path[LDA_PATH_SIZE];
    double alpha[MANY];
    strads_lda_options config = short_run(MANY);
    const lda_space space = {.n_topics = 3,
                             .all = MANY,
                             .words = LDA_TINY_WORDS,
                             .topics = three,
                             .alpha = alpha,
                             .beta = 0.4,
                             .old = old_of_many,
                             .n_old = 6,
                             .old_documents = 2};
    make_model(old_of_many, 6, MANY, three, 3, path, alpha);
    config.from = path;
    lda_check_posterior(&space, &config, 1, 1000);
    lda_forget_model(path);
}
