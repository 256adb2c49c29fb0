/* The portable inner loops, and the choice among all of them. */
#include "lda_kernels.h"

#include <string.h>

#include <strads/version.h>

/* p becomes its running sums, added up as lanes of a vector are: by 1, 2, 4
 * and 8 places. */
static void prefix(float p[LDA_LANES])
{
    for (int by = 1; by < LDA_LANES; by *= 2) {
        for (int l = LDA_LANES - 1; l >= by; l--)
            p[l] += p[l - by];
    }
}

/* The first lane whose running sum is above u, and u less what is before. */
static uint32_t lane_of(const float p[LDA_LANES], float *u)
{
    uint32_t lane = 0;

    for (uint32_t l = 0; l < LDA_LANES; l++)
        lane += p[l] <= *u;
    if (lane > LDA_LANES - 1)
        lane = LDA_LANES - 1;
    if (lane > 0)
        *u -= p[lane - 1];
    return lane;
}

/* How many of the n running sums of a lane are at most u. */
static uint32_t rank_of(const float *sums, uint32_t n, uint32_t lane, float u)
{
    uint32_t rank = 0;

    for (uint32_t v = 0; v < n; v++)
        rank += sums[v * LDA_LANES + lane] <= u;
    return rank;
}

/* ---- q ----------------------------------------------------------------- */

/* All lanes, added up by halves. */
static float sum_of(const float lane[LDA_LANES])
{
    float p[LDA_LANES];

    memcpy(p, lane, sizeof p);
    for (uint32_t half = LDA_LANES / 2; half; half /= 2) {
        for (uint32_t l = 0; l < half; l++)
            p[l] += p[l + half];
    }
    return p[0];
}

static void build(lda_site *s)
{
    float all[LDA_LANES] = {0}, w[LDA_LANES];

    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        for (uint32_t l = 0; l < LDA_LANES; l++) {
            float q = ((float)s->word[k + l] + s->beta) * s->inverse[k + l];
            s->q[k + l] = q;
            w[l] = s->alpha[k + l] * q;
            all[l] += w[l];
        }
        s->sums[lda_sum_of(k)] = sum_of(w);
    }
    s->mass = sum_of(all);
}

/* The topic at u in [0, mass) of alpha_k q_k; K or more: none, by rounding. */
static uint32_t draw_smooth(const lda_site *s, float u)
{
    const uint32_t groups = (s->padded / LDA_LANES + LDA_LANES - 1) / LDA_LANES;
    float p[LDA_LANES] = {0};

    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t l = 0; l < LDA_LANES; l++)
            p[l] += s->sums[g * LDA_LANES + l];
    }
    prefix(p);
    uint32_t at = lane_of(p, &u);
    for (; at + LDA_LANES < groups * LDA_LANES && s->sums[at] <= u;
         at += LDA_LANES)
        u -= s->sums[at];
    const uint32_t k = at * LDA_LANES;
    if (k >= s->padded)
        return s->topics;
    for (uint32_t l = 0; l < LDA_LANES; l++)
        p[l] = s->alpha[k + l] * s->q[k + l];
    prefix(p);
    return k + lane_of(p, &u);
}

/* ---- what all tables share --------------------------------------------- */

void lda_sum_anew(lda_site *s)
{
    s->mass = 0;
    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        float sum = 0;
        for (uint32_t l = 0; l < LDA_LANES; l++)
            sum += s->alpha[k + l] * s->q[k + l];
        s->sums[lda_sum_of(k)] = sum;
        s->mass += sum;
    }
}

/* Ends where draws by sums may miss for ever: `from` is nearly all there is. */
uint32_t lda_draw_one_by_one(lda_site *s, uint32_t from)
{
    const double share = (double)lda_uniform(s);
    double all = 0, below = 0;
    uint32_t to = from;

    for (uint32_t k = 0; k < s->topics; k++)
        all += k == from ? 0 : (double)(s->alpha[k] * s->q[k]);
    for (uint32_t k = 0; k < s->topics && (to == from || below <= share * all);
         k++) {
        if (k == from)
            continue;
        to = k;
        below += (double)(s->alpha[k] * s->q[k]);
    }
    return to;
}

