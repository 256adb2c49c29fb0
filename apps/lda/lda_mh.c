/* Metropolis-Hastings instead of an exact draw, for comparison: as in LightLDA
 * (Yuan et al., WWW 2015) a token's topic s gets a proposal t in O(1), in turn
 * from its word and from its document, which is taken with the probability
 *
 *     min(1, p(t) q(s) / (p(s) q(t))),
 *     p(k) ~ (n_dk + alpha_k) (n_wk + beta) / (n_k + V beta),
 *
 * the token itself taken out of all counts. A proposal by the word has q(k) ~
 * n_wk + beta: the topic of a token of the word drawn at random, which WarpLDA
 * (Chen et al., VLDB 2016) takes, or of any topic. Tokens of other partitions
 * are drawn by Walker's alias table, which their counts, fixed during a visit,
 * are made into. A proposal by the document has q(k) ~ n_dk + alpha_k: the
 * topic of one of its tokens, or one drawn by an alias table of alpha. Both are
 * what the counts are now, the token's own topic with them, so the chain is
 * exact where LightLDA's tables lag behind. One factor of p cancels q; what is
 * left of the ratio is, with r = (n_s + V beta) / (n_t + V beta),
 *
 *     word:      r (n_dt + alpha_t) / (n_ds + alpha_s)
 *     document:  r (n_wt + beta) / (n_ws + beta) */
#include "lda_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- alias tables: topics in O(1) (Walker 1977; Vose 1991) --------------- */

/* Each of n places has 1 / n of the sum: some of it is its own topic's and the
 * rest another one's. */
/* Draws topic[i] with probability weight_i / sum. */
typedef struct lda_alias {
    uint32_t n;
    double sum;
    double *weight;  /* [n] as given, then of the first of two topics, 0 .. 1 */
    uint32_t *topic; /* [n] the first */
    uint32_t *other; /* [n] the second one's place */
    uint32_t *heap;  /* [n] places that are yet to be shared out */
} lda_alias;

/* Uniform in [0, 1), 53 bits, by the site's stream. */
static double uniform(lda_site *s)
{
    const double high = (double)lda_uniform(s);

    return high + (double)lda_uniform(s) / 16777216.0;
}

/* Room for so many; false: no memory. Start with {0}; free either way. */
static bool alias_make(lda_alias *t, uint32_t most)
{
    t->weight = malloc((most + 1) * sizeof *t->weight);
    t->topic = malloc((most + 1) * sizeof *t->topic);
    t->other = malloc((most + 1) * sizeof *t->other);
    t->heap = malloc((most + 1) * sizeof *t->heap);
    return t->weight && t->topic && t->other && t->heap;
}

static void alias_free(lda_alias *t)
{
    free(t->weight);
    free(t->topic);
    free(t->other);
    free(t->heap);
}

/* A table is cleared, filled with weights above 0, and built. */
static void alias_clear(lda_alias *t)
{
    t->n = 0;
    t->sum = 0;
}

static void alias_add(lda_alias *t, uint32_t topic, double weight)
{
    t->weight[t->n] = weight;
    t->topic[t->n++] = topic;
    t->sum += weight;
}

/* Places with less than the mean are filled up from those with more. */
static void alias_build(lda_alias *t)
{
    uint32_t few = 0, many = t->n; /* stacks from both ends of the heap */

    for (uint32_t i = 0; i < t->n; i++) {
        t->weight[i] *= t->n / t->sum;
        t->other[i] = i;
        t->heap[t->weight[i] < 1 ? few++ : --many] = i;
    }
    while (few > 0 && many < t->n) {
        const uint32_t small = t->heap[--few], large = t->heap[many];
        t->other[small] = large;
        t->weight[large] -= 1 - t->weight[small];
        if (t->weight[large] < 1) {
            many++;
            t->heap[few++] = large;
        }
    }
    while (few > 0)
        t->weight[t->heap[--few]] = 1; /* but for rounding */
    while (many < t->n)
        t->weight[t->heap[many++]] = 1;
}

/* Of a table that is not empty, by the site's stream. */
static uint32_t alias_draw(const lda_alias *t, lda_site *s)
{
    const double u = uniform(s) * t->n;
    const uint32_t i = (uint32_t)u;

    return t->topic[u - i < t->weight[i] ? i : t->other[i]];
}

/* ---- state ----------------------------------------------------------------- */

struct lda_mh {
    uint64_t *start; /* [documents + 1] in `topic` */
    uint16_t *topic; /* [tokens] of all tokens, document by document */
    uint32_t *slot;  /* [tokens] where a token, counted by word, is there */
    int32_t *own;    /* [topics] the word's tokens here; all 0 between words */
    lda_alias alpha, others;
};

