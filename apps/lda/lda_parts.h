/* lda_parts.h - declarations that the files of this program share. */
#ifndef LDA_PARTS_H
#define LDA_PARTS_H

#include <stdio.h>

#include <strads/lda.h>

#include "lda_kernels.h"

/* ---- options ----------------------------------------------------------- */

extern const strads_option lda_option_table[];
extern const strads_lda_options lda_defaults;
/* The options, with defaults that depend on other options. */
double lda_alpha(const strads_lda_options *options);
double lda_beta(const strads_lda_options *options);
bool lda_fits_alpha(const strads_lda_options *options);
bool lda_fits_beta(const strads_lda_options *options);
/* 0: until the likelihood is flat. */
uint32_t lda_sweeps(const strads_lda_options *options);
uint32_t lda_samples(const strads_lda_options *options);

/* ---- priors ------------------------------------------------------------ */

/* log Gamma(a + n) - log Gamma(a), and the same of digamma, for small n. */
enum { LDA_RISES = 4096 };
typedef struct lda_rise {
    double a, log_gamma, digamma; /* of a itself */
    double *log_by, *psi_by;      /* [LDA_RISES] */
} lda_rise;

strads_err lda_rise_new(lda_rise *rise);
void lda_rise_free(lda_rise *rise);
/* Fills in the tables for another a. */
void lda_rise_set(lda_rise *rise, double a);
double lda_rise_log(const lda_rise *rise, uint64_t n);
double lda_rise_psi(const lda_rise *rise, uint64_t n);
double lda_log_gamma(double x);
double lda_digamma(double x);

/* alpha and beta, and the end of the run, which is decided by the sums that the
 * priors are learned from. Equal on all partitions and the coordinator. */
typedef struct lda_prior {
    uint32_t topics;
    double *alpha; /* [topics] */
    double alpha_sum, beta;
    uint64_t sweep; /* of the last report */
    uint64_t last;  /* the last sweep of the run; 0: not decided */
    bool flat;      /* it was decided by the likelihood */
    /* log p(words, topics) per token: the sum over `reports` of the current
     * window, the highest mean of a window, and windows without a rise. */
    double sum, best;
    uint32_t reports, stale;
} lda_prior;

strads_err lda_prior_new(lda_prior *prior, const strads_lda_options *options);
void lda_prior_free(lda_prior *prior);
void lda_prior_pass(strads_walk *walk, lda_prior *prior);

/* The sums of a report over partitions. */
enum {
    LDA_LOG_DOCUMENTS = 0, /* parts of log p(words, topics) */
    LDA_LOG_WORDS = 1,
    LDA_LOG_TOTALS = 2,
    LDA_TOKENS = 3,
    LDA_PSI_DOCUMENTS = 4, /* sum_d psi(N_d + A) - psi(A), A = sum alpha */
    LDA_PSI_WORDS = 5,     /* sum_wk psi(n_wk + beta) - psi(beta) */
    LDA_PSI_TOTALS = 6,    /* sum_k psi(n_k + V beta) - psi(V beta) */
    LDA_LABELLED = 7,      /* labelled documents */
    LDA_RIGHT = 8,     /* of them, those classified as one of their labels */
    LDA_PSI_TOPICS = 9 /* [topics]: sum_d psi(n_dk + alpha_k) - .. */
};
size_t lda_sums(const strads_lda_options *options);
/* Whether a report follows this sweep, 1 .. last. */
bool lda_is_evaluated(const strads_lda_options *options, const lda_prior *prior,
                      uint64_t sweep);
/* Computes the next priors from merged sums; the result is the same
 * everywhere. */
void lda_prior_learn(lda_prior *prior, const strads_lda_options *options,
                     uint64_t words, const double *sums);

/* ---- travelling words --------------------------------------------------- */

/* A word's counts: pairs topic | count << 16, where a count beyond 65,535 takes
 * several pairs; or, with n = LDA_FULL, an entry for each topic. */
#define LDA_FULL UINT32_MAX
typedef struct lda_row {
    uint32_t n, capacity;
    void *at;
} lda_row;

typedef struct lda_words {
    uint32_t n, topics, padded;
    lda_row row[];
} lda_words;

extern const strads_payload lda_payload;
/* Returns the counts as a full row: the word's own, or `empty` (all 0) filled
 * in. */
