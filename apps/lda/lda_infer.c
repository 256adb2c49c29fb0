/* Topics of new documents, and how well a model predicts them.
 *
 * Completion (Wallach et al., ICML 2009, section 5.2): theta is found from one
 * half of a document's tokens, the other half is predicted by
 *
 *     p(w) = sum_k theta_k phi_kw.
 *
 * From left to right: with z_<n drawn by a Gibbs sweep over what is already
 * there, and then z_n from what is left,
 *
 *     p(w_n | z_<n) = sum_k (n_k + alpha_k) / (n - 1 + A) phi_k,w_n
 *
 * are factors whose product is an unbiased estimate of p(w_1 .. w_N): each
 * sweep keeps p(z_<n | w_<n), and the factor is the ratio of what follows to it
 * (Neal's annealed importance sampling, 2001). The mean over particles of the
 * products is unbiased, too, as Buntine (ACML 2009) wants it; Wallach et al.
 * take the product of means. */
#include "lda_document.h"

#include <math.h>
#include <stdlib.h>

strads_err strads_lda_infer(const strads_lda_model *m,
                            const strads_lda_draws *draws,
                            const strads_lda_words *words, double *theta)
{
    lda_document d = {0};
    strads_err err = lda_document_make(m, draws->seed, words, &d);

    if (!err)
        err = lda_document_mix(&d, m, draws->sweeps, draws->burn_in, d.tokens,
                               theta);
    lda_document_free(&d);
    return err;
}

strads_err strads_lda_complete(const strads_lda_model *m,
                               const strads_lda_draws *draws,
                               const strads_lda_words *words,
                               strads_lda_score *out)
{
    lda_document d = {0};
    strads_lda_score score = {0};
    strads_err err = lda_document_make(m, draws->seed, words, &d);

    if (err)
        goto done;
    const uint64_t first = (d.tokens + 1) / 2;
    lda_document_shuffle(&d);
    double *theta = calloc(d.topics, sizeof *theta);
    err = theta ? lda_document_mix(&d, m, draws->sweeps, draws->burn_in, first,
                                   theta)
                : strads_fail(STRADS_ENOMEM, "no memory left for a document");
    if (!err) {
        for (uint32_t k = 0; k < d.topics; k++)
            d.weight[k] = theta[k];
        for (uint64_t i = first; i < d.tokens; i++)
            score.log_likelihood += log(lda_document_mass(&d, i));
        score.tokens = d.tokens - first;
        *out = score;
    }
    free(theta);
done:
    lda_document_free(&d);
    return err;
}

/* log of the product of one particle's factors. */
static double follow_particle(const strads_lda_model *m, lda_document *d)
{
    double log_product = 0;

    lda_document_clear(d, m);
    for (uint64_t n = 0; n < d->tokens; n++) {
        for (uint64_t i = 0; i < n; i++) {
            lda_document_take(d, i);
            lda_document_draw(d, i);
        }
        log_product +=
            log(lda_document_mass(d, n) / ((double)n + d->alpha_sum));
        lda_document_draw(d, n);
    }
    return log_product;
}

/* log (e^a + e^b). */
static double log_add(double a, double b)
{
    const double more = a > b ? a : b, less = a > b ? b : a;

    return isinf(more) ? more : more + log1p(exp(less - more));
}

strads_err strads_lda_left_to_right(const strads_lda_model *m,
                                    uint32_t particles, uint64_t seed,
                                    const strads_lda_words *words,
                                    strads_lda_score *out)
{
    lda_document d = {0};
    double all = -INFINITY;

    if (particles == 0)
        return strads_fail(STRADS_EINVAL, "particles is 0: expected 1 or more");
    strads_err err = lda_document_make(m, seed, words, &d);
    if (!err) {
        lda_document_shuffle(&d);
        for (uint32_t p = 0; p < particles; p++)
            all = log_add(all, follow_particle(m, &d));
        *out = (strads_lda_score){.tokens = d.tokens,
                                  .log_likelihood = all - log(particles)};
    }
    lda_document_free(&d);
    return err;
}
