/* strads/lda.h - topic models by collapsed Gibbs sampling, a built-in program.
 *
 * Latent Dirichlet allocation (Blei, Ng, Jordan, JMLR 2003): document d mixes
 * K topics by theta_d ~ Dirichlet(alpha), topic k is a distribution of words
 * phi_k ~ Dirichlet(beta), and each token has a topic z. With theta and phi
 * integrated out, the sampler draws from
 *
 *     p(z | rest) ~ (n_dk + alpha_k) (n_wk + beta) / (n_k + V beta)
 *
 * (Griffiths and Steyvers, PNAS 2004). Blocks of words travel between
 * partitions with their counts; documents and the topics of their tokens stay.
 * See docs/lda.md. */
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

struct strads_lda_model;

/* The options (`config`); NULL: all defaults. Start from a copy of
 * strads_program_lda.defaults: a 0 does not mean the default here. */
typedef struct strads_lda_options {
    uint32_t topics;       /* K, 2 .. 65,535; default 100 */
    double alpha;          /* of each topic; 0 (default): learned, from 0.1 */
    double beta;           /* of each word; 0 (default): learned, from 0.01 */
    uint32_t sweeps;       /* draws of every token; 0 (default): until the
                              likelihood of the training data is flat, at most
                              STRADS_LDA_SWEEPS */
    uint32_t evaluate;     /* sweeps from one report to the next; default 1 */
    const char *fit_alpha; /* "no", "symmetric" or "asymmetric": learn alpha
                              from the counts (Minka 2000, by his fixed point,
                              one step a report); NULL: "asymmetric" if alpha is
                              0, otherwise "no" */
    bool fit_beta;         /* learn beta by the same method, if it is given */
    uint32_t burn_in;      /* sweeps before alpha or beta is learned; default
                              20 */
    bool keep_assignments; /* keep the topic of each token in the result, in
                              temporary files; STRADS_EIO: no space for them */
    const char *from; /* a model file to continue from: the run adds the new
                         documents' counts to the model's, which stay fixed. It
                         has `topics` topics and at most the data's words; the
                         run takes its alpha and beta. NULL: none. Every
                         partition reads the file */
    bool network; /* roles of a network (strads/network.h): documents and words
                     are the same nodes, the model counts the tokens of both
                     ends, and documents may have any length */
    double
        hold_out; /* share of a network's links that are held out, >= 0, below
                        1; strads_roles_is_held selects them */
    /* A file with a line of labels for each document: the run finds topics that
     * separate the labels (MedLDA, docs/lda.md). NULL: none. Every partition
     * reads the file. STRADS_EINVAL: more than STRADS_LDA_LABELLED_TOPICS
     * topics. STRADS_EMISMATCH: the number of lines differs from the number of
     * documents. STRADS_EFORMAT: as strads_lda_labels_read. */
    const char *labels;
    double margin;      /* l, > 0; default 64 */
    double loss_weight; /* C, of the hinge loss, > 0; default 1 */
    uint32_t samples;   /* sweeps whose counts the model averages, the last one
                           and every fifth before it, of the second half; default
                           10. A network, a run with labels, and one with 2^32 /
                           samples tokens or more: 1 */
    /* A folder for the tokens, of which a few blocks are in memory then
     * (strads/scratch.h); the draws are those of a run in memory with as many
     * blocks. Each process uses its own folder of this name. STRADS_EINVAL:
     * with keep_assignments. STRADS_EIO: too little room. NULL: in memory. */
    const char *scratch;
    /* A file of seeds, words that topics are expected to have: see
     * strads_lda_seeds_read. Word w of line k has a prior of beta + m in topic
     * k, where the m of a topic's words are equal and sum up to seed_weight x
     * entries / K; m is a whole number of at least 1. Entries are the pairs of
     * document and word, and the tokens of `from`. NULL: none. Every partition
     * reads the file. Errors as strads_lda_seeds_read. */
    const char *seed_words;
    double seed_weight; /* > 0, at most 1000; default 0.1 */
    /* Gets the topics while they form: the model of the counts after sweep 10,
     * 20, 40, 80, ..., except the last one. The model has no names of words,
     * and is valid during the call. Called in the first process, on the thread
     * that called the run; draws are those of a run without it, but collecting
     * the counts takes rounds of its own. An error ends the run. Not called if
     * topics x words exceed STRADS_LDA_INTERIM. NULL: none */
    strads_err (*interim)(void *arg, const struct strads_lda_model *model,
                          uint64_t sweep);
    void *interim_arg;
} strads_lda_options;

