/* At the end, and for samples and interim models, the coordinator collects the
 * partitions' counts in pieces, until all are there; at the end also their
 * tokens' topics, if wanted. A piece consists of 32-bit numbers: the number of
 * counts and of tokens that follow, whether it is the last one, and then these.
 *
 * Counts are (word, topic, tokens) of the partition, words in any order. For a
 * network, the counts of its nodes as documents follow, so that the model has
 * the tokens of both ends. Tokens are sent by document: N, the words, two
 * topics to a number; N is marked if the document is not the last one of its
 * row. The coordinator writes them to temporary files, because
 * they are as large as the data. */
#include "lda_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 3,
    PIECE = LDA_PIECE / 4,
    PARTS = 16 /* of the tokens that are sorted by document at once */
};

/* ---- partitions ------------------------------------------------------- */

/* The k-th word to send: tokens on disk are read block by block. */
static strads_err take_word(lda_local *l, uint64_t k, uint32_t *word)
{
    uint32_t block;

    *word = (uint32_t)k;
    if (!l->scratch)
        return STRADS_OK;
    *word = lda_scratch_word(l->scratch, k, &block);
    return lda_scratch_take(l, block);
}

/* Writes the counts of as many words as surely fit. */
static strads_err send_counts(lda_local *l, const strads_share *share,
                              uint32_t *out, uint32_t capacity, uint32_t *used)
{
    const uint64_t words = share->by_col.lines;
    uint32_t at = 0;

    for (; l->sent_word < words; l->sent_word++) {
        uint32_t w;
        const strads_err err = take_word(l, l->sent_word, &w);
        if (err)
            return err;
        const lda_tokens x = lda_tokens_of(l, w);
        const uint64_t most = x.n < l->site.topics ? x.n : l->site.topics;
        if (at + 3 * most > capacity)
            break;
        for (uint64_t i = 0; i < x.n; i++)
            l->empty[x.topic[i]]++;
        for (uint64_t i = 0; i < x.n; i++) {
            const uint32_t k = x.topic[i];
            if (l->empty[k] == 0)
                continue;
            out[at++] = w;
            out[at++] = k;
            out[at++] = (uint32_t)l->empty[k];
            l->empty[k] = 0;
        }
    }
    *used = at;
    return STRADS_OK;
}

/* Writes (node, topic, tokens) for the nodes' own tokens, as for words. */
static uint32_t send_nodes(lda_local *l, const strads_share *share,
                           uint32_t *out, uint32_t capacity)
{
    const lda_documents *x = &l->documents;
    uint32_t at = 0;

    for (; l->sent_document < x->n; l->sent_document++) {
        const uint64_t d = l->sent_document;
        const uint16_t *row = x->row ? x->row + d * l->site.padded : NULL;
        const uint32_t *list =
            row ? NULL : x->list + (uint64_t)x->line[d] * LDA_LANES;
        const uint32_t most = row ? l->site.topics : x->used[d];
        if (at + 3 * (uint64_t)most > capacity)
            break;
        while (l->part && l->part[l->sent_row + 1] <= d)
            l->sent_row++;
        for (uint32_t i = 0; i < most; i++) {
            const uint32_t n = row ? row[i] : list[i] >> 16;
            if (n == 0)
                continue;
            out[at++] =
                (uint32_t)(share->rows.begin + (l->part ? l->sent_row : d));
            out[at++] = row ? i : list[i] & 0xFFFF;
            out[at++] = n;
        }
    }
    return at;
}

static strads_err reserve_sort(lda_local *l, uint64_t words)
{
    uint32_t longest = 0;

    for (uint32_t d = 0; d < l->documents.n; d++)
        longest = l->length[d] > longest ? l->length[d] : longest;
    l->most_turned = l->token[words] / PARTS + longest;
    l->document_start =
        calloc((size_t)l->documents.n + 1, sizeof *l->document_start);
    l->by_document = malloc((l->most_turned + 1) * sizeof *l->by_document);
    l->by_document_topic =
        malloc((l->most_turned + 1) * sizeof *l->by_document_topic);
    if (l->document_start && l->by_document && l->by_document_topic)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "no memory left to sort %" PRIu64 " assignments",
                       l->token[words]);
}

/* Sorts the tokens of the next documents by document. They are stored by word,
 * so each pass scans all tokens. During the pass, document_start is each
 * document's write position. */
