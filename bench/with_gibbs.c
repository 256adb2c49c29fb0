/* Textbook collapsed Gibbs sampling (Griffiths and Steyvers, PNAS 2004), one
 * token and one topic after the other, without strads' sampler:
 *
 *   with_gibbs DOCWORD TOPICS ALPHA BETA SEED SWEEP...
 *   with_gibbs learn DOCWORD TOPICS SEED SWEEPS MODEL
 *
 * The first prints log p(words, topics) per token after each of these sweeps,
 * in ascending order. The first sweep draws from the tokens that have a topic
 * already. The second learns an alpha of each topic and a beta by Minka's fixed
 * point (2000, equation 55; Wallach, Mimno and McCallum, NIPS 2009), every 10
 * sweeps after 20, and writes the last sample as a model of strads, so that
 * `strads lda evaluate` measures it. */
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lda.h>

#include "bench/ending.h"

typedef struct corpus {
    uint32_t documents, words, topics;
    double *alpha, beta; /* [topics] */
    size_t n;
    uint32_t *document, *word, *topic; /* [n] */
    uint32_t *in_document, *of_word, *total;
    uint32_t *length; /* [documents] */
    double *p;
} corpus;

static void broken(const char *path)
{
    (void)fprintf(stderr, "%s: no UCI bag of words\n", path);
    exit(1);
}

static void read_corpus(corpus *c, const char *path)
{
    FILE *in = fopen(path, "r");
    unsigned long entries;
    uint32_t d, w, count;
    size_t most = 0;

    if (!in || fscanf(in, "%u %u %lu", &c->documents, &c->words, &entries) != 3)
        broken(path);
    while (fscanf(in, "%u %u %u", &d, &w, &count) == 3) {
        if (d < 1 || d > c->documents || w < 1 || w > c->words)
            broken(path);
        if (c->n + count > most) {
            most = 2 * (c->n + count);
            c->document = realloc(c->document, most * sizeof *c->document);
            c->word = realloc(c->word, most * sizeof *c->word);
            if (!c->document || !c->word)
                bench_check(strads_fail(STRADS_ENOMEM,
                                        "no memory for %zu tokens", most));
        }
        for (; count; count--) {
            c->document[c->n] = d - 1;
            c->word[c->n++] = w - 1;
        }
    }
    (void)fclose(in);
    if (c->n == 0)
        broken(path);
}

static void change(corpus *c, size_t i, uint32_t by)
{
    const uint32_t k = c->topic[i];

    c->in_document[(size_t)c->document[i] * c->topics + k] += by;
    c->of_word[(size_t)c->word[i] * c->topics + k] += by;
    c->total[k] += by;
}

static void draw(corpus *c, size_t i, gsl_rng *r)
{
    const uint32_t *nd = c->in_document + (size_t)c->document[i] * c->topics;
    const uint32_t *nw = c->of_word + (size_t)c->word[i] * c->topics;
    double all = 0;
    uint32_t k = 0;

    for (uint32_t j = 0; j < c->topics; j++) {
        all += (nd[j] + c->alpha[j]) * (nw[j] + c->beta) /
               (c->total[j] + c->words * c->beta);
        c->p[j] = all;
    }
    const double u = gsl_rng_uniform(r) * all;
    while (k + 1 < c->topics && c->p[k] <= u)
        k++;
    c->topic[i] = k;
}

/* log Gamma(a + n) - log Gamma(a) */
static double rise(double a, double n)
{
    return n > 0 ? gsl_sf_lngamma(a + n) - gsl_sf_lngamma(a) : 0;
}

static double likelihood(const corpus *c)
{
    const uint32_t topics = c->topics;
    double sum = 0, all = 0;

    for (uint32_t k = 0; k < topics; k++)
        all += c->alpha[k];
    for (uint32_t d = 0; d < c->documents; d++)
        sum -= rise(all, c->length[d]);
    for (size_t i = 0; i < (size_t)c->documents * topics; i++)
        sum += rise(c->alpha[i % topics], c->in_document[i]);
    for (size_t i = 0; i < (size_t)c->words * topics; i++)
        sum += rise(c->beta, c->of_word[i]);
    for (uint32_t k = 0; k < topics; k++)
        sum -= rise(c->words * c->beta, c->total[k]);
    return sum;
}

static void make_counts(corpus *c, double alpha)
{
    c->topic = bench_reserve(c->n, sizeof *c->topic);
    c->in_document =
        bench_reserve((size_t)c->documents * c->topics, sizeof(uint32_t));
    c->of_word = bench_reserve((size_t)c->words * c->topics, sizeof(uint32_t));
    c->total = bench_reserve(c->topics, sizeof *c->total);
    c->length = bench_reserve(c->documents, sizeof *c->length);
    c->p = bench_reserve(c->topics, sizeof *c->p);
    c->alpha = bench_reserve(c->topics, sizeof *c->alpha);
    for (uint32_t k = 0; k < c->topics; k++)
        c->alpha[k] = alpha;
    for (size_t i = 0; i < c->n; i++)
        c->length[c->document[i]]++;
}

static void sweep_tokens(corpus *c, int sweep, gsl_rng *r)
{
    for (size_t i = 0; i < c->n; i++) {
        if (sweep > 1)
            change(c, i, UINT32_MAX);
        draw(c, i, r);
        change(c, i, 1);
    }
}

/* ---- learning ------------------------------------------------------------ */

