/* Draws for tokens of documents with labels. The files of the three tables
 * include this file after lda_kernels_loops.h. It uses the compiler's vector
 * types: the compiler maps the sixteen lanes to registers, and each operation
 * rounds the same everywhere. */
#ifndef LDA_LABELLED_LOOPS_H
#define LDA_LABELLED_LOOPS_H

#include <string.h>

#include "lda_kernels.h"

enum { LABELLED_VECTORS = LDA_LABELLED_TOPICS / LDA_LANES };

typedef float floats __attribute__((vector_size(4 * LDA_LANES)));
typedef int32_t whole __attribute__((vector_size(4 * LDA_LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LDA_LANES)));

/* mask ? a : b, lane by lane. */
#define PICK(mask, a, b) \
    ((floats)(((whole)(a) & (mask)) | ((whole)(b) & ~(mask))))

/* *x = exp(*x), for -80 <= x <= 40, to 2 in 10^7 (the Cephes library's). */
INLINE void exp_of(floats *x)
{
    /* 1.5 x 2^23: adding it rounds to an integer */
    const float magic = 12582912.0F;
    const floats n = (*x * 1.44269504F + magic) - magic;
    const floats r = (*x - n * 0.693359375F) - n * -2.12194440e-4F;
    floats y = r * 1.9875691500e-4F + 1.3981999507e-3F;

    y = y * r + 8.3334519073e-3F;
    y = y * r + 4.1665795894e-2F;
    y = y * r + 1.6666665459e-1F;
    y = y * r + 5.0000001201e-1F;
    y = y * r * r + r + 1.0F;
    const whole power = (__builtin_convertvector(n, whole) + 127) << 23;
    *x = y * (floats)power;
}