int32_t *lda_row_load(const lda_row *row, int32_t *empty);
/* Stores the counts in `word`, and zeroes `word` if it is not the row's own.
 * Only the row's topics and those of z[n] can be non-zero. */
strads_err lda_row_store(lda_row *row, const lda_words *words, int32_t *word,
                         const uint16_t *z, uint64_t n);
/* Sums log Gamma and digamma over a word's counts, by rise. */
void lda_row_sum(const lda_row *row, uint32_t topics, const lda_rise *rise,
                 double *log_sum, double *psi_sum);

/* ---- seeds: lda_seeds.c ------------------------------------------------- */

/* Seeds, and their priors beside beta, which act as counts of tokens that are
 * there before the first sweep and stay. */
typedef struct lda_seeds {
    strads_lda_seeds of;
    uint32_t *count; /* [of.n] */
    uint64_t *total; /* [topics] */
} lda_seeds;

/* The words of the whole data set. */
typedef struct lda_vocabulary {
    uint64_t words, entries;
    const strads_names *names; /* NULL: words are numbers */
} lda_vocabulary;

/* Does nothing without options->seed_words. Adds the seeds' counts and names
 * of topics to *base, the model that the run continues, or NULL, which becomes
 * another one. Free *out also after an error. */
strads_err lda_seeds_pin(const strads_lda_options *options,
                         const lda_vocabulary *vocabulary, lda_seeds *out,
                         strads_lda_model **base);
void lda_seeds_free(lda_seeds *seeds);
/* Removes the seeds' part from the sums that beta is learned from. */
void lda_seeds_subtract(const lda_seeds *seeds, const lda_rise *beta,
                        uint32_t topics, double beta_sum, double *psi_words,
                        double *psi_totals);

/* ---- labels: lda_margin.c ---------------------------------------------- */

/* The same draws everywhere; classes is 0 without labels. */
typedef struct lda_classifier {
    uint32_t classes, topics;
    double *eta;  /* [classes x topics] the last draw */
    double *mean; /* [classes x topics] */
    /* [topics x topics], [2 topics] workspace of learning */
    double *factor, *side;
} lda_classifier;

/* Does nothing without options->labels. The caller frees both, also after an
 * error. */
strads_err lda_classifier_read(const strads_lda_options *options,
                               uint64_t documents, lda_classifier *c,
                               strads_lda_labels *labels);
void lda_classifier_free(lda_classifier *c);
/* The number of a class's moments: the lower half of P - I, then v. */
size_t lda_moments(const strads_lda_options *options);
/* Draws class y's weights from merged moments; sweeps count from 1. */
void lda_classifier_learn(lda_classifier *c, uint32_t y, uint64_t seed,
                          uint64_t sweep, uint32_t sweeps,
                          const double *moments);
void lda_classifier_pass(strads_walk *walk, lda_classifier *c);
double lda_draw_weight(double zeta, double loss_weight, uint64_t seed,
                       uint64_t sweep, uint64_t draw);
typedef struct lda_margin lda_margin;
typedef struct lda_scratch lda_scratch;

/* ---- a partition ------------------------------------------------------- */

typedef struct lda_moving {
    uint32_t document;
    uint16_t topic;
} lda_moving; /* a token during sorting */

enum { LDA_SMALL_COUNTS = 64 };
typedef struct lda_local {
    const lda_kernels *kernels;
    uint64_t words;
    lda_site site;
    lda_documents documents;
    /* Counts of a document have 16 bits, so a row with more tokens is several
     * documents, part[i] .. part[i + 1] - 1. NULL: each row of the share is one
     * document. */
    uint32_t *part;
    uint32_t *length;    /* [documents] tokens */
    uint64_t *token;     /* [V + 1] start of each word's tokens */
    uint32_t *document;  /* [tokens] */
    uint16_t *topic;     /* [tokens] z */
    lda_moving *sorting; /* [tokens of any one word] */
    int32_t *empty;      /* a full row of 0 */
    /* another one, and q, for the second word of alternating draws */
    int32_t *other_empty;
    float *other_q;
    float *alpha; /* site.alpha */
    bool flat;    /* q is that of a word without tokens */
    lda_prior prior;
    lda_rise beta, even; /* of beta; of alpha if all are equal */
    /* [topics x LDA_SMALL_COUNTS] documents with so many tokens of the topic;
     * all 0 between reports */
    uint32_t *small_counts;
    /* [LDA_RISES] documents with more than so many tokens, without those that
     * have LDA_RISES or more */
    uint32_t *longer;
    uint64_t visits;             /* of blocks */
    double log_words, psi_words; /* of blocks that finished their sweep here */
    /* Progress of sending counts and topics, see lda_gather.c. */
    uint64_t sent_word, sent_document, sent_row;
    uint32_t sent_phase;   /* LDA_GATHER or LDA_COLLECT; another one: none */
    uint32_t *by_document; /* words by document, then topics */
    uint16_t *by_document_topic;
    uint64_t *document_start;
    uint64_t turned, most_turned; /* documents sorted so far; tokens at once */
    /* the counts of the model that the run started from, and of seeds; or
     * NULL */
    strads_lda_model *base;
    lda_seeds seeds;
    lda_margin *margin; /* for documents with labels, or NULL */
    /* Tokens on disk, or NULL: then `document` and `topic` are those of the
     * block that was taken last. */
    lda_scratch *scratch;
} lda_local;

