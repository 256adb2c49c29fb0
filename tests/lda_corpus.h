/* tests/lda_corpus.h - small corpora, runs on them, and the likelihood of an
 * assignment computed without the program's code. */
#ifndef TESTS_LDA_CORPUS_H
#define TESTS_LDA_CORPUS_H

#include "strads/lda.h"
#include "strads/strads.h"

/* A corpus in P partitions: document d has word w lda_corpus_count(d, w)
 * times, and about one word in four; document 3 is empty. NULL: no memory. */
strads_data *lda_corpus(uint32_t documents, uint32_t words,
                        uint32_t partitions);
uint32_t lda_corpus_count(uint32_t document, uint32_t word);

/* A token with its topic. */
typedef struct lda_token {
    uint32_t document, word, topic;
} lda_token;

/* Reads the tokens of a file of assignments; the caller frees *out. 0: the
 * file is not one. */
size_t lda_read_assignments(const char *path, lda_token **out);

/* log p(words, topics), term by term with GSL's lngamma. */
double lda_oracle(const lda_token *token, size_t n, uint32_t documents,
                  uint32_t words, uint32_t topics, const double *alpha,
                  double beta);

#endif
