/* strads lda topics, infer, evaluate: what a topic model says of its words, of
 * new documents, and how good that is. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_documents.h"
#include "cli_options.h"
#include "cli_output.h"
#include "engine/base/atomic_file.h"

/* The name of a word; without names its number, from 0. */
static const char *word_name(const strads_lda_model *m, uint32_t word,
                             char room[CLI_NAME_SIZE])
{
    return cli_name(m->names, word, 0, room);
}

/* ---- all probabilities -------------------------------------------------- */

/* phi [topics x words], (n_wk + beta) / (n_k + V beta), in the format that the
 * file's name ends with. */
typedef struct matrix {
    const strads_lda_model *model;
    cli_format format;
    uint64_t *start; /* [topics + 2] a topic's pairs */
    uint32_t *word, *count;
    double *phi; /* [words] of the topic at hand */
} matrix;

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

/* A CSV's header has the words, which no other table needs. */
static strads_err put_matrix(void *arg, FILE *out)
{
    matrix *x = arg;
    const strads_lda_model *m = x->model;
    const bool npy = x->format == CLI_FORMAT_NPY;
    const cli_column columns[] = {{"topic", CLI_COUNT, 0},
                                  {"probabilities", CLI_NUMBER,
                                   (uint32_t)m->words}};
    cli_table t = {.out = out,
                   .format = x->format,
                   .column = npy ? columns + 1 : columns,
                   .n = npy ? 1 : 2,
                   .rows = m->topics,
                   .digits = 9,
                   .bare = true};
    char room[CLI_NAME_SIZE];
    if (x->format == CLI_FORMAT_CSV) {
        (void)fputs("topic", out);
        for (uint32_t w = 0; w < m->words; w++) {
            (void)fputc(',', out);
            cli_csv_text(out, word_name(m, w, room));
        }
        (void)fputc('\n', out);
    }
    strads_err err = cli_table_begin(&t);
    for (uint32_t k = 0; k < m->topics && !err; k++) {
        fill_topic(x, k);
        if (!npy) {
            cli_table_count(&t, k);
        }
        for (uint64_t w = 0; w < m->words; w++) {
            cli_table_number(&t, x->phi[w]);
        }
    }
    return err;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), size = strlen(ending);
    return n > size && strcmp(path + n - size, ending) == 0;
}

static strads_err write_matrix(const strads_lda_model *model, const char *path)
{
    matrix x = {.model = model, .format = CLI_FORMAT_NPY};
    if (ends_with(path, ".csv")) {
        x.format = CLI_FORMAT_CSV;
    } else if (ends_with(path, ".json")) {
        x.format = CLI_FORMAT_JSON;
    } else if (!ends_with(path, ".npy")) {
        return strads_fail(STRADS_EINVAL,
                           "--matrix %s: expected a name that ends with .npy, "
                           ".csv or .json",
                           path);
    }
    strads_err err = turn_round(&x);
    if (!err) {
        err = cli_output(path, put_matrix, &x);
    }
    free(x.start);
    free(x.word);
    free(x.count);
    free(x.phi);
    return err;
}

/* ---- topics ------------------------------------------------------------- */

typedef struct top_words {
    uint32_t words;
    double relevance;
    const char *vocab, *matrix;
    cli_out out;
    strads_lda_model *model;
    uint32_t *word; /* [topics x words] */
    double *score;
} top_words;

static const strads_option topics_table[] = {
    {.name = "words",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(top_words, words),
     .metavar = "N",
     .help = "words of each topic (default: 10)",
     .min = 1,
     .max = 10000},
    {.name = "relevance",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(top_words, relevance),
     .metavar = "L",
     .help = "1: most probable first; less: typical of it (1)",
     .min = 0,
     .max = 1},
    {.name = "vocab",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(top_words, vocab),
     .metavar = "FILE",
     .help = "the words' names, one a line (the model's, if any)"},
    CLI_OPTIONS_OUT(top_words, out, "text"),
    {.name = "matrix",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(top_words, matrix),
     .metavar = "FILE",
     .help = "all probabilities, topics x words: .npy, .csv or .json (none)"},
    {.name = NULL},
};

