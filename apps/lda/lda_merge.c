/* Joins topics that are nearly the same. With a_wk = n_wk + beta, the cosine of
 * two topics is
 *
 *     sum_w a_wk a_wl / sqrt(sum_w a_wk^2  sum_w a_wl^2).
 *
 * Sums of products of counts (`dot`) are enough for it, and those of a joined
 * topic are sums of those of its members. So words are visited once, and each
 * step looks at the remaining topics only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lda_parts.h"

enum { TOPICS_MIN = 2 };

typedef struct merging {
    const strads_lda_model *model;
    double *dot;    /* [topics x topics] sums of products of counts */
    double *tokens; /* [topics] */
    uint32_t *into; /* [topics] first member of a topic's group */
    uint32_t left;  /* groups */
} merging;

static void sum_products(merging *g)
{
    const strads_lda_model *m = g->model;
    const size_t topics = m->topics;

    for (uint64_t w = 0; w < m->words; w++)
        for (uint64_t a = m->start[w]; a < m->start[w + 1]; a++) {
            double *row = g->dot + m->topic[a] * topics;
            g->tokens[m->topic[a]] += m->count[a];
            for (uint64_t b = m->start[w]; b < m->start[w + 1]; b++)
                row[m->topic[b]] += (double)m->count[a] * (double)m->count[b];
        }
}

static double product_with_prior(const merging *g, uint32_t k, uint32_t l)
{
    const double beta = strads_lda_beta(g->model);

    return g->dot[(size_t)k * g->model->topics + l] +
           beta * (g->tokens[k] + g->tokens[l]) +
           (double)g->model->words * beta * beta;
}

static double topic_cosine(const merging *g, uint32_t k, uint32_t l)
{
    return product_with_prior(g, k, l) /
           sqrt(product_with_prior(g, k, k) * product_with_prior(g, l, l));
}

/* Finds the closest two groups; among equal ones the first. */
static double find_closest(const merging *g, uint32_t pair[2])
{
    double best = -1;

    for (uint32_t k = 0; k < g->model->topics; k++)
        for (uint32_t l = k + 1; g->into[k] == k && l < g->model->topics; l++) {
            const double cosine = g->into[l] == l ? topic_cosine(g, k, l) : -1;
            if (cosine > best) {
                best = cosine;
                pair[0] = k;
                pair[1] = l;
            }
        }
    return best;
}

/* Adds group l to group k, k < l. */
static void join_groups(merging *g, uint32_t k, uint32_t l)
{
    const size_t topics = g->model->topics;

    for (size_t j = 0; j < topics; j++)
        g->dot[k * topics + j] += g->dot[l * topics + j];
    for (size_t j = 0; j < topics; j++)
        g->dot[j * topics + k] += g->dot[j * topics + l];
    g->tokens[k] += g->tokens[l];
    for (size_t j = 0; j < topics; j++)
        if (g->into[j] == l)
            g->into[j] = k;
    g->left--;
}

/* Replaces first members by new numbers. */
static void number_groups(merging *g)
{
    uint32_t next = 0;

    for (uint32_t k = 0; k < g->model->topics; k++)
        g->into[k] = g->into[k] == k ? next++ : g->into[g->into[k]];
}

/* Adds up the counts of each word. `sum` [groups] is zero, before and after. */
static strads_err copy_counts(const merging *g, uint64_t *sum,
                              strads_lda_model *to)
{
    const strads_lda_model *m = g->model;
    uint64_t at = 0;

    for (uint64_t w = 0; w < m->words; w++) {
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++)
            sum[g->into[m->topic[i]]] += m->count[i];
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint32_t k = g->into[m->topic[i]];
            uint64_t place = at;
            if (sum[k] > UINT32_MAX)
                return strads_fail(STRADS_ELIMIT,
                                   "joined topics have word %llu %llu times, "
                                   "and a model counts below 2^32: join fewer "
                                   "topics",
                                   (unsigned long long)w,
                                   (unsigned long long)sum[k]);
            if (sum[k] == 0)
                continue;
            /* Topics ascend. */
            for (; place > to->start[w] && to->topic[place - 1] > k; place--) {
                to->topic[place] = to->topic[place - 1];
                to->count[place] = to->count[place - 1];
            }
            to->topic[place] = k;
            to->count[place] = (uint32_t)sum[k];
            to->total[k] += sum[k];
            sum[k] = 0;
            at++;
        }
        to->start[w + 1] = at;
    }
    return STRADS_OK;
}

