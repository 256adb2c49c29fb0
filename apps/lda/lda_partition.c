/* A partition's state: its tokens, by word, with the document and topic of
 * each; its documents' counts; and the workspace of draws. Tokens are made from
 * the share's entries, which are released as they are converted: six bytes a
 * token, eight during the conversion. */
#include "lda_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <strads/network.h>

enum {
    MOST_TOKENS = 65535,  /* of a document; longer rows are several */
    MOST_COUNT = 1 << 24, /* of a word in a row */
    GIVE_BACK = 1 << 18,  /* entries released at once */
    CLASSES = 64 /* of lists, by length in lines; the last class: or more */
};

/* Allocates an array that is accessed at random, on huge pages. */
void *lda_array_new(size_t n, size_t size)
{
    enum { LINE = 64, PAGE = 2 << 20 };
    const size_t bytes = (n * size + LINE - 1) / LINE * LINE + LINE;

    if (bytes < PAGE)
        return aligned_alloc(LINE, bytes);
    void *at = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
#ifdef MADV_HUGEPAGE
    if (at) /* the part beyond a whole page stays on small pages */
        (void)madvise(at, bytes / PAGE * PAGE, MADV_HUGEPAGE);
#endif
    return at;
}

static strads_err no_memory_for(uint64_t tokens)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory left for the topics of %" PRIu64 " tokens",
                       tokens);
}

static double value_of(const strads_sparse *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

static strads_err check_count(double value)
{
    if (value >= 1 && value <= MOST_COUNT && value == (uint32_t)value)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "a word occurs %g times in a document: expected a whole "
                       "number, 1 to %d",
                       value, MOST_COUNT);
}

/* Whether the entry is not a token: a held-out link. */
static bool is_left_out(const strads_task *task, uint64_t w, uint64_t e)
{
    const strads_lda_options *options = task->config;
    const strads_share *share = task->share;

    return options->hold_out > 0 &&
           strads_roles_is_held(task->seed, options->hold_out,
                                (uint32_t)(share->rows.begin +
                                           share->by_col.index[e]),
                                (uint32_t)w);
}

/* Splits long rows into documents of bounded length. */
static strads_err part_rows(lda_local *l, uint32_t rows)
{
    uint64_t n = 0;

    l->part = malloc(((size_t)rows + 1) * sizeof *l->part);
    if (!l->part)
        return no_memory_for(rows);
    for (uint32_t d = 0; d < rows; d++) {
        l->part[d] = (uint32_t)n;
        n += l->length[d] ? (l->length[d] - 1) / MOST_TOKENS + 1 : 1;
    }
    l->part[rows] = l->documents.n = (uint32_t)n;
    uint32_t *length = calloc((size_t)n + 1, sizeof *length);
    if (!length)
        return no_memory_for(n);
    for (uint32_t d = 0; d < rows; d++) {
        const uint32_t last = l->part[d + 1] - 1;
        for (uint32_t p = l->part[d]; p < last; p++)
            length[p] = MOST_TOKENS;
        length[last] = l->length[d] - MOST_TOKENS * (last - l->part[d]);
    }
    free(l->length);
    l->length = length;
    return STRADS_OK;
}

static strads_err check_lengths(lda_local *l, const strads_task *task)
{
    const strads_lda_options *options = task->config;
    const strads_share *share = task->share;

    for (uint32_t d = 0; d < l->documents.n; d++) {
        if (l->length[d] > MOST_TOKENS && !options->labels && !options->scratch)
            return part_rows(l, l->documents.n);
        if (l->length[d] > MOST_TOKENS)
            return strads_fail(STRADS_ELIMIT,
                               "document %" PRIu64 " has %u tokens, at most %d "
                               "are possible with %s: split it",
                               share->rows.begin + d + 1, l->length[d],
                               MOST_TOKENS,
                               options->labels ? "labels" : "--scratch");
    }
    return STRADS_OK;
}

/* Counts the tokens of words and documents. */
static strads_err count_tokens(lda_local *l, const strads_task *task,
                               uint64_t *most)
{
    const strads_sparse *x = &task->share->by_col;
    uint64_t tokens = 0, seen = 0;

    for (uint64_t w = 0; w < x->lines; w++) {
        for (uint64_t e = x->start[w]; e < x->start[w + 1]; e++) {
            const double value = value_of(x, e);
            strads_err err = check_count(value);
            if (!err && is_left_out(task, w, e))
                continue;
            if (err)
                return err;
            l->length[x->index[e]] += (uint32_t)value;
            tokens += (uint32_t)value;
        }
        l->token[w + 1] = tokens;
        if (x->start[w + 1] - x->start[seen] >= GIVE_BACK) {
            strads_share_evict(task->share);
            seen = w + 1;
        }
        if (tokens - l->token[w] > *most)
            *most = tokens - l->token[w];
    }
    return check_lengths(l, task);
}