static uint32_t words_found(const uint32_t *word, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && word[n] != STRADS_LDA_NO_WORD) {
        n++;
    }
    return n;
}

static void put_text_topic(const top_words *t, uint32_t topic, FILE *out)
{
    const uint32_t *word = t->word + (size_t)topic * t->words;
    char room[CLI_NAME_SIZE];
    (void)fprintf(out, "%4" PRIu32 " %5.1f %%", topic,
                  100 * (double)t->model->total[topic] /
                      (double)t->model->tokens);
    for (uint32_t i = 0; i < words_found(word, t->words); i++) {
        (void)fprintf(out, " %s", word_name(t->model, word[i], room));
    }
    (void)fputc('\n', out);
}

static void put_json_topic(const top_words *t, uint32_t topic, FILE *out)
{
    const size_t first = (size_t)topic * t->words;
    const uint32_t n = words_found(t->word + first, t->words);
    char room[CLI_NAME_SIZE];
    cli_json j = {.out = out};
    cli_json_open(&j, NULL, '{');
    cli_json_count(&j, "topic", topic);
    cli_json_count(&j, "tokens", t->model->total[topic]);
    cli_json_open(&j, "words", '[');
    for (uint32_t i = 0; i < n; i++) {
        cli_json_string(&j, NULL,
                        word_name(t->model, t->word[first + i], room));
    }
    cli_json_close(&j, ']');
    cli_json_open(&j, "scores", '[');
    for (uint32_t i = 0; i < n; i++) {
        cli_json_number(&j, NULL, t->score[first + i]);
    }
    cli_json_close(&j, ']');
    cli_json_close(&j, '}');
    (void)fputc('\n', out);
}

static void put_topic_rows(const top_words *t, uint32_t topic, cli_table *table)
{
    const size_t first = (size_t)topic * t->words;
    char room[CLI_NAME_SIZE];
    for (uint32_t i = 0; i < words_found(t->word + first, t->words); i++) {
        cli_table_count(table, topic);
        cli_table_count(table, i);
        cli_table_count(table, t->word[first + i]);
        cli_table_text(table, word_name(t->model, t->word[first + i], room));
        cli_table_number(table, t->score[first + i]);
    }
}

static strads_err put_topics(void *arg, FILE *out)
{
    static const cli_column columns[] = {{"topic", CLI_COUNT, 0},
                                         {"rank", CLI_COUNT, 0},
                                         {"word", CLI_COUNT, 0},
                                         {"name", CLI_STRING, 0},
                                         {"score", CLI_NUMBER, 0}};
    const top_words *t = arg;
    cli_table table = {.out = out,
                       .format = cli_format_of(&t->out),
                       .column = columns,
                       .n = 5,
                       .digits = 9};
    const uint32_t n = t->model->topics;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < n; k++) {
        table.rows += words_found(t->word + (size_t)k * t->words, t->words);
    }
    if (table.format == CLI_FORMAT_CSV || table.format == CLI_FORMAT_NPY) {
        err = cli_table_begin(&table);
    }
    for (uint32_t k = 0; k < n && !err; k++) {
        if (table.format == CLI_FORMAT_TEXT) {
            put_text_topic(t, k, out);
        } else if (table.format == CLI_FORMAT_JSON) {
            put_json_topic(t, k, out);
        } else {
            put_topic_rows(t, k, &table);
        }
    }
    return err;
}

static strads_err read_vocab(top_words *t)
{
    strads_names *names = NULL;
    strads_err err = strads_names_read(t->vocab, &names);
    if (err) {
        return err;
    }
    strads_names_free(t->model->names);
    t->model->names = names;
    return strads_names_count(names) == t->model->words
               ? STRADS_OK
               : strads_fail(STRADS_EMISMATCH,
                             "%s: has %" PRIu32 " names, the model has %" PRIu64
                             " words",
                             t->vocab, strads_names_count(names),
                             t->model->words);
}

