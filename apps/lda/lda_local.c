/* A partition's state: its tokens' topics, word by word, and the counts of its
 * documents. */
#include "lda_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 65535 }; /* of a document */

static uint32_t padded(uint32_t topics)
{
    return (topics + LDA_LANES - 1) / LDA_LANES * LDA_LANES;
}

void lda_close(void *local)
{
    lda_local *l = local;

    if (!l)
        return;
    free(l->site.total);
    free(l->site.inverse);
    free(l->site.q);
    free(l->site.sums);
    free(l->site.scratch);
    free(l->documents.row);
    free(l->documents.list);
    free(l->documents.line);
    free(l->documents.used);
    free(l->length);
    free(l->token);
    free(l->topic);
    free(l->empty);
    free(l->alpha);
    lda_prior_free(&l->prior);
    lda_rise_free(&l->beta);
    lda_rise_free(&l->even);
    free(l->by_document);
    free(l->by_document_topic);
    free(l->document_start);
    strads_lda_model_free(l->base);
    lda_mh_free(l->mh);
    free(l);
}

/* Memory on a line's boundary, all 0. */
static void *zeroed(size_t n, size_t size)
{
    size_t bytes = (n * size + 63) / 64 * 64 + 64;
    void *at = aligned_alloc(64, bytes);

    if (at)
        memset(at, 0, bytes);
    return at;
}

static strads_err no_memory(uint64_t tokens)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory left for the topics of %" PRIu64 " tokens",
                       tokens);
}

/* ---- tokens ------------------------------------------------------------ */

static uint64_t count_of(const strads_sparse *x, uint64_t e)
{
    return (uint64_t)(x->f64 ? x->f64[e] : (double)x->f32[e]);
}

static strads_err check_lengths(const lda_local *l, const strads_share *share)
{
    for (uint32_t d = 0; d < l->documents.n; d++) {
        if (l->length[d] > MOST_TOKENS)
            return strads_fail(STRADS_ELIMIT,
                               "document %" PRIu64 " has %u tokens, at most %d "
                               "are possible: split it",
                               share->rows.begin + d + 1, l->length[d],
                               MOST_TOKENS);
    }
    return STRADS_OK;
}

static strads_err check_count(const strads_sparse *x, uint64_t e)
{
    const double value = x->f64 ? x->f64[e] : (double)x->f32[e];

    if (value >= 1 && value <= MOST_TOKENS && value == (double)count_of(x, e))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "a word occurs %g times in a document: expected a whole "
                       "number, 1 to %d",
                       value, MOST_TOKENS);
}

static strads_err lay_tokens(lda_local *l, const strads_share *share)
{
    const strads_sparse *x = &share->by_col;
    uint64_t tokens = 0;

    l->documents.n = (uint32_t)(share->rows.end - share->rows.begin);
    l->token = calloc(x->lines + 1, sizeof *l->token);
    l->length = calloc((size_t)l->documents.n + 1, sizeof *l->length);
    if (!l->token || !l->length)
        return no_memory(tokens);
    for (uint64_t w = 0; w < x->lines; w++) {
        for (uint64_t e = x->start[w]; e < x->start[w + 1]; e++) {
            strads_err err = check_count(x, e);
            if (err)
                return err;
            l->length[x->index[e]] += (uint32_t)count_of(x, e);
            tokens += count_of(x, e);
        }
        l->token[w + 1] = tokens;
    }
    strads_err err = check_lengths(l, share);
    if (err)
        return err;
    l->topic = malloc((tokens + 1) * sizeof *l->topic);
    if (!l->topic)
        return no_memory(tokens);
    memset(l->topic, 0xFF, (tokens + 1) * sizeof *l->topic);
    return STRADS_OK;
}

lda_tokens lda_tokens_of(const lda_local *l, const strads_share *share,
                         uint32_t word)
{
    const strads_sparse *x = &share->by_col;
    const uint64_t at = x->start[word];

    return (lda_tokens){.n = x->start[word + 1] - at,
                        .index = x->index + at,
                        .f64 = x->f64 ? x->f64 + at : NULL,
                        .f32 = x->f32 ? x->f32 + at : NULL,
                        .topic = l->topic + l->token[word]};
}

