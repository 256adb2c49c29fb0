/* Model files: JSON for people, and the counts beside it as NPY, which numpy
 * reads directly. The totals in the JSON must be the sums of the counts, so
 * that files of two runs are not taken for one model. */
#include "lda_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <strads/lda.h>

enum { VERSION = 1, NPY_HEAD = 128, FIELDS = 3 };

static strads_err no_model_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for a model");
}

static strads_err fail_broken(const char *path, const char *why)
{
    return strads_fail(STRADS_EFORMAT, "%s: %s", path, why);
}

static strads_err fail_to(const char *path, const char *verb)
{
    return strads_fail(STRADS_EIO, "%s: cannot be %s: %s", path, verb,
                       strerror(errno ? errno : ENOSPC));
}

/* ---- writing ----------------------------------------------------------- */

typedef strads_err (*writer)(const void *what, FILE *file);

/* Writes a file to disk beside the path; *part is its name, or NULL if it does
 * not exist. The file is new: an existing file of that name, for example a
 * link, is neither followed nor replaced. */
static strads_err write_part(const char *path, writer write, const void *what,
                             char **part)
{
    if (asprintf(part, "%s.%ld.part", path, (long)getpid()) < 0) {
        *part = NULL;
        return no_model_memory();
    }
    errno = 0;
    const int fd = open(*part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        strads_err err = fail_to(*part, "written");
        if (fd >= 0)
            (void)close(fd);
        free(*part);
        *part = NULL;
        return err;
    }
    strads_err err = write(what, file);
    bool bad =
        ferror(file) != 0 || fflush(file) != 0 || fsync(fileno(file)) != 0;
    bad = fclose(file) != 0 || bad;
    return !err && bad ? fail_to(path, "written") : err;
}

/* The head of an NPY file, format 1.0, padded to 128 bytes. */
static void write_npy_head(FILE *file, uint64_t rows)
{
    char head[NPY_HEAD + 1];
    const uint16_t length = NPY_HEAD - 10;
    int n = snprintf(head, sizeof head,
                     "{'descr': '<u4', 'fortran_order': False, 'shape': "
                     "(%" PRIu64 ", %d), }",
                     rows, FIELDS);

    memset(head + n, ' ', sizeof head - (size_t)n);
    head[length - 1] = '\n';
    (void)fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    (void)fputc(length & 0xFF, file);
    (void)fputc(length >> 8, file);
    (void)fwrite(head, 1, length, file);
}

static strads_err write_counts(const void *what, FILE *file)
{
    const strads_lda_model *m = what;

    write_npy_head(file, m->start[m->words]);
    for (uint64_t w = 0; w < m->words; w++) {
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint32_t line[FIELDS] = {(uint32_t)w, m->topic[i],
                                           m->count[i]};
            (void)fwrite(line, sizeof *line, FIELDS, file);
        }
    }
    return STRADS_OK;
}

static strads_err write_json(const void *what, FILE *file)
{
    return json_dumpf(what, file, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) == 0
               ? STRADS_OK
               : STRADS_EIO;
}

static int put_integer(json_t *into, const char *name, uint64_t value)
{
    return json_object_set_new(into, name, json_integer((json_int_t)value));
}

static int put_numbers(json_t *into, const strads_lda_model *m)
{
    json_t *alpha = json_array(), *total = json_array();
    int bad = !alpha || !total;

    for (uint32_t k = 0; k < m->topics && !bad; k++) {
        bad |= json_array_append_new(alpha, json_real(m->alpha[k]));
        bad |=
            json_array_append_new(total, json_integer((json_int_t)m->total[k]));
    }
    bad |= json_object_set_new(into, "alpha", alpha);
    bad |= json_object_set_new(into, "topic-tokens", total);
    return bad;
}

static int put_names(json_t *into, const char *key, const strads_names *names)
{
    json_t *list = names ? json_array() : NULL;
    int bad = names && !list;

    for (uint32_t w = 0; names && w < strads_names_count(names) && !bad; w++)
        bad |=
            json_array_append_new(list, json_string(strads_names_at(names, w)));
    return names ? bad | json_object_set_new(into, key, list) : 0;
}

/* null for a topic without a name. */
static int put_topic_names(json_t *into, const strads_lda_model *m)
{
    json_t *list = json_array();
    int bad = !list;

    for (uint32_t k = 0; k < m->topics && !bad; k++)
        bad |= json_array_append_new(list, m->topic_name[k]
                                               ? json_string(m->topic_name[k])
                                               : json_null());
    return bad | json_object_set_new(into, "topic-names", list);
}

