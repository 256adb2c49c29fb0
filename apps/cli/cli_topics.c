/* strads lda topics: the words of topics by probability and by FREX, topics
 * that are nearly the same, the documents that are typical of each, and the
 * files of --matrix and --pyldavis. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli_documents.h"
#include "cli_gsl.h"
#include "cli_lda.h"
#include "report_topics.h"

/* ---- all probabilities -------------------------------------------------- */

/* phi [topics x words], (n_wk + beta) / (n_k + V beta). The extension of the
 * file selects the format. */
typedef struct matrix {
    const strads_lda_model *model;
    cli_out as;
    uint64_t *start; /* [topics + 2] offsets of the topics' pairs */
    uint32_t *word, *count;
    double *phi; /* [words] of the current topic */
} matrix;

/* Sorts the counts by topic instead of by word. */
static strads_err turn_round(matrix *x)
{
    static const char what[] = "the topics";
    const strads_lda_model *m = x->model;
    const uint64_t pairs = m->start[m->words];
    CLI_TRY(
        cli_reserve((size_t)m->topics + 2, sizeof *x->start, what, &x->start));
    CLI_TRY(cli_reserve(pairs, sizeof *x->word, what, &x->word));
    CLI_TRY(cli_reserve(pairs, sizeof *x->count, what, &x->count));
    CLI_TRY(cli_reserve(m->words, sizeof *x->phi, what, &x->phi));
    for (uint64_t i = 0; i < pairs; i++)
        x->start[m->topic[i] + 2]++;
    for (uint32_t k = 1; k <= m->topics; k++)
        x->start[k + 1] += x->start[k];
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
    const double beta = strads_lda_beta(m);
    const double all = (double)m->total[topic] + (double)m->words * beta;
    for (uint64_t w = 0; w < m->words; w++)
        x->phi[w] = beta / all;
    for (uint64_t i = x->start[topic]; i < x->start[topic + 1]; i++)
        x->phi[x->word[i]] = (x->count[i] + beta) / all;
}

/* Only the CSV header lists the words. */
static strads_err put_matrix(void *arg, FILE *out)
{
    matrix *x = arg;
    const strads_lda_model *m = x->model;
    const cli_format format = cli_format_of(&x->as);
    const bool npy = format == CLI_FORMAT_NPY;
    const cli_column columns[] = {{"topic", CLI_COUNT, 0},
                                  {"probabilities", CLI_NUMBER,
                                   (uint32_t)m->words}};
    cli_table t = {.column = npy ? columns + 1 : columns,
                   .n = npy ? 1 : 2,
                   .rows = m->topics,
                   .digits = 9,
                   .bare = true};
    char buffer[CLI_NAME_SIZE];
    if (format == CLI_FORMAT_CSV) {
        (void)fputs("topic", out);
        for (uint32_t w = 0; w < m->words; w++) {
            (void)fputc(',', out);
            cli_csv_text(out, cli_word_name(m, w, buffer));
        }
        (void)fputc('\n', out);
    }
    strads_err err = cli_table_begin(&t, &x->as, out);
    for (uint32_t k = 0; k < m->topics && !err; k++) {
        fill_topic(x, k);
        if (!npy)
            cli_table_count(&t, k);
        for (uint64_t w = 0; w < m->words; w++)
            cli_table_number(&t, x->phi[w]);
    }
    return err;
}

static strads_err write_matrix(const strads_lda_model *model, const char *path)
{
    const char *dot = strrchr(path, '.');
    matrix x = {.model = model, .as = {.format = dot ? dot + 1 : ""}};
    if (dot == path ||
        (strcmp(x.as.format, "csv") != 0 && strcmp(x.as.format, "json") != 0 &&
         strcmp(x.as.format, "npy") != 0)) {
        return strads_fail(STRADS_EINVAL,
                           "--matrix %s: expected a name that ends with .npy, "
                           ".csv or .json",
                           path);
    }
    CLI_TRY(turn_round(&x));
    return cli_output(path, put_matrix, &x);
}

