/* Seeds: words that topics are expected to have. Word w has a prior of beta + m
 * in topic k. The sampler draws as if m tokens of the word had topic k and kept
 * it, so seeds travel with the counts of a model that the run continues:
 *
 *     p(k) ~ (n_dk + alpha_k) (n_wk + m_wk + beta) / (n_k + m_k + V beta)
 *
 * The counts of a sample and of the model are without m. */
#include "lda_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static strads_err no_seed_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for seeds of topics");
}

void strads_lda_seeds_free(strads_lda_seeds *x)
{
    for (uint32_t k = 0; x->name && k < x->topics; k++)
        free(x->name[k]);
    free(x->name);
    free(x->topic);
    free(x->word);
    strads_names_free(x->unknown);
    free(x->line);
    *x = (strads_lda_seeds){0};
}

/* ---- reading ------------------------------------------------------------- */

typedef struct seed_reading {
    const char *path;
    const strads_names *vocabulary;
    uint64_t words, line;
    strads_lda_seeds *out;
    uint32_t capacity;
} seed_reading;

enum { SEED_COUNT_MAX = 1 << 24 }; /* pseudo-tokens of a seed */

static const char SEPARATORS[] = " \t\r\n,";

static strads_err fail_seeds(const seed_reading *r, const char *why)
{
    return strads_fail(STRADS_EFORMAT, "%s: line %" PRIu64 ": %s", r->path,
                       r->line, why);
}

static strads_err add_unknown(seed_reading *r, const char *word, size_t size)
{
    strads_lda_seeds *x = r->out;
    const uint32_t had = strads_names_count(x->unknown);
    uint32_t number;
    const strads_err err = strads_names_add(x->unknown, word, size, &number);

    if (err || number < had)
        return err;
    uint64_t *line = realloc(x->line, ((size_t)had + 1) * sizeof *line);
    if (!line)
        return no_seed_memory();
    x->line = line;
    line[had] = r->line;
    return STRADS_OK;
}

/* Finds a word by name or number. */
static bool find_word(const seed_reading *r, const char *word, size_t size,
                      uint32_t *number)
{
    uint64_t value = 0;

    if (r->vocabulary)
        return strads_names_find(r->vocabulary, word, size, number);
    for (size_t i = 0; i < size; i++) {
        if (word[i] < '0' || word[i] > '9' || value >= r->words)
            return false;
        value = 10 * value + (uint64_t)(word[i] - '0');
    }
    *number = (uint32_t)value;
    return value < r->words;
}

static strads_err add_seed(seed_reading *r, uint32_t topic, uint32_t word)
{
    strads_lda_seeds *x = r->out;

    for (uint32_t i = x->n; i > 0 && x->topic[i - 1] == topic; i--)
        if (x->word[i - 1] == word)
            return STRADS_OK;
    if (x->n == r->capacity) {
        r->capacity = 2 * r->capacity + 64;
        uint32_t *topics = realloc(x->topic, r->capacity * sizeof *topics);
        x->topic = topics ? topics : x->topic;
        uint32_t *words = realloc(x->word, r->capacity * sizeof *words);
        x->word = words ? words : x->word;
        if (!topics || !words)
            return no_seed_memory();
    }
    x->topic[x->n] = topic;
    x->word[x->n++] = word;
    return STRADS_OK;
}

/* Takes the name before the colon; *line becomes the words after it. */
static strads_err take_name(seed_reading *r, uint32_t topic, char **line)
{
    strads_lda_seeds *x = r->out;
    char *colon = strchr(*line, ':'), *name = *line;

    if (!colon)
        return STRADS_OK;
    *line = colon + 1;
    name += strspn(name, SEPARATORS);
    while (colon > name && strchr(SEPARATORS, colon[-1]))
        colon--;
    *colon = '\0';
    json_t *utf8 = json_string(name);
    json_decref(utf8);
    if (!utf8 || *name == '\0')
        return fail_seeds(r, utf8 ? "has no name before the colon: expected "
                                    "NAME: WORD WORD .., or words alone"
                                  : "the name is not UTF-8: convert the file");
    for (uint32_t k = 0; k < topic; k++)
        if (x->name[k] && strcmp(x->name[k], name) == 0)
            return strads_fail(STRADS_EFORMAT,
                               "%s: line %" PRIu64 ": topic %" PRIu32
                               " has the name %s, too: use another one",
                               r->path, r->line, k, name);
    x->name[topic] = strdup(name);
    return x->name[topic] ? STRADS_OK : no_seed_memory();
}