INLINE float highest_of(const floats *g, const uint32_t vectors)
{
    floats most = g[0];
    float lane[LDA_LANES];

    for (uint32_t v = 1; v < vectors; v++) {
        const whole more = g[v] > most;
        most = PICK(more, g[v], most);
    }
    memcpy(lane, &most, sizeof most);
    for (uint32_t l = 1; l < LDA_LANES; l++)
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

/* w = (n_k + alpha_k) q_k exp(g_k - base) without the token; returns the sum,
 * and its sixteen lanes in `lane`. False: a g_k is so far above the base that
 * exp may overflow a float. */
INLINE bool weigh_from(const lda_site *s, const uint16_t *row, uint32_t from,
                       const floats *g, float base, float *w, float *lane,
                       const uint32_t vectors)
{
    const floats least = (floats){0} - 80.0F, most = (floats){0} + 40.0F;
    const floats one = (floats){0} + 1.0F;
    const float q_own = from < s->topics
                            ? ((float)(s->word[from] - 1) + s->beta) /
                                  ((float)(s->total[from] - 1) + s->beta_sum)
                            : 0;
    const floats owns = (floats){0} + q_own;
    whole place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    floats sum = {0}, above = {0};
    float beyond[LDA_LANES];

    for (uint32_t v = 0; v < vectors; v++, place += LDA_LANES) {
        const whole own = place == (int32_t)from;
        halves count;
        floats q, alpha, x = g[v] - base;
        memcpy(&count, row + (size_t)v * LDA_LANES, sizeof count);
        memcpy(&q, s->q + (size_t)v * LDA_LANES, sizeof q);
        memcpy(&alpha, s->alpha + (size_t)v * LDA_LANES, sizeof alpha);
        const whole far = x<least, high = x> most;
        x = PICK(far, least, x);
        x = PICK(high, most, x);
        above += PICK(high, one, (floats){0});
        exp_of(&x);
        q = PICK(own, owns, q);
        const whole n = __builtin_convertvector(count, whole) + own;
        x = (__builtin_convertvector(n, floats) + alpha) * q * x;
        memcpy(w + (size_t)v * LDA_LANES, &x, sizeof x);
        sum += x;
    }
    memcpy(lane, &sum, sizeof sum);
    memcpy(beyond, &above, sizeof above);
    return sum_of(load_lanes(beyond)) == 0;
}

/* Weights as weigh_from, for any g. Usually g of the token's topic is a good
 * base, and it is known sooner than the maximum. */
INLINE float weigh_labelled(const lda_site *s, const lda_margins *m,
                            const uint16_t *row, const float *document,
                            uint32_t from, float *w, float *lane,
                            const uint32_t vectors)
{
    const float *rise = document, *pull = document + m->wide;
    const float *fall = document + 2 * (size_t)m->wide;
    const float *eta_z = m->by_topic + (size_t)from * m->wide;
    float c[LDA_LABELLED_CLASSES];
    floats g[LABELLED_VECTORS];

    for (uint32_t y = 0; y < m->wide; y++)
        c[y] = rise[y] + pull[y] * eta_z[y];
    for (uint32_t v = 0; v < vectors; v++) {
        const float *eta = m->eta + (size_t)v * LDA_LANES;
        floats sum, e;
        memcpy(&sum, fall + (size_t)v * LDA_LANES, sizeof sum);
        sum = -sum;
        for (uint32_t y = 0; y < m->classes; y++, eta += s->padded) {
            memcpy(&e, eta, sizeof e);
            sum += e * c[y];
        }
        g[v] = sum;
    }
    bool good = from < s->topics;
    if (good) {
        float base = -fall[from];
        for (uint32_t y = 0; y < m->classes; y++)
            base += eta_z[y] * c[y];
        good = weigh_from(s, row, from, g, base, w, lane, vectors);
    }
    if (__builtin_expect(!good, 0))
        (void)weigh_from(s, row, from, g, highest_of(g, vectors), w, lane,
                         vectors);
    return sum_of(load_lanes(lane));
}

/* Finds the topic at u among those other than `from`, without that one's
 * weight; K or more: none, by rounding. */
INLINE uint32_t find_labelled(const float *w, const float *lane, float u,
                              const uint32_t vectors)
{
    const uint32_t l = find_lane(running_sums(load_lanes(lane)), &u);

    for (uint32_t v = 0; v < vectors; v++) {
        const float here = w[(size_t)v * LDA_LANES + l];
        if (u < here)
            return v * LDA_LANES + l;
        u -= here;
    }
    return UINT32_MAX;
}

INLINE uint32_t choose_labelled(lda_site *s, uint32_t from, float *w,
                                float *lane, float all, const uint32_t vectors)
{
    const bool has = from < s->topics;
    const float own = has ? w[from] : 0;
    float u = lda_uniform(s) * all;

    if (__builtin_expect(u < own, 1))
        return from;
    if (has) {
        w[from] = 0;
        lane[from % LDA_LANES] = 0;
        for (uint32_t v = 0; v < vectors; v++)
            lane[from % LDA_LANES] +=
                w[(size_t)v * LDA_LANES + from % LDA_LANES];
    }
    const float others = sum_of(load_lanes(lane));
    for (u -= own;; u = lda_uniform(s) * others) {
        const uint32_t to = find_labelled(w, lane, u, vectors);
        if (__builtin_expect(to < s->topics, 1))
            return to;
    }
}

INLINE void draw_rows_labelled(lda_site *shared, const lda_margins *m,
                               const lda_documents *documents,
                               const lda_tokens *tokens, const uint32_t vectors)
{
    lda_site here = *shared;
    float w[LDA_LABELLED_TOPICS], lane[LDA_LANES];

    for (uint64_t i = 0; i < tokens->n; i++) {
        const uint64_t next =
            tokens->document[i + AHEAD < tokens->n ? i + AHEAD : tokens->n - 1];
        const char *soon = (const char *)(m->document + next * m->stride);
        for (size_t at = 0; at < m->stride * sizeof(float); at += LINE)
            __builtin_prefetch(soon + at);
        fetch_row_ahead(documents, tokens, i, vectors);
        uint16_t *row = row_of(documents, tokens, i, vectors);
        float *document = m->document + tokens->document[i] * m->stride;
        const uint32_t from = lda_topic_of(&here, tokens->topic[i]);
        const float all =
            weigh_labelled(&here, m, row, document, from, w, lane, vectors);
        const uint32_t to = choose_labelled(&here, from, w, lane, all, vectors);
        if (to == from)
            continue;
        move_token(&here, NULL, row, &tokens->topic[i], from, to);
        const float *lost = m->by_topic + (size_t)from * m->wide;
        const float *got = m->by_topic + (size_t)to * m->wide;
        for (uint32_t y = 0; y < m->wide; y++)
            document[y] += document[m->wide + y] * (lost[y] - got[y]);
    }
    *shared = here;
}

static void draw_labelled(lda_site *s, const lda_margins *margins,
                          const lda_documents *documents,
                          const lda_tokens *tokens)
{
    switch (s->padded / LDA_LANES) {
        CASE(1, draw_rows_labelled(s, margins, documents, tokens, vectors))
        CASE(2, draw_rows_labelled(s, margins, documents, tokens, vectors))
        CASE(3, draw_rows_labelled(s, margins, documents, tokens, vectors))
        CASE(4, draw_rows_labelled(s, margins, documents, tokens, vectors))
    default:
        draw_rows_labelled(s, margins, documents, tokens,
                           s->padded / LDA_LANES);
    }
}

#endif