static strads_err show_topics(void *arg, const char *const *path)
{
    top_words *t = arg;
    strads_err err = strads_lda_model_read(path[0], &t->model);
    if (!err && t->vocab) {
        err = read_vocab(t);
    }
    if (err) {
        return err;
    }
    const size_t n = (size_t)t->model->topics * t->words;
    t->word = calloc(n, sizeof *t->word);
    t->score = calloc(n, sizeof *t->score);
    if (!t->word || !t->score) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the words");
    }
    err = strads_lda_top_words(t->model, t->relevance, t->words, t->word,
                               t->score);
    if (!err && t->matrix) {
        err = write_matrix(t->model, t->matrix);
    }
    return err ? err : cli_output(t->out.path, put_topics, t);
}

int cli_lda_topics(int argc, char **argv)
{
    top_words t = {.words = 10, .relevance = 1, .out.format = "text"};
    const cli_syntax syntax = {
        .name = "lda topics",
        .args = "MODEL",
        .summary =
            "Prints the top words of each topic: its number, its share "
            "of all tokens, words. Scores in csv and json are logarithms "
            "of probabilities, or relevances.",
        .groups = {{NULL, topics_table, &t}},
    };
    const int code = cli_run(&syntax, argc, argv, show_topics, &t);
    strads_lda_model_free(t.model);
    free(t.word);
    free(t.score);
    return code;
}

/* ---- model and documents ------------------------------------------------- */

/* What infer and evaluate have in common. */
typedef struct reading {
    uint32_t sweeps, burn_in;
    uint64_t seed;
    cli_out out;
    cli_corpus_options read;
    strads_lda_model *model;
    cli_corpus corpus;
    uint32_t *word, *count; /* of the longest document */
} reading;

#define DRAW_OPTIONS(type, member, of)                         \
    {.name = "sweeps",                                         \
     .kind = STRADS_OPTION_U32,                                \
     .offset = offsetof(type, member.sweeps),                  \
     .metavar = "N",                                           \
     .help = of "draws of every token (default: 50)",          \
     .min = 1,                                                 \
     .max = 1e9},                                              \
        {.name = "burn-in",                                    \
         .kind = STRADS_OPTION_U32,                            \
         .offset = offsetof(type, member.burn_in),             \
         .metavar = "N",                                       \
         .help = "of them not averaged (default: 10)",         \
         .max = 1e9},                                          \
    {                                                          \
        .name = "seed", .kind = STRADS_OPTION_U64,             \
        .offset = offsetof(type, member.seed), .metavar = "S", \
        .help = "of the draws (default: 0)"                    \
    }

static strads_err read_documents(reading *r, const char *const *path)
{
    if (r->burn_in >= r->sweeps) {
        return strads_fail(STRADS_EINVAL,
                           "--burn-in %" PRIu32 ": expected fewer than "
                           "--sweeps %" PRIu32,
                           r->burn_in, r->sweeps);
    }
    strads_err err =
        r->out.path ? sti_atomic_file_check(r->out.path) : STRADS_OK;
    if (!err) {
        err = strads_lda_model_read(path[0], &r->model);
    }
    if (!err) {
        err = cli_corpus_read(r->model, path[1], &r->read, &r->corpus);
    }
    r->word = calloc(r->corpus.longest + 1, sizeof *r->word);
    r->count = calloc(r->corpus.longest + 1, sizeof *r->count);
    return err || (r->word && r->count)
               ? err
               : strads_fail(STRADS_ENOMEM, "no memory left for a document");
}

static void reading_free(reading *r)
{
    strads_lda_model_free(r->model);
    cli_corpus_free(&r->corpus);
    free(r->word);
    free(r->count);
}

static strads_lda_draws draws_of(const reading *r)
{
    return (strads_lda_draws){.sweeps = r->sweeps,
                              .burn_in = r->burn_in,
                              .seed = r->seed};
}

/* ---- infer --------------------------------------------------------------- */

typedef struct inference {
    reading r;
    const char *documents_path;
    bool quiet;
    strads_names *documents; /* their names, or NULL */
    double *theta;
} inference;

static const strads_option infer_table[] = {
    DRAW_OPTIONS(inference, r, ""),
    CLI_OPTIONS_OUT(inference, r.out, "csv"),
    {.name = "documents",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(inference, documents_path),
     .metavar = "FILE",
     .help = "names of the documents, one a line, not for npy (none)"},
    CLI_OPTION_QUIET(offsetof(inference, quiet)),
    {.name = NULL},
};

