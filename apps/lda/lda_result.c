/* What a run leaves behind: its model, and the topics of its tokens. */
#include "lda_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <strads/lda.h>

void strads_lda_model_free(strads_lda_model *m)
{
    if (!m)
        return;
    free(m->alpha);
    free(m->total);
    free(m->start);
    free(m->topic);
    free(m->count);
    strads_names_free(m->names);
    free(m);
}

strads_err strads_lda_model_from_result(const strads_result *result,
                                        strads_lda_model **out)
{
    const lda_state *s = strads_result_state(result);
    const strads_lda_model *from = s->model;
    strads_lda_model *m = NULL;

    if (!from)
        return strads_fail(STRADS_ESTATE,
                           "the run was ended before its first sweep: there "
                           "is no model");
    const uint64_t pairs = from->start[from->words];
    strads_err err = lda_model_new(from->topics, from->words, pairs, &m);
    if (err)
        return err;
    m->documents = from->documents;
    m->tokens = from->tokens;
    m->beta = from->beta;
    m->log_likelihood = from->log_likelihood;
    memcpy(m->alpha, from->alpha, m->topics * sizeof *m->alpha);
    memcpy(m->total, from->total, m->topics * sizeof *m->total);
    memcpy(m->start, from->start, (m->words + 1) * sizeof *m->start);
    memcpy(m->topic, from->topic, pairs * sizeof *m->topic);
    memcpy(m->count, from->count, pairs * sizeof *m->count);
    *out = m;
    return STRADS_OK;
}

/* ---- assignments ------------------------------------------------------- */

static void write_document(FILE *file, const uint32_t *words, uint32_t n)
{
    const uint16_t *topic = (const uint16_t *)(const void *)(words + n);

    (void)fprintf(file, "%" PRIu32, n);
    for (uint32_t i = 0; i < n; i++)
        (void)fprintf(file, " %" PRIu32 ":%u", words[i], topic[i]);
    (void)fputc('\n', file);
}

/* From where a partition's documents wait. */
static strads_err write_aside(FILE *file, FILE *aside)
{
    enum { MOST = 65536 * 3 / 2 }; /* of a document */
    uint32_t *words = malloc(MOST * sizeof *words), n;

    if (!words)
        return strads_fail(STRADS_ENOMEM, "no memory left for a document");
    bool good = fseek(aside, 0, SEEK_SET) == 0;
    while (good && fread(&n, sizeof n, 1, aside) == 1) {
        const size_t numbers = (size_t)n + (n + 1) / 2;
        good = numbers <= MOST &&
               fread(words, sizeof *words, numbers, aside) == numbers;
        if (good)
            write_document(file, words, n);
    }
    good = good && !ferror(aside);
    free(words);
    return good ? STRADS_OK
                : strads_fail(STRADS_EIO,
                              "assignments cannot be read back from their "
                              "temporary file");
}

static strads_err cannot(const char *path, int why)
{
    return strads_fail(STRADS_EIO, "%s: cannot be written: %s", path,
                       strerror(why));
}

strads_err strads_lda_assignments_write(const strads_result *result,
                                        const char *path)
{
    const lda_state *s = strads_result_state(result);
    char *aside = NULL;
    strads_err err = STRADS_OK;

    if (!s->all_told || !s->assignments)
        return strads_fail(STRADS_ESTATE,
                           "the run has not kept its assignments");
    if (asprintf(&aside, "%s.part", path) < 0)
        return strads_fail(STRADS_ENOMEM, "no memory left for a name");
    FILE *file = fopen(aside, "we");
    if (!file) {
        err = cannot(path, errno);
        free(aside);
        return err;
    }
    for (uint32_t p = 0; p < s->partitions && !err; p++)
        err = write_aside(file, s->assignments[p]);
    bool bad = ferror(file) != 0;
    bad = fclose(file) != 0 || bad;
    if (!err && (bad || rename(aside, path) != 0))
        err = cannot(path, errno ? errno : ENOSPC);
    if (err)
        (void)unlink(aside);
    free(aside);
    return err;
}
