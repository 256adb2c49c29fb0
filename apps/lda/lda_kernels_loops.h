/* The loops over tokens in rows and lists, for any registers. The files of the
 * three tables include this file after they have defined the lanes
 * (lda_lanes.h). */
#ifndef LDA_KERNELS_LOOPS_H
#define LDA_KERNELS_LOOPS_H

#include "lda_lanes.h"

/* ---- q ------------------------------------------------------------------- */

static void build_q(lda_site *s)
{
    lanes all = zero_lanes();

    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        const lanes q = multiply_lanes(add_lanes(load_counts(s->word + k),
                                                 all_lanes(s->beta)),
                                       load_lanes(s->inverse + k));
        const lanes w = multiply_lanes(load_lanes(s->alpha + k), q);
        store_lanes(s->q + k, q);
        s->sums[lda_sum_of(k)] = sum_of(w);
        all = add_lanes(all, w);
    }
    s->mass = sum_of(all);
}

/* Finds the topic at u in [0, mass) of alpha_k q_k; K or more: none, by
 * rounding. */
static uint32_t draw_smooth(const lda_site *s, float u)
{
    const uint32_t groups = (s->padded / LDA_LANES + LDA_LANES - 1) / LDA_LANES;
    lanes p = zero_lanes();

    for (uint32_t g = 0; g < groups; g++)
        p = add_lanes(p, load_lanes(s->sums + (size_t)g * LDA_LANES));
    uint32_t at = find_lane(running_sums(p), &u);
    for (; at + LDA_LANES < groups * LDA_LANES && s->sums[at] <= u;
         at += LDA_LANES)
        u -= s->sums[at];
    const uint32_t k = at * LDA_LANES;
    if (k >= s->padded)
        return s->topics;
    return k + find_lane(running_sums(multiply_lanes(load_lanes(s->alpha + k),
                                                     load_lanes(s->q + k))),
                         &u);
}

/* ---- rows ---------------------------------------------------------------- */

enum {
    AHEAD = 6, /* distance of the document prefetch, in tokens */
    LINE = 64  /* bytes */
};

/* A token's topic, the weights of all topics in its document, and their
 * sums. */
typedef struct weighed {
    uint32_t from;
    float full, own; /* weight of its topic with and without the token */
    float all;       /* total without the token */
    lanes p;         /* running sums over the lanes of the added vectors */
    _Alignas(LINE) float w[LDA_DENSE_TOPICS];
} weighed;

/* Adds the vectors pairwise, the shortest way, then computes running sums. */
INLINE weighed weigh_topics(const lda_site *s, const uint16_t *row, uint16_t z,
                            const uint32_t vectors)
{
    enum { MOST = LDA_DENSE_TOPICS / LDA_LANES };
    lanes sum[MOST];
    weighed t;

    t.from = lda_topic_of(s, z);
    const bool had = t.from < s->topics;
    const uint32_t at = had ? t.from : 0;
    const float n = (float)row[at];
    t.full = had ? (n + s->alpha[at]) * s->q[at] : 0;
    t.own = had ? lda_own_weight(s, at, n) : 0;
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const uint32_t k = v * LDA_LANES;
        sum[v] = multiply_lanes(add_lanes(row_counts(row + k),
                                          load_lanes(s->alpha + k)),
                                load_lanes(s->q + k));
        store_lanes(t.w + k, sum[v]);
    }
#pragma GCC unroll 3
    for (uint32_t half = MOST / 2; half; half /= 2) {
#pragma GCC unroll 4
        for (uint32_t v = 0; v < half; v++)
            if (v + half < vectors)
                sum[v] = add_lanes(sum[v], sum[v + half]);
    }
    t.p = running_sums(sum[0]);
    t.all = sum_of_prefix(sum[0]) - (t.full - t.own);
    return t;
}

/* Finds the topic at u among the others; K or more: none, by rounding. */
INLINE uint32_t draw_other(const weighed *t, float u, const uint32_t vectors)
{
    const lanes others = less_from(t->p, t->from % LDA_LANES, t->full);
    const uint32_t lane = find_lane(others, &u);
    float before = 0;
    uint32_t rank = 0;

    for (uint32_t k = lane; k < vectors * LDA_LANES; k += LDA_LANES) {
        before += k == t->from ? 0 : t->w[k];
        rank += before <= u;
    }
    return rank * LDA_LANES + lane;
}

INLINE uint32_t choose_topic(lda_site *s, const weighed *t,
                             const uint32_t vectors)
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

