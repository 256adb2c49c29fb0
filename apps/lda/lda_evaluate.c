/* A report: each partition adds up its documents and the words whose lap ended
 * there; the merged sums are the likelihood and what priors are learned from.
 *
 *     log p(w, z) = sum_d [ lG(A) - lG(A + N_d)
 *                           + sum_k lG(alpha_k + n_dk) - lG(alpha_k) ]
 *                 + sum_k [ lG(V b) - lG(V b + n_k)
 *                           + sum_w lG(b + n_wk) - lG(b) ]
 *
 * (Griffiths and Steyvers 2004, equations 2 and 3). */
#include "lda_parts.h"

/* One count of a document; psi of equal priors is kept as that of topic 0. */
static void sum_count(const lda_local *l, bool even, bool learns, uint32_t k,
                      uint32_t n, double *sums)
{
    const double alpha = l->prior.alpha[k];

    if (even) {
        sums[LDA_LOG_DOCUMENTS] += lda_rise_log(&l->even, n);
        sums[LDA_PSI_TOPICS + k] += learns ? lda_rise_psi(&l->even, n) : 0;
        return;
    }
    sums[LDA_LOG_DOCUMENTS] += lda_log_gamma(alpha + n) - lda_log_gamma(alpha);
    if (learns)
        sums[LDA_PSI_TOPICS + k] += lda_digamma(alpha + n) - lda_digamma(alpha);
}

static bool is_even(const lda_prior *prior)
{
    for (uint32_t k = 1; k < prior->topics; k++) {
        if (prior->alpha[k] != prior->alpha[0])
            return false;
    }
    return true;
}

static void sum_document(const lda_local *l, bool even, bool learns, uint32_t d,
                         double *sums)
{
    const lda_documents *x = &l->documents;
    const double all = l->prior.alpha_sum;

    for (uint32_t k = 0; x->row && k < l->site.topics; k++) {
        const uint32_t n = x->row[(size_t)d * l->site.padded + k];
        if (n)
            sum_count(l, even, learns, k, n, sums);
    }
    for (uint32_t i = 0; x->list && i < x->used[d]; i++) {
        const uint32_t pair = x->list[(size_t)x->line[d] * LDA_LANES + i];
        sum_count(l, even, learns, pair & 0xFFFF, pair >> 16, sums);
    }
    sums[LDA_LOG_DOCUMENTS] +=
        lda_log_gamma(all) - lda_log_gamma(all + l->length[d]);
    if (learns)
        sums[LDA_PSI_DOCUMENTS] +=
            lda_digamma(all + l->length[d]) - lda_digamma(all);
}

static void sum_totals(const strads_task *task, double beta_sum, double *sums)
{
    const lda_local *l = task->local;

    for (uint32_t k = 0; k < l->site.topics; k++) {
        sums[LDA_LOG_TOTALS] +=
            lda_log_gamma(beta_sum) - lda_log_gamma(beta_sum + task->total[k]);
        sums[LDA_PSI_TOTALS] +=
            lda_digamma(beta_sum + task->total[k]) - lda_digamma(beta_sum);
    }
}

strads_err lda_evaluate(strads_task *task)
{
    const strads_lda_options *options = task->config;
    lda_local *l = task->local;
    double *sums = task->partial;
    const bool even = is_even(&l->prior), learns = lda_fits_alpha(options);
    const uint64_t words = task->share->by_col.lines;

    if (even)
        lda_rise_set(&l->even, l->prior.alpha[0]);
    for (uint32_t d = 0; d < l->documents.n; d++) {
        sum_document(l, even, learns, d, sums);
        sums[LDA_TOKENS] += l->length[d];
    }
    if (task->share->partition == 0)
        sum_totals(task, (double)words * l->prior.beta, sums);
    sums[LDA_LOG_WORDS] = l->log_words;
    sums[LDA_PSI_WORDS] = l->psi_words;
    l->log_words = l->psi_words = 0;
    return STRADS_OK;
}

strads_err lda_learn(strads_task *task)
{
    lda_local *l = task->local;
    const uint64_t words = task->share->by_col.lines;

    lda_prior_learn(&l->prior, task->config, words, task->partial);
    lda_use_prior(l, words);
    return STRADS_OK;
}