/* Tail counts: at[i] values are above i. */
static void count_above(const uint32_t *value, size_t n, size_t stride,
                        double *at, uint32_t most)
{
    memset(at, 0, (most + 1) * sizeof *at);
    for (size_t i = 0; i < n; i++)
        at[value[i * stride]]++;
    for (uint32_t i = most; i > 0; i--)
        at[i - 1] += at[i];
    memmove(at, at + 1, most * sizeof *at);
}

/* sum over values of psi(value + a) - psi(a) */
static double psi_rise(const double *above, uint32_t most, double a)
{
    double sum = 0;

    for (uint32_t i = 0; i < most && above[i] > 0; i++)
        sum += above[i] / (a + i);
    return sum;
}

enum { STEPS_MAX = 200 };
static const double SETTLED = 1e-4;

/* `above` has space for a topic's largest total. */
static void learn_alpha(corpus *c, double *above)
{
    uint32_t longest = 0;
    double change = 1;

    for (uint32_t d = 0; d < c->documents; d++)
        longest = c->length[d] > longest ? c->length[d] : longest;
    const size_t row = (size_t)longest + 2;
    double *of_topic = bench_reserve(row * c->topics, sizeof *of_topic);
    for (uint32_t k = 0; k < c->topics; k++)
        count_above(c->in_document + k, c->documents, c->topics,
                    of_topic + k * row, longest);
    count_above(c->length, c->documents, 1, above, longest);
    for (int step = 0; step < STEPS_MAX && change > SETTLED; step++) {
        double all = 0, before = 0;
        for (uint32_t k = 0; k < c->topics; k++)
            before += c->alpha[k];
        const double under = psi_rise(above, longest, before);
        for (uint32_t k = 0; k < c->topics; k++) {
            c->alpha[k] *=
                psi_rise(of_topic + k * row, longest, c->alpha[k]) / under;
            c->alpha[k] = fmax(c->alpha[k], 1e-8);
            all += c->alpha[k];
        }
        change = fabs(all / before - 1);
    }
    free(of_topic);
}

static void learn_beta(corpus *c, double *above, uint32_t most)
{
    double change = 1;

    count_above(c->of_word, (size_t)c->words * c->topics, 1, above, most);
    for (int step = 0; step < STEPS_MAX && change > SETTLED; step++) {
        const double before = c->beta, all = c->words * before;
        double under = 0;
        for (uint32_t k = 0; k < c->topics; k++)
            under += gsl_sf_psi(all + c->total[k]) - gsl_sf_psi(all);
        c->beta *= psi_rise(above, most, before) / (c->words * under);
        change = fabs(c->beta / before - 1);
    }
}

static void write_last(const corpus *c, const char *path)
{
    const size_t pairs = (size_t)c->words * c->topics;
    strads_lda_model m = {.topics = c->topics,
                          .words = c->words,
                          .documents = c->documents,
                          .tokens = c->n,
                          .alpha = c->alpha,
                          .beta = c->beta,
                          .log_likelihood = likelihood(c)};
    m.total = bench_reserve(c->topics, sizeof *m.total);
    m.start = bench_reserve((size_t)c->words + 1, sizeof *m.start);
    m.topic = bench_reserve(pairs, sizeof *m.topic);
    m.count = bench_reserve(pairs, sizeof *m.count);
    for (uint32_t k = 0; k < c->topics; k++)
        m.total[k] = c->total[k];
    size_t n = 0;
    for (size_t i = 0; i < pairs; i++) {
        if (c->of_word[i]) {
            m.topic[n] = (uint32_t)(i % c->topics);
            m.count[n++] = c->of_word[i];
        }
        m.start[i / c->topics + 1] = n;
    }
    bench_check(strads_lda_model_write(&m, NULL, path));
    free(m.total);
    free(m.start);
    free(m.topic);
    free(m.count);
}

static int learn(char **argv)
{
    enum { BURN_IN = 20, INTERVAL = 10 };
    corpus c = {.topics = (uint32_t)atoi(argv[3]), .beta = .01};
    const int sweeps = atoi(argv[5]);
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(r, strtoul(argv[4], NULL, 10));
    read_corpus(&c, argv[2]);
    make_counts(&c, 5.0 / c.topics);
    double *above = bench_reserve(c.n + 2, sizeof *above);
    for (int sweep = 1; sweep <= sweeps; sweep++) {
        sweep_tokens(&c, sweep, r);
        if (sweep > BURN_IN && sweep < sweeps && sweep % INTERVAL == 0) {
            uint32_t most = 0;
            for (uint32_t k = 0; k < c.topics; k++)
                most = c.total[k] > most ? c.total[k] : most;
            learn_alpha(&c, above);
            learn_beta(&c, above, most);
        }
    }
    write_last(&c, argv[6]);
    free(above);
    gsl_rng_free(r);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "learn") == 0)
        return learn(argv);
    if (argc < 7) {
        (void)fprintf(stderr, "with_gibbs DOCWORD TOPICS ALPHA BETA SEED "
                              "SWEEP...\nwith_gibbs learn DOCWORD TOPICS SEED "
                              "SWEEPS MODEL\n");
        return 2;
    }
    corpus c = {.topics = (uint32_t)atoi(argv[2]), .beta = atof(argv[4])};
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(r, strtoul(argv[5], NULL, 10));
    read_corpus(&c, argv[1]);
    make_counts(&c, atof(argv[3]));
    for (int sweep = 1, next = 6; next < argc; sweep++) {
        sweep_tokens(&c, sweep, r);
        if (sweep == atoi(argv[next])) {
            (void)printf("%d %.6f\n", sweep, likelihood(&c) / (double)c.n);
            next++;
        }
    }
    gsl_rng_free(r);
    return 0;
}