/* With labels and in a network, the defaults of alpha, beta and sweeps are 0.1,
 * 0.01 and 100; a run that continues a model takes its alpha and beta. */
#define STRADS_LDA_SWEEPS 1000
#define STRADS_LDA_INTERIM 50000000
#define STRADS_LDA_LABELLED_TOPICS 1024

/* The program: name "lda", documents by words (STRADS_KIND_DOCUMENTS), split by
 * rows, compressed columns; f32 values need less memory. A word occurs at most
 * 2^24 times in a document; a partition has fewer than 2^31 tokens. The model
 * is in the state, below, not in table 0. If a bound ends the run, the present
 * sweep is completed first. */
extern STRADS_API const strads_program strads_program_lda;

/* A topic model: the number of tokens for each word and topic. */
typedef struct strads_lda_model {
    uint32_t topics;            /* K */
    uint64_t words;             /* V */
    uint64_t documents, tokens; /* of the training data */
    double *alpha;              /* [K] */
    double beta;
    double log_likelihood; /* log p(words, topics) at the end; after a run that
                              continued a model, that of the new documents given
                              the old ones; NaN: the run ended after a sweep
                              without a report */
    uint64_t *total;       /* [K] tokens of each topic, as count */
    /* Word w has topic[k] count[k] times for start[w] <= k < start[w + 1];
     * topics ascend, counts are above 0. Counts are sums over `samples`
     * sweeps. */
    uint64_t *start; /* [V + 1] */
    uint32_t *topic, *count;
    strads_names *names; /* of the words, or NULL */
    /* Roles of a network (strads/network.h): the counts are those of both ends
     * of all links except the held-out ones (hold_out, seed). */
    bool network;
    double hold_out;
    uint64_t seed;
    /* With labels: the names of the classes, and the weight of each topic's
     * share of tokens in the score of each class; otherwise 0, NULL, NULL. */
    uint32_t classes;
    strads_names *labels;
    double *weight;        /* [classes x K] */
    uint32_t samples;      /* sweeps that count and total are sums of; 0: 1 */
    strads_names *phrases; /* pairs of words that were one word of the text
                              (strads_data_options); or NULL */
    /* [K] names of topics, each one or NULL; NULL: no topic has a name. */
    char **topic_name;
    bool word_ids; /* names are ids of words (strads_data_col_ids): words of
                      counts are found by their ids */
} strads_lda_model;

/* The prior of a word in units of the model's counts: phi_kw is (count + this)
 * / (total_k + V this). */
static inline double strads_lda_beta(const strads_lda_model *m)
{
    return m->beta * (m->samples ? m->samples : 1);
}

/* The sum of the model's counts: the share of topic k is total_k / this. */
static inline double strads_lda_mass(const strads_lda_model *m)
{
    return (double)m->tokens * (m->samples ? m->samples : 1);
}

/* ---- seeds of topics ---------------------------------------------------- */

/* Words that topics are expected to have: a larger prior of the word in its
 * topic (an asymmetric prior of phi: Lu, Ott, Cardie and Tsou, ICDM Workshops
 * 2011; seeds of topics: Jagarlamudi, Daume and Udupa, EACL 2012). The counts
 * of a model are those of its tokens, without the prior. */
