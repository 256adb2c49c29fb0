/* How tokens go through full rows, whatever the registers. Included by files
 * that say before what `weighed` is, and how weigh, draw_other, put_q and
 * add_to_row do it. */
#ifndef LDA_ROWS_LOOPS_H
#define LDA_ROWS_LOOPS_H

#include "lda_kernels.h"

enum {
    AHEAD = 6, /* tokens that documents are fetched before */
    LINE = 64  /* bytes */
};

INLINE uint32_t choose(lda_site *s, const weighed *t, const uint32_t vectors)
{
    for (;;) {
        const float u = lda_uniform(s) * t->all;
        if (__builtin_expect(u < t->own, 1))
            return t->from;
        const uint32_t k = draw_other(t, u - t->own, vectors);
        if (__builtin_expect(k < s->topics, 1))
            return k;
    }
}

/* beside: the site of a word that is drawn by turns with this one, or NULL. */
INLINE void change_q(lda_site *s, lda_site *beside, uint32_t k, int32_t by)
{
    s->word[k] += by;
    lda_set_total(s, k, s->total[k] + by);
    put_q(s->q, k, ((float)s->word[k] + s->beta) * s->inverse[k]);
    if (beside)
        put_q(beside->q, k,
              ((float)beside->word[k] + beside->beta) * s->inverse[k]);
}

INLINE void move(lda_site *s, lda_site *beside, uint16_t *row, uint16_t *z,
                 uint32_t from, uint32_t to)
{
    if (to == from)
        return;
    *z = (uint16_t)to;
    add_to_row(row, to, 1);
    if (from < s->topics) {
        add_to_row(row, from, -1);
        change_q(s, beside, from, -1);
    }
    change_q(s, beside, to, 1);
    s->moved++;
}

INLINE uint16_t *row_of(const lda_documents *documents,
                        const lda_tokens *tokens, uint64_t i,
                        const uint32_t vectors)
{
    return documents->row + (size_t)tokens->document[i] * vectors * LDA_LANES;
}

INLINE void fetch_ahead(const lda_documents *documents,
                        const lda_tokens *tokens, uint64_t i,
                        const uint32_t vectors)
{
    const uint64_t next = i + AHEAD < tokens->n ? i + AHEAD : tokens->n - 1;
    const char *soon = (const char *)row_of(documents, tokens, next, vectors);

    for (size_t at = 0; at < 2 * LDA_LANES * (size_t)vectors; at += LINE)
        __builtin_prefetch(soon + at);
}

INLINE void draw_token(lda_site *s, lda_site *beside,
                       const lda_documents *documents, const lda_tokens *tokens,
                       uint64_t i, const uint32_t vectors)
{
    uint16_t *row = row_of(documents, tokens, i, vectors);
    const weighed t = weigh(s, row, tokens->topic[i], vectors);

    move(s, beside, row, &tokens->topic[i], t.from, choose(s, &t, vectors));
}

INLINE void draw_rows(lda_site *shared, const lda_documents *documents,
                      const lda_tokens *tokens, const uint32_t vectors)
{
    lda_site here = *shared; /* a copy may stay in registers */

    for (uint64_t i = 0; i < tokens->n; i++) {
        fetch_ahead(documents, tokens, i, vectors);
        draw_token(&here, NULL, documents, tokens, i, vectors);
    }
    *shared = here;
}

/* A token of each is weighed before either is settled. */
INLINE void draw_rows_by_turns(lda_site *one, lda_site *other,
                               const lda_documents *documents,
                               const lda_tokens *ones, const lda_tokens *others,
                               const uint32_t vectors)
{
    lda_site a = *one, b = *other;
    const uint64_t n = ones->n < others->n ? ones->n : others->n;

    for (uint64_t i = 0; i < n; i++) {
        fetch_ahead(documents, ones, i, vectors);
        fetch_ahead(documents, others, i, vectors);
        uint16_t *row = row_of(documents, ones, i, vectors);
        uint16_t *row_b = row_of(documents, others, i, vectors);
        if (row == row_b) {
            draw_token(&a, &b, documents, ones, i, vectors);
            draw_token(&b, &a, documents, others, i, vectors);
            continue;
        }
        const weighed t = weigh(&a, row, ones->topic[i], vectors);
        const weighed t_b = weigh(&b, row_b, others->topic[i], vectors);
        const uint32_t to = choose(&a, &t, vectors);
        const uint32_t to_b = choose(&b, &t_b, vectors);
        move(&a, &b, row, &ones->topic[i], t.from, to);
        move(&b, &a, row_b, &others->topic[i], t_b.from, to_b);
    }
    *one = a;
    *other = b;
}

/* The call with `vectors`, a constant, for as many as the site has. */
#define CASE(v, call)         \
    case v: {                 \
        enum { vectors = v }; \
        call;                 \
        break;                \
    }
#define EACH_WIDTH(call)             \
    switch (s->padded / LDA_LANES) { \
        CASE(1, call);               \
        CASE(2, call);               \
        CASE(3, call);               \
        CASE(4, call);               \
        CASE(5, call);               \
        CASE(6, call);               \
        CASE(7, call);               \
        CASE(8, call);               \
    default:                         \
        break;                       \
    }

#endif