/* text and csv have no header, and a name only where there are names. */
static strads_err put_inference(void *arg, FILE *out)
{
    inference *f = arg;
    const uint32_t topics = f->r.model->topics;
    const uint64_t documents = strads_data_rows(f->r.corpus.data);
    const strads_lda_draws draws = draws_of(&f->r);
    const cli_format format = cli_format_of(&f->r.out);
    const bool named = f->documents && format != CLI_FORMAT_NPY;
    const bool first = named || format == CLI_FORMAT_JSON;
    const cli_column columns[] = {{"document", named ? CLI_STRING : CLI_COUNT,
                                   0},
                                  {"topics", CLI_NUMBER, topics}};
    cli_table t = {.out = out,
                   .format = format,
                   .column = first ? columns : columns + 1,
                   .n = first ? 2 : 1,
                   .rows = documents,
                   .digits = 9,
                   .bare = true};
    strads_err err = cli_table_begin(&t);
    for (uint32_t d = 0; d < documents && !err; d++) {
        strads_lda_words words =
            cli_corpus_words(&f->r.corpus, d, f->r.word, f->r.count);
        err = strads_lda_infer(f->r.model, &draws, &words, f->theta);
        if (!err && named) {
            cli_table_text(&t, strads_names_at(f->documents, d));
        } else if (!err && first) {
            cli_table_count(&t, d);
        }
        for (uint32_t k = 0; k < topics && !err; k++) {
            cli_table_number(&t, f->theta[k]);
        }
    }
    return err;
}

static strads_err name_documents(inference *f)
{
    const uint64_t rows = strads_data_rows(f->r.corpus.data);
    strads_err err = strads_names_read(f->documents_path, &f->documents);
    if (!err && strads_names_count(f->documents) != rows) {
        err = strads_fail(STRADS_EMISMATCH,
                          "--documents %s: has %" PRIu32
                          " names, there are %" PRIu64 " documents",
                          f->documents_path, strads_names_count(f->documents),
                          rows);
    }
    return err;
}

static strads_err infer(void *arg, const char *const *path)
{
    inference *f = arg;
    strads_err err = read_documents(&f->r, path);
    if (!err && f->documents_path) {
        err = name_documents(f);
    }
    if (err) {
        return err;
    }
    f->theta = calloc(f->r.model->topics, sizeof *f->theta);
    if (!f->theta) {
        return strads_fail(STRADS_ENOMEM, "no memory left for a document");
    }
    cli_corpus_tell(&f->r.corpus, f->quiet);
    return cli_output(f->r.out.path, put_inference, f);
}

int cli_lda_infer(int argc, char **argv)
{
    inference f = {.r = {.sweeps = 50, .burn_in = 10, .out.format = "csv"}};
    const cli_syntax syntax = {
        .name = "lda infer",
        .args = "MODEL DATA",
        .summary = "Writes the shares of the model's topics in each document. "
                   "Words that the model does not have count nothing.",
        .groups = {{NULL, infer_table, &f},
                   {"Data:", cli_corpus_table, &f.r.read}},
    };
    const int code = cli_run(&syntax, argc, argv, infer, &f);
    strads_names_free(f.documents);
    free(f.theta);
    reading_free(&f.r);
    return code;
}

/* ---- evaluate ------------------------------------------------------------- */

typedef struct evaluation {
    reading r;
    uint32_t particles, words;
    const char *assignments;
    uint32_t *top; /* [topics x words] */
    double *score, *umass, *npmi;
    strads_lda_score completion, left_to_right;
    strads_lda_joint joint;
} evaluation;

