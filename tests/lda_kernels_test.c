/* The inner loops of Gibbs sampling: all kernel tables draw the same
 * samples, bit for bit, with the frequencies of the formula. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/lda/lda_kernels.h"

enum { DOCUMENTS = 60, WORDS = 25, LONGEST = 90 };

/* The tokens of one word: in some documents, a few in each. */
typedef struct word {
    uint32_t document[DOCUMENTS * 4];
    uint16_t topic[DOCUMENTS * 4];
    uint32_t n;
    int32_t *counts;
} word;

typedef struct corpus {
    const lda_kernels *kernels;
    lda_site site;
    lda_site other; /* of an interleaved word */
    lda_documents documents;
    word word[WORDS];
} corpus;

static void *zeroed(size_t bytes)
{
    void *at = aligned_alloc(64, (bytes + 127) / 64 * 64);
    cr_assert_not_null(at);
    return memset(at, 0, (bytes + 127) / 64 * 64);
}

static void make_site(lda_site *s, uint32_t topics)
{
    const uint32_t padded = (topics + LDA_LANES - 1) / LDA_LANES * LDA_LANES;
    const size_t capacity = (padded + LDA_LANES) * sizeof(float);
    float *alpha = zeroed(capacity);

    for (uint32_t k = 0; k < topics; k++)
        alpha[k] = 0.02F + 0.01F * (float)(k % 7);
    *s = (lda_site){.topics = topics,
                    .padded = padded,
                    .beta = 0.05F,
                    .beta_sum = 0.05F * WORDS,
                    .alpha = alpha,
                    .total = zeroed(capacity),
                    .inverse = zeroed(capacity),
                    .q = zeroed(capacity),
                    .sums = zeroed(capacity + 64 * LDA_LANES),
                    .scratch = zeroed(2 * capacity)};
    for (uint32_t k = 0; k < topics; k++)
        lda_set_total(s, k, 0);
}

static void make_documents(lda_documents *x, const lda_site *s)
{
    const uint32_t lines = LONGEST * 4 / LDA_LANES + 1;

    x->n = DOCUMENTS;
    if (s->topics <= LDA_DENSE_TOPICS) {
        x->row = zeroed((size_t)DOCUMENTS * s->padded * sizeof *x->row);
        return;
    }
    x->list = zeroed((size_t)DOCUMENTS * lines * LDA_LANES * sizeof *x->list);
    x->line = zeroed((DOCUMENTS + 1) * sizeof *x->line);
    x->used = zeroed(DOCUMENTS * sizeof *x->used);
    for (uint32_t d = 0; d <= DOCUMENTS; d++)
        x->line[d] = d * lines;
    for (uint32_t i = 0; i < DOCUMENTS * lines * LDA_LANES; i++)
        x->list[i] = s->topics;
}

static corpus *corpus_new(const lda_kernels *kernels, uint32_t topics)
{
    corpus *c = zeroed(sizeof *c);

    c->kernels = kernels;
    make_site(&c->site, topics);
    c->other = c->site;
    c->other.q = zeroed((c->site.padded + LDA_LANES) * sizeof *c->other.q);
    make_documents(&c->documents, &c->site);
    for (uint32_t w = 0; w < WORDS; w++) {
        word *x = &c->word[w];
        x->counts = zeroed((c->site.padded + LDA_LANES) * sizeof *x->counts);
        for (uint32_t d = 0; d < DOCUMENTS; d++) {
            const uint32_t n = (d * 31 + w * 17 + d * w) % 7;
            if (n < 1 || n > 4)
                continue;
            for (uint32_t i = 0; i < n; i++)
                x->document[x->n++] = d;
        }
        memset(x->topic, 0xFF, sizeof x->topic);
    }
    return c;
}