static int put_classes(json_t *into, const strads_lda_model *m)
{
    json_t *all = json_object(), *labels = json_array(),
           *weights = json_array();
    int bad = 0;

    for (uint32_t y = 0; y < m->classes; y++) {
        json_t *weight = json_array();
        bad |=
            json_array_append_new(labels,
                                  json_string(strads_names_at(m->labels, y)));
        for (uint32_t k = 0; k < m->topics; k++)
            bad |= json_array_append_new(
                weight, json_real(m->weight[(size_t)y * m->topics + k]));
        bad |= json_array_append_new(weights, weight);
    }
    bad |= json_object_set_new(all, "labels", labels);
    bad |= json_object_set_new(all, "weights", weights);
    return bad | json_object_set_new(into, "classifier", all);
}

static json_t *describe_model(const strads_lda_model *m, json_t *options)
{
    json_t *all = json_object();
    int bad = !all;

    bad |= json_object_set_new(all, "format", json_string("strads-lda-model"));
    bad |= put_integer(all, "version", VERSION);
    bad |= put_integer(all, "topics", m->topics);
    bad |= put_integer(all, "words", m->words);
    bad |= put_integer(all, "documents", m->documents);
    bad |= put_integer(all, "tokens", m->tokens);
    if (m->samples > 1)
        bad |= put_integer(all, "samples", m->samples);
    bad |= json_object_set_new(all, "beta", json_real(m->beta));
    if (!isnan(m->log_likelihood))
        bad |= json_object_set_new(all, "log-likelihood",
                                   json_real(m->log_likelihood));
    bad |= json_object_set(all, "options", options);
    if (m->network)
        bad |=
            json_object_set_new(all, "network",
                                json_pack("{s:f,s:I}", "hold-out", m->hold_out,
                                          "seed", (json_int_t)m->seed));
    bad |= put_numbers(all, m);
    if (m->classes)
        bad |= put_classes(all, m);
    if (m->topic_name)
        bad |= put_topic_names(all, m);
    bad |= put_names(all, "phrases", m->phrases);
    bad |= put_names(all, "vocabulary", m->names);
    if (m->word_ids)
        bad |= json_object_set_new(all, "word-ids", json_true());
    if (!bad)
        return all;
    json_decref(all);
    return NULL;
}

/* Both files are on disk before the first one is replaced, so a full disk
 * leaves the old model complete. */
static strads_err write_both(const strads_lda_model *m, const json_t *all,
                             const char *counts, const char *path)
{
    const char *to[2] = {counts, path};
    char *part[2] = {NULL, NULL};
    strads_err err = write_part(counts, write_counts, m, &part[0]);

    if (!err)
        err = write_part(path, write_json, all, &part[1]);
    for (int k = 0; k < 2 && !err; k++)
        if (rename(part[k], to[k]) != 0)
            err = fail_to(to[k], "written");
    for (int k = 0; k < 2; k++) {
        if (err && part[k])
            (void)unlink(part[k]);
        free(part[k]);
    }
    return err;
}