/* ---- topics ------------------------------------------------------------- */

/* Documents that are named for a topic. */
enum { TYPICAL = 3 };

/* Topics are nearly the same if this share of their words is common. */
static const double SAME_SHARE = 0.6;

typedef struct top_words {
    cli_use use;
    uint32_t words;
    double relevance, frex_weight;
    bool details;
    const char *vocab, *matrix, *pyldavis, *documents, *time;
    cli_corpus_options read;
    uint64_t seed;
    strads_lda_model *model;
    strads_lda_labels periods; /* of --time */
    double *tokens;        /* [periods x topics] of the documents of a period */
    uint64_t *in_period;   /* [periods] documents */
    cli_corpus corpus;     /* of --documents */
    uint32_t *word, *frex; /* [topics x words] */
    double *score, *frex_score, *exclusivity;
    uint64_t *start;   /* [words + 2] see invert_lists */
    uint32_t *lists;   /* [topics x words] */
    uint32_t *common;  /* [topics] words in common with the present topic */
    uint64_t *typical; /* [topics x TYPICAL] documents, the first ones best */
    double *share;     /* [topics x TYPICAL] their shares; 0: no document */
} top_words;

static const strads_option topics_table[] = {
    CLI_U32(top_words, words, "words", "N", "words of each topic (default: 10)",
            1, 10000),
    CLI_F64(top_words, relevance, "relevance", "L",
            "1: most probable words; lower: more typical ones (1)", 0, 1),
    CLI_FLAG(top_words, details, "details",
             "text: also words by FREX, exclusivity, typical documents "
             "(default: no)"),
    CLI_F64(top_words, frex_weight, "frex-weight", "W",
            "weight of exclusivity in FREX, of frequency 1 - W (0.5)", 0, 1),
    CLI_TEXT(top_words, vocab, "vocab", "FILE",
             "the words' names, one a line (the model's, if any)"),
    CLI_TEXT(top_words, matrix, "matrix", "FILE",
             "all probabilities, topics x words: .npy, .csv or .json (none)"),
    CLI_TEXT(top_words, pyldavis, "pyldavis", "FILE",
             "a map of the topics for pyLDAvis: its prepared data (none)"),
    {.name = NULL},
};

static const strads_option documents_table[] = {
    CLI_TEXT(top_words, documents, "documents", "DATA",
             "name the documents with the largest shares of each topic (none)"),
    CLI_CHOICE(top_words, read.kind, "kind", "KIND",
               "corpus (counts), text, documents: either, by its first line "
               "(default: documents)",
               "documents|corpus|text"),
    CLI_TEXT(top_words, read.column, "text-column", "NAME",
             "DATA is a table, and this the column with a document a row"),
    CLI_TEXT(top_words, time, "time", "FILE",
             "a period of each document, one a line: print the topics' shares "
             "of the tokens of each period instead (none)"),
    STRADS_OPTION(U64, top_words, seed, "seed", "S",
                  "seed of the documents' shares (default: 0)", .min = 0),
    {.name = NULL},
};

static double mean_exclusivity(const top_words *t, uint32_t topic)
{
    const size_t first = (size_t)topic * t->words;
    const uint32_t n = cli_words_found(t->word + first, t->words);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += t->exclusivity[first + i];
    return n > 0 ? sum / n : NAN;
}

/* ---- topics that are nearly the same ------------------------------------- */