static void sort_by_document(lda_local *l, uint64_t words)
{
    const uint64_t first = l->sent_document;
    uint64_t end = first, n = 0;

    for (; end < l->documents.n && n + l->length[end] <= l->most_turned;
         end++) {
        l->document_start[end] = n;
        n += l->length[end];
    }
    for (uint32_t w = 0; w < words; w++) {
        const lda_tokens t = lda_tokens_of(l, w);
        for (uint64_t i = 0; i < t.n; i++) {
            if (t.document[i] - first >= end - first)
                continue;
            const uint64_t to = l->document_start[t.document[i]]++;
            l->by_document[to] = w;
            l->by_document_topic[to] = t.topic[i];
        }
    }
    for (uint64_t d = first; d < end; d++)
        l->document_start[d] -= l->length[d];
    l->turned = end;
}

static uint32_t send_tokens(lda_local *l, uint64_t words, uint32_t *out,
                            uint32_t capacity)
{
    uint32_t at = 0;

    for (; l->sent_document < l->documents.n; l->sent_document++) {
        const uint64_t d = l->sent_document;
        const uint32_t n = l->length[d], halves = (n + 1) / 2;
        if (at + 1 + n + halves > capacity)
            break;
        if (d == l->turned)
            sort_by_document(l, words);
        const uint64_t from = l->document_start[d];
        while (l->part && l->part[l->sent_row + 1] <= d)
            l->sent_row++;
        const bool goes_on = l->part && d + 1 < l->part[l->sent_row + 1];
        out[at] = n | (goes_on ? LDA_GOES_ON : 0);
        memcpy(out + at + 1, l->by_document + from, n * sizeof *out);
        if (n)
            out[at + n + halves] = 0;
        memcpy(out + at + 1 + n, l->by_document_topic + from,
               n * sizeof *l->by_document_topic);
        at += 1 + n + halves;
    }
    return at;
}

void lda_restart_sending(lda_local *l)
{
    l->sent_word = l->sent_document = l->sent_row = 0;
}

strads_err lda_send_piece(strads_task *task)
{
    const strads_lda_options *options = task->config;
    lda_local *l = task->local;
    uint32_t *out = (uint32_t *)(void *)task->partial;
    const uint64_t words = task->share->by_col.lines;
    const bool keeps = options->keep_assignments && task->phase == LDA_GATHER;
    strads_err err = STRADS_OK;

    if (task->phase != l->sent_phase) { /* both may follow one sweep */
        lda_restart_sending(l);
        l->sent_phase = task->phase;
    }
    if (keeps && !l->by_document)
        err = reserve_sort(l, words);
    if (err)
        return err;
    err = send_counts(l, task->share, out + HEAD, PIECE - HEAD, &out[0]);
    if (err)
        return err;
    out[1] = 0;
    bool all = l->sent_word == words;
    if (all && options->network) {
        out[0] += send_nodes(l, task->share, out + HEAD + out[0],
                             PIECE - HEAD - out[0]);
        all = l->sent_document == l->documents.n;
    }
    if (all && keeps) {
        out[1] =
            send_tokens(l, words, out + HEAD + out[0], PIECE - HEAD - out[0]);
        all = l->sent_document == l->documents.n;
    }
    out[2] = all;
    task->partial_bytes = sizeof *out * (HEAD + (size_t)out[0] + out[1]);
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

static strads_err keep_stream(lda_stream *stream, const uint32_t *from,
                              size_t n)
{
    if (stream->n + n > stream->capacity) {
        size_t capacity = 2 * stream->capacity + n;
        uint32_t *more = realloc(stream->at, capacity * sizeof *more);
        if (!more)
            return strads_fail(STRADS_ENOMEM,
                               "no memory left for what was sampled");
        stream->at = more;
        stream->capacity = capacity;
    }
    if (n)
        memcpy(stream->at + stream->n, from, n * sizeof *from);
    stream->n += n;
    return STRADS_OK;
}

static strads_err write_temporary(FILE *file, const uint32_t *from, size_t n)
{
    if (n == 0 || fwrite(from, sizeof *from, n, file) == n)
        return STRADS_OK;
    return strads_fail(STRADS_EIO, LDA_NO_ROOM_ASIDE, strerror(errno));
}

strads_err lda_model_new(uint32_t topics, uint64_t words, uint64_t pairs,
                         strads_lda_model **out)
{
    strads_lda_model *m = calloc(1, sizeof *m);

    if (!m)
        goto fail;
    m->topics = topics;
    m->words = words;
    m->alpha = calloc(topics, sizeof *m->alpha);
    m->total = calloc(topics, sizeof *m->total);
    m->start = calloc(words + 2, sizeof *m->start);
    m->topic = calloc(pairs + 1, sizeof *m->topic);
    m->count = calloc(pairs + 1, sizeof *m->count);
    if (!m->alpha || !m->total || !m->start || !m->topic || !m->count)
        goto fail;
    *out = m;
    return STRADS_OK;
fail:
    strads_lda_model_free(m);
    return strads_fail(STRADS_ENOMEM,
                       "no memory left for a model of %u topics and %" PRIu64
                       " words",
                       topics, words);
}

/* Orders counts by field 0 (word) or 1 (topic); NULL: no memory. */
static uint32_t *order_counts(const uint32_t *from, uint64_t n, size_t field,
                              uint64_t buckets)
{
    uint64_t *to = calloc(buckets + 2, sizeof *to);
    uint32_t *out = malloc((3 * n + 1) * sizeof *out);

    if (!to || !out) {
        free(to);
        free(out);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++)
        to[from[3 * i + field] + 1]++;
    for (uint64_t b = 0; b < buckets; b++)
        to[b + 1] += to[b];
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = to[from[3 * i + field]]++;
        memcpy(out + 3 * at, from + 3 * i, 3 * sizeof *from);
    }
    free(to);
    return out;
}