strads_err strads_lda_model_write(const strads_lda_model *m,
                                  const char *options, const char *path)
{
    json_t *known = json_loads(options ? options : "{}", 0, NULL);
    char *counts = NULL;

    if (!json_is_object(known)) {
        json_decref(known);
        return strads_fail(STRADS_EINVAL, "the options are not a JSON object");
    }
    json_t *all = describe_model(m, known);
    const bool ready = all && asprintf(&counts, "%s.npy", path) >= 0;
    strads_err err =
        ready ? write_both(m, all, counts, path) : no_model_memory();
    json_decref(all);
    json_decref(known);
    if (ready)
        free(counts);
    return err;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err read_names(const char *path, const json_t *list,
                             strads_lda_model *m)
{
    if (!list)
        return STRADS_OK;
    if (!json_is_array(list) || json_array_size(list) != m->words)
        return fail_broken(path,
                           "\"vocabulary\" must have a name for each word");
    strads_err err = strads_names_new(&m->names);
    for (size_t w = 0; w < m->words && !err; w++) {
        const json_t *name = json_array_get(list, w);
        uint32_t number = 0;
        if (!json_is_string(name))
            return fail_broken(path,
                               "\"vocabulary\" has a name that is no string");
        err = strads_names_add(m->names, json_string_value(name),
                               json_string_length(name), &number);
        if (!err && number != w)
            return fail_broken(path, "\"vocabulary\" has a name twice");
    }
    return err;
}

static strads_err read_phrases(const char *path, const json_t *list,
                               strads_lda_model *m)
{
    if (!list)
        return STRADS_OK;
    if (!json_is_array(list))
        return fail_broken(path, "\"phrases\" must be a list of names");
    strads_err err = strads_names_new(&m->phrases);
    for (size_t k = 0; k < json_array_size(list) && !err; k++) {
        const json_t *name = json_array_get(list, k);
        uint32_t number;
        err = json_is_string(name)
                  ? strads_names_add(m->phrases, json_string_value(name),
                                     json_string_length(name), &number)
                  : fail_broken(path, "\"phrases\" must be a list of names");
    }
    return err;
}

static strads_err read_topic_names(const char *path, const json_t *list,
                                   strads_lda_model *m)
{
    strads_err err = STRADS_OK;

    if (list && json_array_size(list) != m->topics)
        return fail_broken(path, "\"topic-names\" must have a name or null "
                                 "for each topic");
    for (uint32_t k = 0; list && k < m->topics && !err; k++) {
        const json_t *name = json_array_get(list, k);
        if (json_is_string(name))
            err = lda_model_name(m, k, json_string_value(name));
        else if (!json_is_null(name))
            err = fail_broken(path,
                              "\"topic-names\" has a name that is no string");
    }
    return err;
}

static strads_err read_arrays(const char *path, const json_t *alpha,
                              const json_t *total, strads_lda_model *m)
{
    if (json_array_size(alpha) != m->topics ||
        json_array_size(total) != m->topics)
        return fail_broken(path,
                           "\"alpha\" and \"topic-tokens\" must have a number "
                           "for each topic");
    for (uint32_t k = 0; k < m->topics; k++) {
        const double a = json_number_value(json_array_get(alpha, k));
        const json_int_t n = json_integer_value(json_array_get(total, k));
        if (!(a > 0 && a <= 1e6) || n < 0)
            return fail_broken(path, "\"alpha\" must be above 0 and at most "
                                     "1000000, \"topic-tokens\" not below 0");
        m->alpha[k] = a;
        m->total[k] = (uint64_t)n;
    }
    return STRADS_OK;
}

typedef struct head {
    json_int_t version, topics, words, documents, tokens, samples, seed;
    double beta, log_likelihood, hold_out; /* hold_out < 0: no network */
    json_t *alpha, *total, *names, *phrases, *topic_names;
    json_t *labels, *weights; /* of a classifier, or NULL */
    int word_ids;
} head;

static strads_err take_head(const char *path, json_t *all, head *h)
{
    const char *format = "";
    json_t *options = NULL;
    json_error_t why;

    (void)json_unpack(all, "{s:s}", "format", &format);
    if (strcmp(format, "strads-lda-model") != 0)
        return fail_broken(path, "is no topic model: \"format\" is not "
                                 "\"strads-lda-model\"");
    if (json_unpack_ex(
            all, &why, JSON_STRICT,
            "{s:s,s:I,s:I,s:I,s:I,s:I,s?I,s:F,s?F,s:o,s:o,s:o,s?o,s?o,s?o,"
            "s?b,s?{s:F,s:I},s?{s:o,s:o}}",
            "format", &format, "version", &h->version, "topics", &h->topics,
            "words", &h->words, "documents", &h->documents, "tokens",
            &h->tokens, "samples", &h->samples, "beta", &h->beta,
            "log-likelihood", &h->log_likelihood, "options", &options, "alpha",
            &h->alpha, "topic-tokens", &h->total, "vocabulary", &h->names,
            "phrases", &h->phrases, "topic-names", &h->topic_names, "word-ids",
            &h->word_ids, "network", "hold-out", &h->hold_out, "seed", &h->seed,
            "classifier", "labels", &h->labels, "weights", &h->weights) != 0)
        return fail_broken(path, why.text);
    if (h->version != VERSION)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: is of version %d, this program reads %d", path,
                           (int)h->version, VERSION);
    if (h->topics < 2 || h->topics > 65535 || h->words < 1 ||
        h->words > (json_int_t)UINT32_MAX - 2 || h->documents < 0 ||
        h->tokens < 0 || h->samples < 1 || h->samples > UINT32_MAX ||
        !(h->beta > 0 && h->beta <= 1e6))
        return fail_broken(path, "a number is out of its range");
    return STRADS_OK;
}