/* ---- full rows --------------------------------------------------------- */

/* The lanes of all vectors added up pair by pair, then running sums. */
static void sum_row(const lda_site *s, const float *w, float p[LDA_LANES])
{
    float t[LDA_DENSE_TOPICS];
    const uint32_t n = s->padded;

    memcpy(t, w, n * sizeof *t);
    for (uint32_t half = LDA_DENSE_TOPICS / 2; half >= LDA_LANES; half /= 2) {
        for (uint32_t j = 0; j < half && j + half < n; j++)
            t[j] += t[j + half];
    }
    memcpy(p, t, LDA_LANES * sizeof *p);
    prefix(p);
}

/* The topic at u among the others; K or more: none, by rounding. */
static uint32_t draw_other(const lda_site *s, const float *w, const float *p,
                           uint32_t from, float u)
{
    const float own = from < s->topics ? w[from] : 0;
    float sum[LDA_LANES], running[LDA_DENSE_TOPICS];

    for (uint32_t l = 0; l < LDA_LANES; l++)
        sum[l] = l < from % LDA_LANES ? p[l] : p[l] - own;
    const uint32_t lane = lane_of(sum, &u);
    float before = 0;
    for (uint32_t j = lane; j < s->padded; j += LDA_LANES)
        running[j] = before += j == from ? 0 : w[j];
    return rank_of(running, s->padded / LDA_LANES, lane, u) * LDA_LANES + lane;
}

/* A token's topic, what all topics weigh in its document, and their sums. */
typedef struct weighed {
    uint32_t from;
    float own, less; /* what its topic weighs without it; what that takes off */
    float w[LDA_DENSE_TOPICS], p[LDA_LANES];
} weighed;

static void weigh(const lda_site *s, const uint16_t *row, uint16_t z,
                  weighed *t)
{
    t->from = lda_topic_of(s, z);
    t->own = t->less = 0;
    for (uint32_t k = 0; k < s->padded; k++)
        t->w[k] = ((float)row[k] + s->alpha[k]) * s->q[k];
    sum_row(s, t->w, t->p);
    if (t->from < s->topics) {
        t->own = lda_own_weight(s, t->from, row[t->from]);
        t->less = t->w[t->from] - t->own;
    }
}

static uint32_t choose(lda_site *s, const weighed *t)
{
    for (;;) {
        const float u = lda_uniform(s) * (t->p[LDA_LANES - 1] - t->less);
        if (u < t->own)
            return t->from;
        const uint32_t k = draw_other(s, t->w, t->p, t->from, u - t->own);
        if (k < s->topics)
            return k;
    }
}

/* beside: the site of a word that is drawn by turns with this one, or NULL. */
static void change_q(lda_site *s, lda_site *beside, uint32_t k, int32_t by)
{
    s->word[k] += by;
    lda_set_total(s, k, s->total[k] + by);
    s->q[k] = ((float)s->word[k] + s->beta) * s->inverse[k];
    if (beside)
        beside->q[k] = ((float)beside->word[k] + beside->beta) * s->inverse[k];
}

static void move(lda_site *s, lda_site *beside, uint16_t *row, uint16_t *z,
                 uint32_t to)
{
    const uint32_t from = lda_topic_of(s, *z);

    if (to == from)
        return;
    *z = (uint16_t)to;
    row[to]++;
    if (from < s->topics) {
        row[from]--;
        change_q(s, beside, from, -1);
    }
    change_q(s, beside, to, 1);
    s->moved++;
}

static void token_in_row(lda_site *s, lda_site *beside, uint16_t *row,
                         uint16_t *z)
{
    weighed t;

    weigh(s, row, *z, &t);
    move(s, beside, row, z, choose(s, &t));
}

static void draw_by_turns(lda_site *a, lda_site *b,
                          const lda_documents *documents,
                          const lda_tokens *ones, const lda_tokens *others)
{
    for (uint64_t i = 0; i < ones->n && i < others->n; i++) {
        uint16_t *row = documents->row + (size_t)ones->document[i] * a->padded;
        uint16_t *row_b =
            documents->row + (size_t)others->document[i] * b->padded;
        weighed t, t_b;
        if (row == row_b) {
            token_in_row(a, b, row, &ones->topic[i]);
            token_in_row(b, a, row, &others->topic[i]);
            continue;
        }
        weigh(a, row, ones->topic[i], &t);
        weigh(b, row_b, others->topic[i], &t_b);
        move(a, b, row, &ones->topic[i], choose(a, &t));
        move(b, a, row_b, &others->topic[i], choose(b, &t_b));
    }
}

