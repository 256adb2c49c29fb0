/* The portable inner loops: sixteen lanes are an array, and the compiler makes
 * of them what it can. And the choice among all tables. */
#include "lda_kernels.h"

#include <string.h>

#include <strads/version.h>

#define INLINE static inline __attribute__((always_inline))

typedef struct lanes {
    float x[LDA_LANES];
} lanes;

static inline lanes zeros(void)
{
    return (lanes){{0}};
}

static inline lanes all_lanes(float x)
{
    lanes all;

    for (uint32_t l = 0; l < LDA_LANES; l++)
        all.x[l] = x;
    return all;
}

static inline lanes load(const float *from)
{
    lanes all;

    memcpy(all.x, from, sizeof all.x);
    return all;
}

static inline void store(float *to, lanes p)
{
    memcpy(to, p.x, sizeof p.x);
}

static inline lanes counts(const int32_t *n)
{
    lanes all;

    for (uint32_t l = 0; l < LDA_LANES; l++)
        all.x[l] = (float)n[l];
    return all;
}

static inline lanes add(lanes a, lanes b)
{
    for (uint32_t l = 0; l < LDA_LANES; l++)
        a.x[l] += b.x[l];
    return a;
}

static inline lanes mul(lanes a, lanes b)
{
    for (uint32_t l = 0; l < LDA_LANES; l++)
        a.x[l] *= b.x[l];
    return a;
}

/* All lanes, added up by halves. */
static inline float sum_of(lanes p)
{
    for (uint32_t half = LDA_LANES / 2; half; half /= 2)
        for (uint32_t l = 0; l < half; l++)
            p.x[l] += p.x[l + half];
    return p.x[0];
}

/* Running sums, added up as lanes of a vector are: by 1, 2, 4 and 8 places. */
static inline lanes prefix(lanes p)
{
    for (int by = 1; by < LDA_LANES; by *= 2)
        for (int l = LDA_LANES - 1; l >= by; l--)
            p.x[l] += p.x[l - by];
    return p;
}

/* The first lane whose running sum is above u, and u less what is before. */
static inline uint32_t find_lane(lanes p, float *u)
{
    uint32_t lane = 0;

    for (uint32_t l = 0; l < LDA_LANES; l++)
        lane += p.x[l] <= *u;
    if (lane > LDA_LANES - 1)
        lane = LDA_LANES - 1;
    if (lane > 0)
        *u -= p.x[lane - 1];
    return lane;
}

/* ---- rows ----------------------------------------------------------------- */

/* A token's topic, what all topics weigh in its document, and their sums. */
typedef struct weighed {
    uint32_t from;
    float full, own; /* what its topic weighs, with the token and without */
    float all;       /* all without it */
    lanes p;
    float w[LDA_DENSE_TOPICS];
} weighed;

/* Vectors are added up pair by pair, then come running sums. */
INLINE weighed weigh(const lda_site *s, const uint16_t *row, uint16_t z,
                     const uint32_t vectors)
{
    weighed t = {.from = lda_topic_of(s, z)};
    const uint32_t n = vectors * LDA_LANES;
    float sum[LDA_DENSE_TOPICS];

    if (t.from < s->topics) {
        const float count = (float)row[t.from];
        t.full = (count + s->alpha[t.from]) * s->q[t.from];
        t.own = lda_own_weight(s, t.from, count);
    }
    for (uint32_t k = 0; k < n; k++)
        sum[k] = t.w[k] = ((float)row[k] + s->alpha[k]) * s->q[k];
    for (uint32_t half = LDA_DENSE_TOPICS / 2; half >= LDA_LANES; half /= 2)
        for (uint32_t k = 0; k < half && k + half < n; k++)
            sum[k] += sum[k + half];
    t.p = prefix(load(sum));
    t.all = t.p.x[LDA_LANES - 1] - (t.full - t.own);
    return t;
}

/* The topic at u among the others; K or more: none, by rounding. */
INLINE uint32_t draw_other(const weighed *t, float u, const uint32_t vectors)
{
    lanes sum = t->p;
    float before = 0;
    uint32_t rank = 0;

    for (uint32_t l = t->from % LDA_LANES; l < LDA_LANES; l++)
        sum.x[l] -= t->full;
    const uint32_t lane = find_lane(sum, &u);
    for (uint32_t k = lane; k < vectors * LDA_LANES; k += LDA_LANES) {
        before += k == t->from ? 0 : t->w[k];
        rank += before <= u;
    }
    return rank * LDA_LANES + lane;
}

static inline void put_q(float *q, uint32_t k, float value)
{
    q[k] = value;
}

static inline void add_to_row(uint16_t *row, uint32_t k, int16_t by)
{
    row[k] = (uint16_t)(row[k] + by);
}

/* ---- lists ---------------------------------------------------------------- */

/* A list as it is summed up: the sums over the lines are in s->scratch. */
typedef struct listed {
    lanes p; /* running sums over the lanes of all lines together */
    float sum;
} listed;

/* Without the token's own topic, whose place is found. */
INLINE void sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                     lda_change *c, listed *t, const uint32_t vectors)
{
    lanes p = zeros();

    (void)vectors;
    for (uint32_t j = 0; j < lines * LDA_LANES; j += LDA_LANES) {
        for (uint32_t l = 0; l < LDA_LANES; l++) {
            const uint32_t k = list[j + l] & 0xFFFF, n = list[j + l] >> 16;
            if (k == c->from)
                c->from_at = j + l;
            p.x[l] += k == c->from ? 0 : (float)n * s->q[k];
        }
        store(s->scratch + j, p);
    }
    t->p = prefix(p);
    t->sum = t->p.x[LDA_LANES - 1];
}

/* Fills in c->to and c->to_at; u is below the list's sum. False: rounding has
 * hit what is not there. */
INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        const listed *t, float u, lda_change *c,
                        const uint32_t vectors)
{
    const uint32_t lane = find_lane(t->p, &u);
    uint32_t line = 0;

    (void)vectors;
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
    for (uint32_t i = 0; i < used; i++)
        if ((list[i] & 0xFFFF) == topic)
            return i;
    return -1;
}

#define KNOWN_LINES(f)
#include "lda_kernels_loops.h"
#include "lda_labelled_loops.h"

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

const lda_kernels lda_kernels_portable = {.name = "portable",
                                          .build = build,
                                          .draw = draw,
                                          .draw_by_turns = draw_by_turns,
                                          .draw_labelled = draw_labelled};

const lda_kernels *lda_kernels_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const lda_kernels *fast =
        level == STRADS_KERNELS_AVX512 ? lda_kernels_avx512()
        : level == STRADS_KERNELS_AVX2 ? lda_kernels_avx2()
                                       : NULL;

    return fast ? fast : &lda_kernels_portable;
}