/* A word's tokens while they are drawn. */
typedef struct drawing {
    const strads_lda_options *options;
    lda_site *site;
    lda_documents *documents;
    const uint32_t *length;
    lda_mh *mh;
    lda_tokens tokens;
    uint64_t n;           /* tokens of the word here */
    const uint32_t *slot; /* [n] */
    double alpha_sum;
} drawing;

bool lda_is_mh(const strads_lda_options *options)
{
    return options->sampler && strcmp(options->sampler, "mh") == 0;
}

/* ---- state of a partition ---------------------------------------------- */

void lda_mh_free(lda_mh *mh)
{
    if (!mh)
        return;
    free(mh->start);
    free(mh->topic);
    free(mh->slot);
    free(mh->own);
    alias_free(&mh->alpha);
    alias_free(&mh->others);
    free(mh);
}

/* Topics document by document, and where each token's is among them. */
static void turn_round(lda_mh *mh, const lda_local *l,
                       const strads_share *share)
{
    const uint64_t words = share->by_col.lines;
    uint64_t at = 0;

    for (uint32_t d = 0; d < l->documents.n; d++)
        mh->start[d + 1] = mh->start[d] + l->length[d];
    for (uint32_t w = 0; w < words; w++) {
        const lda_tokens t = lda_tokens_of(l, w);
        for (uint64_t i = 0; i < t.n; i++, at++) {
            mh->slot[at] = (uint32_t)mh->start[t.document[i]]++;
            mh->topic[mh->slot[at]] = t.topic[i];
        }
    }
    for (uint32_t d = l->documents.n; d > 0; d--)
        mh->start[d] = mh->start[d - 1];
    mh->start[0] = 0;
}

static strads_err mh_make(lda_local *l, const strads_share *share)
{
    const uint32_t topics = l->site.topics;
    const uint64_t tokens = l->token[share->by_col.lines];
    lda_mh *mh = calloc(1, sizeof *mh);

    l->mh = mh;
    if (!mh)
        goto fail;
    mh->start = calloc((size_t)l->documents.n + 1, sizeof *mh->start);
    mh->topic = malloc((tokens + 1) * sizeof *mh->topic);
    mh->slot = malloc((tokens + 1) * sizeof *mh->slot);
    mh->own = calloc(topics, sizeof *mh->own);
    if (!alias_make(&mh->alpha, topics) || !alias_make(&mh->others, topics) ||
        !mh->start || !mh->topic || !mh->slot || !mh->own)
        goto fail;
    turn_round(mh, l, share);
    return STRADS_OK;
fail:
    return strads_fail(STRADS_ENOMEM,
                       "no memory left to propose topics of %" PRIu64 " tokens",
                       tokens);
}

/* ---- a document's counts ----------------------------------------------- */

static uint32_t *list_of(const drawing *g, uint32_t d)
{
    return g->documents->list + (uint64_t)g->documents->line[d] * LDA_LANES;
}

/* Where a topic is in a document's list; -1: it is not. */
static int64_t find_topic(const drawing *g, uint32_t d, uint32_t topic)
{
    const uint32_t *list = list_of(g, d);

    for (uint32_t i = 0; i < g->documents->used[d]; i++) {
        if ((list[i] & 0xFFFF) == topic)
            return i;
    }
    return -1;
}

static double document_count(const drawing *g, uint32_t d, uint32_t topic)
{
    if (g->documents->row)
        return g->documents->row[(size_t)d * g->site->padded + topic];
    const int64_t at = find_topic(g, d, topic);
    return at < 0 ? 0 : list_of(g, d)[at] >> 16;
}

static void move_in_document(const drawing *g, uint32_t d, uint32_t from,
                             uint32_t to)
{
    if (g->documents->row) {
        uint16_t *row = g->documents->row + (size_t)d * g->site->padded;
        row[from]--;
        row[to]++;
        return;
    }
    const lda_change change = {.from = from,
                               .to = to,
                               .from_at = (uint32_t)find_topic(g, d, from),
                               .to_at = find_topic(g, d, to)};
    lda_change_list(g->site, list_of(g, d), &g->documents->used[d], change);
}

/* ---- one token --------------------------------------------------------- */

static uint32_t propose_by_word(const drawing *g)
{
    lda_site *s = g->site;
    const lda_alias *others = &g->mh->others;
    const double n = (double)g->n;
    const double smooth = s->topics * (double)s->beta;
    const double u = uniform(s) * (n + others->sum + smooth);

    if (u < n)
        return g->tokens.topic[(uint64_t)u];
    if (u < n + others->sum)
        return alias_draw(others, s);
    return (uint32_t)(uniform(s) * s->topics);
}

static uint32_t propose_by_document(const drawing *g, uint32_t d)
{
    lda_site *s = g->site;
    const double n = g->length[d];
    const double u = uniform(s) * (n + g->alpha_sum);

    return u < n ? g->mh->topic[g->mh->start[d] + (uint64_t)u]
                 : alias_draw(&g->mh->alpha, s);
}

