/* See lda_document.h. */
#include "lda_document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

enum { DRAWS = 0x6C6469 /* the purpose of the stream */, LANES = 8 };

void lda_document_free(lda_document *d)
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
    const double words = (double)m->words * m->beta;

    for (uint32_t k = 0; k < m->topics; k++)
        phi[k] = m->beta / ((double)m->total[k] + words);
    for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
        const uint32_t k = m->topic[i];
        phi[k] = (m->count[i] + m->beta) / ((double)m->total[k] + words);
    }
}

static void lay_tokens(const strads_lda_words *words, lda_document *d)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < words->n; i++) {
        for (uint32_t c = 0; c < words->count[i]; c++)
            d->word[at++] = i;
    }
}

strads_err lda_document_make(const strads_lda_model *m, uint64_t seed,
                             const strads_lda_words *words, lda_document *d)
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

void lda_document_clear(lda_document *d, const strads_lda_model *m)
{
    d->alpha_sum = 0;
    for (uint32_t k = 0; k < d->topics; k++)
        d->alpha_sum += m->alpha[k];
    memcpy(d->weight, m->alpha, d->topics * sizeof *d->weight);
}

static double next_unit(lda_document *d)
{
    return strads_random_unit(d->seed, DRAWS, d->name, d->draws++);
}

/* Fisher and Yates. */
void lda_document_shuffle(lda_document *d)
{
    for (uint64_t left = d->tokens; left > 1; left--) {
        const uint64_t i = (uint64_t)(next_unit(d) * (double)left);
        const uint32_t word = d->word[left - 1];

        d->word[left - 1] = d->word[i];
        d->word[i] = word;
    }
}

/* lane[l] = sum of weight_k phi_k over k = l, l + LANES, ...; returns the sum
 * of all. Lanes are added up side by side: a compiler makes vectors of them. */
static double sum_lanes(const lda_document *d, const double *phi,
                        double lane[LANES])
{
    const uint32_t whole = d->topics - d->topics % LANES;
    double all = 0;

    memset(lane, 0, LANES * sizeof *lane);
    for (uint32_t k = 0; k < whole; k += LANES) {
        for (uint32_t l = 0; l < LANES; l++)
            lane[l] += d->weight[k + l] * phi[k + l];
    }
    for (uint32_t k = whole; k < d->topics; k++)
        lane[k - whole] += d->weight[k] * phi[k];
    for (uint32_t l = 0; l < LANES; l++)
        all += lane[l];
    return all;
}

void lda_document_draw(lda_document *d, uint64_t i)
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

void lda_document_take(lda_document *d, uint64_t i)
{
    d->weight[d->topic[i]]--;
}

double lda_document_mass(const lda_document *d, uint64_t i)
{
    double lane[LANES];

    return sum_lanes(d, d->phi + (size_t)d->word[i] * d->topics, lane);
}

strads_err lda_document_mix(lda_document *d, const strads_lda_model *m,
                            uint32_t sweeps, uint32_t burn_in, uint64_t tokens,
                            double *theta)
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
