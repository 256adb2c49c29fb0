/* The map: Jensen-Shannon divergence of two topics' words,
 *
 *     D(a, b) = H((phi_a + phi_b) / 2) - (H(phi_a) + H(phi_b)) / 2,
 *
 * The square root of D is a distance. It is drawn in two dimensions by
 * classical scaling (Torgerson 1952): with B = -J D J / 2, J = I - 1 1' / n,
 * coordinates are the first two eigenvectors times the roots of their
 * eigenvalues. topics.html has the interactive part. */
#include "report_topics.h"

#include <float.h>
#include <gsl/gsl_eigen.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"

enum { TOPICS = 100, WORDS = 30 };
/* Weights of relevance. The page contains the first words for each of them. */
static const double relevance[] = {1, 0.6, 0.3, 0};

/* topics.html, embedded by cmake/embed.cmake. */
extern const char cli_topics[];

typedef struct map {
    const strads_lda_model *model;
    uint32_t n, topic[TOPICS]; /* topics, the largest first */
    uint32_t *place;           /* [topics] index in `topic`; n: not shown */
    /* for each topic: phi of a word that it lacks; n_k + V beta; its
     * position */
    double none[TOPICS], all[TOPICS], x[TOPICS], y[TOPICS];
    gsl_matrix *apart; /* [n x n] sums of h((phi_a + phi_b) / 2), then D */
    uint32_t *word;    /* [topics x WORDS x relevances] */
    uint32_t n_shown, *shown; /* words, ascending, each once */
} map;

static double entropy_term(double p)
{
    return p > 0 ? -p * log(p) : 0;
}

/* The mean over samples of a sum of counts. */
static double mean_tokens(const strads_lda_model *m, uint64_t sum)
{
    return (double)sum * ((double)m->tokens / strads_lda_mass(m));
}

static uint64_t count_of(const strads_lda_model *m, uint64_t word)
{
    uint64_t n = 0;
    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++)
        n += m->count[i];
    return n;
}

/* Insertion sort: there are at most 100 topics. */
static void choose_topics(map *p)
{
    const uint64_t *total = p->model->total;
    for (uint32_t k = 0; k < p->model->topics; k++) {
        uint32_t at = p->n < TOPICS ? p->n++ : TOPICS;
        for (; at > 0 && total[p->topic[at - 1]] < total[k]; at--)
            if (at < TOPICS)
                p->topic[at] = p->topic[at - 1];
        if (at < TOPICS)
            p->topic[at] = k;
    }
    for (uint32_t k = 0; k < p->model->topics; k++)
        p->place[k] = p->n;
    for (uint32_t k = 0; k < p->n; k++) {
        p->place[p->topic[k]] = k;
        p->all[k] = (double)p->model->total[p->topic[k]] +
                    (double)p->model->words * strads_lda_beta(p->model);
        p->none[k] = strads_lda_beta(p->model) / p->all[k];
    }
}

/* Words that both topics lack are all alike. So all words are first counted as
 * such, and then corrected for each word that one of the topics has. The cost
 * is the model's pairs times the topics. phi [n] is valid where `has` [n] is
 * true; `has` is all false before and after the call. */
static void add_word(map *p, uint64_t word, double *phi, bool *has)
{
    const strads_lda_model *m = p->model;
    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++) {
        const uint32_t a = p->place[m->topic[i]];
        if (a < p->n) {
            phi[a] = (m->count[i] + strads_lda_beta(m)) / p->all[a];
            has[a] = true;
        }
    }
    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++) {
        const uint32_t a = p->place[m->topic[i]];
        for (uint32_t b = 0; a < p->n && b < p->n; b++) {
            if (has[b] && b < a)
                continue; /* each pair once */
            const double of_b = has[b] ? phi[b] : p->none[b];
            *gsl_matrix_ptr(p->apart, a < b ? a : b, a < b ? b : a) +=
                entropy_term((phi[a] + of_b) / 2) -
                entropy_term((p->none[a] + p->none[b]) / 2);
        }
    }
    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++)
        if (p->place[m->topic[i]] < p->n)
            has[p->place[m->topic[i]]] = false;
}

/* Turns the sums over words, with the diagonal, into divergences, both
 * halves. */
static void finish_apart(map *p)
{
    for (uint32_t a = 0; a < p->n; a++) {
        for (uint32_t b = a + 1; b < p->n; b++) {
            const double d = gsl_matrix_get(p->apart, a, b) -
                             (gsl_matrix_get(p->apart, a, a) +
                              gsl_matrix_get(p->apart, b, b)) /
                                 2;
            gsl_matrix_set(p->apart, b, a, fmax(d, 0));
        }
    }
    for (uint32_t a = 0; a < p->n; a++) {
        for (uint32_t b = a; b < p->n; b++) {
            gsl_matrix_set(p->apart, a, b,
                           a == b ? 0 : gsl_matrix_get(p->apart, b, a));
        }
    }
}