/* Which topics list a word: lists[start[w]] .. lists[start[w + 1] - 1]. */
static strads_err invert_lists(top_words *t)
{
    static const char what[] = "the words";
    const size_t places = (size_t)t->model->topics * t->words;
    const size_t words = t->model->words;
    CLI_TRY(cli_reserve(words + 2, sizeof *t->start, what, &t->start));
    CLI_TRY(cli_reserve(places, sizeof *t->lists, what, &t->lists));
    CLI_TRY(cli_reserve(t->model->topics, sizeof *t->common, what, &t->common));
    for (size_t i = 0; i < places; i++)
        if (t->word[i] != STRADS_LDA_NO_WORD)
            t->start[t->word[i] + 2]++;
    for (size_t w = 1; w <= words; w++)
        t->start[w + 1] += t->start[w];
    for (size_t i = 0; i < places; i++)
        if (t->word[i] != STRADS_LDA_NO_WORD)
            t->lists[t->start[t->word[i] + 1]++] = (uint32_t)(i / t->words);
    return STRADS_OK;
}

/* Calls `put` for each topic after `topic` that shares at least SAME_SHARE of
 * the longer list of words. */
static void visit_similar(const top_words *t, uint32_t topic,
                          void (*put)(void *arg, uint32_t topic, uint32_t other,
                                      uint32_t common, uint32_t of),
                          void *arg)
{
    const uint32_t topics = t->model->topics;
    const uint32_t *list = t->word + (size_t)topic * t->words;
    const uint32_t n = cli_words_found(list, t->words);
    memset(t->common, 0, topics * sizeof *t->common);
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t at = t->start[list[i]]; at < t->start[list[i] + 1]; at++)
            t->common[t->lists[at]]++;
    for (uint32_t k = topic + 1; k < topics; k++) {
        if (t->common[k] < 2)
            continue;
        const uint32_t m =
            cli_words_found(t->word + (size_t)k * t->words, t->words);
        const uint32_t of = n > m ? n : m;
        if (t->common[k] >= SAME_SHARE * of)
            put(arg, topic, k, t->common[k], of);
    }
}

static void say_similar(void *arg, uint32_t topic, uint32_t other,
                        uint32_t common, uint32_t of)
{
    (void)arg;
    cli_say(false,
            "topics %" PRIu32 " and %" PRIu32 " share %" PRIu32 " of %" PRIu32
            " words",
            topic, other, common, of);
}

static void put_similar_topic(void *arg, uint32_t topic, uint32_t other,
                              uint32_t common, uint32_t of)
{
    cli_json *j = arg;
    (void)topic;
    cli_json_open(j, NULL, '{');
    cli_json_count(j, "topic", other);
    cli_json_count(j, "common", common);
    cli_json_count(j, "of", of);
    cli_json_close(j, '}');
}

static strads_err say_all_similar(const void *state)
{
    const top_words *t = state;
    if (cli_format_of(&t->use.out) != CLI_FORMAT_JSON && !t->time)
        for (uint32_t k = 0; k < t->model->topics; k++)
            visit_similar(t, k, say_similar, NULL);
    return STRADS_OK;
}

/* ---- typical documents --------------------------------------------------- */

static void keep_typical(top_words *t, uint32_t topic, uint64_t document,
                         double share)
{
    uint64_t *best = t->typical + (size_t)topic * TYPICAL;
    double *of = t->share + (size_t)topic * TYPICAL;
    uint32_t at = TYPICAL;
    for (; at > 0 && of[at - 1] < share; at--) {
        if (at < TYPICAL) {
            best[at] = best[at - 1];
            of[at] = of[at - 1];
        }
    }
    if (at < TYPICAL) {
        best[at] = document;
        of[at] = share;
    }
}

/* ---- topics over time ---------------------------------------------------- */

static strads_err read_periods(top_words *t)
{
    static const char what[] = "the periods";
    CLI_TRY(strads_lda_labels_read(t->time, strads_data_rows(t->corpus.data),
                                   NULL, &t->periods));
    const size_t n = strads_names_count(t->periods.classes);
    CLI_TRY(
        cli_reserve(n * t->model->topics, sizeof *t->tokens, what, &t->tokens));
    return cli_reserve(n, sizeof *t->in_period, what, &t->in_period);
}