/* For labelled documents; does nothing for others. */
strads_err lda_margin_open(lda_local *l, const strads_task *task);
void lda_margin_free(lda_margin *m);
void lda_margin_pass(strads_walk *walk, lda_local *l);
/* Call before the tokens of a sweep are drawn. */
void lda_margin_refresh(lda_local *l, const strads_lda_options *options);
void lda_margin_draw(lda_local *l, const lda_tokens *tokens);
void lda_margin_count(const lda_local *l, double *labelled, double *right);

/* An array aligned to a cache line, on huge pages as far as it fills them; free
 * it with free(). NULL: no memory. */
void *lda_array_new(size_t n, size_t size);

strads_err lda_open(const strads_task *task, void **local);
void lda_close(void *local);
/* Topics, and the other state that the next draws depend on: the order of a
 * word's tokens and of a document's list. */
strads_err lda_pack(const void *local, strads_bytes *out);
strads_err lda_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local);
/* Copies the priors to the site. */
void lda_use_prior(lda_local *l, uint64_t words);

/* With a scratch: of a word of the block that was taken last. */
lda_tokens lda_tokens_of(const lda_local *l, uint32_t word);
/* Writes the documents of a word's tokens to their place in its block. */
void lda_fill_word(lda_local *l, const strads_task *task, uint32_t word);
/* Sorts a word's tokens by the length of their documents' lists, which makes a
 * kernel's branches predictable. */
void lda_tokens_sort(lda_local *l, uint32_t word);

/* ---- tokens on disk: lda_scratch.c --------------------------------------- */

/* The number of blocks for tokens on disk: equal on all nodes. */
uint32_t lda_scratch_blocks(const strads_data *data, const strads_shape *shape);
/* Memory of a partition with so many tokens, `longest` of one word. */
uint64_t lda_scratch_memory(double tokens, double longest, uint64_t words,
                            uint32_t blocks);
/* Lays out the tokens that l->token counts. lda_scratch_free also after an
 * error. */
strads_err lda_scratch_open(lda_local *l, const strads_task *task);
void lda_scratch_free(lda_scratch *s);
/* Writes all tokens, without topics, and releases the share's entries. */
strads_err lda_scratch_fill(lda_local *l, const strads_task *task);
/* Makes the tokens of block b those of l->document and l->topic; the second
 * one compares the block with the coordinator's. Both do nothing without a
 * scratch, and so does the third: topics of the block were changed, or
 * documents, too. */
strads_err lda_scratch_take(lda_local *l, uint32_t b);
strads_err lda_scratch_visit(lda_local *l, const strads_block *block);
void lda_scratch_changed(lda_local *l, bool documents);
/* The place of a word's first token in its block. */
uint64_t lda_scratch_place(const lda_scratch *s, uint32_t word);
/* The k-th word in the order of the blocks. */
uint32_t lda_scratch_word(const lda_scratch *s, uint64_t k, uint32_t *block);
/* The fields of a checkpoint in memory, of all tokens by word. */
void lda_scratch_pass_topics(strads_walk *w, lda_local *l);
void lda_scratch_pass_documents(strads_walk *w, lda_local *l);
/* Takes each block and passes its number of tokens. */
strads_err lda_scratch_each(lda_local *l, void (*count)(lda_local *, uint64_t));

/* ---- phases ------------------------------------------------------------ */

