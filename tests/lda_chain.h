/* tests/lda_chain.h - runs of the topic model on tiny corpora, so many that
 * where they end can be held against the posterior by enumeration. */
#ifndef TESTS_LDA_CHAIN_H
#define TESTS_LDA_CHAIN_H

#include "tests/lda_corpus.h"

/* Two documents of six tokens in three words, the first of `words`; topics are
 * 0. lda_tiny_data is the same corpus as data; NULL: no memory. */
enum { LDA_TINY_TOKENS = 6, LDA_TINY_DOCUMENTS = 2, LDA_TINY_WORDS = 3 };
extern const lda_token lda_tiny[LDA_TINY_TOKENS];
strads_data *lda_tiny_data(uint32_t words, uint32_t partitions);

/* What a run leaves. */
typedef struct lda_fit {
    lda_token *token;
    size_t n;
    double log_likelihood;
    strads_lda_model *model;
} lda_fit;
/* Trains, by strads_run or in a simulation of a node a worker; ends the test
 * where that fails. */
typedef enum lda_place { LDA_HERE, LDA_SIMULATED } lda_place;
lda_fit lda_fit_at(lda_place place, const strads_lda_options *config,
                   const strads_data *data, uint32_t workers, uint64_t seed);
lda_fit lda_fit_run(const strads_lda_options *config, const strads_data *data,
                    uint32_t workers, uint64_t seed);
void lda_fit_free(lda_fit *fit);

/* Writes a model to a file of a name of its own, which `path` has then. */
enum { LDA_PATH_SIZE = 64 };
void lda_keep_model(const strads_lda_model *model, char path[LDA_PATH_SIZE]);
void lda_forget_model(const char *path);

/* All assignments of topics[0 .. n_topics - 1] to the tiny corpus's tokens, by
 * their probability given the n_old tokens of other documents, in a model of
 * `all` topics; p [n_topics^6] sums up to 1. Tokens in old[] are of documents
 * from 2 on. */
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
/* The state that these topics are; UINT32_MAX: one that was not enumerated. */
uint32_t lda_state_of(const lda_space *space, const lda_token *token);

/* Pearson's statistic of so many independent runs' ends against p. States that
 * are rarer than 5 runs are counted as one. */
double lda_statistic(const double *p, const uint32_t *seen, uint32_t states,
                     uint32_t runs, uint32_t *freedom);

/* How often two tokens have the same topic, against the posterior, in standard
 * errors: of the worst pair. */
double lda_worst_pair(const lda_space *space, const double *p,
                      const uint32_t *seen, uint32_t runs);

/* Runs the chains, and ends the test if their ends are such as the posterior
 * gives once in a million times, or if a pair is 4.5 standard errors off. */
void lda_check_posterior(const lda_space *space,
                         const strads_lda_options *config, uint32_t partitions,
                         uint32_t runs);

#endif
