/* Textbook collapsed Gibbs sampling (Griffiths and Steyvers, PNAS 2004), one
 * token and one topic after the other, without any strads code:
 *
 *   with_gibbs DOCWORD TOPICS ALPHA BETA SEED SWEEP...
 *
 * prints log p(words, topics) per token after each of these sweeps, in
 * ascending order. The first sweep draws from the tokens that have a topic
 * already. */
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_gamma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/ending.h"

typedef struct corpus {
    uint32_t documents, words, topics;
    double alpha, beta;
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
        all += (nd[j] + c->alpha) * (nw[j] + c->beta) /
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
    double sum = 0;

    for (uint32_t d = 0; d < c->documents; d++)
        sum -= rise(topics * c->alpha, c->length[d]);
    for (size_t i = 0; i < (size_t)c->documents * topics; i++)
        sum += rise(c->alpha, c->in_document[i]);
    for (size_t i = 0; i < (size_t)c->words * topics; i++)
        sum += rise(c->beta, c->of_word[i]);
    for (uint32_t k = 0; k < topics; k++)
        sum -= rise(c->words * c->beta, c->total[k]);
    return sum;
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        (void)fprintf(stderr, "with_gibbs DOCWORD TOPICS ALPHA BETA SEED "
                              "SWEEP...\n");
        return 2;
    }
    corpus c = {.topics = (uint32_t)atoi(argv[2]),
                .alpha = atof(argv[3]),
                .beta = atof(argv[4])};
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(r, strtoul(argv[5], NULL, 10));
    read_corpus(&c, argv[1]);
    c.topic = bench_reserve(c.n, sizeof *c.topic);
    c.in_document =
        bench_reserve((size_t)c.documents * c.topics, sizeof(uint32_t));
    c.of_word = bench_reserve((size_t)c.words * c.topics, sizeof(uint32_t));
    c.total = bench_reserve(c.topics, sizeof *c.total);
    c.length = bench_reserve(c.documents, sizeof *c.length);
    c.p = bench_reserve(c.topics, sizeof *c.p);
    for (size_t i = 0; i < c.n; i++)
        c.length[c.document[i]]++;
    for (int sweep = 1, next = 6; next < argc; sweep++) {
        for (size_t i = 0; i < c.n; i++) {
            if (sweep > 1)
                change(&c, i, UINT32_MAX);
            draw(&c, i, r);
            change(&c, i, 1);
        }
        if (sweep == atoi(argv[next])) {
            (void)printf("%d %.6f\n", sweep, likelihood(&c) / (double)c.n);
            next++;
        }
    }
    gsl_rng_free(r);
    return 0;
}
