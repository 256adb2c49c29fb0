/* lda_kernels.h - the inner loops of Gibbs sampling: one word at a time, all
 * its tokens in a partition's documents, with one table for each kind of
 * processor. All tables make the same draws, to the bit: sums use sixteen lanes
 * on every processor, and no operations are fused.
 *
 * With n_dk the tokens of document d that have topic k, n_wk those of word w,
 * n_k all of them, and the token itself removed from the three,
 *
 *     p(k) ~ (n_dk + alpha_k) q_k,     q_k = (n_wk + beta) / (n_k + V beta)
 *
 * (Griffiths and Steyvers, PNAS 2004). Most tokens keep their topic, so the
 * token's topic comes first in the order in which p is summed. The sum alone
 * then shows whether it stays; only otherwise the other topics are searched.
 *
 * For few topics, a document's counts are a full row, and all of p is summed.
 * For many topics they are a list, and p is drawn in two parts: n_dk q_k over
 * the list, alpha_k q_k through sums of sixteen topics each (as in SparseLDA,
 * Yao et al., KDD 2009, which however also draws the token's own topic and then
 * redraws). */
#ifndef LDA_KERNELS_H
#define LDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LDA_LANES = 16,
    LDA_DENSE_TOPICS = 128, /* up to here, documents' counts are full rows */
    LDA_LABELLED_TOPICS = 1024, /* the same for documents with labels */
    LDA_LABELLED_CLASSES = 1024,
    LDA_NO_TOPIC = 0xFFFF, /* of a token before its first draw */
    /* a sum that is smaller by this factor has lost half of its digits */
    LDA_SMALL_PART = 4096,
    LDA_MISSES = 64 /* draws by sums before drawing one by one */
};

/* The visited word, and data common to all words. Arrays have padded +
 * LDA_LANES entries; those from `topics` on are 0. */
typedef struct lda_site {
    uint32_t topics, padded; /* K, and K rounded up to full lanes */
    float beta, beta_sum;    /* beta, V beta */
    const float *alpha;      /* alpha_k */
    int32_t *word;           /* n_wk */
    int32_t *total;          /* n_k */
    float *inverse;          /* 1 / (n_k + V beta) */
    float *q;
    float *sums;     /* sums of alpha_k q_k, see lda_sum_of */
    float mass;      /* the total of `sums` */
    uint64_t random; /* state of the visit's stream */
    float *scratch;  /* running sums of a list */
    uint64_t moved;  /* tokens that changed their topic */
} lda_site;

/* Counts of the partition's documents, as rows or as lists. */
typedef struct lda_documents {
    uint32_t n;
    uint16_t *row;  /* [n x padded], or NULL */
    uint32_t *list; /* topic | count << 16, padded with topic K, count 0 */
    uint32_t *line; /* [n] start of each list, in lines of 16 */
    uint32_t *used; /* [n] number of topics in each list */
} lda_documents;

/* A word's tokens in these documents. */
typedef struct lda_tokens {
    uint64_t n;
    const uint32_t *document; /* [n] */
    uint16_t *topic;          /* [n] */
} lda_tokens;

/* Documents with labels (lda_margin.c): p is multiplied by exp(g_k), with
 *
 *     g_k = sum_y c_y eta_yk - fall_k,   c_y = rise_y + pull_y eta_y,z
 *
 * for the token's topic z, which has been removed from the document. */
typedef struct lda_margins {
    uint32_t classes, wide; /* L, and L rounded up to full lanes */
    float *eta;             /* [classes x padded] */
    float *by_topic;        /* [(topics + 2) x wide] the transpose */
    /* [n x stride] rise and pull [wide each], fall [padded], which is very
     * large beyond K */
    float *document;
    size_t stride;
} lda_margins;

typedef struct lda_kernels {
    const char *name;
    /* Computes q, sums and mass from `word`. */
    void (*build)(lda_site *site);
    /* Redraws all tokens of a word, one after the other. */
    void (*draw)(lda_site *site, const lda_documents *documents,
                 const lda_tokens *tokens);
    /* For documents with rows: draws the first tokens of two words alternately,
     * as many of each as the shorter one has. The sites share their totals, and
     * each updates q of both words. Two tokens are weighed before the first one
     * moves, because a draw is a long chain of steps and two of them overlap.
     * So the totals for the second may be one token old, but not more. */
    void (*draw_by_turns)(lda_site *site, lda_site *other,
                          const lda_documents *documents,
                          const lda_tokens *tokens, const lda_tokens *others);
    /* As draw, for documents with labels, which have rows of any length; it
     * updates their data in `margins`. */
    void (*draw_labelled)(lda_site *site, const lda_margins *margins,
                          const lda_documents *documents,
                          const lda_tokens *tokens);
} lda_kernels;

extern const lda_kernels lda_kernels_portable;
/* NULL if this build or processor lacks the instructions. */
const lda_kernels *lda_kernels_avx2(void);
const lda_kernels *lda_kernels_avx512(void);
/* The fastest table that runs on this processor. */
const lda_kernels *lda_kernels_choose(void);