/* Writes the documents of a word's tokens; returns the end. placed: [rows]
 * tokens of each row placed so far; NULL: rows are documents. */
static uint32_t *fill_word(const lda_local *l, const strads_task *task,
                           uint64_t w, uint32_t *placed, uint32_t *to)
{
    const strads_sparse *x = &task->share->by_col;

    for (uint64_t e = x->start[w]; e < x->start[w + 1]; e++) {
        const uint32_t d = x->index[e];
        if (is_left_out(task, w, e))
            continue;
        for (uint32_t n = (uint32_t)value_of(x, e); n; n--)
            *to++ = placed ? l->part[d] + placed[d]++ / MOST_TOKENS : d;
    }
    return to;
}

void lda_fill_word(lda_local *l, const strads_task *task, uint32_t word)
{
    (void)fill_word(l, task, word, NULL,
                    l->document + lda_scratch_place(l->scratch, word));
}

static void fill_documents(lda_local *l, const strads_task *task,
                           uint32_t *placed)
{
    const strads_share *share = task->share;
    const strads_sparse *x = &share->by_col;
    uint32_t *to = l->document;
    uint64_t spent = 0;

    for (uint64_t w = 0; w < x->lines; w++) {
        to = fill_word(l, task, w, placed, to);
        if (x->start[w + 1] - x->start[spent] < GIVE_BACK)
            continue;
        strads_share_spend_cols(share, spent, w + 1);
        spent = w + 1;
    }
    strads_share_spend_cols(share, spent, x->lines);
}

/* Makes tokens of the share's entries, without topics, and releases the
 * entries. */
static strads_err tokens_lay(lda_local *l, const strads_task *task)
{
    const strads_share *share = task->share;
    const uint64_t words = share->by_col.lines;
    uint64_t most = 0;
    uint32_t *placed = NULL;

    l->documents.n = (uint32_t)(share->rows.end - share->rows.begin);
    l->token = calloc(words + 1, sizeof *l->token);
    l->length = calloc((size_t)l->documents.n + 1, sizeof *l->length);
    if (!l->token || !l->length)
        return no_memory_for(0);
    strads_err err = count_tokens(l, task, &most);
    if (err)
        return err;
    const uint64_t tokens = l->token[words];
    l->sorting = malloc((most + 1) * sizeof *l->sorting);
    if (((const strads_lda_options *)task->config)->scratch) {
        err = l->sorting ? lda_scratch_open(l, task) : no_memory_for(most);
        return err ? err : lda_scratch_fill(l, task);
    }
    l->document = lda_array_new(tokens + 1, sizeof *l->document);
    l->topic = lda_array_new(tokens + 1, sizeof *l->topic);
    if (l->part)
        placed =
            calloc(share->rows.end - share->rows.begin + 1, sizeof *placed);
    if (!l->document || !l->topic || !l->sorting || (l->part && !placed)) {
        free(placed);
        return no_memory_for(tokens);
    }
    fill_documents(l, task, placed);
    free(placed);
    memset(l->topic, 0xFF, (tokens + 1) * sizeof *l->topic);
    return STRADS_OK;
}

lda_tokens lda_tokens_of(const lda_local *l, uint32_t word)
{
    const uint64_t n = l->token[word + 1] - l->token[word];
    const uint64_t at =
        l->scratch ? lda_scratch_place(l->scratch, word) : l->token[word];

    return (lda_tokens){.n = n,
                        .document = l->document + at,
                        .topic = l->topic + at};
}

static uint32_t class_of(const lda_documents *documents, uint32_t d)
{
    const uint32_t lines = (documents->used[d] + LDA_LANES - 1) / LDA_LANES;

    return lines < CLASSES ? lines : CLASSES - 1;
}