/* Sorts counts by topic, then by word, so that equal pairs are adjacent. At
 * most two copies exist at once. */
static strads_err sort_counts(lda_stream *counts, uint32_t topics,
                              uint64_t words)
{
    const uint64_t n = counts->n / 3;
    uint32_t *by_topic = order_counts(counts->at, n, 1, topics);

    free(counts->at);
    *counts = (lda_stream){0};
    if (by_topic)
        counts->at = order_counts(by_topic, n, 0, words);
    free(by_topic);
    if (!counts->at)
        return strads_fail(STRADS_ENOMEM, "no memory left for the counts");
    counts->n = counts->capacity = 3 * n;
    return STRADS_OK;
}

static void merge_equal(lda_stream *sorted)
{
    uint32_t *to = NULL;
    size_t n = 0;

    for (size_t i = 0; i < sorted->n; i += 3) {
        const uint32_t *x = sorted->at + i;
        if (to && to[0] == x[0] && to[1] == x[1]) {
            to[2] += x[2];
            continue;
        }
        to = sorted->at + n;
        memmove(to, x, 3 * sizeof *x);
        n += 3;
    }
    sorted->n = n;
}

static void fill_counts(strads_lda_model *m, const lda_stream *sum)
{
    for (size_t i = 0; i < sum->n / 3; i++) {
        const uint32_t *x = sum->at + 3 * i;
        m->topic[i] = x[1];
        m->count[i] = x[2];
        m->start[x[0] + 1] = i + 1;
        m->total[x[1]] += x[2];
        m->tokens += x[2];
    }
    m->tokens /= m->samples;
    for (uint64_t w = 0; w < m->words; w++)
        if (m->start[w + 1] < m->start[w])
            m->start[w + 1] = m->start[w];
}

/* Adds the counts of the model that the run started from, without those of
 * seeds. */
static strads_err keep_base(lda_state *s)
{
    const strads_lda_model *m = s->base;
    const strads_lda_seeds *seeds = &s->seeds.of;
    uint32_t next = 0; /* seed, in the order of the counts */
    strads_err err = STRADS_OK;

    for (uint64_t w = 0; m && w < m->words && !err; w++) {
        for (uint64_t i = m->start[w]; i < m->start[w + 1] && !err; i++) {
            uint32_t count[] = {(uint32_t)w, m->topic[i], m->count[i]};
            if (next < seeds->n && seeds->word[next] == w &&
                seeds->topic[next] == m->topic[i])
                count[2] -= s->seeds.count[next++];
            if (count[2] > 0)
                err = keep_stream(&s->counts, count, 3);
        }
    }
    return err;
}

/* Checks that the counts of the tokens match the run's totals. */
static strads_err check_totals(const lda_state *s, const double *total,
                               double ends)
{
    const uint32_t topics = s->prior.topics;
    uint64_t *counted = calloc((size_t)topics + 1, sizeof *counted);
    strads_err err = STRADS_OK;

    if (!counted)
        return strads_fail(STRADS_ENOMEM, "no memory left for the counts");
    for (size_t i = 0; i < s->counts.n; i += 3)
        counted[s->counts.at[i + 1]] += s->counts.at[i + 2];
    for (uint32_t i = 0; i < s->seeds.of.n; i++)
        counted[s->seeds.of.topic[i]] += s->seeds.count[i];
    for (uint32_t k = 0; k < topics && !err; k++) {
        if ((double)counted[k] != ends * total[k])
            err = strads_fail(STRADS_EPROGRAM,
                              "topic %u has %" PRIu64
                              " tokens, but %.0f were counted: this is an "
                              "error of the program",
                              k, counted[k], ends * total[k]);
    }
    free(counted);
    return err;
}

