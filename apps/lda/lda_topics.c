/* Quality of topics: their top words, and their coherence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lda.h>

/* The top words of each topic: by probability, or by relevance (Sievert and
 * Shirley, ILLVI 2014, equation 1),
 *
 *     r(w, k) = l log phi_kw + (1 - l) log (phi_kw / p_w). */
static double relevance(const strads_lda_model *m, uint64_t pair, double share,
                        double lambda)
{
    const uint32_t k = m->topic[pair];
    const double beta = strads_lda_beta(m);
    const double phi = (m->count[pair] + beta) /
                       ((double)m->total[k] + (double)m->words * beta);

    return lambda * log(phi) + (1 - lambda) * log(phi / share);
}

/* Keeps the best n in descending order; among equal ones the first word comes
 * first. */
static void insert_word(uint32_t *word, double *score, uint32_t n, uint32_t w,
                        double s)
{
    uint32_t at = n;

    while (at > 0 && (word[at - 1] == STRADS_LDA_NO_WORD || score[at - 1] < s))
        at--;
    if (at == n)
        return;
    memmove(word + at + 1, word + at, (n - at - 1) * sizeof *word);
    memmove(score + at + 1, score + at, (n - at - 1) * sizeof *score);
    word[at] = w;
    score[at] = s;
}

strads_err strads_lda_top_words(const strads_lda_model *m, double lambda,
                                uint32_t n, uint32_t *word, double *score)
{
    if (n == 0 || !(lambda >= 0 && lambda <= 1))
        return strads_fail(STRADS_EINVAL,
                           "top words: expected 1 or more of them, and a "
                           "weight from 0 to 1");
    for (uint64_t i = 0; i < (uint64_t)m->topics * n; i++) {
        word[i] = STRADS_LDA_NO_WORD;
        score[i] = NAN;
    }
    for (uint32_t w = 0; w < m->words; w++) {
        double tokens = 0;
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++)
            tokens += m->count[i];
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint64_t at = (uint64_t)m->topic[i] * n;
            insert_word(word + at, score + at, n, w,
                        relevance(m, i, tokens / strads_lda_mass(m), lambda));
        }
    }
    return STRADS_OK;
}

/* ---- exclusive words ----------------------------------------------------- */

static double topic_mass(const strads_lda_model *m, uint32_t topic)
{
    return (double)m->total[topic] + (double)m->words * strads_lda_beta(m);
}

/* The sum over topics of the probability of a word without tokens. */
static double least_mass(const strads_lda_model *m)
{
    double sum = 0;

    for (uint32_t k = 0; k < m->topics; k++)
        sum += strads_lda_beta(m) / topic_mass(m, k);
    return sum;
}

static double word_mass(const strads_lda_model *m, uint32_t word, double least)
{
    double sum = least;

    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++)
        sum += m->count[i] / topic_mass(m, m->topic[i]);
    return sum;
}

strads_err strads_lda_exclusivity(const strads_lda_model *m, uint32_t n,
                                  const uint32_t *word, double *exclusivity)
{
    const double least = least_mass(m), beta = strads_lda_beta(m);

    for (uint64_t at = 0; at < (uint64_t)m->topics * n; at++) {
        const uint32_t k = (uint32_t)(at / n), w = word[at];
        double count = 0;
        exclusivity[at] = NAN;
        if (w == STRADS_LDA_NO_WORD)
            continue;
        if (w >= m->words)
            return strads_fail(
                STRADS_EINVAL,
                "exclusivity: word %u is not in the model, which "
                "has %llu words",
                w, (unsigned long long)m->words);
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++)
            if (m->topic[i] == k)
                count = m->count[i];
        exclusivity[at] =
            (count + beta) / topic_mass(m, k) / word_mass(m, w, least);
    }
    return STRADS_OK;
}

/* The words of each topic, topic by topic, with counts and exclusivities. */
typedef struct exclusive {
    uint64_t *start;  /* [topics + 2] */
    uint32_t *word;   /* [pairs] */
    double *count;    /* [pairs] */
    double *only;     /* [pairs] exclusivity */
    double *by_count; /* [words of the largest topic] sorted */
    double *by_only;
} exclusive;

static void exclusive_free(exclusive *x)
{
    free(x->start);
    free(x->word);
    free(x->count);
    free(x->only);
    free(x->by_count);
    free(x->by_only);
}