static strads_err take_seeds(seed_reading *r, uint32_t topic, char *at)
{
    strads_err err = take_name(r, topic, &at);
    uint32_t word;
    bool has = false;

    while (!err) {
        at += strspn(at, SEPARATORS);
        const size_t size = strcspn(at, SEPARATORS);
        if (size == 0)
            break;
        has = true;
        err = find_word(r, at, size, &word) ? add_seed(r, topic, word)
                                            : add_unknown(r, at, size);
        at += size;
    }
    return err || has ? err
                      : fail_seeds(r, "has no words: expected NAME: WORD WORD "
                                      ".., or words alone");
}

static strads_err read_seed_lines(seed_reading *r, FILE *file, uint32_t topics)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    strads_err err = STRADS_OK;

    while (!err && (size = getline(&line, &capacity, file)) >= 0) {
        r->line++;
        if (strlen(line) != (size_t)size)
            err = fail_seeds(r, "has a byte of 0: expected text");
        else if (r->out->topics == topics)
            err = strads_fail(STRADS_EFORMAT,
                              "%s: line %" PRIu64 ": there are %" PRIu32
                              " topics, and each line is a topic: remove "
                              "lines, or use more topics",
                              r->path, r->line, topics);
        else
            err = take_seeds(r, r->out->topics++, line);
    }
    if (!err && ferror(file))
        err = strads_fail(STRADS_EIO, "%s: cannot be read to its end", r->path);
    free(line);
    return err;
}

typedef struct seed {
    uint32_t word, topic;
} seed;

static int compare_seeds(const void *a, const void *b)
{
    const seed *x = a, *y = b;

    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return x->topic < y->topic ? -1 : x->topic > y->topic;
}

static strads_err sort_seeds(strads_lda_seeds *x)
{
    seed *all = malloc(((size_t)x->n + 1) * sizeof *all);

    if (!all)
        return no_seed_memory();
    for (uint32_t i = 0; i < x->n; i++)
        all[i] = (seed){x->word[i], x->topic[i]};
    qsort(all, x->n, sizeof *all, compare_seeds);
    for (uint32_t i = 0; i < x->n; i++) {
        x->word[i] = all[i].word;
        x->topic[i] = all[i].topic;
    }
    free(all);
    return STRADS_OK;
}

strads_err strads_lda_seeds_read(const char *path,
                                 const strads_names *vocabulary, uint64_t words,
                                 uint32_t topics, strads_lda_seeds *out)
{
    seed_reading r = {.path = path,
                      .vocabulary = vocabulary,
                      .words = words,
                      .out = out};

    *out = (strads_lda_seeds){.name = calloc(topics, sizeof *out->name)};
    strads_err err =
        out->name ? strads_names_new(&out->unknown) : no_seed_memory();
    if (err)
        return err;
    FILE *file = fopen(path, "re");
    if (!file)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    err = read_seed_lines(&r, file, topics);
    (void)fclose(file);
    if (!err && out->n == 0)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has none of the data's words: write them as the "
                          "data does, text in lower case",
                          path);
    return err ? err : sort_seeds(out);
}

/* ---- priors -------------------------------------------------------------- */

void lda_seeds_free(lda_seeds *seeds)
{
    strads_lda_seeds_free(&seeds->of);
    free(seeds->count);
    free(seeds->total);
}