typedef struct strads_lda_seeds {
    uint32_t topics;        /* lines of the file: topics 0 .. topics - 1 */
    char **name;            /* [topics] NULL: a line without a name */
    uint32_t n;             /* seeds */
    uint32_t *topic, *word; /* [n] ascending by word, then by topic */
    strads_names *unknown;  /* words that are not in the vocabulary */
    uint64_t *line;         /* [count of unknown] their first lines, from 1 */
} strads_lda_seeds;

/* Reads seeds: one line for each topic, `NAME: WORD WORD ...` or words alone,
 * separated by blanks, tabs or commas. A word is a name of `vocabulary`, which
 * has at most `words` names, or, if that is NULL, a number below `words`. A
 * word may be a seed of several topics. Free *out after an error as well.
 * STRADS_EIO. STRADS_EFORMAT: a line without words, more than `topics` lines, a
 * name that is not UTF-8 or occurs twice, or no word that is known; the
 * sentence gives the line. STRADS_ENOMEM. Any thread. Blocks. */
STRADS_API strads_err strads_lda_seeds_read(const char *path,
                                            const strads_names *vocabulary,
                                            uint64_t words, uint32_t topics,
                                            strads_lda_seeds *out);
STRADS_API void strads_lda_seeds_free(strads_lda_seeds *seeds);

/* ---- labels of documents ------------------------------------------------ */

/* Document d has the classes label[k], start[d] <= k < start[d + 1]; none:
 * unknown. */
typedef struct strads_lda_labels {
    uint64_t documents;
    strads_names *classes; /* in the order of their names; numbers by value */
    uint64_t *start;       /* [documents + 1] */
    uint32_t *label;
} strads_lda_labels;

/* Reads labels, one line for each document: names separated by commas or tabs;
 * an empty line means none. `known` (may be NULL) numbers the classes; other
 * names become classes after them. Free *out after an error as well.
 * STRADS_EIO. STRADS_EFORMAT: a label that is not UTF-8 or occurs twice in a
 * line, or fewer than two classes. STRADS_EMISMATCH: the number of lines is not
 * `documents`. STRADS_ENOMEM. Any thread. Blocks. */
STRADS_API strads_err strads_lda_labels_read(const char *path,
                                             uint64_t documents,
                                             const strads_names *known,
                                             strads_lda_labels *out);
STRADS_API void strads_lda_labels_free(strads_lda_labels *labels);

/* Copies the model from the result of a run, without names of words. The
 * caller frees *out by strads_lda_model_free. STRADS_ESTATE: a bound ended the
 * run before its first sweep. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_model_from_result(const strads_result *result,
                                                   strads_lda_model **out);
/* How a run ended. */
typedef struct strads_lda_ending {
    uint64_t sweeps;
    uint32_t samples; /* sweeps that the model averages */
    bool flat;        /* the likelihood was flat, and `sweeps` was 0 */
} strads_lda_ending;

STRADS_API strads_lda_ending strads_lda_ending_of(const strads_result *result);
/* Frees a model. NULL is allowed. */
STRADS_API void strads_lda_model_free(strads_lda_model *model);

/* Writes a model as JSON, with `options` (a JSON object, or NULL for {}), and
 * its counts in the NPY file `path`.npy: [n x 3] of u32, which are word, topic
 * and tokens, with words and topics from 0. docs/lda.md lists the members. Each
 * file is written atomically. STRADS_EINVAL: the options. STRADS_EIO.
 * Blocks. */
STRADS_API strads_err strads_lda_model_write(const strads_lda_model *model,
                                             const char *options,
                                             const char *path);

/* Reads a model that strads_lda_model_write wrote. STRADS_EIO. STRADS_EFORMAT:
 * not a model, or the two files do not belong together. STRADS_EMISMATCH:
 * another version. STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_model_read(const char *path,
                                            strads_lda_model **out);

/* Fills the list of a topic that has fewer words than requested. */
#define STRADS_LDA_NO_WORD UINT32_MAX

/* Finds the first n words of each topic by relevance lambda log phi + (1 -
 * lambda) log (phi / p), 0 <= lambda <= 1 (Sievert and Shirley 2014); 1 means
 * by log phi. The caller provides word and score [topics x n]. Words without a
 * token in the topic are excluded. STRADS_EINVAL: n is 0, or lambda is out of
 * its range. */
