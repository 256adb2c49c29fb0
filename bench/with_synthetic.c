/* Corpora and ratings of known origin, for the benchmarks of lda and mf:
 *
 *   with_synthetic lda DOCUMENTS WORDS TOPICS LENGTH SEED OUT
 *   with_synthetic mf USERS ITEMS RATINGS RANK NOISE SEED TRAIN TEST
 *
 * A corpus is drawn from the model of latent Dirichlet allocation: topics from
 * a Dirichlet distribution around words with frequencies by Zipf's law,
 * log-normal lengths of documents; Blei's ldac, words from 0. Its documents,
 * tokens and entries are counted on standard output. Ratings are products of
 * normal factors, with biases and normal noise. The number of ratings per user
 * is log-normal, an item's frequency falls by its rank; lines "user item
 * rating" from 0, one of ten in TEST. */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ending.h"

static const double TOPIC_MASS = 500, DOCUMENT_SHARE = 0.1; /* Dirichlet */

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void finish(FILE *file, const char *path)
{
    const int broken = ferror(file);

    if (fclose(file) != 0 || broken) {
        (void)fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
}

static void shuffle(gsl_rng *r, uint32_t *x, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        x[k] = k;
    gsl_ran_shuffle(r, x, n, sizeof *x);
}

/* ---- a corpus ---------------------------------------------------------- */

static gsl_ran_discrete_t **draw_topics(gsl_rng *r, uint32_t topics,
                                        uint32_t words)
{
    gsl_ran_discrete_t **topic = bench_reserve(topics, sizeof(*topic));
    double *p = bench_reserve(words, sizeof *p), all = 0;
    uint32_t *place = bench_reserve(words, sizeof *place);

    shuffle(r, place, words);
    for (uint32_t w = 0; w < words; w++)
        all += 1 / pow(w + 2.7, 1.05);
    for (uint32_t k = 0; k < topics; k++) {
        for (uint32_t w = 0; w < words; w++)
            p[place[w]] =
                1e-300 +
                gsl_ran_gamma(r, TOPIC_MASS / pow(w + 2.7, 1.05) / all, 1);
        topic[k] = gsl_ran_discrete_preproc(words, p);
    }
    free(place);
    free(p);
    return topic;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Returns how many different words it has. */
static uint32_t put_document(FILE *out, uint32_t *word, uint32_t n)
{
    uint32_t different = 0;

    qsort(word, n, sizeof *word, by_number);
    for (uint32_t i = 0; i < n; i++)
        different += i == 0 || word[i] != word[i - 1];
    (void)fprintf(out, "%u", different);
    for (uint32_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && word[j] == word[i];)
            j++;
        (void)fprintf(out, " %u:%u", word[i], j - i);
    }
    (void)fputc('\n', out);
    return different;
}

static void make_corpus(char **v)
{
    const uint32_t documents = (uint32_t)atoi(v[0]),
                   words = (uint32_t)atoi(v[1]);
    const uint32_t topics = (uint32_t)atoi(v[2]);
    const double length = atof(v[3]);
    enum { LONGEST = 60000 };
    gsl_rng *r = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(r, strtoul(v[4], NULL, 10) + 1);
    gsl_ran_discrete_t **topic = draw_topics(r, topics, words);
    double *share = bench_reserve(topics, sizeof *share);
    uint32_t *word = bench_reserve(LONGEST, sizeof *word);
    FILE *out = create(v[5]);
    uint64_t tokens = 0, entries = 0;

    for (uint32_t d = 0; d < documents; d++) {
        double n = gsl_ran_lognormal(r, log(length) - 0.18, 0.6);
        n = fmin(fmax(n, 5), LONGEST);
        for (uint32_t k = 0; k < topics; k++)
            share[k] = 1e-300 + gsl_ran_gamma(r, DOCUMENT_SHARE, 1);
        gsl_ran_discrete_t *mix = gsl_ran_discrete_preproc(topics, share);
        for (uint32_t i = 0; i < (uint32_t)n; i++)
            word[i] =
                (uint32_t)gsl_ran_discrete(r, topic[gsl_ran_discrete(r, mix)]);
        gsl_ran_discrete_free(mix);
        entries += put_document(out, word, (uint32_t)n);
        tokens += (uint32_t)n;
    }
    finish(out, v[5]);
    (void)printf("%" PRIu32 " documents, %" PRIu64 " tokens, %" PRIu64
                 " entries\n",
                 documents, tokens, entries);
    for (uint32_t k = 0; k < topics; k++)
        gsl_ran_discrete_free(topic[k]);
    free(topic);
    free(share);
    free(word);
    gsl_rng_free(r);
}

/* ---- ratings ----------------------------------------------------------- */

typedef struct ratings {
    gsl_rng *r;
    uint32_t users, items, rank;
    float *user, *item; /* factors and, last, the bias */
    gsl_ran_discrete_t *popular;
    double noise, each; /* ratings of a user, on average */
    uint32_t *given;    /* [items] the last user, from 1 */
} ratings;

static float *draw_factors(gsl_rng *r, uint32_t n, uint32_t rank, double bias)
{
    float *x = bench_reserve((size_t)n * (rank + 1), sizeof *x);
    const double sd = sqrt(0.7 / sqrt(rank));

    for (size_t i = 0; i < (size_t)n * (rank + 1); i++)
        x[i] =
            (float)gsl_ran_gaussian_ziggurat(r,
                                             i % (rank + 1) < rank ? sd : bias);
    return x;
}

static gsl_ran_discrete_t *draw_popular(gsl_rng *r, uint32_t items)
{
    double *p = bench_reserve(items, sizeof *p);
    uint32_t *place = bench_reserve(items, sizeof *place);

    shuffle(r, place, items);
    for (uint32_t i = 0; i < items; i++)
        p[place[i]] = 1 / pow(i + 30, 0.9);
    gsl_ran_discrete_t *popular = gsl_ran_discrete_preproc(items, p);
    free(place);
    free(p);
    return popular;
}

static void put_user(const ratings *x, uint32_t u, FILE *train, FILE *test)
{
    const float *p = x->user + (size_t)u * (x->rank + 1);
    double most = gsl_ran_lognormal(x->r, log(x->each) - 0.5, 1);
    most = fmin(fmax(most, 5), x->items / 5.0);

    for (uint32_t n = 0, tries = 0; n < (uint32_t)most && tries < 20 * most;
         tries++) {
        const uint32_t i = (uint32_t)gsl_ran_discrete(x->r, x->popular);
        const float *q = x->item + (size_t)i * (x->rank + 1);
        double value = 3.5 + (double)(p[x->rank] + q[x->rank]);
        if (x->given[i] == u + 1)
            continue;
        x->given[i] = u + 1;
        n++;
        for (uint32_t k = 0; k < x->rank; k++)
            value += (double)(p[k] * q[k]);
        value += gsl_ran_gaussian_ziggurat(x->r, x->noise);
        (void)fprintf(gsl_rng_uniform_int(x->r, 10) ? train : test,
                      "%u %u %.3f\n", u, i, value);
    }
}

static void make_ratings(char **v)
{
    ratings x = {.r = gsl_rng_alloc(gsl_rng_taus2),
                 .users = (uint32_t)atoi(v[0]),
                 .items = (uint32_t)atoi(v[1]),
                 .rank = (uint32_t)atoi(v[3]),
                 .noise = atof(v[4])};
    gsl_rng_set(x.r, strtoul(v[5], NULL, 10) + 1);
    x.each = atof(v[2]) / x.users;
    x.user = draw_factors(x.r, x.users, x.rank, 0.3);
    x.item = draw_factors(x.r, x.items, x.rank, 0.4);
    x.popular = draw_popular(x.r, x.items);
    x.given = bench_reserve(x.items, sizeof *x.given);
    FILE *train = create(v[6]), *test = create(v[7]);

    for (uint32_t u = 0; u < x.users; u++)
        put_user(&x, u, train, test);
    finish(train, v[6]);
    finish(test, v[7]);
    free(x.user);
    free(x.item);
    free(x.given);
    gsl_ran_discrete_free(x.popular);
    gsl_rng_free(x.r);
}

int main(int argc, char **argv)
{
    if (argc == 8 && strcmp(argv[1], "lda") == 0)
        make_corpus(argv + 2);
    else if (argc == 10 && strcmp(argv[1], "mf") == 0)
        make_ratings(argv + 2);
    else {
        (void)fprintf(stderr,
                      "with_synthetic lda|mf ...: see its first lines\n");
        return 2;
    }
    return 0;
}