static void corpus_free(corpus *c)
{
    void *const all[] = {(void *)c->site.alpha,
                         c->site.total,
                         c->site.inverse,
                         c->site.q,
                         c->site.sums,
                         c->site.scratch,
                         c->documents.row,
                         c->documents.list,
                         c->documents.line,
                         c->documents.used,
                         c->other.q};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    for (uint32_t w = 0; w < WORDS; w++)
        free(c->word[w].counts);
    free(c);
}

static lda_tokens begin_word(corpus *c, lda_site *site, uint32_t w,
                             uint64_t stream)
{
    word *x = &c->word[w];

    site->word = x->counts;
    site->random = stream ^ w * UINT64_C(0xD1342543DE82EF95);
    c->kernels->build(site);
    return (lda_tokens){.n = x->n, .document = x->document, .topic = x->topic};
}

static void visit(corpus *c, uint32_t w, uint64_t stream)
{
    const lda_tokens tokens = begin_word(c, &c->site, w, stream);

    c->kernels->draw(&c->site, &c->documents, &tokens);
}

/* Visits as many tokens of both words as the shorter one has. */
static void visit_both(corpus *c, uint32_t w, uint32_t beside, uint64_t stream)
{
    const lda_tokens ones = begin_word(c, &c->site, w, stream);
    const lda_tokens others = begin_word(c, &c->other, beside, stream);

    c->kernels->draw_by_turns(&c->site, &c->other, &c->documents, &ones,
                              &others);
}

static const uint32_t topics_tried[] = {2, 16, 17, 100, 128, 129, 300, 1000};
enum { TRIED = sizeof topics_tried / sizeof *topics_tried };

/* The kernel tables that this processor supports, portable loops first;
 * returns their number. */
static int all_tables(const lda_kernels *out[3])
{
    const lda_kernels *table[] = {&lda_kernels_portable, lda_kernels_avx2(),
                                  lda_kernels_avx512()};
    int n = 0;

    for (int k = 0; k < 3; k++)
        if (table[k])
            out[n++] = table[k];
    return n;
}

static void expect_the_same_draws(const lda_kernels *fast, uint32_t topics)
{
    corpus *a = corpus_new(&lda_kernels_portable, topics);
    corpus *b = corpus_new(fast, topics);

    for (uint64_t sweep = 0; sweep < 6; sweep++)
        for (uint32_t w = 0; w < WORDS; w++) {
            visit(a, w, sweep << 32);
            visit(b, w, sweep << 32);
            cr_assert_eq(memcmp(a->word[w].topic, b->word[w].topic,
                                sizeof a->word[w].topic),
                         0, "%s: %u topics, sweep %d, word %u", fast->name,
                         topics, (int)sweep, w);
        }
    cr_assert_gt(a->site.moved, 0);
    cr_assert_eq(a->site.moved, b->site.moved);
    corpus_free(a);
    corpus_free(b);
}

Test(lda_kernels, vectors_draw_the_same_as_the_portable_loops)
{
    const lda_kernels *table[3];
    const int tables = all_tables(table);

    for (int k = 1; k < tables; k++)
        for (size_t t = 0; t < TRIED; t++)
            expect_the_same_draws(table[k], topics_tried[t]);
}

/* q must match the current counts after the draws of both words. */
static void expect_q_of_counts(const corpus *c, const lda_site *s)
{
    for (uint32_t k = 0; k < s->topics; k++)
        cr_assert_eq(s->q[k],
                     ((float)s->word[k] + s->beta) * c->site.inverse[k]);
}