static strads_err measure_apart(map *p)
{
    double *phi;
    bool *has;
    CLI_TRY(cli_reserve(p->n, sizeof *phi, "the map", &phi));
    CLI_TRY(cli_reserve(p->n, sizeof *has, "the map", &has));
    for (uint32_t a = 0; a < p->n; a++) {
        for (uint32_t b = a; b < p->n; b++) {
            gsl_matrix_set(p->apart, a, b,
                           (double)p->model->words *
                               entropy_term((p->none[a] + p->none[b]) / 2));
        }
    }
    for (uint64_t w = 0; w < p->model->words; w++)
        add_word(p, w, phi, has);
    finish_apart(p);
    return STRADS_OK;
}

static strads_err place_topics(map *p)
{
    gsl_eigen_symmv_workspace *work = gsl_eigen_symmv_alloc(p->n);
    gsl_vector *value = gsl_vector_alloc(p->n);
    gsl_matrix *vector = gsl_matrix_alloc(p->n, p->n);
    double mean[TOPICS + 1] = {0};
    const bool there = work && value && vector;
    if (there) {
        for (uint32_t a = 0; a < p->n; a++) {
            for (uint32_t b = 0; b < p->n; b++)
                mean[a] += gsl_matrix_get(p->apart, a, b) / p->n;
            mean[p->n] += mean[a] / p->n;
        }
        for (uint32_t a = 0; a < p->n; a++) {
            for (uint32_t b = 0; b < p->n; b++) {
                *gsl_matrix_ptr(p->apart, a, b) +=
                    mean[p->n] - mean[a] - mean[b];
            }
        }
        gsl_matrix_scale(p->apart, -0.5);
        gsl_eigen_symmv(p->apart, value, vector, work);
        gsl_eigen_symmv_sort(value, vector, GSL_EIGEN_SORT_VAL_DESC);
        for (uint32_t a = 0; a < p->n; a++) {
            p->x[a] = gsl_matrix_get(vector, a, 0) *
                      sqrt(fmax(gsl_vector_get(value, 0), 0));
            p->y[a] = gsl_matrix_get(vector, a, 1) *
                      sqrt(fmax(gsl_vector_get(value, 1), 0));
        }
    }
    gsl_matrix_free(vector);
    gsl_vector_free(value);
    gsl_eigen_symmv_free(work);
    return there ? STRADS_OK
                 : strads_fail(STRADS_ENOMEM, "no memory for a map");
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Selects the words that are among the first in a shown topic for some
 * relevance. */
static strads_err choose_words(map *p)
{
    enum { WAYS = sizeof relevance / sizeof *relevance };
    const size_t each = (size_t)p->model->topics * WORDS;
    double *score;
    size_t n = 0;
    CLI_TRY(cli_reserve(each, sizeof *score, "the map", &score));
    CLI_TRY(cli_reserve(each * WAYS, sizeof *p->word, "the map", &p->word));
    for (size_t way = 0; way < WAYS; way++) {
        CLI_TRY(strads_lda_top_words(p->model, relevance[way], WORDS,
                                     p->word + way * each, score));
    }
    p->shown = p->word;
    for (size_t way = 0; way < WAYS; way++) {
        for (uint32_t k = 0; k < p->model->topics; k++) {
            const uint32_t *of = p->word + way * each + (size_t)k * WORDS;
            for (uint32_t i = 0; i < WORDS && p->place[k] < p->n; i++)
                if (of[i] != STRADS_LDA_NO_WORD)
                    p->shown[n++] = of[i];
        }
    }
    qsort(p->shown, n, sizeof *p->shown, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || p->shown[i] != p->shown[i - 1])
            p->shown[p->n_shown++] = p->shown[i];
    return STRADS_OK;
}

/* A word: its name, its tokens, and [topic, tokens] for the shown topics. */
static void put_word(const map *p, uint32_t word, cli_json *j)
{
    const strads_lda_model *m = p->model;
    char buffer[CLI_NAME_SIZE];
    cli_json_open(j, NULL, '[');
    cli_json_string(j, NULL, cli_name(m->names, word, 0, buffer));
    cli_json_number(j, NULL, mean_tokens(m, count_of(m, word)));
    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++) {
        if (p->place[m->topic[i]] < p->n) {
            cli_json_count(j, NULL, p->place[m->topic[i]]);
            cli_json_number(j, NULL, mean_tokens(m, m->count[i]));
        }
    }
    cli_json_close(j, ']');
}

