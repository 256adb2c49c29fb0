/* A partition's state: the counts of its documents, and what words are drawn
 * with. Its tokens are in lda_tokens.c. */
#include "lda_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
    free(l->document);
    free(l->topic);
    free(l->sorting);
    free(l->empty);
    free(l->other_empty);
    free(l->other_q);
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

void *lda_array_new(size_t n, size_t size)
{
    enum { LINE = 64, PAGE = 2 << 20 };
    const size_t bytes = (n * size + LINE - 1) / LINE * LINE + LINE;

    if (bytes < PAGE)
        return aligned_alloc(LINE, bytes);
    void *at = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (at) /* what is left over a whole page stays on small ones */
        (void)madvise(at, bytes / PAGE * PAGE, MADV_HUGEPAGE);
    return at;
}

static void *zeroed(size_t n, size_t size)
{
    void *at = lda_array_new(n, size);

    return at ? memset(at, 0, n * size) : NULL;
}

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for counts of topics");
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
        return no_memory();
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
        return no_memory();
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
    return x->row ? STRADS_OK : no_memory();
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
    l->other_empty = zeroed(n, sizeof *l->other_empty);
    l->other_q = zeroed(n, sizeof *l->other_q);
    s->alpha = l->alpha;
    return s->total && s->inverse && s->q && s->sums && s->scratch &&
                   l->alpha && l->empty && l->other_empty && l->other_q
               ? STRADS_OK
               : no_memory();
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
        return no_memory();
    l->kernels = lda_kernels_choose();
    strads_err err = lda_prior_new(&l->prior, options);
    if (!err)
        err = lda_rise_new(&l->beta);
    if (!err)
        err = lda_rise_new(&l->even);
    if (!err)
        err = make_site(l, options);
    if (!err)
        err = lda_tokens_lay(l, task->share);
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
