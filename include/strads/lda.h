/* strads/lda.h - topic models by collapsed Gibbs sampling, a built-in program.
 *
 * Latent Dirichlet allocation (Blei, Ng, Jordan, JMLR 2003): document d mixes
 * K topics by theta_d ~ Dirichlet(alpha), topic k is a distribution of words
 * phi_k ~ Dirichlet(beta), and each token has a topic z. With theta and phi
 * integrated out, what is sampled is
 *
 *     p(z | rest) ~ (n_dk + alpha_k) (n_wk + beta) / (n_k + V beta)
 *
 * (Griffiths and Steyvers, PNAS 2004). Blocks of words travel round the
 * partitions with their counts, documents and their tokens' topics stay; see
 * docs/lda.md. */
#ifndef STRADS_LDA_H
#define STRADS_LDA_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/engine.h"
#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to; NULL: all defaults. Who sets some of it begins with
 * a copy of strads_program_lda.defaults: a 0 is no default here. */
typedef struct strads_lda_options {
    uint32_t topics;       /* K, 2 .. 65,535; default 100 */
    double alpha;          /* of each topic, > 0; default 0.1 */
    double beta;           /* of each word, > 0; default 0.01 */
    uint32_t sweeps;       /* draws of every token; default 100 */
    uint32_t evaluate;     /* sweeps from one report to the next; default 1 */
    const char *fit_alpha; /* "no", "symmetric" or "asymmetric": learn alpha
                              from the counts (Minka 2000, by his fixed point,
                              one step a report); NULL: "no" */
    bool fit_beta;         /* learn beta in the same way */
    uint32_t burn_in;      /* sweeps before either is learned; default 10 */
    bool keep_assignments; /* keep each token's topic in the result, that is
                              in temporary files; STRADS_EIO: they are full */
    const char *from; /* file of a model whose counts are there from the start
                         and stay, with `topics` topics and no more words than
                         the data; its alpha and beta are taken, too. The
                         result's model has its counts and the new ones. NULL:
                         none. Every partition reads the file */
    bool network; /* roles of a network (strads/network.h): documents and words
                          are the same nodes, and the model has the topics of both
                          ends' tokens; documents of any length */
    double hold_out; /* share of a network's links that is not looked at, from
                          0, below 1: those that strads_roles_is_held names */
    /* A file with a line for each document, its labels: topics are found that
     * tell these apart (MedLDA, docs/lda.md). NULL: none. Every partition reads
     * the file. STRADS_EINVAL: more than
     * STRADS_LDA_LABELLED_TOPICS topics; STRADS_EMISMATCH: not a line for each
     * document; STRADS_EFORMAT: as strads_lda_labels_read. */
    const char *labels;
    double margin;      /* l, > 0; default 64 */
    double loss_weight; /* C, of the hinge loss, > 0; default 1 */
} strads_lda_options;

#define STRADS_LDA_LABELLED_TOPICS 1024

/* The program: name "lda", documents by words (STRADS_KIND_DOCUMENTS),
 * rows split, columns compressed; f32 values take less memory. A document has
 * at most 65,535 tokens, a data set less than 2^31. Its model is not in table
 * 0, but in its state, below. A run that a bound cuts short ends its sweep and
 * has the model of that. */
extern STRADS_API const strads_program strads_program_lda;

/* A topic model: how many tokens of each word have which topic. */
typedef struct strads_lda_model {
    uint32_t topics;            /* K */
    uint64_t words;             /* V */
    uint64_t documents, tokens; /* that it was trained on */
    double *alpha;              /* [K] */
    double beta;
    double log_likelihood; /* log p(words, topics) at the end; of a run that has
                              gone on from a model, of the new documents given
                              the old ones; NaN: the run was cut short after a
                              sweep without a report */
    uint64_t *total;       /* [K] tokens of each topic */
    /* Word w has topic[k] count[k] times, start[w] <= k < start[w + 1]; topics
     * ascend, counts are not 0. */
    uint64_t *start; /* [V + 1] */
    uint32_t *topic, *count;
    strads_names *names; /* of the words, or NULL */
    /* Roles of a network (strads/network.h): the counts are of both ends of its
     * links, less those that were held out by this share and seed. */
    bool network;
    double hold_out;
    uint64_t seed;
    /* Of a run with labels: the classes' names, and the weight of each topic's
     * share of a document's tokens in each class's score; or 0, NULL, NULL. */
    uint32_t classes;
    strads_names *labels;
    double *weight; /* [classes x K] */
} strads_lda_model;

/* ---- labels of documents ------------------------------------------------ */

/* Document d has the classes label[k], start[d] <= k < start[d + 1]; none: it
 * is not known what it is. */
typedef struct strads_lda_labels {
    uint64_t documents;
    strads_names *classes; /* in the order of their names; numbers by value */
    uint64_t *start;       /* [documents + 1] */
    uint32_t *label;
} strads_lda_labels;

/* Reads labels, a line a document: names, with commas or tabs between several;
 * an empty line: none. `known` (may be NULL) numbers the classes, and another
 * name then is a class that `classes` has behind them. Free it after an error,
 * too. STRADS_EIO. STRADS_EFORMAT: a label that is no UTF-8, or twice in a
 * line; less than two classes. STRADS_EMISMATCH: not `documents` lines.
 * STRADS_ENOMEM. Any thread. Blocks. */
STRADS_API strads_err strads_lda_labels_read(const char *path,
                                             uint64_t documents,
                                             const strads_names *known,
                                             strads_lda_labels *out);
STRADS_API void strads_lda_labels_free(strads_lda_labels *labels);