/* "</script>" in a word would end the script, so "<" is escaped. */
static void put_escaped(const char *text, size_t size, FILE *out)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<')
            (void)fputs("\\u003c", out);
        else
            (void)fputc(text[i], out);
}

static strads_err put_data(const map *p, FILE *out)
{
    const strads_lda_model *m = p->model;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return strads_fail(STRADS_ENOMEM, "no memory for a map");
    cli_json j = cli_json_begin(file);
    cli_json_count(&j, "tokens", m->tokens);
    cli_json_count(&j, "vocabulary", m->words);
    cli_json_count(&j, "all", m->topics);
    cli_json_number(&j, "beta", m->beta);
    cli_json_open(&j, "topics", '[');
    for (uint32_t a = 0; a < p->n; a++) {
        cli_json_open(&j, NULL, '[');
        cli_json_count(&j, NULL, p->topic[a]);
        cli_json_number(&j, NULL, mean_tokens(m, m->total[p->topic[a]]));
        cli_json_number(&j, NULL, p->x[a]);
        cli_json_number(&j, NULL, p->y[a]);
        cli_json_close(&j, ']');
    }
    cli_json_close(&j, ']');
    cli_json_open(&j, "words", '[');
    for (uint32_t i = 0; i < p->n_shown; i++)
        put_word(p, p->shown[i], &j);
    cli_json_close(&j, ']');
    cli_json_close(&j, '}');
    if (fclose(file) == 0)
        put_escaped(text, size, out);
    free(text);
    return STRADS_OK;
}

/* Places the topics and selects words; the caller frees p->apart. */
static strads_err make_map(map *p)
{
    CLI_TRY(
        cli_reserve(p->model->topics, sizeof *p->place, "the map", &p->place));
    choose_topics(p);
    p->apart = gsl_matrix_calloc(p->n, p->n);
    if (!p->apart)
        return strads_fail(STRADS_ENOMEM, "no memory for a map");
    strads_err err = measure_apart(p);
    err = err ? err : place_topics(p);
    return err ? err : choose_words(p);
}

strads_err report_topics_write(const strads_lda_model *model, FILE *out)
{
    map p = {.model = model};
    const strads_err err = make_map(&p);
    gsl_matrix_free(p.apart);
    CLI_TRY(err);
    (void)fputs("<script type=\"application/json\" id=\"topic-data\">", out);
    CLI_TRY(put_data(&p, out));
    (void)fputs("</script>\n", out);
    (void)fputs(cli_topics, out);
    return STRADS_OK;
}

/* ---- pyLDAvis ------------------------------------------------------------ */

/* The members of pyLDAvis' prepared data are columns. A row of `tinfo` is a
 * word of a topic, or one of the most salient words of all (Chuang, Manning and
 * Heer, AVI 2012):
 *
 *     p(w) sum_k p(k | w) log (p(k | w) / p(k)). */
typedef struct info {
    uint32_t word, topic; /* topic: index in the map; n: of all topics */
    double tokens, all, log_phi, log_lift;
} info;

static double saliency(const map *p, uint32_t word)
{
    const strads_lda_model *m = p->model;
    const double all = (double)count_of(m, word);
    double sum = 0;
    for (uint64_t i = m->start[word]; i < m->start[word + 1]; i++) {
        sum += m->count[i] * log(m->count[i] / all * strads_lda_mass(m) /
                                 (double)m->total[m->topic[i]]);
    }
    return sum;
}

/* The WORDS most salient shown words, the first one first. */
static uint32_t choose_salient(const map *p, info *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_shown; i++) {
        const uint32_t w = p->shown[i];
        const info row = {.word = w,
                          .topic = p->n,
                          .tokens =
                              mean_tokens(p->model, count_of(p->model, w)),
                          .all = saliency(p, w)};
        uint32_t at = n < WORDS ? n++ : WORDS;
        for (; at > 0 && out[at - 1].all < row.all; at--)
            if (at < WORDS)
                out[at] = out[at - 1];
        if (at < WORDS)
            out[at] = row;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i].all = out[i].tokens;
        out[i].log_phi = out[i].log_lift = n - i;
    }
    return n;
}

static uint32_t list_words(const map *p, info *out)
{
    const strads_lda_model *m = p->model;
    uint32_t n = choose_salient(p, out);
    for (uint32_t s = 0; s < p->n_shown; s++) {
        const uint32_t w = p->shown[s];
        const double all = (double)count_of(m, w);
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            const uint32_t a = p->place[m->topic[i]];
            if (a == p->n)
                continue;
            const double phi = (m->count[i] + strads_lda_beta(m)) / p->all[a];
            out[n++] = (info){.word = w,
                              .topic = a,
                              .tokens = mean_tokens(m, m->count[i]),
                              .all = mean_tokens(m, (uint64_t)all),
                              .log_phi = log(phi),
                              .log_lift = log(phi * strads_lda_mass(m) / all)};
        }
    }
    return n;
}