static strads_err exclusive_make(exclusive *x, const strads_lda_model *m)
{
    const uint64_t pairs = m->start[m->words] + 1;
    const double least = least_mass(m), beta = strads_lda_beta(m);

    x->start = calloc((size_t)m->topics + 2, sizeof *x->start);
    x->word = malloc(pairs * sizeof *x->word);
    x->count = malloc(pairs * sizeof *x->count);
    x->only = malloc(pairs * sizeof *x->only);
    x->by_count = malloc((m->words + 1) * sizeof *x->by_count);
    x->by_only = malloc((m->words + 1) * sizeof *x->by_only);
    if (!x->start || !x->word || !x->count || !x->only || !x->by_count ||
        !x->by_only)
        return strads_fail(STRADS_ENOMEM, "no memory left to rank words");
    for (uint64_t i = 0; i + 1 < pairs; i++)
        x->start[m->topic[i] + 2]++;
    for (uint32_t k = 1; k <= m->topics; k++)
        x->start[k + 1] += x->start[k];
    for (uint32_t w = 0; w < m->words; w++) {
        const double mass = word_mass(m, w, least);
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint32_t k = m->topic[i];
            const uint64_t to = x->start[k + 1]++;
            x->word[to] = w;
            x->count[to] = m->count[i];
            x->only[to] = (m->count[i] + beta) / topic_mass(m, k) / mass;
        }
    }
    return STRADS_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sort_values(double *sorted, const double *value, uint64_t n)
{
    memcpy(sorted, value, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
}

/* The share of n sorted values that are at most x. */
static double share_up_to(const double *sorted, uint64_t n, double x)
{
    uint64_t low = 0, high = n;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (sorted[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return (double)low / (double)n;
}

strads_err strads_lda_frex(const strads_lda_model *m, double weight, uint32_t n,
                           uint32_t *word, double *score)
{
    exclusive x = {0};

    if (n == 0 || !(weight >= 0 && weight <= 1))
        return strads_fail(
            STRADS_EINVAL,
            "FREX: expected 1 or more words, and a weight from 0 "
            "to 1");
    for (uint64_t i = 0; i < (uint64_t)m->topics * n; i++) {
        word[i] = STRADS_LDA_NO_WORD;
        score[i] = NAN;
    }
    const strads_err err = exclusive_make(&x, m);
    for (uint32_t k = 0; k < m->topics && !err; k++) {
        const uint64_t from = x.start[k], size = x.start[k + 1] - from;
        const uint64_t at = (uint64_t)k * n;
        sort_values(x.by_count, x.count + from, size);
        sort_values(x.by_only, x.only + from, size);
        for (uint64_t i = from; i < from + size; i++) {
            const double often = share_up_to(x.by_count, size, x.count[i]);
            const double only = share_up_to(x.by_only, size, x.only[i]);
            insert_word(word + at, score + at, n, x.word[i],
                        1 / (weight / only + (1 - weight) / often));
        }
    }
    exclusive_free(&x);
    return err;
}

/* ---- coherence ----------------------------------------------------------- */

/* Coherence of a topic's top words, by the documents of a corpus that contain
 * them. With D(w) documents that contain w, D(v, w) that contain both, of D in
 * all,
 *
 *     UMass = sum_{i=2..M} sum_{j<i} log (D(w_i, w_j) + 1) / D(w_j)
 *     NPMI  = mean over pairs of log (p_ij / (p_i p_j)) / -log p_ij
 *
 * with w_1 .. w_M in descending order, p = D(.) / D (Mimno et al., EMNLP 2011,
 * equation 1; Lau, Newman and Baldwin, EACL 2014, with whole documents as
 * windows). Pairs with a word that occurs in no document are left out of
 * both. */

typedef struct counting {
    uint32_t topics, n;
    uint64_t words;
    uint64_t *start;   /* [words + 1] start of a word's places */
    uint64_t *place;   /* topic x n + rank */
    double *both;      /* [topics x n x n] documents with both words */
    uint32_t *found;   /* [topics x n] ranks found in the current document */
    uint32_t *n_found; /* [topics] */
    uint32_t *touched; /* [topics] topics with such ranks */
} counting;

static void counting_free(counting *c)
{
    free(c->start);
    free(c->place);
    free(c->both);
    free(c->found);
    free(c->n_found);
    free(c->touched);
}

static strads_err counting_make(counting *c)
{
    const size_t places = (size_t)c->topics * c->n;

    c->start = calloc(c->words + 2, sizeof *c->start);
    c->place = calloc(places + 1, sizeof *c->place);
    c->both = calloc(places * c->n + 1, sizeof *c->both);
    c->found = calloc(places + 1, sizeof *c->found);
    c->n_found = calloc((size_t)c->topics + 1, sizeof *c->n_found);
    c->touched = calloc((size_t)c->topics + 1, sizeof *c->touched);
    return c->start && c->place && c->both && c->found && c->n_found &&
                   c->touched
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory left to count words of %u topics",
                             c->topics);
}

/* Inverts `word`: from a word to its places among the top words. */
static void find_places(counting *c, const uint32_t *word)
{
    const size_t places = (size_t)c->topics * c->n;

    for (size_t i = 0; i < places; i++)
        if (word[i] < c->words)
            c->start[word[i] + 2]++;
    for (uint64_t w = 1; w <= c->words; w++)
        c->start[w + 1] += c->start[w];
    for (size_t i = 0; i < places; i++)
        if (word[i] < c->words)
            c->place[c->start[word[i] + 1]++] = i;
}

static void count_topic(counting *c, uint32_t topic)
{
    const uint32_t *found = c->found + (size_t)topic * c->n;
    double *both = c->both + (size_t)topic * c->n * c->n;

    for (uint32_t a = 0; a < c->n_found[topic]; a++)
        for (uint32_t b = 0; b < c->n_found[topic]; b++)
            both[(size_t)found[a] * c->n + found[b]]++;
    c->n_found[topic] = 0;
}

static void count_document(counting *c, const uint32_t *word, uint64_t n)
{
    uint32_t topics = 0;

    for (uint64_t e = 0; e < n; e++) {
        if (word[e] >= c->words)
            continue;
        for (uint64_t i = c->start[word[e]]; i < c->start[word[e] + 1]; i++) {
            const uint32_t k = (uint32_t)(c->place[i] / c->n);
            if (c->n_found[k] == 0)
                c->touched[topics++] = k;
            c->found[(size_t)k * c->n + c->n_found[k]++] =
                (uint32_t)(c->place[i] % c->n);
        }
    }
    while (topics > 0)
        count_topic(c, c->touched[--topics]);
}

static double npmi_of(double both, double a, double b, double documents)
{
    if (both == 0)
        return -1;
    if (both == documents)
        return 0; /* both are everywhere, which is no information */
    return log(both * documents / (a * b)) / -log(both / documents);
}

/* Sums over the pairs of a topic whose words occur. */
static void sum_coherence(const counting *c, uint32_t topic, double documents,
                          double *umass, double *npmi)
{
    const double *both = c->both + (size_t)topic * c->n * c->n;
    double pairs = 0, npmi_sum = 0;

    *umass = 0;
    for (uint32_t i = 1; i < c->n; i++) {
        const double has_i = both[(size_t)i * c->n + i];
        for (uint32_t j = 0; j < i && has_i > 0; j++) {
            const double has_j = both[(size_t)j * c->n + j];
            const double has_both = both[(size_t)i * c->n + j];
            if (has_j == 0)
                continue;
            *umass += log((has_both + 1) / has_j);
            npmi_sum += npmi_of(has_both, has_i, has_j, documents);
            pairs++;
        }
    }
    if (pairs == 0)
        *umass = NAN;
    *npmi = pairs > 0 ? npmi_sum / pairs : NAN;
}

strads_err strads_lda_coherence(uint32_t topics, uint32_t n,
                                const uint32_t *word, const strads_data *data,
                                double *umass, double *npmi)
{
    counting c = {.topics = topics, .n = n, .words = strads_data_cols(data)};
    const strads_share *share;

    if (n == 0)
        return strads_fail(STRADS_EINVAL,
                           "coherence: expected 1 or more words of a topic");
    strads_err err = counting_make(&c);
    if (err)
        goto done;
    find_places(&c, word);
    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++) {
        const strads_sparse *rows = &share->by_row;
        if (!rows->start) {
            err = strads_fail(STRADS_EINVAL,
                              "coherence: the data must be kept by row");
            goto done;
        }
        for (uint64_t d = 0; d < rows->lines; d++)
            count_document(&c, rows->index + rows->start[d],
                           rows->start[d + 1] - rows->start[d]);
    }
    for (uint32_t k = 0; k < topics; k++)
        sum_coherence(&c, k, (double)strads_data_rows(data), &umass[k],
                      &npmi[k]);
done:
    counting_free(&c);
    return err;
}