/* ---- common to all tables --------------------------------------------- */

/* The index of the sum that contains topic k. */
static inline uint32_t lda_sum_of(uint32_t k)
{
    return k / LDA_LANES;
}

static inline void lda_set_total(lda_site *s, uint32_t k, int32_t total)
{
    s->total[k] = total;
    s->inverse[k] = 1.0F / ((float)total + s->beta_sum);
}

/* Recomputes the sums of alpha_k q_k and their mass from q. */
void lda_sum_anew(lda_site *s);
/* Draws a topic other than `from` by alpha_k q_k, adding one by one. */
uint32_t lda_draw_one_by_one(lda_site *s, uint32_t from);

/* Updates q_k and its sums after a change of word[k] or inverse[k]. If little
 * of the mass remains after a decrease, its rounding error may exceed it or
 * make it negative, so the sums are recomputed. This happens with a small beta,
 * or when a topic's total is older than the word's count. */
static inline void lda_set_q(lda_site *s, uint32_t k)
{
    const float q = ((float)s->word[k] + s->beta) * s->inverse[k];
    const float by = s->alpha[k] * (q - s->q[k]);

    s->q[k] = q;
    s->sums[lda_sum_of(k)] += by;
    s->mass += by;
    if (__builtin_expect(s->mass * LDA_SMALL_PART < -by, 0))
        lda_sum_anew(s);
}

/* The weight of a topic without the drawn token, for a document with n tokens
 * of the topic including that one. */
static inline float lda_own_weight(const lda_site *s, uint32_t k, float n)
{
    const float q = ((float)(s->word[k] - 1) + s->beta) /
                    ((float)(s->total[k] - 1) + s->beta_sum);

    return ((n - 1) + s->alpha[k]) * q;
}

/* Moves the token from topic `from` (K + 1: none) to `to`. */
static inline void lda_move(lda_site *s, uint32_t from, uint32_t to)
{
    if (from < s->topics) {
        s->word[from]--;
        lda_set_total(s, from, s->total[from] - 1);
        lda_set_q(s, from);
    }
    s->word[to]++;
    lda_set_total(s, to, s->total[to] + 1);
    lda_set_q(s, to);
    s->moved++;
}

/* Uniform in [0, 1), 24 bits (splitmix64, Steele et al., OOPSLA 2014). */
static inline float lda_uniform(lda_site *s)
{
    uint64_t x = s->random += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return (float)(x >> 40) * (1.0F / 16777216.0F);
}

/* Draws a topic other than `from` by alpha_k q_k. `draw`: the table's search
 * for the topic at u in [0, mass); K or more: none, by rounding. */
static inline uint32_t lda_draw_smooth_other(lda_site *s, uint32_t from,
                                             uint32_t (*draw)(const lda_site *s,
                                                              float u))
{
    for (uint32_t miss = 0; miss < LDA_MISSES; miss++) {
        const uint32_t k = draw(s, lda_uniform(s) * s->mass);
        if (k < s->topics && k != from)
            return k;
    }
    return lda_draw_one_by_one(s, from);
}

static inline uint32_t lda_topic_of(const lda_site *s, uint16_t z)
{
    return z == LDA_NO_TOPIC ? s->topics + 1 : z;
}

/* The places of the token's old and new topic in the list. */
typedef struct lda_change {
    uint32_t from, to;
    uint32_t from_at;
    int64_t to_at; /* -1: not in the list */
} lda_change;

/* For a token of a list: the weight of its topic, and alpha_k q_k of all
 * others. */
typedef struct lda_own {
    float weight, smooth;
} lda_own;

static inline lda_own lda_own_of(const lda_site *s, const uint32_t *list,
                                 const lda_change *c)
{
    if (c->from >= s->topics)
        return (lda_own){0, s->mass};
    const float smooth = s->mass - s->alpha[c->from] * s->q[c->from];
    return (
        lda_own){lda_own_weight(s, c->from, (float)(list[c->from_at] >> 16)),
                 smooth > 0 ? smooth : 0};
}

/* Updates a document's list for a moved token. */
static inline void lda_change_list(const lda_site *s, uint32_t *list,
                                   uint32_t *used, lda_change c)
{
    const uint32_t one = UINT32_C(1) << 16;
    const bool had = c.from < s->topics;
    uint32_t n = *used;

    if (c.to_at < 0) {
        if (had && list[c.from_at] >> 16 == 1) {
            list[c.from_at] = c.to | one;
            return;
        }
        c.to_at = n;
        list[n++] = c.to;
    }
    list[c.to_at] += one;
    if (had) {
        list[c.from_at] -= one;
        if (list[c.from_at] >> 16 == 0) {
            list[c.from_at] = list[--n];
            list[n] = s->topics;
        }
    }
    *used = n;
}

#endif