static strads_err copy_names(const strads_names *from, strads_names **to)
{
    uint32_t number;
    strads_err err = from ? strads_names_new(to) : STRADS_OK;

    for (uint32_t k = 0; !err && from && k < strads_names_count(from); k++) {
        const char *name = strads_names_at(from, k);
        err = strads_names_add(*to, name, strlen(name), &number);
    }
    return err;
}

static strads_err copy_model(const merging *g, uint64_t *sum,
                             strads_lda_model *to)
{
    const strads_lda_model *m = g->model;
    strads_err err = copy_counts(g, sum, to);

    to->documents = m->documents;
    to->tokens = m->tokens;
    to->samples = m->samples;
    to->beta = m->beta;
    to->log_likelihood = NAN;
    for (uint32_t k = 0; k < m->topics && !err; k++) {
        const uint32_t group = g->into[k];
        to->alpha[group] += m->alpha[k];
        if (m->topic_name && m->topic_name[k] &&
            !(to->topic_name && to->topic_name[group]))
            err = lda_model_name(to, group, m->topic_name[k]);
    }
    to->word_ids = m->word_ids;
    if (!err)
        err = copy_names(m->names, &to->names);
    return err ? err : copy_names(m->phrases, &to->phrases);
}

static strads_err check_merge(const strads_lda_model *m, double cosine)
{
    if (!(cosine > 0 && cosine <= 1))
        return strads_fail(STRADS_EINVAL,
                           "the least cosine of joined topics is %g; expected "
                           "a number above 0, at most 1",
                           cosine);
    if (m->classes)
        return strads_fail(STRADS_EINVAL,
                           "the model was trained with labels, and their "
                           "weights are of single topics: train it with fewer "
                           "topics instead of joining them");
    return m->network ? strads_fail(STRADS_EINVAL,
                                    "the model is one of a network's roles; "
                                    "expected topics of documents")
                      : STRADS_OK;
}

strads_err strads_lda_merge(const strads_lda_model *m, double cosine,
                            uint32_t *into, strads_lda_model **out)
{
    const size_t topics = m->topics;
    merging g = {.model = m, .into = into, .left = m->topics};
    strads_lda_model *to = NULL;
    uint32_t pair[2] = {0, 0};
    uint64_t *sum;
    strads_err err = check_merge(m, cosine);

    if (err)
        return err;
    g.dot = calloc(topics * topics, sizeof *g.dot);
    g.tokens = calloc(topics, sizeof *g.tokens);
    sum = calloc(topics, sizeof *sum);
    if (!g.dot || !g.tokens || !sum) {
        err = strads_fail(STRADS_ENOMEM,
                          "no memory left to compare %zu topics: %zu bytes are "
                          "needed",
                          topics, topics * topics * sizeof *g.dot);
    } else {
        for (uint32_t k = 0; k < m->topics; k++)
            into[k] = k;
        sum_products(&g);
        /* Rounding may leave equal topics just below 1. */
        while (g.left > TOPICS_MIN && find_closest(&g, pair) >= cosine - 1e-12)
            join_groups(&g, pair[0], pair[1]);
        number_groups(&g);
        err = lda_model_new(g.left, m->words, m->start[m->words], &to);
    }
    if (!err)
        err = copy_model(&g, sum, to);
    free(g.dot);
    free(g.tokens);
    free(sum);
    if (err) {
        strads_lda_model_free(to);
        return err;
    }
    *out = to;
    return STRADS_OK;
}