/* The model of a run's result, a copy without names; *out is the caller's to
 * free by strads_lda_model_free. STRADS_ESTATE: a bound ended the run before
 * its first sweep. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_model_from_result(const strads_result *result,
                                                   strads_lda_model **out);
/* Frees a model; NULL is fine. */
STRADS_API void strads_lda_model_free(strads_lda_model *model);

/* Writes a model as JSON, with `options` (a JSON object, or NULL for {}), and
 * its counts beside it, in the NPY file `path`.npy: [n x 3] of u32, which are
 * word, topic, tokens, all from 0. docs/lda.md has the members. Both files are
 * whole or not there. STRADS_EINVAL: the options. STRADS_EIO. Blocks. */
STRADS_API strads_err strads_lda_model_write(const strads_lda_model *model,
                                             const char *options,
                                             const char *path);

/* Reads such a model. STRADS_EIO; STRADS_EFORMAT: a file that is none, or not
 * one of the model. STRADS_EMISMATCH: another version. STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_model_read(const char *path,
                                            strads_lda_model **out);

/* A place of a topic that has fewer words than were asked for. */
#define STRADS_LDA_NO_WORD UINT32_MAX

/* The first n words of each topic by relevance lambda log phi + (1 - lambda)
 * log (phi / p), 0 <= lambda <= 1 (Sievert and Shirley 2014); 1: by log phi.
 * word and score [topics x n], the caller's; words that the topic does not have
 * are left out. STRADS_EINVAL: n is 0, or lambda out of its range. */
STRADS_API strads_err strads_lda_top_words(const strads_lda_model *model,
                                           double lambda, uint32_t n,
                                           uint32_t *word, double *score);

/* ---- new documents ----------------------------------------------------- */

/* A document: word[i], of the model's, count[i] times. The same words in
 * another order are another name for the draws: give them ascending. */
typedef struct strads_lda_words {
    uint32_t n;
    const uint32_t *word, *count; /* [n] */
} strads_lda_words;

/* Gibbs sampling of a document with the model fixed: the mean of the sweeps
 * after the first burn_in. Draws are named by the seed and the document, so it
 * gets the same answer whatever else is asked for. */
typedef struct strads_lda_draws {
    uint32_t sweeps, burn_in; /* burn_in < sweeps */
    uint64_t seed;
} strads_lda_draws;

/* The shares theta[topics] of the model's topics in a document, by its tokens'
 * topics and alpha. STRADS_EINVAL: a word that the model does not have, burn_in
 * not below sweeps. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_infer(const strads_lda_model *model,
                                       const strads_lda_draws *draws,
                                       const strads_lda_words *words,
                                       double *theta);

/* What each class scores in a document, score[classes]: the model's weights by
 * the mean share of the document's tokens that topics have, as strads_lda_infer
 * draws them. The highest is the one to predict. STRADS_ESTATE: a model without
 * classes. Else as strads_lda_infer. */
STRADS_API strads_err strads_lda_decide(const strads_lda_model *model,
                                        const strads_lda_draws *draws,
                                        const strads_lda_words *words,
                                        double *score);

/* ---- how good a model is ----------------------------------------------- */

/* What a model says of some tokens: perplexity is exp(-log_likelihood /
 * tokens). */
typedef struct strads_lda_score {
    uint64_t tokens;
    double log_likelihood; /* natural logarithm */
} strads_lda_score;

/* Document completion (Wallach et al., ICML 2009): half of the tokens, drawn,
 * tell the document's shares of topics, by which the others are scored. Errors
 * as strads_lda_infer. */
STRADS_API strads_err strads_lda_complete(const strads_lda_model *model,
                                          const strads_lda_draws *draws,
                                          const strads_lda_words *words,
                                          strads_lda_score *out);

/* log p(words | model) of a whole document from left to right (Wallach et al.
 * 2009), as the logarithm of the particles' mean, which is an unbiased estimate
 * of p (Buntine, ACML 2009). Time grows with the square of the tokens. Errors
 * as strads_lda_infer; STRADS_EINVAL: no particles. */
STRADS_API strads_err strads_lda_left_to_right(const strads_lda_model *model,
                                               uint32_t particles,
                                               uint64_t seed,
                                               const strads_lda_words *words,
                                               strads_lda_score *out);

/* How well the n words of each topic, in falling order, go together in the
 * documents of `data`, kept by row: umass[topics] (Mimno et al., EMNLP 2011:
 * the sum over pairs) and npmi[topics] (normalised pointwise mutual
 * information, the mean over pairs, -1 to 1). Windows are whole documents.
 * Pairs of a word that no document has are left out; NAN: no pair is left.
 * word [topics x n] as from strads_lda_top_words. STRADS_EINVAL: n is 0, or
 * data by column only. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_coherence(uint32_t topics, uint32_t n,
                                           const uint32_t *word,
                                           const strads_data *data,
                                           double *umass, double *npmi);

typedef struct strads_lda_joint {
    uint64_t documents, tokens;
    double log_likelihood; /* log p(words, topics) */
} strads_lda_joint;

/* The likelihood of assignments by the model's alpha and beta alone; its counts
 * are not looked at. The file has a line `N word:topic ...` a document, from 0.
 * STRADS_EIO. STRADS_EFORMAT: the sentence has the line. STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_joint_of(const strads_lda_model *model,
                                          const char *path,
                                          strads_lda_joint *out);

/* With keep_assignments: a line for each document, `N word:topic ...`, words
 * and topics from 0, words ascending. The file is whole or not there.
 * STRADS_ESTATE: they were not kept. STRADS_EIO. Blocks. */
STRADS_API strads_err strads_lda_assignments_write(const strads_result *result,
                                                   const char *path);

#ifdef __cplusplus
}
#endif

#endif
