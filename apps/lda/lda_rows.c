/* Travelling blocks: words and their counts. A row is a list of its topics, or
 * a full row once it contains more than half of all topics. It is sent between
 * nodes in the same form. */
#include "lda_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 0xFFFF }; /* of a count in one pair */

static size_t full_bytes(uint32_t padded)
{
    return sizeof(int32_t) * ((size_t)padded + LDA_LANES);
}

static void words_close(void *object)
{
    lda_words *words = object;

    for (uint32_t k = 0; words && k < words->n; k++)
        free(words->row[k].at);
    free(words);
}

static strads_err words_new(uint32_t n, uint32_t topics, lda_words **out)
{
    lda_words *words = calloc(1, sizeof *words + n * sizeof *words->row);

    if (!words)
        return strads_fail(STRADS_ENOMEM, "no memory left for %u words", n);
    words->n = n;
    words->topics = topics;
    words->padded = (topics + LDA_LANES - 1) / LDA_LANES * LDA_LANES;
    *out = words;
    return STRADS_OK;
}

/* ---- rows -------------------------------------------------------------- */

int32_t *lda_row_load(const lda_row *row, int32_t *empty)
{
    const uint32_t *pair = row->at;

    if (row->n == LDA_FULL)
        return row->at;
    for (uint32_t i = 0; i < row->n; i++)
        empty[pair[i] & MOST] += (int32_t)(pair[i] >> 16);
    return empty;
}

static strads_err no_row_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for the words' counts");
}

static strads_err make_room(lda_row *row, uint32_t n)
{
    uint32_t capacity = n < 4 ? 4 : n + n / 2;

    if (n <= row->capacity)
        return STRADS_OK;
    uint32_t *more = realloc(row->at, capacity * sizeof *more);
    if (!more)
        return no_row_memory();
    row->at = more;
    row->capacity = capacity;
    return STRADS_OK;
}

/* Moves topic k's count from the full row into the list. */
static strads_err list_topic(lda_row *row, int32_t *word, uint32_t k)
{
    uint32_t count = (uint32_t)word[k];
    strads_err err = STRADS_OK;

    word[k] = 0;
    while (count && !err) {
        uint32_t part = count < MOST ? count : MOST;
        err = make_room(row, row->n + 1);
        if (!err)
            ((uint32_t *)row->at)[row->n++] = k | part << 16;
        count -= part;
    }
    return err;
}

static strads_err make_full(lda_row *row, uint32_t padded, int32_t *word)
{
    void *full = aligned_alloc(64, full_bytes(padded));

    if (!full)
        return no_row_memory();
    memcpy(full, word, full_bytes(padded));
    memset(word, 0, full_bytes(padded));
    free(row->at);
    *row = (lda_row){.n = LDA_FULL, .at = full};
    return STRADS_OK;
}

static uint32_t count_topics(const int32_t *word, uint32_t topics)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < topics; k++)
        n += word[k] != 0;
    return n;
}

/* Lists all topics in their order: for rows that were full, and for words with
 * about as many tokens here as topics. */
static strads_err list_all(lda_row *row, const lda_words *words, int32_t *word)
{
    strads_err err = STRADS_OK;

    row->n = 0;
    for (uint32_t k = 0; k < words->topics && !err; k++)
        err = word[k] ? list_topic(row, word, k) : STRADS_OK;
    return err;
}

/* A count of several pairs leaves no space to rewrite a list in place. */
static bool has_long(const lda_row *row, const int32_t *word)
{
    const uint32_t *pair = row->at;

    for (uint32_t i = 0; i < row->n; i++)
        if (word[pair[i] & MOST] > MOST)
            return true;
    return false;
}

static strads_err list_few(lda_row *row, int32_t *word, const uint16_t *z,
                           uint64_t n)
{
    const uint32_t had = row->n;
    strads_err err = make_room(row, had + (uint32_t)n);
    uint32_t *pair = row->at;

    if (err)
        return err;
    row->n = 0;
    for (uint32_t i = 0; i < had; i++) {
        const uint32_t k = pair[i] & MOST, count = (uint32_t)word[k];
        word[k] = 0;
        if (count)
            pair[row->n++] = k | count << 16;
    }
    for (uint64_t i = 0; i < n && !err; i++)
        err = list_topic(row, word, z[i]);
    return err;
}

