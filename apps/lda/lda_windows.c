/* Coherence of topics' words in the windows of a reference text (Roeder, Both
 * and Hinneburg, WSDM 2015). A window of s words moves over a document word by
 * word; a document with fewer words is one window. With p the share of windows
 * that contain one word, or both, and e = 1e-12 as in their program,
 *
 *     NPMI(v, w) = log ((p_vw + e) / (p_v p_w)) / -log (p_vw + e)
 *
 * C_NPMI is the mean over pairs with s = 10. C_V takes s = 110: word i has the
 * vector u_i = (NPMI(i, 1), .., NPMI(i, n)), and C_V is the mean over words of
 * the cosine of u_i and sum_j u_j. Words in no window are left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lda.h>

enum { SIZES = 2 };
static const uint32_t NONE = UINT32_MAX;
static const uint64_t window_size[SIZES] = {10, 110};
static const double SMALL = 1e-12;

/* The distinct words of all lists are numbered ("terms"). */
struct strads_lda_windows {
    uint32_t topics, n;
    uint64_t words; /* of the model */
    uint32_t terms;
    uint32_t *term_of; /* [words] or NONE */
    uint32_t *place;   /* [topics x n] the lists, as terms or NONE */
    uint32_t *start;   /* [terms + 2] the places of a term */
    uint32_t *places;  /* [topics x n] */
    double windows[SIZES];
    double *one[SIZES];    /* [terms] windows with a term */
    double *either[SIZES]; /* [topics x n x n] windows with one of two places,
                              in documents that have both */
    double *each[SIZES];   /* [topics x n x n] the sum of their windows there */
    /* Of the current document. */
    uint64_t *position; /* [capacity] of terms, in order */
    uint32_t *next;     /* [capacity] the term's next occurrence, or NONE */
    uint64_t capacity;
    uint32_t *head, *tail; /* [terms] a term's first and last occurrence */
    uint32_t *seen;        /* [terms] terms of the document */
    double *own[SIZES];    /* [terms] windows with the term */
    uint32_t *found;       /* [topics x n] ranks found in the document */
    uint32_t *n_found;     /* [topics] */
    uint32_t *touched;     /* [topics] */
};

void strads_lda_windows_free(strads_lda_windows *w)
{
    if (!w)
        return;
    for (int s = 0; s < SIZES; s++) {
        free(w->one[s]);
        free(w->either[s]);
        free(w->each[s]);
        free(w->own[s]);
    }
    free(w->term_of);
    free(w->place);
    free(w->start);
    free(w->places);
    free(w->position);
    free(w->next);
    free(w->head);
    free(w->tail);
    free(w->seen);
    free(w->found);
    free(w->n_found);
    free(w->touched);
    free(w);
}

static bool allocate_windows(strads_lda_windows *w)
{
    const size_t places = (size_t)w->topics * w->n;
    bool enough = true;

    w->term_of = malloc((w->words + 1) * sizeof *w->term_of);
    w->place = malloc(places * sizeof *w->place);
    w->start = calloc(places + 2, sizeof *w->start);
    w->places = calloc(places, sizeof *w->places);
    w->head = malloc(places * sizeof *w->head);
    w->tail = malloc(places * sizeof *w->tail);
    w->seen = malloc(places * sizeof *w->seen);
    w->found = malloc(places * sizeof *w->found);
    w->n_found = calloc(w->topics, sizeof *w->n_found);
    w->touched = malloc(w->topics * sizeof *w->touched);
    for (int s = 0; s < SIZES; s++) {
        w->one[s] = calloc(places, sizeof(double));
        w->own[s] = calloc(places, sizeof(double));
        w->either[s] = calloc(places * w->n, sizeof(double));
        w->each[s] = calloc(places * w->n, sizeof(double));
        enough = enough && w->one[s] && w->own[s] && w->either[s] && w->each[s];
    }
    return enough && w->term_of && w->place && w->start && w->places &&
           w->head && w->tail && w->seen && w->found && w->n_found &&
           w->touched;
}

static strads_err number_terms(strads_lda_windows *w, const uint32_t *word)
{
    const size_t places = (size_t)w->topics * w->n;

    memset(w->term_of, 0xff, w->words * sizeof *w->term_of);
    for (size_t i = 0; i < places; i++) {
        w->place[i] = NONE;
        if (word[i] == STRADS_LDA_NO_WORD)
            continue;
        if (word[i] >= w->words)
            return strads_fail(STRADS_EINVAL,
                               "windows: word %u is not one of %llu", word[i],
                               (unsigned long long)w->words);
        if (w->term_of[word[i]] == NONE)
            w->term_of[word[i]] = w->terms++;
        w->place[i] = w->term_of[word[i]];
        w->start[w->place[i] + 2]++;
    }
    for (uint32_t t = 1; t <= w->terms; t++)
        w->start[t + 1] += w->start[t];
    for (size_t i = 0; i < places; i++)
        if (w->place[i] != NONE)
            w->places[w->start[w->place[i] + 1]++] = (uint32_t)i;
    for (size_t i = 0; i < places; i++)
        w->head[i] = NONE;
    return STRADS_OK;
}

