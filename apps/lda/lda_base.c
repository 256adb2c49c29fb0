/* Going on from a model: its counts m are there before the first sweep and
 * stay, as if its tokens' topics were known for good, so a new token is drawn
 * from
 *
 *     p(k) ~ (n_dk + alpha_k) (m_wk + n_wk + beta) / (m_k + n_k + V beta)
 *
 * which is the posterior of the new topics given the old ones. V counts the new
 * words, too; alpha and beta are the model's. */
#include "lda_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
                           "%" PRIu64 " can be gone on from",
                           options->from, m->tokens, MOST_TOKENS);
    return STRADS_OK;
}

strads_err lda_base_read(const strads_lda_options *options, uint64_t words,
                         lda_prior *prior, strads_lda_model **out)
{
    strads_lda_model *m = NULL;

    if (!options->from)
        return STRADS_OK;
    strads_err err = strads_lda_model_read(options->from, &m);
    if (!err)
        err = check_base(m, options, words);
    if (err) {
        strads_lda_model_free(m);
        return err;
    }
    prior->beta = m->beta;
    prior->alpha_sum = 0;
    for (uint32_t k = 0; k < m->topics; k++) {
        prior->alpha[k] = m->alpha[k];
        prior->alpha_sum += m->alpha[k];
    }
    *out = m;
    return STRADS_OK;
}

/* A word's counts into its row, by way of a full one. */
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

strads_err lda_base_fill(const strads_task *task, lda_words *words)
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

/* log p(w, z) of the old tokens but for their documents: what a report's sum
 * has of them, as their counts are in all of its words' counts. */
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