void lda_tokens_sort(lda_local *l, uint32_t word)
{
    const lda_tokens x = lda_tokens_of(l, word);
    const uint64_t n = x.n;
    uint32_t *document = l->document + (x.document - l->document);
    uint16_t *topic = x.topic;
    uint64_t place[CLASSES + 1] = {0};

    for (uint64_t i = 0; i < n; i++) {
        l->sorting[i] = (lda_moving){document[i], topic[i]};
        place[class_of(&l->documents, document[i]) + 1]++;
    }
    for (uint32_t c = 0; c < CLASSES; c++)
        place[c + 1] += place[c];
    for (uint64_t i = 0; i < n; i++) {
        const lda_moving one = l->sorting[i];
        const uint64_t to = place[class_of(&l->documents, one.document)]++;
        document[to] = one.document;
        topic[to] = one.topic;
    }
}

/* ---- counts -------------------------------------------------------------- */

static uint32_t pad_topics(uint32_t topics)
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
    free(l->part);
    free(l->length);
    free(l->token);
    if (!l->scratch) {
        free(l->document);
        free(l->topic);
    }
    lda_scratch_free(l->scratch);
    free(l->sorting);
    free(l->empty);
    free(l->other_empty);
    free(l->other_q);
    free(l->small_counts);
    free(l->longer);
    free(l->alpha);
    lda_prior_free(&l->prior);
    lda_rise_free(&l->beta);
    lda_rise_free(&l->even);
    free(l->by_document);
    free(l->by_document_topic);
    free(l->document_start);
    strads_lda_model_free(l->base);
    lda_seeds_free(&l->seeds);
    lda_margin_free(l->margin);
    free(l);
}

static void *zeroed(size_t n, size_t size)
{
    void *at = lda_array_new(n, size);

    return at ? memset(at, 0, n * size) : NULL;
}

static strads_err no_partition_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for counts of topics");
}

/* ---- documents --------------------------------------------------------- */

/* A list has space for all topics that its document can have, and one more
 * during a move. */
static strads_err make_lists(lda_local *l)
{
    lda_documents *x = &l->documents;
    const uint32_t topics = l->site.topics;
    uint64_t lines = 0;

    x->line = calloc((size_t)x->n + 1, sizeof *x->line);
    x->used = calloc((size_t)x->n + 1, sizeof *x->used);
    if (!x->line || !x->used)
        return no_partition_memory();
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
        return no_partition_memory();
    for (uint64_t i = 0; i < lines * LDA_LANES; i++)
        x->list[i] = topics;
    return STRADS_OK;
}

static strads_err make_documents(lda_local *l)
{
    lda_documents *x = &l->documents;

    l->longer = calloc(LDA_RISES, sizeof *l->longer);
    if (!l->longer)
        return no_partition_memory();
    for (uint32_t d = 0; d < x->n; d++)
        if (l->length[d] > 0 && l->length[d] < LDA_RISES)
            l->longer[l->length[d] - 1]++;
    for (uint32_t n = LDA_RISES - 1; n > 0; n--)
        l->longer[n - 1] += l->longer[n];
    if (l->site.topics > LDA_DENSE_TOPICS && !l->margin)
        return make_lists(l);
    x->row = zeroed((size_t)x->n * l->site.padded, sizeof *x->row);
    return x->row ? STRADS_OK : no_partition_memory();
}

/* ---- the site ---------------------------------------------------------- */

static strads_err make_site(lda_local *l, const strads_lda_options *options)
{
    lda_site *s = &l->site;
    const size_t n = (size_t)pad_topics(options->topics) + LDA_LANES;

    s->topics = options->topics;
    s->padded = pad_topics(options->topics);
    s->total = zeroed(n, sizeof *s->total);
    s->inverse = zeroed(n, sizeof *s->inverse);
    s->q = zeroed(n, sizeof *s->q);
    s->sums = zeroed(n / LDA_LANES + (size_t)2 * LDA_LANES, sizeof *s->sums);
    s->scratch = zeroed(n + LDA_LANES, sizeof *s->scratch);
    l->alpha = zeroed(n, sizeof *l->alpha);
    l->empty = zeroed(n, sizeof *l->empty);
    l->other_empty = zeroed(n, sizeof *l->other_empty);
    l->other_q = zeroed(n, sizeof *l->other_q);
    l->small_counts =
        zeroed((size_t)s->topics * LDA_SMALL_COUNTS, sizeof *l->small_counts);
    s->alpha = l->alpha;
    return s->total && s->inverse && s->q && s->sums && s->scratch &&
                   l->alpha && l->small_counts && l->empty && l->other_empty &&
                   l->other_q
               ? STRADS_OK
               : no_partition_memory();
}