strads_err strads_lda_windows_new(uint32_t topics, uint32_t n,
                                  const uint32_t *word, uint64_t words,
                                  strads_lda_windows **out)
{
    if (topics == 0 || n < 2 || (uint64_t)topics * n >= NONE)
        return strads_fail(STRADS_EINVAL,
                           "windows: expected topics with 2 words or more");
    strads_lda_windows *w = calloc(1, sizeof *w);
    if (!w)
        return strads_fail(STRADS_ENOMEM, "no memory left for windows");
    w->topics = topics;
    w->n = n;
    w->words = words;
    const strads_err err =
        allocate_windows(w)
            ? number_terms(w, word)
            : strads_fail(STRADS_ENOMEM, "no memory left for windows");
    if (err)
        strads_lda_windows_free(w);
    else
        *out = w;
    return err;
}

/* ---- a document ---------------------------------------------------------- */

static bool keep_position(strads_lda_windows *w, uint64_t at, uint64_t n)
{
    if (at < w->capacity)
        return true;
    const uint64_t more =
        2 * w->capacity + 1024 < n ? 2 * w->capacity + 1024 : n;
    uint64_t *position = realloc(w->position, more * sizeof *position);
    w->position = position ? position : w->position;
    uint32_t *next = realloc(w->next, more * sizeof *next);
    w->next = next ? next : w->next;
    w->capacity = position && next ? more : w->capacity;
    return position && next;
}

/* Links the document's occurrences of each term; returns the terms. */
static strads_err find_terms(strads_lda_windows *w, const uint32_t *word,
                             uint64_t n, uint32_t *terms)
{
    uint32_t used = 0;

    *terms = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t t = word[i] < w->words ? w->term_of[word[i]] : NONE;
        if (t == NONE)
            continue;
        if (used == NONE - 1 || !keep_position(w, used, n))
            return strads_fail(STRADS_ENOMEM,
                               "no memory left for the windows of a document");
        w->position[used] = i;
        w->next[used] = NONE;
        if (w->head[t] == NONE) {
            w->seen[(*terms)++] = t;
            w->head[t] = used;
        } else {
            w->next[w->tail[t]] = used;
        }
        w->tail[t] = used++;
    }
    return STRADS_OK;
}

/* The windows of size s, of n words, that contain one of two terms: their
 * starts are ranges that ascend with the positions. */
static double count_windows(const strads_lda_windows *w, uint64_t s, uint64_t n,
                            uint32_t a, uint32_t b)
{
    const uint64_t last = n > s ? n - s : 0;
    uint64_t counted = 0, free_from = 0;

    while (a != NONE || b != NONE) {
        const bool first = b == NONE || (a != NONE && a < b);
        const uint64_t p = w->position[first ? a : b];
        uint64_t from = p + 1 > s ? p + 1 - s : 0;
        const uint64_t to = p < last ? p : last;
        from = from > free_from ? from : free_from;
        if (from <= to) {
            counted += to - from + 1;
            free_from = to + 1;
        }
        if (first)
            a = w->next[a];
        else
            b = w->next[b];
    }
    return (double)counted;
}

/* Counts the pairs of a topic's words that the document has. */
static void count_pairs(strads_lda_windows *w, uint32_t topic, uint64_t n)
{
    const size_t first = (size_t)topic * w->n;
    const uint32_t *found = w->found + first;

    for (uint32_t x = 1; x < w->n_found[topic]; x++) {
        for (uint32_t y = 0; y < x; y++) {
            const uint32_t i = found[x] > found[y] ? found[x] : found[y];
            const uint32_t j = found[x] > found[y] ? found[y] : found[x];
            const uint32_t a = w->place[first + i], b = w->place[first + j];
            const size_t at = (first + i) * w->n + j;
            for (int s = 0; s < SIZES; s++) {
                w->either[s][at] +=
                    count_windows(w, window_size[s], n, w->head[a], w->head[b]);
                w->each[s][at] += w->own[s][a] + w->own[s][b];
            }
        }
    }
    w->n_found[topic] = 0;
}