strads_err lda_row_store(lda_row *row, const lda_words *words, int32_t *word,
                         const uint16_t *z, uint64_t n)
{
    const bool full = row->n == LDA_FULL;
    const uint32_t topics = words->topics;

    if (!full && row->n + n < topics / 2 && !has_long(row, word))
        return list_few(row, word, z, n);
    const uint32_t found = count_topics(word, topics);
    if (full && found >= topics / 4)
        return STRADS_OK;
    if (!full && found > topics / 2)
        return make_full(row, words->padded, word);
    lda_row old = *row;
    if (full)
        *row = (lda_row){0};
    strads_err err = list_all(row, words, word);
    if (full)
        free(old.at);
    return err;
}

static void sum_count(const lda_rise *rise, uint64_t n, double *log_sum,
                      double *psi_sum)
{
    *log_sum += lda_rise_log(rise, n);
    *psi_sum += lda_rise_psi(rise, n);
}

void lda_row_sum(const lda_row *row, uint32_t topics, const lda_rise *rise,
                 double *log_sum, double *psi_sum)
{
    const int32_t *full = row->at;
    const uint32_t *pair = row->at;

    if (row->n == LDA_FULL) {
        for (uint32_t k = 0; k < topics; k++)
            if (full[k])
                sum_count(rise, (uint64_t)full[k], log_sum, psi_sum);
        return;
    }
    /* Pairs of one topic are adjacent. */
    for (uint32_t i = 0; i < row->n;) {
        const uint32_t k = pair[i] & MOST;
        uint64_t n = 0;
        for (; i < row->n && (pair[i] & MOST) == k; i++)
            n += pair[i] >> 16;
        sum_count(rise, n, log_sum, psi_sum);
    }
}

/* ---- between nodes ----------------------------------------------------- */

static size_t row_bytes(const lda_words *words, uint32_t n)
{
    return n == LDA_FULL ? full_bytes(words->padded)
                         : sizeof(uint32_t) * (size_t)n;
}

static strads_err words_pack(const void *object, strads_bytes *out)
{
    const lda_words *words = object;
    const uint32_t head[2] = {words->n, words->topics};
    strads_err err = strads_bytes_append(out, head, sizeof head);

    for (uint32_t k = 0; k < words->n && !err; k++) {
        const lda_row *row = &words->row[k];
        err = strads_bytes_append(out, &row->n, sizeof row->n);
        if (!err && row->n)
            err = strads_bytes_append(out, row->at, row_bytes(words, row->n));
    }
    return err;
}

static strads_err fail_payload(void)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent counts of words that do not exist: it runs "
                       "another version or is broken");
}

static bool is_row(const lda_words *words, const lda_row *row)
{
    const uint32_t *pair = row->at;

    for (uint32_t i = 0; row->n != LDA_FULL && i < row->n; i++)
        if ((pair[i] & MOST) >= words->topics)
            return false;
    return true;
}

static strads_err take_row(const lda_words *words, lda_row *row,
                           const char **from, const char *end)
{
    uint32_t n;

    if ((size_t)(end - *from) < sizeof n)
        return fail_payload();
    memcpy(&n, *from, sizeof n);
    *from += sizeof n;
    const size_t bytes = row_bytes(words, n);
    if ((size_t)(end - *from) < bytes)
        return fail_payload();
    if (n == 0)
        return STRADS_OK;
    row->at = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!row->at)
        return no_row_memory();
    memcpy(row->at, *from, bytes);
    *from += bytes;
    row->n = n;
    row->capacity = n == LDA_FULL ? 0 : n;
    return is_row(words, row) ? STRADS_OK : fail_payload();
}

static strads_err words_unpack(const void *bytes, size_t size, void **object)
{
    const char *from = bytes, *end = from + size;
    uint32_t head[2];
    lda_words *words = NULL;

    if (size < sizeof head)
        return fail_payload();
    memcpy(head, from, sizeof head);
    from += sizeof head;
    if (head[0] > size / sizeof(uint32_t) || head[1] > LDA_NO_TOPIC)
        return fail_payload();
    strads_err err = words_new(head[0], head[1], &words);
    for (uint32_t k = 0; !err && k < head[0]; k++)
        err = take_row(words, &words->row[k], &from, end);
    if (err) {
        words_close(words);
        return err;
    }
    *object = words;
    return STRADS_OK;
}

/* ---- starting from a model
 * ---------------------------------------------------- */

/* A run that starts from a model: its counts m are there before the first sweep
 * and stay, as if its tokens' topics were known, so a new token is drawn from
 *
 *     p(k) ~ (n_dk + alpha_k) (m_wk + n_wk + beta) / (m_k + n_k + V beta)
 *
 * which is the posterior of the new topics given the old ones. V includes the
 * new words; alpha and beta are the model's. */

/* Counts are 32 bits, and new tokens are added to them. */
static const uint64_t MOST_TOKENS = UINT64_C(1) << 30;