static void expect_the_same_by_turns(const lda_kernels *fast)
{
    for (size_t t = 0; topics_tried[t] <= LDA_DENSE_TOPICS; t++) {
        corpus *a = corpus_new(&lda_kernels_portable, topics_tried[t]);
        corpus *b = corpus_new(fast, topics_tried[t]);
        for (uint64_t sweep = 0; sweep < 6; sweep++) {
            for (uint32_t w = 0; w < WORDS; w++) {
                const uint32_t beside = (w + 1 + (uint32_t)sweep) % WORDS;
                visit_both(a, w, beside, sweep << 32);
                visit_both(b, w, beside, sweep << 32);
                expect_q_of_counts(a, &a->site);
                expect_q_of_counts(a, &a->other);
                for (uint32_t x = 0; x < WORDS; x++)
                    cr_assert_arr_eq(a->word[x].topic, b->word[x].topic,
                                     sizeof a->word[x].topic);
            }
        }
        cr_assert_gt(a->other.moved, 0);
        cr_assert_eq(a->other.moved, b->other.moved);
        corpus_free(a);
        corpus_free(b);
    }
}

Test(lda_kernels, vectors_draw_by_turns_the_same_as_the_portable_loops)
{
    const lda_kernels *table[3];
    const int tables = all_tables(table);

    for (int k = 1; k < tables; k++)
        expect_the_same_by_turns(table[k]);
}

static uint32_t count_in_document(const corpus *c, uint32_t d, uint32_t k)
{
    const lda_documents *x = &c->documents;
    const uint32_t *list =
        x->list ? x->list + (size_t)x->line[d] * LDA_LANES : NULL;

    if (x->row)
        return x->row[d * c->site.padded + k];
    for (uint32_t i = 0; i < x->used[d]; i++)
        if ((list[i] & 0xFFFF) == k)
            return list[i] >> 16;
    return 0;
}

/* p of a word's first token, which has topic `from`, by the formula. */
static void weigh(const corpus *c, const word *x, uint32_t from, double *p)
{
    const lda_site *s = &c->site;
    double all = 0;

    for (uint32_t k = 0; k < s->topics; k++) {
        const double own = k == from ? 1 : 0;
        const double in_document =
            count_in_document(c, x->document[0], k) - own;
        const double of_word = x->counts[k] - own, of_all = s->total[k] - own;
        p[k] = (in_document + (double)s->alpha[k]) *
               (of_word + (double)s->beta) / (of_all + (double)s->beta_sum);
        all += p[k];
    }
    for (uint32_t k = 0; k < s->topics; k++)
        p[k] /= all;
}

/* Pearson's statistic over topics with at least ten expected draws; the
 * other topics are pooled. */
static void expect_frequencies(const double *p, const uint32_t *drawn,
                               uint32_t topics, double draws)
{
    double sum = 0, rest_p = 0, rest = 0;
    uint32_t cells = 0;

    for (uint32_t k = 0; k < topics; k++) {
        if (p[k] * draws < 10) {
            rest_p += p[k];
            rest += drawn[k];
            continue;
        }
        const double off = drawn[k] - p[k] * draws;
        sum += off * off / (p[k] * draws);
        cells++;
    }
    if (rest_p * draws >= 1) {
        const double off = rest - rest_p * draws;
        sum += off * off / (rest_p * draws);
        cells++;
    }
    cr_assert_geq(cells, 3);
    cr_assert_lt(sum, gsl_cdf_chisq_Qinv(1e-6, cells - 1.0),
                 "%u topics: %g over %u cells", topics, sum, cells);
}

/* State that a draw of a word's first token can change. */
typedef struct memory {
    void *at, *kept;
    size_t bytes;
} memory;

enum { MEMORIES = 6 };

static void keep(corpus *c, uint32_t w, memory m[MEMORIES])
{
    const lda_site *s = &c->site;
    lda_documents *x = &c->documents;
    const uint32_t d = c->word[w].document[0];
    const size_t full = (s->padded + LDA_LANES) * sizeof(float);

    m[0] = (memory){.at = s->total, .bytes = full};
    m[1] = (memory){.at = s->inverse, .bytes = full};
    m[2] = (memory){.at = c->word[w].counts, .bytes = full};
    m[3] = (memory){.at = c->word[w].topic, .bytes = sizeof(uint16_t)};
    m[4] = x->row ? (memory){.at = x->row + d * s->padded,
                             .bytes = s->padded * sizeof *x->row}
                  : (memory){.at = x->list + x->line[d] * LDA_LANES,
                             .bytes = (x->line[d + 1] - x->line[d]) *
                                      LDA_LANES * sizeof *x->list};
    m[5] = x->row ? (memory){.at = x->row, .bytes = 0}
                  : (memory){.at = &x->used[d], .bytes = sizeof *x->used};
    for (size_t k = 0; k < MEMORIES; k++) {
        m[k].kept = zeroed(m[k].bytes);
        memcpy(m[k].kept, m[k].at, m[k].bytes);
    }
}