void lda_use_prior(lda_local *l, uint64_t words)
{
    const lda_prior *prior = &l->prior;

    l->site.beta = (float)prior->beta;
    l->site.beta_sum = (float)((double)words * prior->beta);
    for (uint32_t k = 0; k < prior->topics; k++)
        l->alpha[k] = (float)prior->alpha[k];
}

static lda_vocabulary count_vocabulary(const strads_share *share)
{
    lda_vocabulary v = {.words = share->by_col.lines,
                        .names = share->col_names};

    for (uint64_t w = 0; share->col_nnz && w < v.words; w++)
        v.entries += share->col_nnz[w];
    return v;
}

strads_err lda_open(const strads_task *task, void **local)
{
    const strads_lda_options *options = task->config;
    lda_local *l = calloc(1, sizeof *l);

    if (!l)
        return no_partition_memory();
    l->kernels = lda_kernels_choose();
    l->words = task->share->by_col.lines;
    strads_err err = lda_prior_new(&l->prior, options);
    if (!err)
        err = lda_rise_new(&l->beta);
    if (!err)
        err = lda_rise_new(&l->even);
    if (!err)
        err = make_site(l, options);
    if (!err)
        err = tokens_lay(l, task);
    if (!err)
        err = lda_margin_open(l, task);
    if (!err)
        err = make_documents(l);
    const lda_vocabulary vocabulary = count_vocabulary(task->share);
    if (!err)
        err =
            lda_base_read(options, &vocabulary, &l->prior, &l->seeds, &l->base);
    if (err) {
        lda_close(l);
        return err;
    }
    lda_use_prior(l, task->share->by_col.lines);
    *local = l;
    return STRADS_OK;
}

/* ---- checkpoints ------------------------------------------------------- */

static void pass_lists(strads_walk *w, lda_local *l)
{
    lda_documents *x = &l->documents;
    const uint64_t tokens = l->token[l->words];

    if (l->scratch)
        lda_scratch_pass_documents(w, l);
    else
        strads_walk_pass(w, l->document, tokens * sizeof *l->document);
    for (uint64_t i = 0; !l->scratch && !w->out && i < tokens; i++)
        w->is_short = w->is_short || l->document[i] >= x->n;
    strads_walk_pass(w, x->used, x->n * sizeof *x->used);
    for (uint32_t d = 0; d < x->n; d++) {
        w->is_short = w->is_short || x->used[d] > l->length[d];
        strads_walk_pass(w, x->list + (uint64_t)x->line[d] * LDA_LANES,
                         x->used[d] * sizeof *x->list);
    }
}

/* Rows are rebuilt from the topics. */
static void pass_all(strads_walk *w, lda_local *l)
{
    strads_walk_pass(w, &l->visits, sizeof l->visits);
    strads_walk_pass(w, &l->log_words, sizeof l->log_words);
    strads_walk_pass(w, &l->psi_words, sizeof l->psi_words);
    lda_prior_pass(w, &l->prior);
    if (l->scratch)
        lda_scratch_pass_topics(w, l);
    else
        strads_walk_pass(w, l->topic, l->token[l->words] * sizeof *l->topic);
    lda_margin_pass(w, l);
    if (l->documents.list)
        pass_lists(w, l);
}

strads_err lda_pack(const void *local, strads_bytes *out)
{
    strads_walk w = {.out = out};

    /* A packing walk only reads it. */
    pass_all(&w, (lda_local *)(uintptr_t)local);
    return w.err;
}

static void count_rows(lda_local *l, uint64_t tokens)
{
    const lda_documents *x = &l->documents;

    for (uint64_t i = 0; x->row && i < tokens; i++)
        if (l->topic[i] < l->site.topics)
            x->row[(size_t)l->document[i] * l->site.padded + l->topic[i]]++;
}

strads_err lda_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local)
{
    strads_walk w = {.from = bytes, .end = (const char *)bytes + size};
    strads_err err = lda_open(task, local);

    if (err)
        return err;
    lda_local *l = *local;
    pass_all(&w, l);
    err = w.err;
    if (!err && !strads_walk_fits(&w))
        err = strads_fail(
            STRADS_EFORMAT,
            "the topics of partition %u in the checkpoint are not of "
            "these documents",
            task->share->partition);
    if (!err && l->scratch)
        err = lda_scratch_each(l, count_rows);
    else if (!err)
        count_rows(l, l->token[l->words]);
    if (err) {
        lda_close(l);
        *local = NULL;
        return err;
    }
    lda_use_prior(l, task->share->by_col.lines);
    return STRADS_OK;
}
