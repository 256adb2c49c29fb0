/* lda_document.h - one document under a model that is fixed: its tokens, their
 * topics, and draws of these from
 *
 *     p(z | rest) ~ (n_dk + alpha_k) phi_kw
 *
 * Draws are named by the seed and by what is in the document, so they do not
 * depend on what else is asked for. */
#ifndef LDA_DOCUMENT_H
#define LDA_DOCUMENT_H

#include <strads/lda.h>

typedef struct lda_document {
    uint32_t n, topics;
    uint64_t tokens;
    double alpha_sum;
    double *phi;     /* [n x topics] of its different words */
    uint32_t *word;  /* [tokens] which of these a token is */
    uint32_t *topic; /* [tokens] */
    double *weight;  /* [topics] n_dk + alpha_k */
    uint64_t seed, name, draws;
} lda_document;

/* Start with {0}, free after an error too. Words in the order given, their
 * tokens next to each other, none with a topic. STRADS_EINVAL: a word that the
 * model does not have. STRADS_ENOMEM. */
strads_err lda_document_make(const strads_lda_model *model, uint64_t seed,
                             const strads_lda_words *words, lda_document *d);
void lda_document_free(lda_document *d);

/* All tokens in another order, drawn. */
void lda_document_shuffle(lda_document *d);

/* No token has a topic: the weights are the prior's. */
void lda_document_clear(lda_document *d, const strads_lda_model *model);
/* Gives token i a topic, whose old one has been taken out, or takes it out. */
void lda_document_draw(lda_document *d, uint64_t i);
void lda_document_take(lda_document *d, uint64_t i);

/* sum_k weight_k phi_k of token i: its probability, times what the weights sum
 * up to. */
double lda_document_mass(const lda_document *d, uint64_t i);

/* theta [topics]: the mean of the weights, as shares, over the sweeps of the
 * first `tokens` tokens that come after the first burn_in ones. STRADS_EINVAL:
 * burn_in is not below sweeps. */
strads_err lda_document_mix(lda_document *d, const strads_lda_model *model,
                            uint32_t sweeps, uint32_t burn_in, uint64_t tokens,
                            double *theta);

#endif