enum {
    LDA_SAMPLE = 0,
    LDA_EVALUATE = 1,
    LDA_GATHER = 2,
    LDA_BASE = 3,
    LDA_CLASSIFY = 4,
    LDA_COLLECT = 5 /* counts of a sample or of an interim model: as
                     * LDA_GATHER, without the tokens */
};
enum { LDA_SAMPLE_SWEEPS = 5 /* from one sample to the next */ };
enum { LDA_FIRST_INTERIM = 10 /* sweep; each next one is at twice as many */ };
enum { LDA_CPU = 0, LDA_DRAWN = 1, LDA_SAMPLE_SUMS = 2 };

strads_err lda_sample(strads_task *task);
/* CPU time of this thread, in seconds. */
double lda_cpu_now(void);
/* A block for each class; its ids follow that of LDA_GATHER's. */
strads_err lda_measure(strads_task *task);
strads_err lda_classify(strads_task *task);
strads_err lda_evaluate(strads_task *task);
strads_err lda_learn(strads_task *task);

enum { LDA_PIECE = 1 << 20 }; /* bytes that a partition sends at once */
/* Marks the length of a document that is not the last one of its row. */
#define LDA_GOES_ON (UINT32_C(1) << 31)
strads_err lda_send_piece(strads_task *task);
/* The next piece is the first one. */
void lda_restart_sending(lda_local *l);

/* ---- the coordinator --------------------------------------------------- */

typedef struct lda_stream {
    uint32_t *at;
    size_t n, capacity;
} lda_stream;

typedef struct lda_state {
    strads_cut *cut;
    uint32_t partitions;
    uint64_t words, documents;
    lda_prior prior;
    uint64_t sweep, evaluated;
    double began, seconds, cpu_seconds; /* of sweeps only */
    double last_seconds, last_tokens, tokens_drawn;
    double log_likelihood, tokens;
    strads_block gather_block; /* the block of LDA_GATHER */
    /* Counts are being collected; those of the final model; it is complete. */
    bool gathers, finishes, all_gathered;
    lda_stream counts; /* word, topic, count of the current sweep */
    lda_stream sum;    /* the same of all samples, ascending */
    uint64_t sampled;  /* sweep of the last sample */
    uint32_t samples;  /* sweeps in `sum` */
    uint64_t shown;    /* sweep of the last interim model */
    /* What the counts that are being collected are for. */
    bool takes_sample, takes_interim;
    FILE **assignments; /* [partitions] N, words, topics; or NULL. N
                                 * may have the mark LDA_GOES_ON */
    strads_lda_model *model;
    strads_lda_model *base; /* as of lda_local */
    lda_seeds seeds;
    bool has_base; /* its totals have been added to the shared ones */
    double base_log, base_beta;
    lda_classifier classifier; /* after `classified` sweeps */
    strads_lda_labels labels;
    strads_block *class_block; /* [classes] */
    uint64_t classified;
    double accuracy; /* of training documents; NaN: there are no labels */
} lda_state;

/* The error for the unnamed temporary files of assignments. */
#define LDA_NO_ROOM_ASIDE                                                   \
    "assignments cannot be kept in a temporary file: %s: make room in the " \
    "temporary folder, or leave them out"
strads_err lda_gathered(strads_commit *commit);
/* ---- starting from a model: lda_rows.c ---------------------------------- */

/* Reads the model options->from, which must match data of these words, and
 * takes its priors; adds the seeds. *out stays NULL if there are neither. */
strads_err lda_base_read(const strads_lda_options *options,
                         const lda_vocabulary *vocabulary, lda_prior *prior,
                         lda_seeds *seeds, strads_lda_model **out);
/* An aggregate that adds the model's totals. */
strads_err lda_base_total(strads_commit *commit);
/* Its words' part of a report's sum, with the current priors. */
double lda_base_log(lda_state *state);

/* A model of these sizes; the caller fills in all counts. */
strads_err lda_model_new(uint32_t topics, uint64_t words, uint64_t pairs,
                         strads_lda_model **out);
/* Gives topic k a copy of this name. */
strads_err lda_model_name(strads_lda_model *m, uint32_t k, const char *name);
/* Replaces counts that are sums over samples by whole numbers of tokens; a word
 * keeps its tokens. */
void lda_model_round(strads_lda_model *m);
/* Gives the model copies of these. */
strads_err lda_model_classify(strads_lda_model *m, uint32_t classes,
                              const strads_names *labels, const double *weight);

#endif