static void put_back(const memory m[MEMORIES])
{
    for (size_t k = 0; k < MEMORIES; k++)
        memcpy(m[k].at, m[k].kept, m[k].bytes);
}

static void forget(memory m[MEMORIES])
{
    for (size_t k = 0; k < MEMORIES; k++)
        free(m[k].kept);
}

/* Draws the word's first token repeatedly from the same state. */
static void check_frequencies(const lda_kernels *kernels, uint32_t topics)
{
    enum { DRAWS = 40000, SWEEPS = 30 };
    corpus *c = corpus_new(kernels, topics);
    double *p = calloc(topics, sizeof *p);
    uint32_t *drawn = calloc(topics, sizeof *drawn);
    memory m[MEMORIES];

    for (uint64_t sweep = 0; sweep < SWEEPS; sweep++)
        for (uint32_t w = 0; w < WORDS; w++)
            visit(c, w, sweep << 40);
    c->word[3].n = 1;
    weigh(c, &c->word[3], c->word[3].topic[0], p);
    keep(c, 3, m);
    for (uint64_t i = 0; i < DRAWS; i++) {
        visit(c, 3, i * UINT64_C(0x9E3779B97F4A7C15));
        drawn[c->word[3].topic[0]]++;
        put_back(m);
    }
    expect_frequencies(p, drawn, topics, DRAWS);
    forget(m);
    free(p);
    free(drawn);
    corpus_free(c);
}

/* Draws word 9's first token, which is in another document, beside word 3's:
 * from the same state, including its own totals. */
static void check_frequencies_by_turns(const lda_kernels *kernels,
                                       uint32_t topics)
{
    enum { DRAWS = 40000, SWEEPS = 30 };
    double *p = calloc(topics, sizeof *p);
    uint32_t *drawn = calloc(topics, sizeof *drawn);
    corpus *c = corpus_new(kernels, topics);
    memory m[MEMORIES], other[MEMORIES];

    for (uint64_t sweep = 0; sweep < SWEEPS; sweep++)
        for (uint32_t w = 0; w < WORDS; w++)
            visit(c, w, sweep << 40);
    c->word[3].n = c->word[9].n = 1;
    cr_assert_neq(c->word[3].document[0], c->word[9].document[0]);
    weigh(c, &c->word[9], c->word[9].topic[0], p);
    keep(c, 3, m);
    keep(c, 9, other);
    for (uint64_t i = 0; i < DRAWS; i++) {
        visit_both(c, 3, 9, i * UINT64_C(0x9E3779B97F4A7C15));
        drawn[c->word[9].topic[0]]++;
        put_back(m);
        put_back(other);
    }
    expect_frequencies(p, drawn, topics, DRAWS);
    forget(m);
    forget(other);
    corpus_free(c);
    free(drawn);
    free(p);
}

Test(lda_kernels, draws_have_the_frequencies_of_the_formula)
{
    const uint32_t topics[] = {5, 100, 200, 700};
    const lda_kernels *table[3];
    const int tables = all_tables(table);

    for (size_t t = 0; t < sizeof topics / sizeof *topics; t++)
        for (int k = 0; k < tables; k++) {
            check_frequencies(table[k], topics[t]);
            if (topics[t] <= LDA_DENSE_TOPICS)
                check_frequencies_by_turns(table[k], topics[t]);
        }
}