static strads_err read_classes(const char *path, const head *h,
                               strads_lda_model *m)
{
    const size_t n = json_array_size(h->labels);
    strads_names *labels = NULL;
    uint32_t number;

    if (!h->labels)
        return STRADS_OK;
    if (n < 2 || n > LDA_LABELLED_CLASSES || json_array_size(h->weights) != n)
        return fail_broken(path,
                           "\"classifier\" must have two labels or more, and "
                           "weights for each");
    double *weight = malloc(n * m->topics * sizeof *weight);
    strads_err err = weight ? strads_names_new(&labels) : no_model_memory();
    for (size_t y = 0; y < n && !err; y++) {
        const json_t *name = json_array_get(h->labels, y);
        const json_t *of = json_array_get(h->weights, y);
        if (!json_is_string(name) || json_array_size(of) != m->topics)
            err = fail_broken(path,
                              "\"classifier\" has a label that is no string, "
                              "or not a weight for each topic");
        if (!err)
            err = strads_names_add(labels, json_string_value(name),
                                   json_string_length(name), &number);
        if (!err && number != y)
            err = fail_broken(path, "\"classifier\" has a label twice");
        for (uint32_t k = 0; k < m->topics && !err; k++) {
            if (!json_is_number(json_array_get(of, k)))
                err =
                    fail_broken(path, "\"classifier\" has a weight that is no "
                                      "number");
            else
                weight[y * m->topics + k] =
                    json_number_value(json_array_get(of, k));
        }
    }
    if (!err)
        err = lda_model_classify(m, (uint32_t)n, labels, weight);
    strads_names_free(labels);
    free(weight);
    return err;
}

/* Reads the number of rows from the head of an NPY file. */
static strads_err read_npy_head(const char *path, FILE *file, uint64_t *rows)
{
    char text[NPY_HEAD + 1] = {0};
    int end = 0;

    if (fread(text, 1, NPY_HEAD, file) != NPY_HEAD ||
        memcmp(text, "\x93NUMPY\x01\x00\x76\x00", 10) != 0 ||
        sscanf(text + 10,
               "{'descr': '<u4', 'fortran_order': False, 'shape': "
               "(%" SCNu64 ", 3), }%n",
               rows, &end) != 1 ||
        end == 0)
        return fail_broken(path,
                           "has no counts as `strads lda train` writes them");
    return STRADS_OK;
}

static strads_err read_pairs(const char *path, FILE *file, strads_lda_model *m,
                             uint64_t rows)
{
    uint64_t *total = calloc(m->topics, sizeof *total);
    uint64_t last = 0;
    strads_err err = total ? STRADS_OK : no_model_memory();

    for (uint64_t i = 0; i < rows && !err; i++) {
        uint32_t x[FIELDS];
        if (fread(x, sizeof *x, FIELDS, file) != FIELDS) {
            err = fail_broken(path, "ends too early");
            break;
        }
        const uint64_t place = (uint64_t)x[0] << 16 | x[1];
        if (x[0] >= m->words || x[1] >= m->topics || x[2] == 0 ||
            (i > 0 && place <= last)) {
            err = fail_broken(path, "has a count out of its place");
            break;
        }
        last = place;
        m->topic[i] = x[1];
        m->count[i] = x[2];
        m->start[x[0] + 1] = i + 1;
        total[x[1]] += x[2];
    }
    for (uint64_t w = 0; w < m->words; w++)
        if (m->start[w + 1] < m->start[w])
            m->start[w + 1] = m->start[w];
    if (!err && memcmp(total, m->total, m->topics * sizeof *total) != 0)
        err =
            fail_broken(path, "has other totals than the model: it belongs to "
                              "another one");
    free(total);
    return err;
}

static strads_err read_counts(const char *path, const head *h,
                              strads_lda_model **out)
{
    char *counts = NULL;
    uint64_t rows = 0;

    if (asprintf(&counts, "%s.npy", path) < 0)
        return no_model_memory();
    FILE *file = fopen(counts, "re");
    strads_err err =
        file ? read_npy_head(counts, file, &rows) : fail_to(counts, "read");
    if (!err && (double)rows > (double)h->tokens * (double)h->samples)
        err = fail_broken(counts, "has more counts than there are tokens");
    if (!err)
        err = lda_model_new((uint32_t)h->topics, (uint64_t)h->words, rows, out);
    if (!err)
        err = read_arrays(path, h->alpha, h->total, *out);
    if (!err)
        err = read_pairs(counts, file, *out, rows);
    if (file)
        (void)fclose(file);
    free(counts);
    return err;
}

