/* tests/lda_chain.h - many runs of the topic model on tiny corpora; compares
 * their final states with the posterior by enumeration. */
#ifndef TESTS_LDA_CHAIN_H
#define TESTS_LDA_CHAIN_H

#include "tests/lda_corpus.h"

/* Two documents of six tokens in three words, the first of `words`; topics
 * are 0. lda_tiny_data returns this corpus as data; NULL: no memory. */
enum { LDA_TINY_TOKENS = 6, LDA_TINY_DOCUMENTS = 2, LDA_TINY_WORDS = 3 };
extern const lda_token lda_tiny[LDA_TINY_TOKENS];
strads_data *lda_tiny_data(uint32_t words, uint32_t partitions);

/* The results of a run. */
typedef struct lda_fit {
    lda_token *token;
    size_t n;
    double log_likelihood;
    strads_lda_model *model;
} lda_fit;
/* Trains by strads_run, or in a simulation with one node per worker; ends
 * the test if that fails. */
typedef enum lda_place { LDA_HERE, LDA_SIMULATED } lda_place;
lda_fit lda_fit_at(lda_place place, const strads_lda_options *config,
                   const strads_data *data, uint32_t workers, uint64_t seed);
lda_fit lda_fit_run(const strads_lda_options *config, const strads_data *data,
                    uint32_t workers, uint64_t seed);
void lda_fit_free(lda_fit *fit);

/* Writes a model to a new file and returns its name in `path`. */
enum { LDA_PATH_SIZE = 64 };
void lda_keep_model(const strads_lda_model *model, char path[LDA_PATH_SIZE]);
void lda_forget_model(const char *path);

/* All assignments of topics[0 .. n_topics - 1] to the tokens of the tiny
 * corpus. p[n_topics^6], which sums to 1, are their probabilities given the
 * n_old tokens of other documents, in a model of `all` topics. Tokens in old[]
 * are of documents from 2 on. */
typedef struct lda_space {
    uint32_t n_topics, all, words;
    const uint32_t *topics;
    const double *alpha; /* [all] */
    double beta;
    const lda_token *old;
    size_t n_old;
    uint32_t old_documents;
    const double *factor; /* of each state, or NULL: all 1 */
} lda_space;
void lda_enumerate(const lda_space *space, double *p);
/* The number of the state with these topics; UINT32_MAX if it was not
 * enumerated. */
uint32_t lda_state_of(const lda_space *space, const lda_token *token);

/* Pearson's statistic of the final states of this many independent runs
 * against p. States with fewer than 5 expected runs are pooled. */
double lda_statistic(const double *p, const uint32_t *seen, uint32_t states,
                     uint32_t runs, uint32_t *freedom);

/* The frequency with which two tokens have the same topic, compared with the
 * posterior: the deviation of the worst pair in standard errors. */
double lda_worst_pair(const lda_space *space, const double *p,
                      const uint32_t *seen, uint32_t runs);

/* Runs the chains. Fails the test if their final states have a p-value below
 * 1e-6, or if a pair deviates by 4.5 standard errors. */
void lda_check_posterior(const lda_space *space,
                         const strads_lda_options *config, uint32_t partitions,
                         uint32_t runs);

#endif