/* ---- documents --------------------------------------------------------- */

/* A list has room for all topics that its document can have, and one more
 * while a token moves. */
static strads_err make_lists(lda_local *l)
{
    lda_documents *x = &l->documents;
    const uint32_t topics = l->site.topics;
    uint64_t lines = 0;

    x->line = calloc((size_t)x->n + 1, sizeof *x->line);
    x->used = calloc((size_t)x->n + 1, sizeof *x->used);
    if (!x->line || !x->used)
        return no_memory(0);
    for (uint32_t d = 0; d < x->n; d++) {
        uint32_t most = l->length[d] < topics ? l->length[d] : topics;
        x->line[d] = (uint32_t)lines;
        lines += most / LDA_LANES + 1;
    }
    if (lines > UINT32_MAX)
        return strads_fail(STRADS_ELIMIT, "the documents of a partition need "
                                          "too many lists: take more "
                                          "partitions");
    x->list = zeroed(lines * LDA_LANES, sizeof *x->list);
    if (!x->list)
        return no_memory(0);
    for (uint64_t i = 0; i < lines * LDA_LANES; i++)
        x->list[i] = topics;
    return STRADS_OK;
}

static strads_err make_documents(lda_local *l)
{
    lda_documents *x = &l->documents;

    if (l->site.topics > LDA_DENSE_TOPICS)
        return make_lists(l);
    x->row = zeroed((size_t)x->n * l->site.padded, sizeof *x->row);
    return x->row ? STRADS_OK : no_memory(0);
}

/* ---- the site ---------------------------------------------------------- */

static strads_err make_site(lda_local *l, const strads_lda_options *options)
{
    lda_site *s = &l->site;
    const size_t n = (size_t)padded(options->topics) + LDA_LANES;

    s->topics = options->topics;
    s->padded = padded(options->topics);
    s->total = zeroed(n, sizeof *s->total);
    s->inverse = zeroed(n, sizeof *s->inverse);
    s->q = zeroed(n, sizeof *s->q);
    s->sums = zeroed(n / LDA_LANES + 2 * LDA_LANES, sizeof *s->sums);
    s->scratch = zeroed(n + LDA_LANES, sizeof *s->scratch);
    l->alpha = zeroed(n, sizeof *l->alpha);
    l->empty = zeroed(n, sizeof *l->empty);
    s->alpha = l->alpha;
    return s->total && s->inverse && s->q && s->sums && s->scratch &&
                   l->alpha && l->empty
               ? STRADS_OK
               : no_memory(0);
}

void lda_use_prior(lda_local *l, uint64_t words)
{
    const lda_prior *prior = &l->prior;

    l->site.beta = (float)prior->beta;
    l->site.beta_sum = (float)((double)words * prior->beta);
    for (uint32_t k = 0; k < prior->topics; k++)
        l->alpha[k] = (float)prior->alpha[k];
}

strads_err lda_open(const strads_task *task, void **local)
{
    const strads_lda_options *options = task->config;
    lda_local *l = calloc(1, sizeof *l);

    if (!l)
        return no_memory(0);
    l->kernels = lda_kernels_choose();
    strads_err err = lda_prior_new(&l->prior, options);
    if (!err)
        err = lda_rise_new(&l->beta);
    if (!err)
        err = lda_rise_new(&l->even);
    if (!err)
        err = make_site(l, options);
    if (!err)
        err = lay_tokens(l, task->share);
    if (!err)
        err = make_documents(l);
    if (!err)
        err = lda_base_read(options, task->share->by_col.lines, &l->prior,
                            &l->base);
    if (err) {
        lda_close(l);
        return err;
    }
    lda_use_prior(l, task->share->by_col.lines);
    *local = l;
    return STRADS_OK;
}
