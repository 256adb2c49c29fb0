#include "tests/lda_corpus.h"

#include <gsl/gsl_sf_gamma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t lda_corpus_count(uint32_t document, uint32_t word)
{
    uint32_t x = (document * 2654435761U) ^ (word * 40503U + 7);
    x ^= x >> 15;
    x *= 2246822519U;
    x ^= x >> 13;
    return document == 3 || x % 4 ? 0 : 1 + (x >> 8) % 3;
}

strads_data *lda_corpus(uint32_t documents, uint32_t words, uint32_t partitions)
{
    size_t most = (size_t)documents * words, n = 0;
    uint64_t *start = calloc(words + 1, sizeof *start);
    uint32_t *index = calloc(most + 1, sizeof *index);
    double *value = calloc(most + 1, sizeof *value);
    strads_data *data = NULL;
    for (uint32_t w = 0; start && index && value && w < words; w++) {
        for (uint32_t d = 0; d < documents; d++) {
            if (lda_corpus_count(d, w)) {
                index[n] = d;
                value[n++] = lda_corpus_count(d, w);
            }
        }
        start[w + 1] = n;
    }
    (void)strads_data_from_columns(
        &(strads_columns){.rows = documents,
                          .cols = words,
                          .start = start,
                          .index = index,
                          .value = value},
        &(strads_data_options){.size = sizeof(strads_data_options),
                               .partitions = partitions,
                               .kind = STRADS_KIND_CORPUS,
                               .values = STRADS_F32},
        &data);
    free(start);
    free(index);
    free(value);
    return data;
}

size_t lda_read_assignments(const char *path, lda_token **out)
{
    FILE *file = fopen(path, "r");
    size_t n = 0, capacity = 0;
    uint32_t document = 0, count;
    *out = NULL;
    if (!file)
        return 0;
    for (; fscanf(file, "%u", &count) == 1; document++) {
        for (uint32_t i = 0; i < count; i++) {
            if (n == capacity) {
                capacity = 2 * capacity + 64;
                lda_token *more = realloc(*out, capacity * sizeof **out);
                if (!more)
                    abort();
                *out = more;
            }
            (*out)[n].document = document;
            if (fscanf(file, "%u:%u", &(*out)[n].word, &(*out)[n].topic) != 2)
                abort();
            n++;
        }
    }
    (void)fclose(file);
    return n;
}

static double rise(double a, uint32_t n)
{
    return gsl_sf_lngamma(a + n) - gsl_sf_lngamma(a);
}

/* Counts of tokens by (key, topic); key by document, by word, or 0. */
static uint32_t *tally(const lda_token *token, size_t n, uint32_t keys,
                       uint32_t topics, int by)
{
    uint32_t *count = calloc((size_t)keys * topics + 1, sizeof *count);
    for (size_t i = 0; i < n; i++) {
        uint32_t key = by == 0   ? token[i].document
                       : by == 1 ? token[i].word
                                 : 0;
        count[(size_t)key * topics + token[i].topic]++;
    }
    return count;
}

double lda_oracle(const lda_token *token, size_t n, uint32_t documents,
                  uint32_t words, uint32_t topics, const double *alpha,
                  double beta)
{
    uint32_t *by_document = tally(token, n, documents, topics, 0);
    uint32_t *by_word = tally(token, n, words, topics, 1);
    uint32_t *total = tally(token, n, 1, topics, 2);
    double sum = 0, alpha_sum = 0;
    for (uint32_t k = 0; k < topics; k++)
        alpha_sum += alpha[k];
    for (uint32_t d = 0; d < documents; d++) {
        uint32_t length = 0;
        for (uint32_t k = 0; k < topics; k++) {
            uint32_t count = by_document[(size_t)d * topics + k];
            sum += rise(alpha[k], count);
            length += count;
        }
        sum -= rise(alpha_sum, length);
    }
    for (uint32_t k = 0; k < topics; k++) {
        for (uint32_t w = 0; w < words; w++)
            sum += rise(beta, by_word[(size_t)w * topics + k]);
        sum -= rise(words * beta, total[k]);
    }
    free(by_document);
    free(by_word);
    free(total);
    return sum;
}