/* Adds the tokens of document d to its periods. */
static void add_to_periods(top_words *t, uint64_t d,
                           const strads_lda_words *words, const double *theta)
{
    const strads_lda_labels *of = &t->periods;
    const uint32_t topics = t->model->topics;
    double tokens = 0;
    for (uint32_t i = 0; i < words->n; i++)
        tokens += words->count[i];
    for (uint64_t i = of->start[d]; i < of->start[d + 1]; i++) {
        double *sum = t->tokens + (size_t)of->label[i] * topics;
        t->in_period[of->label[i]]++;
        for (uint32_t k = 0; k < topics; k++)
            sum[k] += tokens * theta[k];
    }
}

static strads_err put_periods(const top_words *t, FILE *out)
{
    const uint32_t topics = t->model->topics;
    const cli_column columns[] = {{"period", CLI_STRING, 0},
                                  {"documents", CLI_COUNT, 0},
                                  {"tokens", CLI_NUMBER, 0},
                                  {"topic", CLI_NUMBER, topics}};
    cli_table table = {.column = columns,
                       .n = 4,
                       .rows = strads_names_count(t->periods.classes),
                       .digits = 6};
    CLI_TRY(cli_table_begin(&table, &t->use.out, out));
    for (uint32_t p = 0; p < table.rows; p++) {
        const double *sum = t->tokens + (size_t)p * topics;
        double all = 0;
        for (uint32_t k = 0; k < topics; k++)
            all += sum[k];
        cli_table_text(&table, strads_names_at(t->periods.classes, p));
        cli_table_count(&table, t->in_period[p]);
        cli_table_number(&table, round(all));
        for (uint32_t k = 0; k < topics; k++)
            cli_table_number(&table, all > 0 ? sum[k] / all : 0);
    }
    return STRADS_OK;
}

/* ---- the documents ------------------------------------------------------- */

static strads_err infer_documents(top_words *t)
{
    static const char what[] = "the documents";
    const strads_lda_draws draws = {.sweeps = 50,
                                    .burn_in = 10,
                                    .seed = t->seed};
    const uint32_t topics = t->model->topics;
    const size_t places = (size_t)topics * TYPICAL;
    uint32_t *word, *count;
    double *theta;
    CLI_TRY(cli_corpus_read(t->model, t->documents, &t->read, &t->corpus));
    CLI_TRY(cli_reserve(t->corpus.longest, sizeof *word, what, &word));
    CLI_TRY(cli_reserve(t->corpus.longest, sizeof *count, what, &count));
    CLI_TRY(cli_reserve(topics, sizeof *theta, what, &theta));
    CLI_TRY(cli_reserve(places, sizeof *t->typical, what, &t->typical));
    CLI_TRY(cli_reserve(places, sizeof *t->share, what, &t->share));
    if (t->time)
        CLI_TRY(read_periods(t));
    for (uint64_t d = 0; d < strads_data_rows(t->corpus.data); d++) {
        const strads_lda_words words =
            cli_corpus_words(&t->corpus, d, word, count);
        CLI_TRY(strads_lda_infer(t->model, &draws, &words, theta));
        for (uint32_t k = 0; k < topics && words.n > 0; k++)
            keep_typical(t, k, d, theta[k]);
        if (t->time)
            add_to_periods(t, d, &words, theta);
    }
    return STRADS_OK;
}

/* ---- output -------------------------------------------------------------- */

static void put_text_details(const top_words *t, uint32_t topic, FILE *out)
{
    const size_t first = (size_t)topic * t->words;
    const size_t at = (size_t)topic * TYPICAL;
    char buffer[CLI_NAME_SIZE];
    (void)fputs("     by FREX:", out);
    for (uint32_t i = 0; i < cli_words_found(t->frex + first, t->words); i++) {
        (void)fprintf(out, " %s",
                      cli_word_name(t->model, t->frex[first + i], buffer));
    }
    (void)fprintf(out, "\n     exclusivity %.2f", mean_exclusivity(t, topic));
    for (uint32_t i = 0; t->share && i < TYPICAL && t->share[at + i] > 0; i++) {
        (void)fprintf(out, "%s %" PRIu64 " (%.0f %%)", i ? "," : "; documents",
                      t->typical[at + i], 100 * t->share[at + i]);
    }
    (void)fputc('\n', out);
}