strads_err strads_lda_model_read(const char *path, strads_lda_model **out)
{
    json_error_t why;
    head h = {.samples = 1, .log_likelihood = NAN, .hold_out = -1};
    strads_lda_model *m = NULL;
    FILE *file = fopen(path, "re");

    if (!file)
        return fail_to(path, "read");
    errno = 0;
    json_t *all = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
    strads_err err = ferror(file) ? fail_to(path, "read") : STRADS_OK;
    (void)fclose(file);
    if (!err)
        err =
            all ? take_head(path, all, &h)
                : strads_fail(STRADS_EFORMAT,
                              "%s: is no topic model: line %d is not JSON: %s",
                              path, why.line, why.text);
    if (!err)
        err = read_counts(path, &h, &m);
    if (!err)
        err = read_names(path, h.names, m);
    if (!err)
        err = read_phrases(path, h.phrases, m);
    if (!err)
        err = read_topic_names(path, h.topic_names, m);
    if (!err)
        err = read_classes(path, &h, m);
    json_decref(all);
    if (err) {
        strads_lda_model_free(m);
        return err;
    }
    m->word_ids = h.word_ids && m->names;
    m->documents = (uint64_t)h.documents;
    m->tokens = (uint64_t)h.tokens;
    m->samples = (uint32_t)h.samples;
    m->beta = h.beta;
    m->log_likelihood = h.log_likelihood;
    m->network = h.hold_out >= 0;
    m->hold_out = m->network ? h.hold_out : 0;
    m->seed = (uint64_t)h.seed;
    *out = m;
    return STRADS_OK;
}

/* ---- results ------------------------------------------------------------- */

/* The results of a run: its model, and the topics of its tokens. */

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
    strads_names_free(m->phrases);
    strads_names_free(m->labels);
    free(m->weight);
    for (uint32_t k = 0; m->topic_name && k < m->topics; k++)
        free(m->topic_name[k]);
    free(m->topic_name);
    free(m);
}

strads_err lda_model_name(strads_lda_model *m, uint32_t k, const char *name)
{
    if (!m->topic_name)
        m->topic_name = calloc(m->topics, sizeof *m->topic_name);
    if (!m->topic_name)
        return no_model_memory();
    free(m->topic_name[k]);
    m->topic_name[k] = strdup(name);
    return m->topic_name[k] ? STRADS_OK : no_model_memory();
}

strads_err lda_model_classify(strads_lda_model *m, uint32_t classes,
                              const strads_names *labels, const double *weight)
{
    const size_t n = (size_t)classes * m->topics;
    uint32_t number;

    m->weight = malloc((n + 1) * sizeof *m->weight);
    strads_err err =
        m->weight ? strads_names_new(&m->labels) : no_model_memory();
    for (uint32_t y = 0; y < classes && !err; y++) {
        const char *name = strads_names_at(labels, y);
        err = strads_names_add(m->labels, name, strlen(name), &number);
    }
    if (!err) {
        memcpy(m->weight, weight, n * sizeof *weight);
        m->classes = classes;
    }
    return err;
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
    m->samples = from->samples;
    m->beta = from->beta;
    m->log_likelihood = from->log_likelihood;
    m->network = from->network;
    m->hold_out = from->hold_out;
    memcpy(m->alpha, from->alpha, m->topics * sizeof *m->alpha);
    memcpy(m->total, from->total, m->topics * sizeof *m->total);
    memcpy(m->start, from->start, (m->words + 1) * sizeof *m->start);
    memcpy(m->topic, from->topic, pairs * sizeof *m->topic);
    memcpy(m->count, from->count, pairs * sizeof *m->count);
    if (from->classes)
        err = lda_model_classify(m, from->classes, from->labels, from->weight);
    for (uint32_t k = 0; !err && from->topic_name && k < m->topics; k++)
        if (from->topic_name[k])
            err = lda_model_name(m, k, from->topic_name[k]);
    if (err) {
        strads_lda_model_free(m);
        return err;
    }
    *out = m;
    return STRADS_OK;
}

strads_lda_ending strads_lda_ending_of(const strads_result *result)
{
    const lda_state *s = strads_result_state(result);

    return (strads_lda_ending){.sweeps = s->sweep,
                               .samples = s->samples,
                               .flat =
                                   s->prior.flat && s->sweep == s->prior.last};
}

/* ---- one sample ---------------------------------------------------------- */

/* Divides a word's counts by the number of samples. Those with the largest
 * remainders are rounded up, so that the word keeps its number of tokens. */