/* Adds the counts of the current sweep to those of earlier samples. */
static strads_err add_sample(lda_state *s)
{
    strads_err err = keep_stream(&s->counts, s->sum.at, s->sum.n);

    free(s->sum.at);
    s->sum = (lda_stream){0};
    if (!err)
        err = sort_counts(&s->counts, s->prior.topics, s->words);
    if (err)
        return err;
    merge_equal(&s->counts);
    s->sum = s->counts;
    s->counts = (lda_stream){0};
    s->sampled = s->sweep;
    s->samples++;
    return STRADS_OK;
}

/* Makes a model of sorted counts, which are sums over `samples` sweeps. */
static strads_err model_of_counts(const lda_state *s, const lda_stream *sum,
                                  uint32_t samples,
                                  const strads_lda_options *options,
                                  strads_lda_model **out)
{
    const uint32_t topics = s->prior.topics;
    strads_err err = lda_model_new(topics, s->words, sum->n / 3, out);

    if (err)
        return err;
    strads_lda_model *m = *out;
    m->samples = samples;
    fill_counts(m, sum);
    memcpy(m->alpha, s->prior.alpha, topics * sizeof(double));
    m->beta = s->prior.beta;
    m->network = options->network;
    m->hold_out = options->hold_out;
    m->documents = s->documents + (s->base ? s->base->documents : 0);
    m->log_likelihood = s->evaluated == s->sweep ? s->log_likelihood : NAN;
    if (s->classifier.classes)
        err = lda_model_classify(m, s->classifier.classes, s->labels.classes,
                                 s->classifier.mean);
    for (uint32_t k = 0; !err && s->base && k < topics; k++)
        if (s->base->topic_name && s->base->topic_name[k])
            err = lda_model_name(m, k, s->base->topic_name[k]);
    return err;
}

static strads_err make_model(lda_state *s, const strads_lda_options *options)
{
    const strads_err err =
        model_of_counts(s, &s->sum, s->samples, options, &s->model);

    free(s->sum.at);
    s->sum = (lda_stream){0};
    return err;
}

/* Passes the model of the current sweep to the caller. Its counts remain, in
 * order, because they may be a sample as well. */
static strads_err pass_interim(lda_state *s, const strads_lda_options *options)
{
    strads_lda_model *model = NULL;
    strads_err err = sort_counts(&s->counts, s->prior.topics, s->words);

    if (err)
        return err;
    merge_equal(&s->counts);
    err = model_of_counts(s, &s->counts, 1, options, &model);
    if (!err)
        err = options->interim(options->interim_arg, model, s->sweep);
    strads_lda_model_free(model);
    s->shown = s->sweep;
    return err;
}

/* Uses the counts of the current sweep, which have all arrived. */
static strads_err use_counts(lda_state *s, const double *total,
                             const strads_lda_options *options)
{
    strads_err err = keep_base(s);

    if (!err)
        err = check_totals(s, total, options->network ? 2 : 1);
    if (!err && s->takes_interim)
        err = pass_interim(s, options);
    if (!err && s->takes_sample)
        err = add_sample(s);
    free(s->counts.at);
    s->counts = (lda_stream){0};
    return err;
}

static bool fits_piece(const lda_state *s, const uint32_t *at, size_t left)
{
    if (left < HEAD || left - HEAD < (size_t)at[0] + at[1] || at[0] % 3 != 0)
        return false;
    for (uint32_t i = 0; i < at[0]; i += 3)
        if (at[HEAD + i] >= s->words || at[HEAD + i + 1] >= s->prior.topics)
            return false;
    return true;
}

strads_err lda_gathered(strads_commit *commit)
{
    lda_state *s = commit->state;
    const uint32_t *at = (const uint32_t *)(const void *)commit->partial;
    size_t left = commit->partial_bytes / sizeof *at;
    const bool uses = s->takes_sample || s->takes_interim;
    bool all = true;
    strads_err err = STRADS_OK;

    for (uint32_t p = 0; p < s->partitions && !err; p++) {
        if (!fits_piece(s, at, left))
            return strads_fail(STRADS_EPEER,
                               "a node sent invalid counts: it runs "
                               "another version or is broken");
        const size_t n = HEAD + (size_t)at[0] + at[1];
        if (uses)
            err = keep_stream(&s->counts, at + HEAD, at[0]);
        if (!err && s->assignments)
            err = write_temporary(s->assignments[p], at + HEAD + at[0], at[1]);
        all = all && at[2];
        at += n;
        left -= n;
    }
    if (err || !all)
        return err;
    if (uses)
        err = use_counts(s, commit->total, commit->config);
    if (err || commit->phase == LDA_COLLECT)
        return err;
    s->all_gathered = true;
    return make_model(s, commit->config);
}