static void put_text_topic(const top_words *t, uint32_t topic, FILE *out)
{
    const uint32_t *word = t->word + (size_t)topic * t->words;
    char buffer[CLI_NAME_SIZE];
    (void)fprintf(out, "%4" PRIu32 " %5.1f %%", topic,
                  100 * (double)t->model->total[topic] /
                      strads_lda_mass(t->model));
    if (cli_topic_name(t->model, topic))
        (void)fprintf(out, " %s:", cli_topic_name(t->model, topic));
    for (uint32_t i = 0; i < cli_words_found(word, t->words); i++)
        (void)fprintf(out, " %s", cli_word_name(t->model, word[i], buffer));
    (void)fputc('\n', out);
    if (t->details)
        put_text_details(t, topic, out);
}

static void put_numbers(cli_json *j, const char *name, const double *x,
                        uint32_t n)
{
    cli_json_open(j, name, '[');
    for (uint32_t i = 0; i < n; i++)
        cli_json_number(j, NULL, x[i]);
    cli_json_close(j, ']');
}

static void put_json_topic(const top_words *t, uint32_t topic, FILE *out)
{
    const size_t first = (size_t)topic * t->words;
    const size_t at = (size_t)topic * TYPICAL;
    const uint32_t n = cli_words_found(t->word + first, t->words);
    cli_json j = cli_json_begin(out);
    cli_json_count(&j, "topic", topic);
    if (cli_topic_name(t->model, topic))
        cli_json_string(&j, "name", cli_topic_name(t->model, topic));
    cli_json_count(&j, "tokens", t->model->total[topic]);
    cli_json_number(&j, "share",
                    (double)t->model->total[topic] / strads_lda_mass(t->model));
    cli_json_open(&j, "words", '[');
    cli_words_put(t->model, t->word + first, t->words, &j);
    cli_json_close(&j, ']');
    put_numbers(&j, "scores", t->score + first, n);
    cli_json_open(&j, "frex", '[');
    cli_words_put(t->model, t->frex + first, t->words, &j);
    cli_json_close(&j, ']');
    put_numbers(&j, "frex_scores", t->frex_score + first, n);
    cli_json_number(&j, "exclusivity", mean_exclusivity(t, topic));
    cli_json_open(&j, "similar", '[');
    visit_similar(t, topic, put_similar_topic, &j);
    cli_json_close(&j, ']');
    if (t->share) {
        cli_json_open(&j, "documents", '[');
        for (uint32_t i = 0; i < TYPICAL && t->share[at + i] > 0; i++) {
            cli_json_open(&j, NULL, '{');
            cli_json_count(&j, "document", t->typical[at + i]);
            cli_json_number(&j, "share", t->share[at + i]);
            cli_json_close(&j, '}');
        }
        cli_json_close(&j, ']');
    }
    cli_json_end(&j);
}

static void put_topic_rows(const top_words *t, uint32_t topic, cli_table *table)
{
    const size_t first = (size_t)topic * t->words;
    char buffer[CLI_NAME_SIZE];
    for (size_t i = first;
         i < first + cli_words_found(t->word + first, t->words); i++) {
        cli_table_count(table, topic);
        cli_table_count(table, i - first);
        cli_table_count(table, t->word[i]);
        cli_table_text(table, cli_word_name(t->model, t->word[i], buffer));
        cli_table_number(table, t->score[i]);
        cli_table_number(table, t->exclusivity[i]);
        cli_table_count(table, t->frex[i]);
        cli_table_text(table, cli_word_name(t->model, t->frex[i], buffer));
        cli_table_number(table, t->frex_score[i]);
        if (t->model->topic_name) {
            const char *of = cli_topic_name(t->model, topic);
            cli_table_text(table, of ? of : "");
        }
    }
}

