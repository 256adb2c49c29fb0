/* One document under a fixed model: its tokens, their topics, and draws of
 * these from
 *
 *     p(z | rest) ~ (n_dk + alpha_k) phi_kw
 *
 * The seed and the document's content name the draws, so they do not depend on
 * other requests. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lda.h>
#include <strads/policy.h>

typedef struct lda_document {
    uint32_t n, topics;
    uint64_t tokens;
    double alpha_sum;
    double *phi;     /* [n x topics] of its distinct words */
    uint32_t *word;  /* [tokens] index of the token's word */
    uint32_t *topic; /* [tokens] */
    double *weight;  /* [topics] n_dk + alpha_k */
    uint64_t seed, name, draws;
} lda_document;

enum { DRAWS = 0x6C6469 /* the purpose of the stream */, LANES = 8 };

static void lda_document_free(lda_document *d)
{
    free(d->phi);
    free(d->word);
    free(d->topic);
    free(d->weight);
    *d = (lda_document){0};
}

/* Fowler, Noll and Vo's hash (FNV-1a) of words and counts. */
static uint64_t name_of(const strads_lda_words *words)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);

    for (uint32_t i = 0; i < words->n; i++) {
        h = (h ^ words->word[i]) * UINT64_C(0x100000001B3);
        h = (h ^ words->count[i]) * UINT64_C(0x100000001B3);
    }
    return h;
}

static void fill_phi(const strads_lda_model *m, uint32_t w, double *phi)
{
    const double beta = strads_lda_beta(m), words = (double)m->words * beta;

    for (uint32_t k = 0; k < m->topics; k++)
        phi[k] = beta / ((double)m->total[k] + words);
    for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
        const uint32_t k = m->topic[i];
        phi[k] = (m->count[i] + beta) / ((double)m->total[k] + words);
    }
}

static void lay_tokens(const strads_lda_words *words, lda_document *d)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < words->n; i++)
        for (uint32_t c = 0; c < words->count[i]; c++)
            d->word[at++] = i;
}

/* Removes all topics: the weights are the prior's. */
static void lda_document_clear(lda_document *d, const strads_lda_model *m)
{
    d->alpha_sum = 0;
    for (uint32_t k = 0; k < d->topics; k++)
        d->alpha_sum += m->alpha[k];
    memcpy(d->weight, m->alpha, d->topics * sizeof *d->weight);
}

/* Start with {0}; free it after an error too. Words are in the given order,
 * with their tokens adjacent and without topics. STRADS_EINVAL: a word that the
 * model does not have. STRADS_ENOMEM. */
static strads_err lda_document_make(const strads_lda_model *m, uint64_t seed,
                                    const strads_lda_words *words,
                                    lda_document *d)
{
    for (uint32_t i = 0; i < words->n; i++) {
        if (words->word[i] >= m->words)
            return strads_fail(STRADS_EINVAL,
                               "word %u of a document: the model has words 0 "
                               "to %" PRIu64,
                               words->word[i], m->words - 1);
        d->tokens += words->count[i];
    }
    d->n = words->n;
    d->topics = m->topics;
    d->seed = seed;
    d->name = name_of(words);
    d->phi = malloc(((size_t)d->n * d->topics + 1) * sizeof *d->phi);
    d->word = malloc((d->tokens + 1) * sizeof *d->word);
    d->topic = malloc((d->tokens + 1) * sizeof *d->topic);
    d->weight = malloc(d->topics * sizeof *d->weight);
    if (!d->phi || !d->word || !d->topic || !d->weight)
        return strads_fail(STRADS_ENOMEM,
                           "no memory left for a document of %" PRIu64
                           " tokens",
                           d->tokens);
    for (uint32_t i = 0; i < d->n; i++)
        fill_phi(m, words->word[i], d->phi + (size_t)i * d->topics);
    lay_tokens(words, d);
    lda_document_clear(d, m);
    return STRADS_OK;
}

static double next_unit(lda_document *d)
{
    return strads_random_unit(d->seed, DRAWS, d->name, d->draws++);
}