STRADS_API strads_err strads_lda_top_words(const strads_lda_model *model,
                                           double lambda, uint32_t n,
                                           uint32_t *word, double *score);

/* Finds the first n words of each topic by FREX (Bischof and Airoldi, ICML
 * 2012), the harmonic mean of two ranks with weight w on exclusivity,
 *
 *     1 / (w / E_k(phi_kw / sum_j phi_jw) + (1 - w) / F_k(phi_kw)),
 *
 * 0 <= w <= 1. E_k and F_k are the shares of the topic's words with at most
 * this value. Only words with a token in the topic count. word and score
 * [topics x n] as in strads_lda_top_words. STRADS_EINVAL: n is 0, or w is out
 * of its range. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_frex(const strads_lda_model *model, double w,
                                      uint32_t n, uint32_t *word,
                                      double *score);

/* Computes the exclusivity of each of the n words of each topic, phi_kw / sum_j
 * phi_jw: 1 if only this topic has the word. word [topics x n] as from
 * strads_lda_top_words; exclusivity [topics x n], NaN without a word. The mean
 * is the exclusivity of a topic (as in Mallet). STRADS_EINVAL: a word that is
 * not in the model. Any thread. */
STRADS_API strads_err strads_lda_exclusivity(const strads_lda_model *model,
                                             uint32_t n, const uint32_t *word,
                                             double *exclusivity);

/* Joins topics that are nearly the same: as long as two topics have a cosine of
 * their distributions of words, phi_k'phi_l / (|phi_k| |phi_l|), of at least
 * `cosine`, the closest two become one, with the sum of their counts and of
 * their alphas and the first name. At least two topics remain. Topics are
 * ordered by their first member; into[model->topics] is the new number of each
 * topic. The log-likelihood of *out is NaN, and the prior of a joined topic is
 * beta, as of the others. Memory: topics^2 numbers of 8 bytes. The caller frees
 * *out by strads_lda_model_free. STRADS_EINVAL: a cosine that is not above 0
 * and at most 1, a model with classes, whose weights are of single topics, or
 * one of a network. STRADS_ELIMIT: a sum of counts of 2^32 or more.
 * STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_merge(const strads_lda_model *model,
                                       double cosine, uint32_t *into,
                                       strads_lda_model **out);

/* ---- new documents ----------------------------------------------------- */

/* A document: word[i] of the model occurs count[i] times. Words ascend; another
 * order changes the draws. */
typedef struct strads_lda_words {
    uint32_t n;
    const uint32_t *word, *count; /* [n] */
} strads_lda_words;

/* Gibbs sampling of a document with a fixed model: the mean of the sweeps after
 * the first burn_in. Draws depend on the seed and the document only, so the
 * result does not depend on other calls. */
typedef struct strads_lda_draws {
    uint32_t sweeps, burn_in; /* burn_in < sweeps */
    uint64_t seed;
} strads_lda_draws;

/* Computes the topic shares theta[topics] of a document from the topics of its
 * tokens and alpha. STRADS_EINVAL: a word that is not in the model, or burn_in
 * >= sweeps. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_infer(const strads_lda_model *model,
                                       const strads_lda_draws *draws,
                                       const strads_lda_words *words,
                                       double *theta);

/* Computes the score of each class for a document, score[classes]: the model's
 * weights times the mean topic shares of its tokens, drawn as in
 * strads_lda_infer. Predict the class with the highest score. STRADS_ESTATE: a
 * model without classes. Otherwise as strads_lda_infer. */
STRADS_API strads_err strads_lda_decide(const strads_lda_model *model,
                                        const strads_lda_draws *draws,
                                        const strads_lda_words *words,
                                        double *score);

/* ---- how good a model is ----------------------------------------------- */

/* The likelihood of tokens under a model; perplexity is exp(-log_likelihood /
 * tokens). */
