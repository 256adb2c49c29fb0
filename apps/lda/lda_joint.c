/* The likelihood of assignments in a file, lines `N word:topic ...`:
 *
 *     log p(w, z) = sum_d [ lG(A) - lG(A + N_d)
 *                           + sum_k lG(alpha_k + n_dk) - lG(alpha_k) ]
 *                 + sum_k [ lG(V b) - lG(V b + n_k)
 *                           + sum_w lG(b + n_wk) - lG(b) ]
 *
 * (Griffiths and Steyvers 2004, equations 2 and 3). Documents are done with as
 * their lines are read; of a word's tokens the topics are kept. */
#include "lda_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const strads_lda_model *model;
    const char *path;
    uint64_t line, n, room;
    uint32_t *word;  /* [room] of all tokens */
    uint16_t *topic; /* [room] */
    uint32_t *count; /* [topics] of a document, then of a word */
    uint64_t *total; /* [topics] */
    double alpha_sum;
    strads_lda_joint sum;
} reading;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for assignments");
}

static strads_err reading_make(reading *r)
{
    const strads_lda_model *m = r->model;

    r->count = calloc(m->topics, sizeof *r->count);
    r->total = calloc(m->topics, sizeof *r->total);
    for (uint32_t k = 0; k < m->topics; k++)
        r->alpha_sum += m->alpha[k];
    return r->count && r->total ? STRADS_OK : no_memory();
}

static void reading_free(reading *r)
{
    free(r->word);
    free(r->topic);
    free(r->count);
    free(r->total);
}

static strads_err wrong(const reading *r, const char *at, const char *expected)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: line %" PRIu64 ": found \"%.20s\", expected %s",
                       r->path, r->line, *at == '\n' ? "" : at, expected);
}

static strads_err make_room(reading *r)
{
    if (r->n < r->room)
        return STRADS_OK;
    const uint64_t room = 2 * r->room + 1024;
    uint32_t *word = realloc(r->word, room * sizeof *word);
    if (word)
        r->word = word;
    uint16_t *topic = realloc(r->topic, room * sizeof *topic);
    if (topic)
        r->topic = topic;
    if (!word || !topic)
        return no_memory();
    r->room = room;
    return STRADS_OK;
}

/* A whole number below `limit` that ends at `ends` or, for a blank, at the end
 * of a line; NULL otherwise. */
static const char *take_number(const char *p, uint64_t limit, char ends,
                               uint64_t *out)
{
    uint64_t value = 0;
    const char *q = p;

    while (*q >= '0' && *q <= '9' && value < limit)
        value = 10 * value + (uint64_t)(*q++ - '0');
    const bool ended = ends == ' ' ? strchr(" \t\r\n", *q) != NULL : *q == ends;
    if (q == p || value >= limit || !ended)
        return NULL;
    *out = value;
    return q;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r");
}

static strads_err take_token(reading *r, const char **at)
{
    const strads_lda_model *m = r->model;
    const char *p = skip_blanks(*at);
    uint64_t word = 0, topic = 0;

    const char *colon = take_number(p, m->words, ':', &word);
    const char *end =
        colon ? take_number(colon + 1, m->topics, ' ', &topic) : NULL;
    strads_err err = end ? make_room(r)
                         : wrong(r, p, "word:topic, both of the model, from 0");
    if (err)
        return err;
    r->word[r->n] = (uint32_t)word;
    r->topic[r->n++] = (uint16_t)topic;
    r->count[topic]++;
    r->total[topic]++;
    *at = end;
    return STRADS_OK;
}

static double rise(double a, uint64_t n)
{
    return lda_log_gamma(a + (double)n) - lda_log_gamma(a);
}

static double sum_counts(reading *r, const double *prior, double beta)
{
    double sum = 0;

    for (uint32_t k = 0; k < r->model->topics; k++) {
        if (r->count[k])
            sum += rise(prior ? prior[k] : beta, r->count[k]);
        r->count[k] = 0;
    }
    return sum;
}

static strads_err take_line(reading *r, const char *p)
{
    uint64_t n;

    p = skip_blanks(p);
    if (*p == '\n' || *p == '\0')
        return STRADS_OK;
    const char *at = take_number(p, UINT32_MAX, ' ', &n);
    if (!at)
        return wrong(r, p, "a document's number of tokens");
    for (uint64_t i = 0; i < n; i++) {
        strads_err err = take_token(r, &at);
        if (err)
            return err;
    }
    at = skip_blanks(at);
    if (*at != '\n' && *at != '\0')
        return wrong(r, at,
                     "the end of the line: it has more tokens than it "
                     "says");
    r->sum.documents++;
    r->sum.log_likelihood +=
        sum_counts(r, r->model->alpha, 0) - rise(r->alpha_sum, n);
    return STRADS_OK;
}

/* Topics word by word, so that a word's counts stand together. */
static strads_err sum_words(reading *r)
{
    const strads_lda_model *m = r->model;
    uint64_t *start = calloc(m->words + 2, sizeof *start);
    uint16_t *topic = malloc((r->n + 1) * sizeof *topic);
    strads_err err = start && topic ? STRADS_OK : no_memory();

    if (err)
        goto done;
    for (uint64_t i = 0; i < r->n; i++)
        start[r->word[i] + 2]++;
    for (uint64_t w = 1; w <= m->words; w++)
        start[w + 1] += start[w];
    for (uint64_t i = 0; i < r->n; i++)
        topic[start[r->word[i] + 1]++] = r->topic[i];
    for (uint64_t w = 0; w < m->words; w++) {
        for (uint64_t i = start[w]; i < start[w + 1]; i++)
            r->count[topic[i]]++;
        if (start[w + 1] > start[w])
            r->sum.log_likelihood += sum_counts(r, NULL, m->beta);
    }
    for (uint32_t k = 0; k < m->topics; k++)
        r->sum.log_likelihood -= rise((double)m->words * m->beta, r->total[k]);
done:
    free(start);
    free(topic);
    return err;
}

static strads_err read_lines(reading *r)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    strads_err err = STRADS_OK;
    FILE *file = fopen(r->path, "re");

    if (!file)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", r->path,
                           strerror(errno));
    while (!err && (size = getline(&line, &room, file)) >= 0) {
        r->line++;
        err = strlen(line) == (size_t)size
                  ? take_line(r, line)
                  : wrong(r, line, "text without a byte of 0");
    }
    if (!err && ferror(file))
        err = strads_fail(STRADS_EIO, "%s: cannot be read to its end", r->path);
    free(line);
    (void)fclose(file);
    return err;
}

strads_err strads_lda_joint_of(const strads_lda_model *model, const char *path,
                               strads_lda_joint *out)
{
    reading r = {.model = model, .path = path};
    strads_err err = reading_make(&r);

    if (!err)
        err = read_lines(&r);
    if (!err)
        err = sum_words(&r);
    if (!err) {
        r.sum.tokens = r.n;
        *out = r.sum;
    }
    reading_free(&r);
    return err;
}