strads_err strads_lda_windows_add(strads_lda_windows *w, const uint32_t *word,
                                  uint64_t n)
{
    uint32_t terms, topics = 0;
    const strads_err err = find_terms(w, word, n, &terms);

    for (int s = 0; s < SIZES && !err && n > 0; s++) {
        const uint64_t size = window_size[s];
        w->windows[s] += n > size ? (double)(n - size + 1) : 1;
        for (uint32_t k = 0; k < terms; k++) {
            const uint32_t t = w->seen[k];
            w->own[s][t] = count_windows(w, size, n, w->head[t], NONE);
            w->one[s][t] += w->own[s][t];
        }
    }
    for (uint32_t k = 0; k < terms && !err; k++) {
        const uint32_t t = w->seen[k];
        for (uint32_t i = w->start[t]; i < w->start[t + 1]; i++) {
            const uint32_t topic = w->places[i] / w->n;
            if (w->n_found[topic] == 0)
                w->touched[topics++] = topic;
            w->found[(size_t)topic * w->n + w->n_found[topic]++] =
                w->places[i] % w->n;
        }
    }
    while (topics > 0)
        count_pairs(w, w->touched[--topics], n);
    for (uint32_t k = 0; k < terms; k++)
        w->head[w->seen[k]] = NONE;
    return err;
}

/* ---- the measures -------------------------------------------------------- */

/* NPMI of two places of a topic, i >= j. */
static double npmi_of_places(const strads_lda_windows *w, int s, uint32_t topic,
                             uint32_t i, uint32_t j)
{
    const size_t first = (size_t)topic * w->n;
    const size_t at = (first + i) * w->n + j;
    const double all = w->windows[s];
    const double a = w->one[s][w->place[first + i]] / all;
    const double b = w->one[s][w->place[first + j]] / all;
    const double both = i == j ? a : (w->each[s][at] - w->either[s][at]) / all;

    if (both >= 1)
        return i == j; /* both are everywhere, which is no information */
    return log((both + SMALL) / (a * b)) / -log(both + SMALL);
}

static bool has_place(const strads_lda_windows *w, int s, uint32_t topic,
                      uint32_t i)
{
    const uint32_t t = w->place[(size_t)topic * w->n + i];

    return t != NONE && w->one[s][t] > 0;
}

static double npmi_of_topic(const strads_lda_windows *w, uint32_t topic)
{
    double sum = 0, pairs = 0;

    for (uint32_t i = 1; i < w->n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (has_place(w, 0, topic, i) && has_place(w, 0, topic, j)) {
                sum += npmi_of_places(w, 0, topic, i, j);
                pairs++;
            }
        }
    }
    return pairs > 0 ? sum / pairs : NAN;
}

/* u [n x n] and sum [n] are workspace. */
static double cv_of_topic(const strads_lda_windows *w, uint32_t topic,
                          double *u, double *sum)
{
    const uint32_t n = w->n;
    double cosines = 0, words = 0, sum_square = 0;

    memset(u, 0, (size_t)n * n * sizeof *u);
    memset(sum, 0, n * sizeof *sum);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            if (has_place(w, 1, topic, i) && has_place(w, 1, topic, j))
                u[(size_t)i * n + j] = u[(size_t)j * n + i] =
                    npmi_of_places(w, 1, topic, i, j);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            sum[j] += u[(size_t)i * n + j];
    for (uint32_t j = 0; j < n; j++)
        sum_square += sum[j] * sum[j];
    for (uint32_t i = 0; i < n; i++) {
        double dot = 0, square = 0;
        if (!has_place(w, 1, topic, i))
            continue;
        for (uint32_t j = 0; j < n; j++) {
            dot += u[(size_t)i * n + j] * sum[j];
            square += u[(size_t)i * n + j] * u[(size_t)i * n + j];
        }
        cosines +=
            square * sum_square > 0 ? dot / sqrt(square * sum_square) : 0;
        words++;
    }
    return words > 1 ? cosines / words : NAN;
}

strads_err strads_lda_windows_coherence(const strads_lda_windows *w,
                                        double *npmi, double *cv)
{
    const size_t n = w->n;
    double *u = malloc(n * n * sizeof *u), *sum = malloc(n * sizeof *sum);
    const bool enough = u && sum;

    for (uint32_t k = 0; k < w->topics && enough; k++) {
        npmi[k] = npmi_of_topic(w, k);
        cv[k] = cv_of_topic(w, k, u, sum);
    }
    free(u);
    free(sum);
    return enough ? STRADS_OK
                  : strads_fail(STRADS_ENOMEM, "no memory left for windows");
}