typedef struct strads_lda_score {
    uint64_t tokens;
    double log_likelihood; /* natural logarithm */
} strads_lda_score;

/* Document completion (Wallach et al., ICML 2009): estimates the topic shares
 * from a random half of the tokens and scores the other half. Errors as
 * strads_lda_infer. */
STRADS_API strads_err strads_lda_complete(const strads_lda_model *model,
                                          const strads_lda_draws *draws,
                                          const strads_lda_words *words,
                                          strads_lda_score *out);

/* Estimates log p(words | model) of a whole document from left to right
 * (Wallach et al. 2009), as the logarithm of the particles' mean, which is an
 * unbiased estimate of p (Buntine, ACML 2009). Time grows with the square of
 * the tokens. Errors as strads_lda_infer. STRADS_EINVAL: no particles. */
STRADS_API strads_err strads_lda_left_to_right(const strads_lda_model *model,
                                               uint32_t particles,
                                               uint64_t seed,
                                               const strads_lda_words *words,
                                               strads_lda_score *out);

/* Measures the coherence of the n words of each topic, in falling order, in the
 * documents of `data`: umass[topics] (Mimno et al., EMNLP 2011: the sum over
 * pairs) and npmi[topics] (normalised pointwise mutual information, the mean
 * over pairs, -1 to 1). Windows are whole documents. Pairs with a word that is
 * in no document are excluded; NaN: no pair remains. word [topics x n] as from
 * strads_lda_top_words; `data` has rows. STRADS_EINVAL: n is 0, or data by
 * column only. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_lda_coherence(uint32_t topics, uint32_t n,
                                           const uint32_t *word,
                                           const strads_data *data,
                                           double *umass, double *npmi);

/* Counts the windows of a reference text that contain the n words of each topic
 * (Roeder, Both and Hinneburg, WSDM 2015): windows of 10 and of 110 words that
 * move word by word. Start, add the documents, take the coherence. One thread
 * at a time. */
typedef struct strads_lda_windows strads_lda_windows;

/* word [topics x n] as from strads_lda_top_words, copied, of a model of `words`
 * words. The caller frees *out. STRADS_EINVAL: no topics, n below 2, or a word
 * that is not in the model. STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_windows_new(uint32_t topics, uint32_t n,
                                             const uint32_t *word,
                                             uint64_t words,
                                             strads_lda_windows **out);
/* Frees the counts. NULL is allowed. */
STRADS_API void strads_lda_windows_free(strads_lda_windows *windows);

/* Adds a document of n words in order, numbers of the model or larger ones for
 * other words: a strads_take_words. STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_windows_add(strads_lda_windows *windows,
                                             const uint32_t *word, uint64_t n);

/* Computes npmi[topics], the mean NPMI of pairs in windows of 10 words
 * (C_NPMI), and cv[topics], the mean cosine of the words' vectors of NPMI in
 * windows of 110 and their sum (C_V). Words in no window are left out; NaN:
 * fewer than two words remain. STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_windows_coherence(
    const strads_lda_windows *windows, double *npmi, double *cv);

typedef struct strads_lda_joint {
    uint64_t documents, tokens;
    double log_likelihood; /* log p(words, topics) */
} strads_lda_joint;

/* Computes the likelihood of assignments from the model's alpha and beta,
 * without its counts. The file has a line `N word:topic ...` for each document,
 * from 0. STRADS_EIO. STRADS_EFORMAT: the sentence gives the line.
 * STRADS_ENOMEM. */
STRADS_API strads_err strads_lda_joint_of(const strads_lda_model *model,
                                          const char *path,
                                          strads_lda_joint *out);

/* Writes the assignments of a run with keep_assignments: a line `N word:topic
 * ...` for each document, words and topics from 0, words ascending. The file is
 * written atomically. STRADS_ESTATE: a run without keep_assignments.
 * STRADS_EIO. Blocks. */
STRADS_API strads_err strads_lda_assignments_write(const strads_result *result,
                                                   const char *path);

#ifdef __cplusplus
}
#endif

#endif
