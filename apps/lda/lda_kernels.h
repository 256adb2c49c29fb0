/* lda_kernels.h - the inner loops of Gibbs sampling: one word at a time, all
 * its tokens in the documents of a partition, one loop table for each kind of
 * processor. All tables make the same draws, to the bit: sums are formed in
 * sixteen lanes whatever the processor, and nothing is fused.
 *
 * With n_dk the tokens of document d that have topic k, n_wk those of word w,
 * n_k all of them, and the token itself taken out of the three,
 *
 *     p(k) ~ (n_dk + alpha_k) q_k,     q_k = (n_wk + beta) / (n_k + V beta)
 *
 * (Griffiths and Steyvers, PNAS 2004). Most tokens stay where they are, so the
 * topic that the token has comes first in the order in which p is summed up:
 * whether it stays is known from the sum alone, and where it goes otherwise is
 * looked for among the other topics.
 *
 * For few topics a document's counts are a full row, and all of p is summed.
 * For many they are a list, and p is drawn in two parts: n_dk q_k over the
 * list, alpha_k q_k through sums of sixteen topics each (as SparseLDA does, Yao
 * et al., KDD 2009; there the token's own topic is drawn, too, and then drawn
 * again). */
#ifndef LDA_KERNELS_H
#define LDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LDA_LANES = 16,
    LDA_DENSE_TOPICS = 128,     /* up to here documents' counts are full rows */
    LDA_LABELLED_TOPICS = 1024, /* and up to here those with labels */
    LDA_LABELLED_CLASSES = 1024,
    LDA_NO_TOPIC = 0xFFFF, /* of a token before its first draw */
    LDA_SMALL_PART = 4096, /* so much less has lost half of its digits */
    LDA_MISSES = 64        /* draws by sums before one by one */
};

/* The word that is visited, and what all words share. Arrays have
 * padded + LDA_LANES places; those from `topics` on are 0. */
typedef struct lda_site {
    uint32_t topics, padded; /* K, and K rounded up to full lanes */
    float beta, beta_sum;    /* beta, V beta */
    const float *alpha;      /* alpha_k */
    int32_t *word;           /* n_wk */
    int32_t *total;          /* n_k */
    float *inverse;          /* 1 / (n_k + V beta) */
    float *q;
    float *sums;     /* of alpha_k q_k, see lda_sum_of */
    float mass;      /* of all of them */
    uint64_t random; /* state of the visit's stream */
    float *scratch;  /* running sums of a list */
    uint64_t moved;  /* tokens that have changed their topic */
} lda_site;

/* Counts of the partition's documents, as rows or as lists. */
typedef struct lda_documents {
    uint32_t n;
    uint16_t *row;  /* [n x padded], or NULL */
    uint32_t *list; /* topic | count << 16, padded with topic K, count 0 */
    uint32_t *line; /* [n] where a list begins, in lines of 16 */
    uint32_t *used; /* [n] topics in it */
} lda_documents;

/* A word's tokens in them. */
typedef struct lda_tokens {
    uint64_t n;
    const uint32_t *document; /* [n] */
    uint16_t *topic;          /* [n] */
} lda_tokens;

/* Documents with labels (lda_margin.c): what p is times exp(g_k), with
 *
 *     g_k = sum_y c_y eta_yk - fall_k,   c_y = rise_y + pull_y eta_y,z
 *
 * of the token's topic z, which has left the document then. */
typedef struct lda_margins {
    uint32_t classes, wide; /* L, and L rounded up to full lanes */
    float *eta;             /* [classes x padded] */
    float *by_topic;        /* [(topics + 2) x wide] the same, turned round */
    float *document;        /* [n x stride] rise and pull [wide each], fall
                               [padded], beyond K more than anything */
    size_t stride;
} lda_margins;

typedef struct lda_kernels {
    const char *name;
    /* q, sums and mass from `word`. */
    void (*build)(lda_site *site);
    /* Draws all tokens of a word anew, one after the other. */
    void (*draw)(lda_site *site, const lda_documents *documents,
                 const lda_tokens *tokens);
    /* Where documents are rows: the first tokens of two words by turns, as many
     * of each as the shorter has. The sites share their totals, and each keeps
     * q of both words up. Two tokens are weighed before the first of them
     * moves, for a draw is a long chain of steps, and two go side by side: so
     * the totals that the second sees may be a token old, and no more. */
    void (*draw_by_turns)(lda_site *site, lda_site *other,
                          const lda_documents *documents,
                          const lda_tokens *tokens, const lda_tokens *others);
    /* As draw, of documents with labels, which are rows of any length; it keeps
     * what they have in `margins` up. */
    void (*draw_labelled)(lda_site *site, const lda_margins *margins,
                          const lda_documents *documents,
                          const lda_tokens *tokens);
} lda_kernels;

extern const lda_kernels lda_kernels_portable;
/* NULL where this build or processor has not got what they are named for. */
const lda_kernels *lda_kernels_avx2(void);
const lda_kernels *lda_kernels_avx512(void);
/* The fastest that runs here. */
const lda_kernels *lda_kernels_choose(void);

/* ---- what all tables share --------------------------------------------- */

/* Which sum topic k is in. */
static inline uint32_t lda_sum_of(uint32_t k)
{
    return k / LDA_LANES;
}

static inline void lda_set_total(lda_site *s, uint32_t k, int32_t total)
{
    s->total[k] = total;
    s->inverse[k] = 1.0F / ((float)total + s->beta_sum);
}

/* The sums of alpha_k q_k and their mass from q. */
void lda_sum_anew(lda_site *s);
/* Draws a topic but `from` by alpha_k q_k, one after the other. */
uint32_t lda_draw_one_by_one(lda_site *s, uint32_t from);

/* q_k and its sums after a change of word[k] or of inverse[k]. A fall that
 * leaves a small part of the mass leaves its rounding, too, which may be more
 * than that part, and below 0: with a small beta, or where the total of a
 * topic is old and the word's count is not. */
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

/* What a topic weighs without the token that is being drawn, for a document
 * that has n tokens of it with this one. */
static inline float lda_own_weight(const lda_site *s, uint32_t k, float n)
{
    const float q = ((float)(s->word[k] - 1) + s->beta) /
                    ((float)(s->total[k] - 1) + s->beta_sum);

    return ((n - 1) + s->alpha[k]) * q;
}

/* The token goes from topic `from` (K + 1: from none) to `to`. */
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

/* A topic but `from` by alpha_k q_k; draw: a table's own way to the topic at u
 * in [0, mass), K or more: none, by rounding. */
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

/* Where the list says that the token's topic is, and where the new one is. */
typedef struct lda_change {
    uint32_t from, to;
    uint32_t from_at;
    int64_t to_at; /* -1: not in the list yet */
} lda_change;

/* A token of a list: what staying weighs, and alpha_k q_k of all others. */
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

/* Changes a document's list for a token that moves. */
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
