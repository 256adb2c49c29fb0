#include "cli_lda_matrix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_corpus.h"
#include "cli_names.h"
#include "cli_output.h"

typedef enum format { FORMAT_NPY, FORMAT_CSV, FORMAT_JSON } format;

typedef struct matrix {
    const strads_lda_model *model;
    format format;
    uint64_t *start; /* [topics + 1] a topic's pairs, turned round */
    uint32_t *word;
    uint32_t *count;
    double *phi; /* [words] of the topic at hand */
} matrix;

static void matrix_free(matrix *x)
{
    free(x->start);
    free(x->word);
    free(x->count);
    free(x->phi);
}

/* From words' topics to topics' words. */
static strads_err turn_round(matrix *x)
{
    const strads_lda_model *m = x->model;
    const uint64_t pairs = m->start[m->words];
    x->start = calloc((size_t)m->topics + 2, sizeof *x->start);
    x->word = malloc((pairs + 1) * sizeof *x->word);
    x->count = malloc((pairs + 1) * sizeof *x->count);
    x->phi = malloc(m->words * sizeof *x->phi);
    if (!x->start || !x->word || !x->count || !x->phi) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the topics");
    }
    for (uint64_t i = 0; i < pairs; i++) {
        x->start[m->topic[i] + 2]++;
    }
    for (uint32_t k = 1; k <= m->topics; k++) {
        x->start[k + 1] += x->start[k];
    }
    for (uint64_t w = 0; w < m->words; w++) {
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint64_t to = x->start[m->topic[i] + 1]++;
            x->word[to] = (uint32_t)w;
            x->count[to] = m->count[i];
        }
    }
    return STRADS_OK;
}

static void fill_topic(matrix *x, uint32_t topic)
{
    const strads_lda_model *m = x->model;
    const double all = (double)m->total[topic] + (double)m->words * m->beta;
    for (uint64_t w = 0; w < m->words; w++) {
        x->phi[w] = m->beta / all;
    }
    for (uint64_t i = x->start[topic]; i < x->start[topic + 1]; i++) {
        x->phi[x->word[i]] = (x->count[i] + m->beta) / all;
    }
}

static void put_topic(const matrix *x, uint32_t topic, FILE *out)
{
    const uint64_t words = x->model->words;
    if (x->format == FORMAT_NPY) {
        (void)fwrite(x->phi, sizeof *x->phi, words, out);
        return;
    }
    if (x->format == FORMAT_JSON) {
        (void)fprintf(out, "{\"topic\": %" PRIu32 ", \"probabilities\": [",
                      topic);
    } else {
        (void)fprintf(out, "%" PRIu32 ",", topic);
    }
    for (uint64_t w = 0; w < words; w++) {
        (void)fprintf(out, "%s%.9g", w ? "," : "", x->phi[w]);
    }
    (void)fputs(x->format == FORMAT_JSON ? "]}\n" : "\n", out);
}

static strads_err put_all(void *arg, FILE *out)
{
    matrix *x = arg;
    const strads_lda_model *m = x->model;
    char room[CLI_WORD_SIZE];
    if (x->format == FORMAT_NPY) {
        cli_npy_header(out, "<f8", m->topics, m->words);
    } else if (x->format == FORMAT_CSV) {
        (void)fputs("topic", out);
        for (uint32_t w = 0; w < m->words; w++) {
            (void)fputc(',', out);
            cli_csv_text(out, cli_corpus_name(m, w, room));
        }
        (void)fputc('\n', out);
    }
    for (uint32_t k = 0; k < m->topics; k++) {
        fill_topic(x, k);
        put_topic(x, k, out);
    }
    return STRADS_OK;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), size = strlen(ending);
    return n > size && strcmp(path + n - size, ending) == 0;
}

strads_err cli_lda_matrix_write(const strads_lda_model *model, const char *path)
{
    matrix x = {.model = model};
    if (ends_with(path, ".csv")) {
        x.format = FORMAT_CSV;
    } else if (ends_with(path, ".json")) {
        x.format = FORMAT_JSON;
    } else if (!ends_with(path, ".npy")) {
        return strads_fail(STRADS_EINVAL,
                           "--matrix %s: expected a name that ends with .npy, "
                           ".csv or .json",
                           path);
    }
    strads_err err = turn_round(&x);
    if (!err) {
        err = cli_output(path, put_all, &x);
    }
    matrix_free(&x);
    return err;
}