static const strads_option evaluate_table[] = {
    DRAW_OPTIONS(evaluation, r, "completion: "),
    {.name = "particles",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(evaluation, particles),
     .metavar = "N",
     .help = "left to right: time grows with the square of a document's "
             "length (default: 0, not done)",
     .max = 1e6},
    {.name = "words",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(evaluation, words),
     .metavar = "N",
     .help = "coherence: of so many top words (default: 10)",
     .min = 2,
     .max = 1000},
    {.name = "assignments",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(evaluation, assignments),
     .metavar = "FILE",
     .help = "their likelihood, too: lines `N word:topic ...` (none)"},
    CLI_OPTIONS_OUT(evaluation, r.out, "text"),
    {.name = NULL},
};

/* Of documents one by one: half of each from its other half, or from left to
 * right. */
static strads_err score_documents(evaluation *e, bool completion,
                                  strads_lda_score *all)
{
    const strads_lda_draws draws = draws_of(&e->r);
    strads_err err = STRADS_OK;
    for (uint64_t d = 0; d < strads_data_rows(e->r.corpus.data) && !err; d++) {
        strads_lda_score one = {0};
        strads_lda_words words =
            cli_corpus_words(&e->r.corpus, d, e->r.word, e->r.count);
        err = completion ? strads_lda_complete(e->r.model, &draws, &words, &one)
                         : strads_lda_left_to_right(e->r.model, e->particles,
                                                    e->r.seed, &words, &one);
        all->tokens += one.tokens;
        all->log_likelihood += one.log_likelihood;
    }
    return err;
}

static strads_err judge_topics(evaluation *e)
{
    const size_t topics = e->r.model->topics, places = topics * e->words;
    e->top = calloc(places, sizeof *e->top);
    e->score = calloc(places, sizeof *e->score);
    e->umass = calloc(topics, sizeof *e->umass);
    e->npmi = calloc(topics, sizeof *e->npmi);
    if (!e->top || !e->score || !e->umass || !e->npmi) {
        return strads_fail(STRADS_ENOMEM, "no memory left to judge a model");
    }
    strads_err err =
        strads_lda_top_words(e->r.model, 1, e->words, e->top, e->score);
    return err ? err
               : strads_lda_coherence((uint32_t)topics, e->words, e->top,
                                      e->r.corpus.data, e->umass, e->npmi);
}

static double mean_of(const double *x, uint32_t n)
{
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!isnan(x[k])) {
            sum += x[k];
            known++;
        }
    }
    return known > 0 ? sum / known : NAN;
}

static double per_token(double log_likelihood, uint64_t tokens)
{
    return tokens > 0 ? log_likelihood / (double)tokens : NAN;
}

/* ---- in JSON: a line a measure, a line a topic ---------------------------- */

static cli_json begin_measure(FILE *out, const char *name)
{
    cli_json j = {.out = out};
    cli_json_open(&j, NULL, '{');
    cli_json_string(&j, "measure", name);
    return j;
}

static void end_measure(cli_json *j)
{
    cli_json_close(j, '}');
    (void)fputc('\n', j->out);
}

static void put_json_score(FILE *out, const char *name,
                           const strads_lda_score *score)
{
    const double mean = per_token(score->log_likelihood, score->tokens);
    cli_json j = begin_measure(out, name);
    cli_json_count(&j, "tokens", score->tokens);
    cli_json_number(&j, "log_likelihood", score->log_likelihood);
    if (score->tokens > 0) {
        cli_json_number(&j, "log_likelihood_per_token", mean);
        cli_json_number(&j, "perplexity", exp(-mean));
    }
    end_measure(&j);
}

static void put_json_coherence(const evaluation *e, FILE *out)
{
    const strads_lda_model *m = e->r.model;
    char room[CLI_NAME_SIZE];
    cli_json j = begin_measure(out, "coherence");
    cli_json_count(&j, "words", e->words);
    cli_json_number(&j, "umass", mean_of(e->umass, m->topics));
    cli_json_number(&j, "npmi", mean_of(e->npmi, m->topics));
    end_measure(&j);
    for (uint32_t k = 0; k < m->topics; k++) {
        const uint32_t *top = e->top + (size_t)k * e->words;
        j = (cli_json){.out = out};
        cli_json_open(&j, NULL, '{');
        cli_json_count(&j, "topic", k);
        cli_json_count(&j, "tokens", m->total[k]);
        cli_json_number(&j, "umass", e->umass[k]);
        cli_json_number(&j, "npmi", e->npmi[k]);
        cli_json_open(&j, "words", '[');
        for (uint32_t i = 0; i < words_found(top, e->words); i++) {
            cli_json_string(&j, NULL, word_name(m, top[i], room));
        }
        cli_json_close(&j, ']');
        end_measure(&j);
    }
}