enum { TERM, FREQ, TOTAL, CATEGORY, LOGPROB, LOGLIFT, SHARE, NUMBER };

static void put_column(const map *p, const info *row, uint32_t n, int what,
                       const char *name, cli_json *j)
{
    char buffer[CLI_NAME_SIZE];
    cli_json_open(j, name, '[');
    for (uint32_t i = 0; i < n; i++, row++) {
        (void)snprintf(buffer, sizeof buffer, "Topic%" PRIu32, row->topic + 1);
        if (what == TERM)
            cli_json_string(j, NULL,
                            cli_name(p->model->names, row->word, 0, buffer));
        else if (what == CATEGORY)
            cli_json_string(j, NULL, row->topic == p->n ? "Default" : buffer);
        else if (what == NUMBER)
            cli_json_count(j, NULL, row->topic + 1);
        else
            cli_json_number(j, NULL,
                            what == FREQ      ? row->tokens
                            : what == TOTAL   ? row->all
                            : what == LOGPROB ? row->log_phi
                            : what == LOGLIFT ? row->log_lift
                                              : row->tokens / row->all);
    }
    cli_json_close(j, ']');
}

static void put_places(const map *p, cli_json *j)
{
    cli_json_open(j, "mdsDat", '{');
    cli_json_open(j, "x", '[');
    for (uint32_t a = 0; a < p->n; a++)
        cli_json_number(j, NULL, p->x[a]);
    cli_json_close(j, ']');
    cli_json_open(j, "y", '[');
    for (uint32_t a = 0; a < p->n; a++)
        cli_json_number(j, NULL, p->y[a]);
    cli_json_close(j, ']');
    cli_json_open(j, "topics", '[');
    for (uint32_t a = 0; a < p->n; a++)
        cli_json_count(j, NULL, a + 1);
    cli_json_close(j, ']');
    cli_json_open(j, "cluster", '[');
    for (uint32_t a = 0; a < p->n; a++)
        cli_json_count(j, NULL, 1);
    cli_json_close(j, ']');
    cli_json_open(j, "Freq", '[');
    for (uint32_t a = 0; a < p->n; a++)
        cli_json_number(j, NULL,
                        100 * (double)p->model->total[p->topic[a]] /
                            strads_lda_mass(p->model));
    cli_json_close(j, ']');
    cli_json_close(j, '}');
}

strads_err report_topics_pyldavis(void *arg, FILE *out)
{
    map p = {.model = arg};
    const strads_err err = make_map(&p);
    gsl_matrix_free(p.apart);
    CLI_TRY(err);
    size_t pairs = WORDS;
    for (uint32_t i = 0; i < p.n_shown; i++)
        pairs += p.model->start[p.shown[i] + 1] - p.model->start[p.shown[i]];
    info *row;
    CLI_TRY(cli_reserve(pairs, sizeof *row, "the map", &row));
    const uint32_t n = list_words(&p, row);
    uint32_t salient = 0;
    while (salient < n && row[salient].topic == p.n)
        salient++;
    cli_json j = cli_json_begin(out);
    put_places(&p, &j);
    cli_json_open(&j, "tinfo", '{');
    put_column(&p, row, n, TERM, "Term", &j);
    put_column(&p, row, n, FREQ, "Freq", &j);
    put_column(&p, row, n, TOTAL, "Total", &j);
    put_column(&p, row, n, CATEGORY, "Category", &j);
    put_column(&p, row, n, LOGPROB, "logprob", &j);
    put_column(&p, row, n, LOGLIFT, "loglift", &j);
    cli_json_close(&j, '}');
    cli_json_open(&j, "token.table", '{');
    put_column(&p, row + salient, n - salient, NUMBER, "Topic", &j);
    put_column(&p, row + salient, n - salient, SHARE, "Freq", &j);
    put_column(&p, row + salient, n - salient, TERM, "Term", &j);
    cli_json_close(&j, '}');
    cli_json_count(&j, "R", WORDS);
    cli_json_number(&j, "lambda.step", 0.01);
    cli_json_open(&j, "plot.opts", '{');
    cli_json_string(&j, "xlab", "PC1");
    cli_json_string(&j, "ylab", "PC2");
    cli_json_close(&j, '}');
    cli_json_open(&j, "topic.order", '[');
    for (uint32_t a = 0; a < p.n; a++)
        cli_json_count(&j, NULL, p.topic[a] + 1);
    cli_json_close(&j, ']');
    cli_json_end(&j);
    return STRADS_OK;
}