/* ---- lists ------------------------------------------------------------- */

/* Fills in c->to and c->to_at; u is below the list's sum. False: rounding has
 * hit what is not there. */
static bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        const float p[LDA_LANES], float u, lda_change *c)
{
    uint32_t lane = lane_of(p, &u);
    uint32_t line = rank_of(s->scratch, lines, lane, u);

    if (line >= lines || list[line * LDA_LANES + lane] >> 16 == 0)
        return false;
    c->to_at = line * LDA_LANES + lane;
    c->to = list[c->to_at] & 0xFFFF;
    return true;
}

/* Sums up the list without the token's own topic, and finds that. */
static float sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                      float p[LDA_LANES], lda_change *c)
{
    memset(p, 0, LDA_LANES * sizeof *p);
    for (uint32_t j = 0; j < lines * LDA_LANES; j += LDA_LANES) {
        for (uint32_t l = 0; l < LDA_LANES; l++) {
            const uint32_t k = list[j + l] & 0xFFFF, n = list[j + l] >> 16;
            if (k == c->from)
                c->from_at = j + l;
            p[l] += k == c->from ? 0 : (float)n * s->q[k];
        }
        memcpy(s->scratch + j, p, LDA_LANES * sizeof *p);
    }
    prefix(p);
    return p[LDA_LANES - 1];
}

static void draw_list(lda_site *s, const uint32_t *list, uint32_t lines,
                      lda_change *c)
{
    float p[LDA_LANES];
    const float listed = sum_list(s, list, lines, p, c);
    const lda_own own = lda_own_of(s, list, c);

    for (;;) {
        const float u = lda_uniform(s) * (own.weight + listed + own.smooth);
        if (u < own.weight) {
            c->to = c->from;
            return;
        }
        if (u - own.weight >= listed)
            break;
        if (pick_listed(s, list, lines, p, u - own.weight, c))
            return;
    }
    c->to = lda_draw_smooth_other(s, c->from, draw_smooth);
    c->to_at = -1;
}

static void token_in_list(lda_site *s, uint32_t *list, uint32_t *used,
                          uint16_t *z)
{
    lda_change c = {.from = lda_topic_of(s, *z), .to_at = -1};
    const uint32_t lines = *used ? (*used + LDA_LANES - 1) / LDA_LANES : 1;

    draw_list(s, list, lines, &c);
    if (c.to == c.from)
        return;
    if (c.to_at < 0) {
        for (uint32_t i = 0; i < *used; i++) {
            if ((list[i] & 0xFFFF) == c.to)
                c.to_at = i;
        }
    }
    *z = (uint16_t)c.to;
    lda_change_list(s, list, used, c);
    lda_move(s, c.from, c.to);
}

static void draw(lda_site *s, const lda_documents *documents,
                 const lda_tokens *tokens)
{
    for (uint64_t i = 0; i < tokens->n; i++) {
        const uint32_t d = tokens->document[i];
        uint16_t *z = &tokens->topic[i];
        if (documents->row)
            token_in_row(s, NULL, documents->row + (uint64_t)d * s->padded, z);
        else
            token_in_list(s,
                          documents->list +
                              (uint64_t)documents->line[d] * LDA_LANES,
                          &documents->used[d], z);
    }
}

const lda_kernels lda_kernels_portable = {.name = "portable",
                                          .build = build,
                                          .draw = draw,
                                          .draw_by_turns = draw_by_turns};

const lda_kernels *lda_kernels_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const lda_kernels *fast =
        level == STRADS_KERNELS_AVX512 ? lda_kernels_avx512()
        : level == STRADS_KERNELS_AVX2 ? lda_kernels_avx2()
                                       : NULL;

    return fast ? fast : &lda_kernels_portable;
}