static void put_json(const evaluation *e, FILE *out)
{
    cli_json j = begin_measure(out, "documents");
    cli_json_count(&j, "documents", strads_data_rows(e->r.corpus.data));
    cli_json_count(&j, "tokens", e->r.corpus.tokens);
    cli_json_count(&j, "unknown_tokens", e->r.corpus.unknown);
    end_measure(&j);
    put_json_score(out, "completion", &e->completion);
    if (e->particles > 0) {
        put_json_score(out, "left_to_right", &e->left_to_right);
    }
    if (e->assignments) {
        j = begin_measure(out, "assignments");
        cli_json_count(&j, "documents", e->joint.documents);
        cli_json_count(&j, "tokens", e->joint.tokens);
        cli_json_number(&j, "log_likelihood", e->joint.log_likelihood);
        cli_json_number(&j, "log_likelihood_per_token",
                        per_token(e->joint.log_likelihood, e->joint.tokens));
        end_measure(&j);
    }
    put_json_coherence(e, out);
}

/* ---- for people ------------------------------------------------------------ */

static void put_text_score(FILE *out, const char *title,
                           const strads_lda_score *score)
{
    const double mean = per_token(score->log_likelihood, score->tokens);
    if (score->tokens == 0) {
        (void)fprintf(out,
                      "%-14s not to be had: there are no tokens to judge by\n",
                      title);
        return;
    }
    (void)fprintf(out,
                  "%-14s perplexity %.6g, log-likelihood %.6f a token, of "
                  "%" PRIu64 " tokens\n",
                  title, exp(-mean), mean, score->tokens);
}

enum { FIGURE_SIZE = 32 };

/* So many decimals, or "-" where these documents do not tell. */
static const char *figure(double x, int decimals, char out[FIGURE_SIZE])
{
    (void)snprintf(out, FIGURE_SIZE, "%.*f", decimals, x);
    return isnan(x) ? "-" : out;
}

static void put_text(const evaluation *e, FILE *out)
{
    const strads_lda_model *m = e->r.model;
    char umass[FIGURE_SIZE], npmi[FIGURE_SIZE], room[CLI_NAME_SIZE];
    (void)fprintf(out,
                  "documents      %" PRIu64 " with %" PRIu64 " tokens; %" PRIu64
                  " more are of words that the model does not have\n",
                  strads_data_rows(e->r.corpus.data), e->r.corpus.tokens,
                  e->r.corpus.unknown);
    put_text_score(out, "completion", &e->completion);
    if (e->particles > 0) {
        put_text_score(out, "left to right", &e->left_to_right);
    }
    if (e->assignments) {
        (void)fprintf(out,
                      "assignments    of %" PRIu64 " documents, %" PRIu64
                      " tokens: log-likelihood ",
                      e->joint.documents, e->joint.tokens);
        cli_csv_number(out, e->joint.log_likelihood);
        (void)fputs(", ", out);
        cli_csv_number(out,
                       per_token(e->joint.log_likelihood, e->joint.tokens));
        (void)fputs(" a token\n", out);
    }
    (void)fprintf(out,
                  "coherence      UMass %s, NPMI %s: means over topics, "
                  "top %" PRIu32 " words, documents as windows\n"
                  "topic   share     UMass     NPMI words\n",
                  figure(mean_of(e->umass, m->topics), 2, umass),
                  figure(mean_of(e->npmi, m->topics), 4, npmi), e->words);
    for (uint32_t k = 0; k < m->topics; k++) {
        const uint32_t *top = e->top + (size_t)k * e->words;
        (void)fprintf(out, "%5" PRIu32 " %5.1f %% %9s %8s ", k,
                      100 * (double)m->total[k] / (double)m->tokens,
                      figure(e->umass[k], 2, umass),
                      figure(e->npmi[k], 4, npmi));
        for (uint32_t i = 0; i < words_found(top, e->words); i++) {
            (void)fprintf(out, "%s%s", i ? " " : "",
                          word_name(m, top[i], room));
        }
        (void)fputc('\n', out);
    }
}