static strads_err check_base(const strads_lda_model *m,
                             const strads_lda_options *options, uint64_t words)
{
    if (m->topics != options->topics)
        return strads_fail(STRADS_EMISMATCH,
                           "from %s: the model has %" PRIu32 " topics, this "
                           "run %" PRIu32 ": expected as many",
                           options->from, m->topics, options->topics);
    if (m->words > words)
        return strads_fail(STRADS_EMISMATCH,
                           "from %s: the model has %" PRIu64 " words, the data "
                           "%" PRIu64 ": expected as many or more",
                           options->from, m->words, words);
    if (m->tokens > MOST_TOKENS)
        return strads_fail(STRADS_ELIMIT,
                           "from %s: the model has %" PRIu64 " tokens, at most "
                           "%" PRIu64 " are possible",
                           options->from, m->tokens, MOST_TOKENS);
    return STRADS_OK;
}

strads_err lda_base_read(const strads_lda_options *options,
                         const lda_vocabulary *vocabulary, lda_prior *prior,
                         lda_seeds *seeds, strads_lda_model **out)
{
    strads_lda_model *m = NULL;

    if (!options->from)
        return lda_seeds_pin(options, vocabulary, seeds, out);
    strads_err err = strads_lda_model_read(options->from, &m);
    if (!err)
        err = check_base(m, options, vocabulary->words);
    if (err) {
        strads_lda_model_free(m);
        return err;
    }
    lda_model_round(m);
    prior->beta = m->beta;
    prior->alpha_sum = 0;
    for (uint32_t k = 0; k < m->topics; k++) {
        prior->alpha[k] = m->alpha[k];
        prior->alpha_sum += m->alpha[k];
    }
    *out = m;
    return lda_seeds_pin(options, vocabulary, seeds, out);
}

/* Fills a word's counts into its row, through a full row. */
static strads_err fill_row(const strads_lda_model *m, uint32_t word,
                           const lda_words *words, int32_t *empty, uint16_t *z,
                           lda_row *row)
{
    const uint64_t first = m->start[word], n = m->start[word + 1] - first;

    for (uint64_t i = 0; i < n; i++) {
        z[i] = (uint16_t)m->topic[first + i];
        empty[z[i]] = (int32_t)m->count[first + i];
    }
    return n ? lda_row_store(row, words, empty, z, n) : STRADS_OK;
}

/* Adds the model's counts to a new block's words. */
static strads_err base_fill(const strads_task *task, lda_words *words)
{
    const lda_local *l = task->local;
    const strads_lda_model *m = l->base;
    strads_err err = STRADS_OK;

    if (!m)
        return STRADS_OK;
    uint16_t *z = malloc(m->topics * sizeof *z);
    if (!z)
        return strads_fail(STRADS_ENOMEM, "no memory left for %u words",
                           words->n);
    for (uint32_t k = 0; k < words->n && !err; k++) {
        const uint32_t word = strads_block_param(&task->block, k);
        if (word < m->words)
            err = fill_row(m, word, words, l->empty, z, &words->row[k]);
    }
    free(z);
    return err;
}

strads_err lda_base_total(strads_commit *commit)
{
    const lda_state *s = commit->state;

    for (uint32_t k = 0; k < s->base->topics; k++)
        commit->total_change[k] = (double)s->base->total[k];
    return STRADS_OK;
}

/* log p(w, z) of the old tokens without their documents. A report's sum
 * contains it, because the old counts are part of all words' counts. */
static double log_of(const strads_lda_model *m, uint64_t words, double beta)
{
    const double all = (double)words * beta;
    const double of_none = lda_log_gamma(beta), of_all = lda_log_gamma(all);
    double sum = 0;

    for (uint64_t i = 0; i < m->start[m->words]; i++)
        sum += lda_log_gamma(beta + m->count[i]) - of_none;
    for (uint32_t k = 0; k < m->topics; k++)
        sum += of_all - lda_log_gamma(all + (double)m->total[k]);
    return sum;
}

double lda_base_log(lda_state *s)
{
    if (s->base && s->base_beta != s->prior.beta) {
        s->base_beta = s->prior.beta;
        s->base_log = log_of(s->base, s->words, s->prior.beta);
    }
    return s->base_log;
}

/* ---- the payload --------------------------------------------------------- */

static strads_err words_open(strads_task *task, void **object)
{
    const strads_lda_options *options = task->config;
    lda_words *words = NULL;
    strads_err err = words_new(task->block.n, options->topics, &words);

    *object = words;
    return err ? err : base_fill(task, words);
}

const strads_payload lda_payload = {.open = words_open,
                                    .close = words_close,
                                    .pack = words_pack,
                                    .unpack = words_unpack};