static strads_err put_topics(void *arg, FILE *out)
{
    static const cli_column columns[] = {
        {"topic", CLI_COUNT, 0},       {"rank", CLI_COUNT, 0},
        {"word", CLI_COUNT, 0},        {"name", CLI_STRING, 0},
        {"score", CLI_NUMBER, 0},      {"exclusivity", CLI_NUMBER, 0},
        {"frex_word", CLI_COUNT, 0},   {"frex_name", CLI_STRING, 0},
        {"frex_score", CLI_NUMBER, 0}, {"topic_name", CLI_STRING, 0}};
    const top_words *t = arg;
    const uint32_t all = sizeof columns / sizeof *columns;
    cli_table table = {.column = columns,
                       .n = t->model->topic_name ? all : all - 1,
                       .digits = 9};
    const uint32_t n = t->model->topics;
    if (t->time)
        return put_periods(t, out);
    for (uint32_t k = 0; k < n; k++)
        table.rows += cli_words_found(t->word + (size_t)k * t->words, t->words);
    const strads_err err = cli_table_begin(&table, &t->use.out, out);
    for (uint32_t k = 0; k < n && !err; k++)
        if (table.format == CLI_FORMAT_TEXT)
            put_text_topic(t, k, out);
        else if (table.format == CLI_FORMAT_JSON)
            put_json_topic(t, k, out);
        else
            put_topic_rows(t, k, &table);
    return err;
}

static strads_err read_vocab(top_words *t)
{
    strads_names *names = NULL;
    CLI_TRY(strads_names_read(t->vocab, &names));
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

static strads_err rank_words(top_words *t)
{
    static const char what[] = "the words";
    const size_t n = (size_t)t->model->topics * t->words;
    CLI_TRY(cli_reserve(n, sizeof *t->word, what, &t->word));
    CLI_TRY(cli_reserve(n, sizeof *t->score, what, &t->score));
    CLI_TRY(cli_reserve(n, sizeof *t->exclusivity, what, &t->exclusivity));
    CLI_TRY(cli_reserve(n, sizeof *t->frex, what, &t->frex));
    CLI_TRY(cli_reserve(n, sizeof *t->frex_score, what, &t->frex_score));
    CLI_TRY(strads_lda_top_words(t->model, t->relevance, t->words, t->word,
                                 t->score));
    CLI_TRY(
        strads_lda_exclusivity(t->model, t->words, t->word, t->exclusivity));
    CLI_TRY(strads_lda_frex(t->model, t->frex_weight, t->words, t->frex,
                            t->frex_score));
    return invert_lists(t);
}

static strads_err check_documents(const top_words *t)
{
    const char *given = t->read.kind     ? "--kind"
                        : t->read.column ? "--text-column"
                        : t->time        ? "--time"
                                         : NULL;
    return t->documents || !given
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s is of documents: add --documents DATA", given);
}

static strads_err read_topics(void *state, const char *const *path)
{
    top_words *t = state;
    CLI_TRY(check_documents(t));
    CLI_TRY(strads_lda_model_read(path[0], &t->model));
    if (t->vocab)
        CLI_TRY(read_vocab(t));
    CLI_TRY(rank_words(t));
    if (t->documents)
        CLI_TRY(infer_documents(t));
    if (t->matrix)
        CLI_TRY(write_matrix(t->model, t->matrix));
    if (!t->pyldavis)
        return STRADS_OK;
    CLI_TRY(cli_gsl_check("a map of the topics"));
    return cli_output(t->pyldavis, report_topics_pyldavis, t->model);
}

const cli_verb cli_lda_topics = {
    .size = sizeof(top_words),
    .initial =
        &(const top_words){.words = 10, .relevance = 1, .frex_weight = 0.5},
    .table = topics_table,
    .more = documents_table,
    .title = "Documents:",
    .usual = "text",
    .read = read_topics,
    .write = put_topics,
    .tell = say_all_similar,
};