/* The factors of the ratio that are common to both proposals. */
static double ratio_of_totals(const lda_site *s, uint32_t from, uint32_t to)
{
    return ((double)s->total[from] - 1 + (double)s->beta_sum) /
           ((double)s->total[to] + (double)s->beta_sum);
}

static double ratio_of_documents(const drawing *g, uint32_t d, uint32_t from,
                                 uint32_t to)
{
    const float *alpha = g->site->alpha;

    return (document_count(g, d, to) + (double)alpha[to]) /
           (document_count(g, d, from) - 1 + (double)alpha[from]);
}

static double ratio_of_words(const lda_site *s, uint32_t from, uint32_t to)
{
    return (s->word[to] + (double)s->beta) /
           (s->word[from] - 1 + (double)s->beta);
}

static void move(const drawing *g, uint32_t d, uint64_t i, uint32_t to)
{
    lda_site *s = g->site;
    const uint32_t from = g->tokens.topic[i];

    s->word[from]--;
    s->word[to]++;
    lda_set_total(s, from, s->total[from] - 1);
    lda_set_total(s, to, s->total[to] + 1);
    move_in_document(g, d, from, to);
    g->tokens.topic[i] = (uint16_t)to;
    g->mh->topic[g->slot[i]] = (uint16_t)to;
    s->moved++;
}

static void draw_token(const drawing *g, uint32_t d, uint64_t i)
{
    lda_site *s = g->site;

    for (uint32_t step = 0; step < 2 * g->options->mh_steps; step++) {
        const bool by_word = step % 2 == 0;
        const uint32_t from = g->tokens.topic[i];
        const uint32_t to =
            by_word ? propose_by_word(g) : propose_by_document(g, d);
        if (to == from)
            continue;
        const double ratio = ratio_of_totals(s, from, to) *
                             (by_word ? ratio_of_documents(g, d, from, to)
                                      : ratio_of_words(s, from, to));
        if (ratio >= 1 || uniform(s) < ratio)
            move(g, d, i, to);
    }
}

/* ---- a visit ----------------------------------------------------------- */

static void add_other(const drawing *g, uint32_t topic)
{
    const int32_t others = g->site->word[topic] - g->mh->own[topic];

    if (others > 0)
        alias_add(&g->mh->others, topic, others);
}

/* What the row has beyond the word's tokens here. */
static void table_others(const drawing *g, const uint32_t *pair, uint32_t pairs)
{
    lda_mh *mh = g->mh;

    alias_clear(&mh->others);
    for (uint64_t i = 0; i < g->n; i++)
        mh->own[g->tokens.topic[i]]++;
    for (uint32_t k = 0; pairs == LDA_FULL && k < g->site->topics; k++)
        add_other(g, k);
    /* Pairs of one topic stand together. */
    for (uint32_t i = 0; pairs != LDA_FULL && i < pairs; i++) {
        if (i == 0 || (pair[i] & 0xFFFF) != (pair[i - 1] & 0xFFFF))
            add_other(g, pair[i] & 0xFFFF);
    }
    for (uint64_t i = 0; i < g->n; i++)
        mh->own[g->tokens.topic[i]] = 0;
    alias_build(&mh->others);
}

static strads_err draw_word(drawing *g, lda_local *l, const strads_task *task,
                            const lda_words *words, lda_row *row, uint32_t word)
{
    const uint64_t first = l->token[word];

    g->n = l->token[word + 1] - first;
    if (g->n == 0)
        return STRADS_OK;
    g->tokens = lda_tokens_of(l, word);
    g->slot = g->mh->slot + first;
    lda_name_stream(l, &l->site, task, word);
    g->site->word = lda_row_load(row, l->empty);
    table_others(g, row->at, row->n);
    for (uint64_t i = 0; i < g->n; i++)
        draw_token(g, g->tokens.document[i], i);
    return lda_row_store(row, words, g->site->word, g->tokens.topic, g->n);
}

strads_err lda_mh_visit(const strads_task *task, lda_words *words)
{
    lda_local *l = task->local;
    strads_err err = l->mh ? STRADS_OK : mh_make(l, task->share);

    if (err)
        return err;
    drawing g = {.options = task->config,
                 .site = &l->site,
                 .documents = &l->documents,
                 .length = l->length,
                 .mh = l->mh};
    alias_clear(&g.mh->alpha);
    for (uint32_t k = 0; k < l->site.topics; k++)
        alias_add(&g.mh->alpha, k, (double)l->site.alpha[k]);
    g.alpha_sum = g.mh->alpha.sum;
    alias_build(&g.mh->alpha);
    for (uint32_t k = 0; k < words->n && !err; k++)
        err = draw_word(&g, l, task, words, &words->row[k],
                        strads_block_param(&task->block, k));
    return err;
}
