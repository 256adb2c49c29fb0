/* The words that tell most of each topic: by probability, or by relevance
 * (Sievert and Shirley, ILLVI 2014, equation 1),
 *
 *     r(w, k) = l log phi_kw + (1 - l) log (phi_kw / p_w). */
#include <strads/lda.h>

#include <math.h>
#include <string.h>

static double relevance(const strads_lda_model *m, uint64_t pair, double share,
                        double lambda)
{
    const uint32_t k = m->topic[pair];
    const double phi = (m->count[pair] + m->beta) /
                       ((double)m->total[k] + (double)m->words * m->beta);

    return lambda * log(phi) + (1 - lambda) * log(phi / share);
}

/* Keeps the best n in falling order; of equal ones the first word is first. */
static void enter(uint32_t *word, double *score, uint32_t n, uint32_t w,
                  double s)
{
    uint32_t at = n;

    while (at > 0 && (word[at - 1] == STRADS_LDA_NO_WORD || score[at - 1] < s))
        at--;
    if (at == n)
        return;
    memmove(word + at + 1, word + at, (n - at - 1) * sizeof *word);
    memmove(score + at + 1, score + at, (n - at - 1) * sizeof *score);
    word[at] = w;
    score[at] = s;
}

strads_err strads_lda_top_words(const strads_lda_model *m, double lambda,
                                uint32_t n, uint32_t *word, double *score)
{
    if (n == 0 || !(lambda >= 0 && lambda <= 1))
        return strads_fail(STRADS_EINVAL,
                           "top words: expected 1 or more of them, and a "
                           "weight from 0 to 1");
    for (uint64_t i = 0; i < (uint64_t)m->topics * n; i++) {
        word[i] = STRADS_LDA_NO_WORD;
        score[i] = NAN;
    }
    for (uint32_t w = 0; w < m->words; w++) {
        double tokens = 0;
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++)
            tokens += m->count[i];
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint64_t at = (uint64_t)m->topic[i] * n;
            enter(word + at, score + at, n, w,
                  relevance(m, i, tokens / (double)m->tokens, lambda));
        }
    }
    return STRADS_OK;
}
