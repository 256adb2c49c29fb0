/* Topics of a new document, the model's being fixed: Gibbs sampling of
 *
 *     p(z | rest) ~ (n_dk + alpha_k) phi_kw
 *
 * and theta as the mean of (n_dk + alpha_k) / (N_d + A) over the sweeps after
 * the first. Draws are named by the document's content, so the answer does not
 * depend on what else is asked for. */
#include <strads/lda.h>
#include <strads/policy.h>

#include <stdlib.h>

enum { INFERENCE = 0x6C6469 }; /* the purpose of the stream */

typedef struct document {
    uint32_t n, topics;
    uint64_t tokens;
    double *phi;     /* [n x topics] */
    uint32_t *topic; /* [tokens] */
    double *count;   /* [topics] n_dk */
    double *sum;     /* [topics] */
    uint64_t name, draws;
} document;

static void document_free(document *d)
{
    free(d->phi);
    free(d->topic);
    free(d->count);
    free(d->sum);
}

/* Fowler, Noll and Vo's hash (FNV-1a) of words and counts. */
static uint64_t name_of(uint32_t n, const uint32_t *word, const uint32_t *count)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);

    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ word[i]) * UINT64_C(0x100000001B3);
        h = (h ^ count[i]) * UINT64_C(0x100000001B3);
    }
    return h;
}

static void fill_phi(const strads_lda_model *m, uint32_t w, double *phi)
{
    const double words = (double)m->words * m->beta;

    for (uint32_t k = 0; k < m->topics; k++)
        phi[k] = m->beta / ((double)m->total[k] + words);
    for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
        const uint32_t k = m->topic[i];
        phi[k] = (m->count[i] + m->beta) / ((double)m->total[k] + words);
    }
}

static strads_err document_make(const strads_lda_model *m, uint32_t n,
                                const uint32_t *word, const uint32_t *count,
                                document *d)
{
    d->n = n;
    d->topics = m->topics;
    d->name = name_of(n, word, count);
    for (uint32_t i = 0; i < n; i++)
        d->tokens += count[i];
    d->phi = malloc(((size_t)n * m->topics + 1) * sizeof *d->phi);
    d->topic = malloc((d->tokens + 1) * sizeof *d->topic);
    d->count = calloc(m->topics, sizeof *d->count);
    d->sum = calloc(m->topics, sizeof *d->sum);
    if (!d->phi || !d->topic || !d->count || !d->sum)
        return strads_fail(STRADS_ENOMEM, "no memory left for a document");
    for (uint32_t i = 0; i < n; i++)
        fill_phi(m, word[i], d->phi + (size_t)i * m->topics);
    return STRADS_OK;
}

static uint32_t draw(const strads_lda_model *m, document *d, const double *phi,
                     uint64_t seed)
{
    double all = 0;
    uint32_t k = 0;

    for (uint32_t j = 0; j < d->topics; j++)
        d->sum[j] = all += (d->count[j] + m->alpha[j]) * phi[j];
    const double u =
        all * strads_random_unit(seed, INFERENCE, d->name, d->draws++);
    while (k + 1 < d->topics && d->sum[k] <= u)
        k++;
    return k;
}

static void sweep(const strads_lda_model *m, document *d, const uint32_t *count,
                  uint64_t seed, bool first)
{
    uint32_t *z = d->topic;

    for (uint32_t i = 0; i < d->n; i++) {
        const double *phi = d->phi + (size_t)i * d->topics;
        for (uint32_t c = 0; c < count[i]; c++, z++) {
            if (!first)
                d->count[*z]--;
            *z = draw(m, d, phi, seed);
            d->count[*z]++;
        }
    }
}

strads_err strads_lda_infer(const strads_lda_model *m, uint32_t sweeps,
                            uint32_t burn_in, uint64_t seed, uint32_t n,
                            const uint32_t *word, const uint32_t *count,
                            double *theta)
{
    document d = {0};
    double alpha_sum = 0;

    if (burn_in >= sweeps)
        return strads_fail(STRADS_EINVAL,
                           "burn-in is %u of %u sweeps: expected fewer",
                           burn_in, sweeps);
    for (uint32_t i = 0; i < n; i++) {
        if (word[i] >= m->words)
            return strads_fail(STRADS_EINVAL, "the model has no word %u",
                               word[i]);
    }
    strads_err err = document_make(m, n, word, count, &d);
    if (err) {
        document_free(&d);
        return err;
    }
    for (uint32_t k = 0; k < m->topics; k++) {
        alpha_sum += m->alpha[k];
        theta[k] = 0;
    }
    for (uint32_t s = 0; s < sweeps; s++) {
        sweep(m, &d, count, seed, s == 0);
        for (uint32_t k = 0; s >= burn_in && k < m->topics; k++)
            theta[k] += (d.count[k] + m->alpha[k]) /
                        ((double)d.tokens + alpha_sum) /
                        (double)(sweeps - burn_in);
    }
    document_free(&d);
    return STRADS_OK;
}