static void round_word(strads_lda_model *m, uint64_t begin, uint64_t end)
{
    uint64_t left = 0;

    for (uint64_t i = begin; i < end; i++)
        left += m->count[i] % m->samples;
    left /= m->samples;
    for (uint32_t r = m->samples - 1; left > 0; r--)
        for (uint64_t i = begin; i < end && left > 0; i++)
            if (m->count[i] % m->samples == r) {
                m->count[i] += m->samples - r;
                left--;
            }
    for (uint64_t i = begin; i < end; i++)
        m->count[i] /= m->samples;
}

void lda_model_round(strads_lda_model *m)
{
    uint64_t to = 0, begin = 0;

    memset(m->total, 0, m->topics * sizeof *m->total);
    for (uint64_t w = 0; w < m->words; w++) {
        const uint64_t end = m->start[w + 1];
        round_word(m, begin, end);
        for (uint64_t i = begin; i < end; i++) {
            if (m->count[i] == 0)
                continue;
            m->topic[to] = m->topic[i];
            m->count[to++] = m->count[i];
            m->total[m->topic[i]] += m->count[i];
        }
        m->start[w + 1] = to;
        begin = end;
    }
    m->samples = 1;
}

/* ---- assignments ------------------------------------------------------- */

static void write_tokens(FILE *file, const uint32_t *words, uint32_t n)
{
    const uint16_t *topic = (const uint16_t *)(const void *)(words + n);

    for (uint32_t i = 0; i < n; i++)
        (void)fprintf(file, " %" PRIu32 ":%u", words[i], topic[i]);
}

/* Counts the tokens of the row that starts here, and returns there. */
static bool count_row(FILE *aside, uint64_t *tokens)
{
    const off_t at = ftello(aside);
    uint32_t n = LDA_GOES_ON;
    bool good = at >= 0;

    *tokens = 0;
    while (good && n & LDA_GOES_ON) {
        good = fread(&n, sizeof n, 1, aside) == 1;
        const uint32_t own = n & ~LDA_GOES_ON;
        *tokens += own;
        good = good &&
               fseeko(aside, (off_t)sizeof n * (off_t)(own + (own + 1) / 2),
                      SEEK_CUR) == 0;
    }
    return good && fseeko(aside, at, SEEK_SET) == 0;
}

/* Copies a partition's documents from their temporary file. */
static strads_err write_aside(FILE *file, FILE *aside)
{
    enum { MOST = 65536 * 3 / 2 }; /* of a document */
    uint32_t *words = malloc(MOST * sizeof *words), n = 0;
    uint64_t row;

    if (!words)
        return strads_fail(STRADS_ENOMEM, "no memory left for a document");
    bool good = fseek(aside, 0, SEEK_SET) == 0;
    bool begins = true;
    while (good && fread(&n, sizeof n, 1, aside) == 1) {
        const uint32_t own = n & ~LDA_GOES_ON;
        const size_t numbers = (size_t)own + (own + 1) / 2;
        row = own;
        if (begins && own != n)
            good = fseeko(aside, -(off_t)sizeof n, SEEK_CUR) == 0 &&
                   count_row(aside, &row) && fread(&n, sizeof n, 1, aside) == 1;
        if (begins && good)
            (void)fprintf(file, "%" PRIu64, row);
        good = good && numbers <= MOST &&
               fread(words, sizeof *words, numbers, aside) == numbers;
        begins = own == n;
        if (good)
            write_tokens(file, words, own);
        if (begins)
            (void)fputc('\n', file);
    }
    good = good && !ferror(aside);
    free(words);
    return good ? STRADS_OK
                : strads_fail(STRADS_EIO,
                              "assignments cannot be read back from their "
                              "temporary file");
}

static strads_err write_assignments(const void *what, FILE *file)
{
    const lda_state *s = what;
    strads_err err = STRADS_OK;

    for (uint32_t p = 0; p < s->partitions && !err; p++)
        err = write_aside(file, s->assignments[p]);
    return err;
}

strads_err strads_lda_assignments_write(const strads_result *result,
                                        const char *path)
{
    const lda_state *s = strads_result_state(result);
    char *aside = NULL;

    if (!s->all_gathered || !s->assignments)
        return strads_fail(STRADS_ESTATE,
                           "the run has not kept its assignments");
    strads_err err = write_part(path, write_assignments, s, &aside);
    if (!err && rename(aside, path) != 0)
        err = fail_to(path, "written");
    if (err && aside)
        (void)unlink(aside);
    free(aside);
    return err;
}
