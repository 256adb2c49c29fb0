/* How tokens go through rows and lists, whatever the registers. Included by the
 * files of the three tables, which say before what lanes are (lda_lanes.h). */
#ifndef LDA_KERNELS_LOOPS_H
#define LDA_KERNELS_LOOPS_H

#include "lda_lanes.h"

/* ---- q -------------------------------------------------------------------- */

static void build(lda_site *s)
{
    lanes all = zeros();

    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        const lanes q = mul(add(counts(s->word + k), all_lanes(s->beta)),
                            load(s->inverse + k));
        const lanes w = mul(load(s->alpha + k), q);
        store(s->q + k, q);
        s->sums[lda_sum_of(k)] = sum_of(w);
        all = add(all, w);
    }
    s->mass = sum_of(all);
}

/* The topic at u in [0, mass) of alpha_k q_k; K or more: none, by rounding. */
static uint32_t draw_smooth(const lda_site *s, float u)
{
    const uint32_t groups = (s->padded / LDA_LANES + LDA_LANES - 1) / LDA_LANES;
    lanes p = zeros();

    for (uint32_t g = 0; g < groups; g++)
        p = add(p, load(s->sums + (size_t)g * LDA_LANES));
    uint32_t at = find_lane(prefix(p), &u);
    for (; at + LDA_LANES < groups * LDA_LANES && s->sums[at] <= u;
         at += LDA_LANES)
        u -= s->sums[at];
    const uint32_t k = at * LDA_LANES;
    if (k >= s->padded)
        return s->topics;
    return k + find_lane(prefix(mul(load(s->alpha + k), load(s->q + k))), &u);
}

/* ---- rows ----------------------------------------------------------------- */

enum {
    AHEAD = 6, /* tokens that documents are fetched before */
    LINE = 64  /* bytes */
};

/* A token's topic, what all topics weigh in its document, and their sums. */
typedef struct weighed {
    uint32_t from;
    float full, own; /* what its topic weighs, with the token and without */
    float all;       /* all without it */
    lanes p;         /* running sums over the lanes of all vectors together */
    _Alignas(LINE) float w[LDA_DENSE_TOPICS];
} weighed;

/* Vectors are added up pair by pair, the shortest way, then come running sums. */
INLINE weighed weigh(const lda_site *s, const uint16_t *row, uint16_t z,
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
        sum[v] =
            mul(add(row_counts(row + k), load(s->alpha + k)), load(s->q + k));
        store(t.w + k, sum[v]);
    }
#pragma GCC unroll 3
    for (uint32_t half = MOST / 2; half; half /= 2) {
#pragma GCC unroll 4
        for (uint32_t v = 0; v < half; v++)
            if (v + half < vectors)
                sum[v] = add(sum[v], sum[v + half]);
    }
    t.p = prefix(sum[0]);
    t.all = sum_of_prefix(sum[0]) - (t.full - t.own);
    return t;
}

/* The topic at u among the others; K or more: none, by rounding. */
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
    const weighed t = weigh(s, row, tokens->topic[i], vectors);

    move(s, beside, row, &tokens->topic[i], t.from, choose(s, &t, vectors));
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

/* A token of each is weighed before either is settled. */
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

/* ---- lists ---------------------------------------------------------------- */

enum { FAR_AHEAD = 20 }; /* tokens that lists are fetched before */

/* A list as it is summed up: the sums up to each line are in s->scratch. */
typedef struct listed {
    lanes p; /* the sums of all lines */
    float sum;
} listed;

/* Without the token's own topic, whose place is found. */
INLINE listed sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                       lda_change *c)
{
    lanes p = zeros();

    for (uint32_t j = 0; j < lines * LDA_LANES; j += LDA_LANES) {
        const uint32_t own = places_of(list + j, c->from);
        if (own)
            c->from_at = j + (uint32_t)__builtin_ctz(own);
        p = add(p, weigh_listed(s, list + j, c->from));
        store(s->scratch + j, p);
    }
    return (listed){p, sum_of_prefix(p)};
}

/* Fills in c->to and c->to_at; u is below the list's sum. False: rounding has
 * hit what is not there. */
INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        const listed *l, float u, lda_change *c)
{
    const uint32_t lane = find_lane(prefix(l->p), &u);
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

/* Into the second cache: as many lines as these tokens have would be more than
 * the first one asks for at a time. */
INLINE void fetch_list(const lda_documents *documents, uint32_t d)
{
    const char *list = (const char *)(documents->list +
                                      (uint64_t)documents->line[d] * LDA_LANES);

    for (uint32_t at = 0; at < documents->used[d]; at += LDA_LANES)
        __builtin_prefetch(list + at * sizeof(uint32_t), 0, 2);
}

/* Tokens of one word in one document stand together: as long as they stay where
 * they are, the next of them that has the same topic sees the same sums. */
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

/* Token i, and those after it that see the same. Returns the first that does
 * not. */
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

/* ---- the table -------------------------------------------------------------- */

static void draw(lda_site *site, const lda_documents *documents,
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