/* Fisher and Yates. */
static void lda_document_shuffle(lda_document *d)
{
    for (uint64_t left = d->tokens; left > 1; left--) {
        const uint64_t i = (uint64_t)(next_unit(d) * (double)left);
        const uint32_t word = d->word[left - 1];

        d->word[left - 1] = d->word[i];
        d->word[i] = word;
    }
}

/* lane[l] = sum of weight_k phi_k over k = l, l + LANES, ...; returns the
 * total. Separate lanes let the compiler use vectors. */
static double sum_lanes(const lda_document *d, const double *phi,
                        double lane[LANES])
{
    const uint32_t whole = d->topics - d->topics % LANES;
    double all = 0;

    memset(lane, 0, LANES * sizeof *lane);
    for (uint32_t k = 0; k < whole; k += LANES)
        for (uint32_t l = 0; l < LANES; l++)
            lane[l] += d->weight[k + l] * phi[k + l];
    for (uint32_t k = whole; k < d->topics; k++)
        lane[k - whole] += d->weight[k] * phi[k];
    for (uint32_t l = 0; l < LANES; l++)
        all += lane[l];
    return all;
}

/* Draws a topic for token i; its old one has been removed. */
static void lda_document_draw(lda_document *d, uint64_t i)
{
    const double *phi = d->phi + (size_t)d->word[i] * d->topics;
    double lane[LANES];
    double u = sum_lanes(d, phi, lane) * next_unit(d);
    uint32_t l = 0;

    while (l + 1 < LANES && l + 1 < d->topics && u >= lane[l])
        u -= lane[l++];
    uint32_t k = l;
    while (k + LANES < d->topics && u >= d->weight[k] * phi[k]) {
        u -= d->weight[k] * phi[k];
        k += LANES;
    }
    d->topic[i] = k;
    d->weight[k]++;
}

static void lda_document_take(lda_document *d, uint64_t i)
{
    d->weight[d->topic[i]]--;
}

/* sum_k weight_k phi_k of token i: its probability times the sum of the
 * weights. */
static double lda_document_mass(const lda_document *d, uint64_t i)
{
    double lane[LANES];

    return sum_lanes(d, d->phi + (size_t)d->word[i] * d->topics, lane);
}

/* theta [topics]: the mean of the normalised weights over the sweeps after the
 * first burn_in ones, sweeping the first `tokens` tokens. STRADS_EINVAL:
 * burn_in is not below sweeps. */
static strads_err lda_document_mix(lda_document *d, const strads_lda_model *m,
                                   uint32_t sweeps, uint32_t burn_in,
                                   uint64_t tokens, double *theta)
{
    if (burn_in >= sweeps)
        return strads_fail(STRADS_EINVAL,
                           "burn-in is %u of %u sweeps: expected fewer",
                           burn_in, sweeps);
    const double kept =
        ((double)tokens + d->alpha_sum) * (double)(sweeps - burn_in);
    lda_document_clear(d, m);
    memset(theta, 0, d->topics * sizeof *theta);
    for (uint32_t s = 0; s < sweeps; s++) {
        for (uint64_t i = 0; i < tokens; i++) {
            if (s > 0)
                lda_document_take(d, i);
            lda_document_draw(d, i);
        }
        for (uint32_t k = 0; s >= burn_in && k < d->topics; k++)
            theta[k] += d->weight[k] / kept;
    }
    return STRADS_OK;
}

/* ---- prediction ---------------------------------------------------------- */

/* Topics of new documents, and how well a model predicts them.
 *
 * Completion (Wallach et al., ICML 2009, section 5.2): theta is estimated from
 * one half of a document's tokens and predicts the other half by
 *
 *     p(w) = sum_k theta_k phi_kw.
 *
 * Left to right: z_<n is drawn by a Gibbs sweep over the earlier tokens, then
 * z_n from its conditional; the factors
 *
 *     p(w_n | z_<n) = sum_k (n_k + alpha_k) / (n - 1 + A) phi_k,w_n
 *
 * multiply to an unbiased estimate of p(w_1 .. w_N): each sweep keeps p(z_<n |
 * w_<n), and the factor is the next ratio of annealed importance sampling (Neal
 * 2001). The mean of the products over particles is unbiased, too, as in
 * Buntine (ACML 2009); Wallach et al. use the product of means. */

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