/* The words of a topic share seed_weight x entries / topics evenly. */
static strads_err weigh_seeds(lda_seeds *seeds,
                              const strads_lda_options *options, double entries)
{
    const strads_lda_seeds *x = &seeds->of;
    const double average = entries / options->topics;

    seeds->count = calloc((size_t)x->n + 1, sizeof *seeds->count);
    seeds->total = calloc(options->topics, sizeof *seeds->total);
    if (!seeds->count || !seeds->total)
        return no_seed_memory();
    for (uint32_t i = 0; i < x->n; i++)
        seeds->total[x->topic[i]]++;
    for (uint32_t i = 0; i < x->n; i++) {
        const double even = rint(options->seed_weight * average /
                                 (double)seeds->total[x->topic[i]]);
        seeds->count[i] = (uint32_t)fmin(fmax(even, 1), SEED_COUNT_MAX);
    }
    memset(seeds->total, 0, options->topics * sizeof *seeds->total);
    for (uint32_t i = 0; i < x->n; i++)
        seeds->total[x->topic[i]] += seeds->count[i];
    return STRADS_OK;
}

/* Adds a count to the model that is being made. */
static void append_count(strads_lda_model *m, uint64_t *n, uint32_t topic,
                         uint32_t count)
{
    m->topic[*n] = topic;
    m->count[(*n)++] = count;
    m->total[topic] += count;
    m->tokens += count;
}

/* Merges the counts of `old` (may be NULL), with ascending topics in each word,
 * and of the seeds. */
static void merge_counts(const strads_lda_model *old, const lda_seeds *seeds,
                         strads_lda_model *m)
{
    const strads_lda_seeds *x = &seeds->of;
    uint64_t n = 0, i = 0;
    uint32_t s = 0;

    for (uint32_t w = 0; w < m->words; w++) {
        const uint64_t end = old && w < old->words ? old->start[w + 1] : i;
        for (; i < end || (s < x->n && x->word[s] == w);) {
            const bool seeded = s < x->n && x->word[s] == w;
            const bool both = seeded && i < end && x->topic[s] == old->topic[i];
            const bool first =
                seeded && (i == end || x->topic[s] < old->topic[i]);
            const uint32_t topic =
                seeded && (both || first) ? x->topic[s] : old->topic[i];
            uint32_t count = both || first ? seeds->count[s++] : 0;
            count += first ? 0 : old->count[i++];
            append_count(m, &n, topic, count);
        }
        m->start[w + 1] = n;
    }
}

static strads_err name_topics(const strads_lda_seeds *x,
                              const strads_lda_model *old, strads_lda_model *m)
{
    strads_err err = STRADS_OK;

    for (uint32_t k = 0; k < m->topics && !err; k++) {
        const char *name = k < x->topics ? x->name[k] : NULL;
        if (!name && old && old->topic_name)
            name = old->topic_name[k];
        err = name ? lda_model_name(m, k, name) : STRADS_OK;
    }
    return err;
}

strads_err lda_seeds_pin(const strads_lda_options *options,
                         const lda_vocabulary *v, lda_seeds *out,
                         strads_lda_model **base)
{
    strads_lda_model *old = *base, *m = NULL;

    if (!options->seed_words)
        return STRADS_OK;
    strads_err err =
        strads_lda_seeds_read(options->seed_words,
                              v->names || !old ? v->names : old->names,
                              v->words, options->topics, &out->of);
    if (!err)
        err = weigh_seeds(out, options,
                          (double)v->entries + (double)(old ? old->tokens : 0));
    if (!err)
        err = lda_model_new(options->topics, v->words,
                            out->of.n + (old ? old->start[old->words] : 0), &m);
    if (!err)
        err = name_topics(&out->of, old, m);
    if (err) {
        strads_lda_model_free(m);
        return err;
    }
    merge_counts(old, out, m);
    m->samples = 1;
    m->documents = old ? old->documents : 0;
    strads_lda_model_free(old);
    *base = m;
    return STRADS_OK;
}

void lda_seeds_subtract(const lda_seeds *seeds, const lda_rise *beta,
                        uint32_t topics, double beta_sum, double *psi_words,
                        double *psi_totals)
{
    for (uint32_t i = 0; i < seeds->of.n; i++)
        *psi_words -= lda_rise_psi(beta, seeds->count[i]);
    for (uint32_t k = 0; seeds->total && k < topics; k++)
        *psi_totals -= lda_digamma(beta_sum + (double)seeds->total[k]) -
                       lda_digamma(beta_sum);
}