/* beside: the site of the word drawn alternately with this one, or NULL. */
INLINE void change_q(lda_site *s, lda_site *beside, uint32_t k, int32_t by)
{
    s->word[k] += by;
    lda_set_total(s, k, s->total[k] + by);
    put_q(s->q, k, ((float)s->word[k] + s->beta) * s->inverse[k]);
    if (beside)
        put_q(beside->q, k,
              ((float)beside->word[k] + beside->beta) * s->inverse[k]);
}

INLINE void move_token(lda_site *s, lda_site *beside, uint16_t *row,
                       uint16_t *z, uint32_t from, uint32_t to)
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

INLINE void fetch_row_ahead(const lda_documents *documents,
                            const lda_tokens *tokens, uint64_t i,
                            const uint32_t vectors)
{
    const uint64_t next = i + AHEAD < tokens->n ? i + AHEAD : tokens->n - 1;
    const char *soon = (const char *)row_of(documents, tokens, next, vectors);

    for (size_t at = 0; at < (size_t)2 * LDA_LANES * vectors; at += LINE)
        __builtin_prefetch(soon + at);
}

INLINE void draw_token(lda_site *s, lda_site *beside,
                       const lda_documents *documents, const lda_tokens *tokens,
                       uint64_t i, const uint32_t vectors)
{
    uint16_t *row = row_of(documents, tokens, i, vectors);
    const weighed t = weigh_topics(s, row, tokens->topic[i], vectors);

    move_token(s, beside, row, &tokens->topic[i], t.from,
               choose_topic(s, &t, vectors));
}

INLINE void draw_rows(lda_site *shared, const lda_documents *documents,
                      const lda_tokens *tokens, const uint32_t vectors)
{
    lda_site here = *shared; /* a copy may stay in registers */

    for (uint64_t i = 0; i < tokens->n; i++) {
        fetch_row_ahead(documents, tokens, i, vectors);
        draw_token(&here, NULL, documents, tokens, i, vectors);
    }
    *shared = here;
}

/* Weighs a token of each word before either is settled. */
INLINE void draw_rows_by_turns(lda_site *one, lda_site *other,
                               const lda_documents *documents,
                               const lda_tokens *ones, const lda_tokens *others,
                               const uint32_t vectors)
{
    lda_site a = *one, b = *other;
    const uint64_t n = ones->n < others->n ? ones->n : others->n;

    for (uint64_t i = 0; i < n; i++) {
        fetch_row_ahead(documents, ones, i, vectors);
        fetch_row_ahead(documents, others, i, vectors);
        uint16_t *row = row_of(documents, ones, i, vectors);
        uint16_t *row_b = row_of(documents, others, i, vectors);
        if (row == row_b) {
            draw_token(&a, &b, documents, ones, i, vectors);
            draw_token(&b, &a, documents, others, i, vectors);
            continue;
        }
        const weighed t = weigh_topics(&a, row, ones->topic[i], vectors);
        const weighed t_b = weigh_topics(&b, row_b, others->topic[i], vectors);
        const uint32_t to = choose_topic(&a, &t, vectors);
        const uint32_t to_b = choose_topic(&b, &t_b, vectors);
        move_token(&a, &b, row, &ones->topic[i], t.from, to);
        move_token(&b, &a, row_b, &others->topic[i], t_b.from, to_b);
    }
    *one = a;
    *other = b;
}

/* Calls with `vectors` as a constant, for the site's number of vectors. */
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

/* ---- lists --------------------------------------------------------------- */

enum { FAR_AHEAD = 20 }; /* distance of the list prefetch, in tokens */

/* Running sums of a list; s->scratch has the sums up to each line. */
typedef struct listed {
    lanes p; /* sums of all lines */
    float sum;
} listed;

/* Sums a list without the token's own topic, and finds its place. */
INLINE listed sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                       lda_change *c)
{
    lanes p = zero_lanes();

    for (uint32_t j = 0; j < lines * LDA_LANES; j += LDA_LANES) {
        const uint32_t own = places_of(list + j, c->from);
        if (own)
            c->from_at = j + (uint32_t)__builtin_ctz(own);
        p = add_lanes(p, weigh_listed(s, list + j, c->from));
        store_lanes(s->scratch + j, p);
    }
    return (listed){p, sum_of_prefix(p)};
}

/* Sets c->to and c->to_at; u is below the list's sum. False: by rounding no
 * topic was hit. */
INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        const listed *l, float u, lda_change *c)
{
    const uint32_t lane = find_lane(running_sums(l->p), &u);
    uint32_t line = 0;

    for (uint32_t v = 0; v < lines; v++)
        line += s->scratch[v * LDA_LANES + lane] <= u;
    if (line >= lines || list[line * LDA_LANES + lane] >> 16 == 0)
        return false;
    c->to_at = line * LDA_LANES + lane;
    c->to = list[c->to_at] & 0xFFFF;
    return true;
}

static int64_t place_in(const uint32_t *list, uint32_t used, uint32_t topic)
{
    for (uint32_t at = 0; at < used; at += LDA_LANES) {
        const uint32_t places = places_of(list + at, topic);
        if (places)
            return at + (uint32_t)__builtin_ctz(places);
    }
    return -1;
}

INLINE void move_listed(lda_site *s, uint32_t *list, uint32_t *used,
                        lda_change c)
{
    if (c.to_at < 0)
        c.to_at = place_in(list, *used, c.to);
    lda_change_list(s, list, used, c);
    lda_move(s, c.from, c.to);
}

/* Prefetches into the second-level cache: the lines of these tokens exceed the
 * outstanding loads of the first level. */
INLINE void fetch_list(const lda_documents *documents, uint32_t d)
{
    const char *list = (const char *)(documents->list +
                                      (uint64_t)documents->line[d] * LDA_LANES);

    for (uint32_t at = 0; at < documents->used[d]; at += LDA_LANES)
        __builtin_prefetch(list + at * sizeof(uint32_t), 0, 2);
}

/* Tokens of one word in one document are adjacent. While they keep their
 * topics, the next token with the same topic sees the same sums. */
INLINE bool sees_the_same(const lda_tokens *t, uint64_t i)
{
    return i + 1 < t->n && t->document[i] == t->document[i + 1] &&
           t->topic[i] == t->topic[i + 1];
}

INLINE void fetch_list_ahead(const lda_documents *documents,
                             const lda_tokens *t, uint64_t i)
{
    const uint64_t next = i + FAR_AHEAD < t->n ? i + FAR_AHEAD : t->n - 1;

    fetch_list(documents, t->document[next]);
}

/* Draws token i and the following ones that see the same sums. Returns the
 * first one that does not. */
INLINE uint64_t token_in_list(lda_site *s, const lda_documents *documents,
                              const lda_tokens *t, uint64_t i)
{
    const uint32_t d = t->document[i];
    uint32_t *list = documents->list + (uint64_t)documents->line[d] * LDA_LANES;
    uint32_t *used = &documents->used[d];
    lda_change c = {.from = lda_topic_of(s, t->topic[i]), .to_at = -1};
    const uint32_t lines = (*used + LDA_LANES - 1) / LDA_LANES;
    const listed l = sum_list(s, list, lines, &c);
    const lda_own own = lda_own_of(s, list, &c);
    for (;;) {
        const float u = lda_uniform(s) * (own.weight + l.sum + own.smooth);
        if (__builtin_expect(u < own.weight, 1)) {
            if (!sees_the_same(t, i))
                return i + 1;
            fetch_list_ahead(documents, t, ++i);
            continue;
        }
        if (u - own.weight >= l.sum) {
            c.to = lda_draw_smooth_other(s, c.from, draw_smooth);
            break;
        }
        if (pick_listed(s, list, lines, &l, u - own.weight, &c))
            break;
    }
    if (c.to != c.from)
        move_listed(s, list, used, c);
    t->topic[i] = (uint16_t)c.to;
    return i + 1;
}

/* ---- the table ----------------------------------------------------------- */

static void draw_tokens(lda_site *site, const lda_documents *documents,
                        const lda_tokens *tokens)
{
    lda_site *s = site, here;

    if (documents->row) {
        EACH_WIDTH(draw_rows(s, documents, tokens, vectors))
        return;
    }
    here = *site; /* a copy may stay in registers */
    s = &here;
    for (uint64_t i = 0; i < tokens->n;) {
        fetch_list_ahead(documents, tokens, i);
        i = token_in_list(s, documents, tokens, i);
    }
    *site = here;
}

static void draw_by_turns(lda_site *s, lda_site *other,
                          const lda_documents *documents,
                          const lda_tokens *tokens, const lda_tokens *others)
{
    EACH_WIDTH(draw_rows_by_turns(s, other, documents, tokens, others, vectors))
}

#endif