/* ---- as a table ------------------------------------------------------------ */

static uint32_t add_score(cli_measure *out, const char *part,
                          const strads_lda_score *score)
{
    const double mean = per_token(score->log_likelihood, score->tokens);
    out[0] = (cli_measure){"tokens", part, (double)score->tokens, NAN, NAN};
    out[1] =
        (cli_measure){"log_likelihood", part, score->log_likelihood, NAN, NAN};
    out[2] = (cli_measure){"perplexity", part, exp(-mean), NAN, NAN};
    return 3;
}

/* The figures of all, then each topic's coherence. */
static strads_err put_measures(const evaluation *e, FILE *out,
                               cli_format format)
{
    const uint32_t topics = e->r.model->topics;
    cli_measure *m = calloc(2 * (size_t)topics + 16, sizeof *m);
    char(*name)[16] = calloc(topics, sizeof *name);
    uint32_t n = 0;
    strads_err err = STRADS_ENOMEM;
    if (m && name) {
        n += add_score(m + n, "completion", &e->completion);
        if (e->particles > 0) {
            n += add_score(m + n, "left_to_right", &e->left_to_right);
        }
        if (e->assignments) {
            m[n++] = (cli_measure){"log_likelihood", "assignments",
                                   e->joint.log_likelihood, NAN, NAN};
        }
        m[n++] =
            (cli_measure){"umass", "mean", mean_of(e->umass, topics), NAN, NAN};
        m[n++] =
            (cli_measure){"npmi", "mean", mean_of(e->npmi, topics), NAN, NAN};
        for (uint32_t k = 0; k < topics; k++) {
            (void)snprintf(name[k], sizeof name[k], "%" PRIu32, k);
            m[n++] = (cli_measure){"umass", name[k], e->umass[k], NAN, NAN};
            m[n++] = (cli_measure){"npmi", name[k], e->npmi[k], NAN, NAN};
        }
        err = cli_measures_write(out, format, m, n);
    } else {
        err = strads_fail(STRADS_ENOMEM, "no memory left for a table");
    }
    free(m);
    free(name);
    return err;
}

static strads_err put_evaluation(void *arg, FILE *out)
{
    const evaluation *e = arg;
    const cli_format format = cli_format_of(&e->r.out);
    if (format == CLI_FORMAT_TEXT) {
        put_text(e, out);
    } else if (format == CLI_FORMAT_JSON) {
        put_json(e, out);
    } else {
        return put_measures(e, out, format);
    }
    return STRADS_OK;
}

static strads_err evaluate(void *arg, const char *const *path)
{
    evaluation *e = arg;
    strads_err err = read_documents(&e->r, path);
    if (!err) {
        err = score_documents(e, true, &e->completion);
    }
    if (!err && e->particles > 0) {
        err = score_documents(e, false, &e->left_to_right);
    }
    if (!err && e->assignments) {
        err = strads_lda_joint_of(e->r.model, e->assignments, &e->joint);
    }
    if (!err) {
        err = judge_topics(e);
    }
    return err ? err : cli_output(e->r.out.path, put_evaluation, e);
}

int cli_lda_evaluate(int argc, char **argv)
{
    evaluation e = {.r = {.sweeps = 50, .burn_in = 10, .out.format = "text"},
                    .words = 10};
    const cli_syntax syntax = {
        .name = "lda evaluate",
        .args = "MODEL DATA",
        .summary = "Tells how well a topic model predicts documents (half of "
                   "each from the other half, or from left to right), and how "
                   "well its topics' top words go together in them.",
        .groups = {{NULL, evaluate_table, &e},
                   {"Data:", cli_corpus_table, &e.r.read}},
    };
    const int code = cli_run(&syntax, argc, argv, evaluate, &e);
    free(e.top);
    free(e.score);
    free(e.umass);
    free(e.npmi);
    reading_free(&e.r);
    return code;
}
