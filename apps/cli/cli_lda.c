/* strads lda infer, predict, show, evaluate: topics of new documents, and
 * measures of quality. */
#include "cli_lda.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_documents.h"

/* The name of a word or, without names, its number from 0. */
const char *cli_word_name(const strads_lda_model *m, uint32_t word,
                          char buffer[CLI_NAME_SIZE])
{
    return cli_name(m->names, word, 0, buffer);
}

const char *cli_topic_name(const strads_lda_model *m, uint32_t topic)
{
    return m->topic_name ? m->topic_name[topic] : NULL;
}

uint32_t cli_words_found(const uint32_t *word, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && word[n] != STRADS_LDA_NO_WORD)
        n++;
    return n;
}

void cli_words_put(const strads_lda_model *m, const uint32_t *word,
                   uint32_t most, cli_json *j)
{
    char buffer[CLI_NAME_SIZE];
    for (uint32_t i = 0; i < cli_words_found(word, most); i++)
        cli_json_string(j, NULL, cli_word_name(m, word[i], buffer));
}

/* Longest word of an interim line, in bytes; the rest is left out. */
enum { WORD_BYTES = 64 };

/* Writes the beginning of a text, in whole characters of UTF-8. */
static void put_beginning(cli_json *j, const char *text)
{
    char word[WORD_BYTES + 1];
    size_t n = strnlen(text, WORD_BYTES + 1);
    if (n > WORD_BYTES)
        for (n = WORD_BYTES; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    memcpy(word, text, n);
    word[n] = '\0';
    cli_json_string(j, NULL, word);
}

/* Begins the object of topic k, up to its list of words. */
static void open_topic(const strads_lda_model *m, uint32_t k, cli_json *j)
{
    cli_json_open(j, NULL, '{');
    cli_json_count(j, "topic", k);
    if (cli_topic_name(m, k))
        cli_json_string(j, "name", cli_topic_name(m, k));
    cli_json_number(j, "weight", (double)m->total[k] / strads_lda_mass(m));
    cli_json_open(j, "words", '[');
}

strads_err cli_lda_tell(const strads_lda_model *model, cli_log *log)
{
    enum { WORDS = 10 };
    const size_t n = (size_t)model->topics * WORDS;
    uint32_t *word = NULL;
    double *score = NULL;
    CLI_TRY(cli_reserve(n, sizeof *word, "the topics", &word));
    CLI_TRY(cli_reserve(n, sizeof *score, "the topics", &score));
    CLI_TRY(strads_lda_top_words(model, 1, WORDS, word, score));
    cli_json j = cli_log_line(log, "topics");
    cli_json_open(&j, "topics", '[');
    for (uint32_t k = 0; k < model->topics; k++) {
        open_topic(model, k, &j);
        cli_words_put(model, word + (size_t)k * WORDS, WORDS, &j);
        cli_json_close(&j, ']');
        cli_json_close(&j, '}');
    }
    cli_json_close(&j, ']');
    cli_log_end_line(log, &j);
    return STRADS_OK;
}

enum { LARGEST = 20 };

/* The topics with the most tokens, in this order; returns their number. */
static uint32_t find_largest(const strads_lda_model *m, uint32_t list[LARGEST])
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->topics; k++) {
        uint32_t at = n;
        while (at > 0 && m->total[k] > m->total[list[at - 1]])
            at--;
        if (at == LARGEST)
            continue;
        n += n < LARGEST;
        memmove(list + at + 1, list + at, (n - 1 - at) * sizeof *list);
        list[at] = k;
    }
    return n;
}

strads_err cli_lda_tell_interim(const strads_lda_model *model, uint64_t sweep,
                                cli_log *log)
{
    enum { WORDS = 8 };
    char buffer[CLI_NAME_SIZE];
    uint32_t list[LARGEST];
    uint32_t *word = calloc((size_t)model->topics * WORDS, sizeof *word);
    double *score = calloc((size_t)model->topics * WORDS, sizeof *score);
    const strads_err err =
        word && score ? strads_lda_top_words(model, 1, WORDS, word, score)
                      : strads_fail(STRADS_ENOMEM, "no memory left for topics");
    if (!err) {
        const uint32_t n = find_largest(model, list);
        cli_json j = cli_log_line(log, "topics");
        cli_json_count(&j, "sweep", sweep);
        cli_json_count(&j, "of", model->topics);
        cli_json_open(&j, "topics", '[');
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t *of = word + (size_t)list[i] * WORDS;
            open_topic(model, list[i], &j);
            for (uint32_t w = 0; w < cli_words_found(of, WORDS); w++)
                put_beginning(&j, cli_word_name(model, of[w], buffer));
            cli_json_close(&j, ']');
            cli_json_close(&j, '}');
        }
        cli_json_close(&j, ']');
        cli_log_end_line(log, &j);
    }
    free(word);
    free(score);
    return err;
}

/* ---- model and documents ------------------------------------------------- */

/* Shared by infer and evaluate. */
typedef struct reading {
    cli_use use;
    uint32_t sweeps, burn_in;
    uint64_t seed;
    cli_corpus_options read;
    strads_lda_model *model;
    cli_corpus corpus;
    uint32_t *word, *count; /* of the current document */
} reading;

#define DRAW_OPTIONS(of)                                                       \
    CLI_U32(reading, sweeps, "sweeps", "N",                                    \
            of "draws of every token (default: 50)", 1, 1e9),                  \
        CLI_U32(reading, burn_in, "burn-in", "N",                              \
                "first sweeps, which are not averaged (default: 10)", 0, 1e9), \
        STRADS_OPTION(U64, reading, seed, "seed", "S",                         \
                      "seed of the random draws (default: 0)", .min = 0)

static const strads_option data_table[] = {
    CLI_TEXT(reading, read.vocab, "vocab", "FILE",
             "names of DATA's words, one a line: words go by name, not by "
             "number"),
    CLI_CHOICE(reading, read.kind, "kind", "KIND",
               "corpus (counts), text, documents: either, by its first line "
               "(default: documents)",
               "documents|corpus|text"),
    CLI_TEXT(reading, read.column, "text-column", "NAME",
             "DATA is a table, and this the column with a document a row"),
    {.name = NULL},
};

static strads_err read_documents(reading *r, const char *const *path)
{
    if (r->burn_in >= r->sweeps) {
        return strads_fail(STRADS_EINVAL,
                           "--burn-in %" PRIu32 ": expected fewer than "
                           "--sweeps %" PRIu32,
                           r->burn_in, r->sweeps);
    }
    CLI_TRY(strads_lda_model_read(path[0], &r->model));
    CLI_TRY(cli_corpus_read(r->model, path[1], &r->read, &r->corpus));
    CLI_TRY(cli_reserve(r->corpus.longest, sizeof *r->word, "a document",
                        &r->word));
    return cli_reserve(r->corpus.longest, sizeof *r->count, "a document",
                       &r->count);
}

static strads_lda_draws draws_of(const reading *r)
{
    return (strads_lda_draws){.sweeps = r->sweeps,
                              .burn_in = r->burn_in,
                              .seed = r->seed};
}

/* ---- infer and predict --------------------------------------------------- */

/* One number for each topic or label of the model, for every document. */
typedef struct inference {
    reading r;
    const char *documents_path;
    strads_names *documents; /* the documents' names, or NULL */
    bool scores;             /* print a score for all labels */
    double *share;           /* [topics or labels] of the current document */
} inference;

static const strads_option infer_table[] = {
    DRAW_OPTIONS(""),
    CLI_TEXT(inference, documents_path, "documents", "FILE",
             "names of the documents, one a line, not for npy (none)"),
    {.name = NULL},
};
static const strads_option predict_table[] = {
    DRAW_OPTIONS(""),
    CLI_FLAG(inference, scores, "scores",
             "also write each label's score (default: no)"),
    {.name = NULL},
};

static strads_lda_words words_of(const reading *r, uint64_t d)
{
    return cli_corpus_words(&r->corpus, d, r->word, r->count);
}

/* text and csv have no header, and a name column only if there are names. */
static strads_err put_inference(void *arg, FILE *out)
{
    inference *f = arg;
    const uint32_t topics = f->r.model->topics;
    const strads_lda_draws draws = draws_of(&f->r);
    const cli_format format = cli_format_of(&f->r.use.out);
    const bool named = f->documents && format != CLI_FORMAT_NPY;
    const bool first = named || format == CLI_FORMAT_JSON;
    const cli_column columns[] = {cli_id_column("document",
                                                named ? f->documents : NULL),
                                  {"topics", CLI_NUMBER, topics}};
    cli_table t = {.column = first ? columns : columns + 1,
                   .n = first ? 2 : 1,
                   .rows = strads_data_rows(f->r.corpus.data),
                   .digits = 9,
                   .bare = true};
    CLI_TRY(cli_table_begin(&t, &f->r.use.out, out));
    for (uint64_t d = 0; d < t.rows; d++) {
        const strads_lda_words words = words_of(&f->r, d);
        CLI_TRY(strads_lda_infer(f->r.model, &draws, &words, f->share));
        if (first)
            cli_table_id(&t, f->documents, d, 0);
        for (uint32_t k = 0; k < topics; k++)
            cli_table_number(&t, f->share[k]);
    }
    return STRADS_OK;
}

static strads_err name_documents(inference *f)
{
    const uint64_t rows = strads_data_rows(f->r.corpus.data);
    CLI_TRY(strads_names_read(f->documents_path, &f->documents));
    return strads_names_count(f->documents) == rows
               ? STRADS_OK
               : strads_fail(STRADS_EMISMATCH,
                             "--documents %s: has %" PRIu32
                             " names, there are %" PRIu64 " documents",
                             f->documents_path,
                             strads_names_count(f->documents), rows);
}

static strads_err infer(void *state, const char *const *path)
{
    inference *f = state;
    CLI_TRY(read_documents(&f->r, path));
    if (f->documents_path)
        CLI_TRY(name_documents(f));
    cli_corpus_tell(&f->r.corpus, f->r.use.quiet);
    return cli_reserve(f->r.model->topics, sizeof *f->share, "a document",
                       &f->share);
}

static uint32_t best_of(const double *score, uint32_t classes)
{
    uint32_t best = 0;
    for (uint32_t y = 1; y < classes; y++)
        best = score[y] > score[best] ? y : best;
    return best;
}

static strads_err check_classes(const strads_lda_model *m, const char *path)
{
    return m->classes ? STRADS_OK
                      : strads_fail(STRADS_EINVAL,
                                    "%s: is a model without labels: train it "
                                    "with --labels FILE",
                                    path);
}

static strads_err predict_labels(void *state, const char *const *path)
{
    inference *f = state;
    CLI_TRY(read_documents(&f->r, path));
    CLI_TRY(check_classes(f->r.model, path[0]));
    cli_corpus_tell(&f->r.corpus, f->r.use.quiet);
    return cli_reserve(f->r.model->classes, sizeof *f->share, "a document",
                       &f->share);
}

static strads_err put_prediction(void *state, FILE *out)
{
    inference *f = state;
    const strads_lda_model *m = f->r.model;
    const strads_lda_draws draws = draws_of(&f->r);
    const cli_column columns[] = {{"label", CLI_STRING, 0},
                                  {"score", CLI_NUMBER, m->classes}};
    cli_table t = {.column = columns,
                   .n = f->scores ? 2 : 1,
                   .rows = strads_data_rows(f->r.corpus.data),
                   .digits = 9,
                   .bare = true};
    CLI_TRY(cli_table_begin(&t, &f->r.use.out, out));
    for (uint64_t d = 0; d < t.rows; d++) {
        const strads_lda_words words = words_of(&f->r, d);
        CLI_TRY(strads_lda_decide(m, &draws, &words, f->share));
        cli_table_id(&t, m->labels, best_of(f->share, m->classes), 0);
        for (uint32_t y = 0; y < m->classes && f->scores; y++)
            cli_table_number(&t, f->share[y]);
    }
    return STRADS_OK;
}

#define INFERENCE(table_, read_, write_)                                       \
    {                                                                          \
        .size = sizeof(inference),                                             \
        .initial = &(const inference){.r = {.sweeps = 50, .burn_in = 10}},     \
        .table = table_, .more = data_table, .title = "Data:", .usual = "csv", \
        .has = CLI_HAS_QUIET, .read = read_, .write = write_                   \
    }

const cli_verb cli_lda_infer = INFERENCE(infer_table, infer, put_inference);
const cli_verb cli_lda_predict =
    INFERENCE(predict_table, predict_labels, put_prediction);

/* ---- show ---------------------------------------------------------------- */

typedef struct shown {
    cli_use use;
    strads_lda_model *model;
} shown;

static strads_err show_model(void *state, const char *const *path)
{
    shown *s = state;
    CLI_TRY(strads_lda_model_read(path[0], &s->model));
    return check_classes(s->model, path[0]);
}

static strads_err put_label_topics(void *state, FILE *out)
{
    static const cli_column columns[] = {{"label", CLI_STRING, 0},
                                         {"topic", CLI_COUNT, 0},
                                         {"weight", CLI_NUMBER, 0},
                                         {"share", CLI_NUMBER, 0}};
    const shown *s = state;
    const strads_lda_model *m = s->model;
    cli_table t = {.column = columns,
                   .n = 4,
                   .rows = (uint64_t)m->classes * m->topics,
                   .digits = 9,
                   .gap = "\t"};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    for (uint64_t i = 0; i < t.rows; i++) {
        const uint32_t k = (uint32_t)(i % m->topics);
        cli_table_text(&t,
                       strads_names_at(m->labels, (uint32_t)(i / m->topics)));
        cli_table_count(&t, k);
        cli_table_number(&t, m->weight[i]);
        cli_table_number(&t, (double)m->total[k] / strads_lda_mass(m));
    }
    return STRADS_OK;
}

const cli_verb cli_lda_show = {
    .size = sizeof(shown),
    .usual = "text",
    .read = show_model,
    .write = put_label_topics,
};

/* ---- evaluate ------------------------------------------------------------ */

typedef struct evaluation {
    reading r;
    uint32_t particles, words;
    const char *assignments, *labels, *reference;
    strads_lda_labels truth; /* of --labels */
    uint32_t *top;           /* [topics x words] */
    double *score, *umass, *npmi;
    strads_lda_windows *windows; /* of --reference, like the next ones */
    uint64_t reference_documents, reference_words;
    double *window_npmi, *cv;
    strads_lda_score completion, left_to_right;
    strads_lda_joint joint;
    uint64_t labelled, right; /* documents */
    double macro_f1;          /* mean over the classes that have documents */
} evaluation;

static const strads_option evaluate_table[] = {
    DRAW_OPTIONS("completion: "),
    CLI_U32(evaluation, particles, "particles", "N",
            "left to right: time grows with the square of a document's length "
            "(default: 0, not done)",
            0, 1e6),
    CLI_U32(evaluation, words, "words", "N",
            "top words of a topic for its coherence (default: 10)", 2, 1000),
    CLI_TEXT(evaluation, assignments, "assignments", "FILE",
             "also their likelihood: lines `N word:topic ...` (none)"),
    CLI_TEXT(evaluation, labels, "labels", "FILE",
             "labels, one a line: also measure their prediction (none)"),
    CLI_TEXT(evaluation, reference, "reference", "TEXT",
             "a text or folder: also coherence NPMI and C_V in its windows "
             "(none)"),
    {.name = NULL},
};

/* Scores the documents one by one, by document completion or left to right. */
static strads_err score_documents(evaluation *e, bool completion,
                                  strads_lda_score *all)
{
    const strads_lda_draws draws = draws_of(&e->r);
    strads_err err = STRADS_OK;
    for (uint64_t d = 0; d < strads_data_rows(e->r.corpus.data) && !err; d++) {
        strads_lda_score one = {0};
        const strads_lda_words words = words_of(&e->r, d);
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
    static const char what[] = "the topics' words";
    const size_t topics = e->r.model->topics, places = topics * e->words;
    CLI_TRY(cli_reserve(places, sizeof *e->top, what, &e->top));
    CLI_TRY(cli_reserve(places, sizeof *e->score, what, &e->score));
    CLI_TRY(cli_reserve(topics, sizeof *e->umass, what, &e->umass));
    CLI_TRY(cli_reserve(topics, sizeof *e->npmi, what, &e->npmi));
    CLI_TRY(strads_lda_top_words(e->r.model, 1, e->words, e->top, e->score));
    return strads_lda_coherence((uint32_t)topics, e->words, e->top,
                                e->r.corpus.data, e->umass, e->npmi);
}

static strads_err add_reference(void *arg, const uint32_t *word, uint64_t n)
{
    evaluation *e = arg;
    e->reference_documents++;
    e->reference_words += n;
    return strads_lda_windows_add(e->windows, word, n);
}

/* Coherence of the same words in windows of a text. */
static strads_err judge_windows(evaluation *e)
{
    static const char what[] = "the topics' words";
    const strads_lda_model *m = e->r.model;
    const strads_data_options wanted = {.size = sizeof wanted,
                                        .kind = STRADS_KIND_DOCUMENTS,
                                        .col_names = m->names,
                                        .phrases = m->phrases};
    if (!m->names) {
        return strads_fail(STRADS_EINVAL,
                           "--reference %s: the model has no names of words: "
                           "train it on text or with --vocab",
                           e->reference);
    }
    CLI_TRY(
        cli_reserve(m->topics, sizeof *e->window_npmi, what, &e->window_npmi));
    CLI_TRY(cli_reserve(m->topics, sizeof *e->cv, what, &e->cv));
    CLI_TRY(strads_lda_windows_new(m->topics, e->words, e->top, m->words,
                                   &e->windows));
    CLI_TRY(strads_data_read_words(e->reference, &wanted, add_reference, e));
    return strads_lda_windows_coherence(e->windows, e->window_npmi, e->cv);
}

/* A document counts as right if the predicted label is one of its labels. F1 of
 * a class: 2 both / (given + has). */
static strads_err judge_labels(evaluation *e, double *score, uint64_t *count)
{
    const strads_lda_model *m = e->r.model;
    const strads_lda_labels *labels = &e->truth;
    const strads_lda_draws draws = draws_of(&e->r);
    const uint32_t classes = strads_names_count(labels->classes);
    uint32_t judged = 0;
    for (uint64_t d = 0; d < labels->documents; d++) {
        const uint64_t from = labels->start[d], end = labels->start[d + 1];
        if (from == end)
            continue;
        const strads_lda_words words = words_of(&e->r, d);
        CLI_TRY(strads_lda_decide(m, &draws, &words, score));
        const uint32_t best = best_of(score, m->classes);
        bool right = false;
        for (uint64_t i = from; i < end; i++) {
            count[3 * (size_t)labels->label[i]]++;
            right = right || labels->label[i] == best;
        }
        count[3 * (size_t)best + 1]++;
        count[3 * (size_t)best + 2] += right;
        e->labelled++;
        e->right += right;
    }
    for (uint32_t y = 0; y < classes; y++) {
        const uint64_t *x = count + 3 * (size_t)y;
        if (x[0] > 0) {
            e->macro_f1 += 2 * (double)x[2] / (double)(x[0] + x[1]);
            judged++;
        }
    }
    e->macro_f1 = judged ? e->macro_f1 / judged : NAN;
    return STRADS_OK;
}

static strads_err compare_labels(evaluation *e)
{
    const strads_lda_model *m = e->r.model;
    double *score;
    uint64_t *count;
    CLI_TRY(strads_lda_labels_read(e->labels,
                                   strads_data_rows(e->r.corpus.data),
                                   m->labels, &e->truth));
    CLI_TRY(cli_reserve(m->classes, sizeof *score, "labels", &score));
    CLI_TRY(cli_reserve(3 * (size_t)strads_names_count(e->truth.classes),
                        sizeof *count, "labels", &count));
    return judge_labels(e, score, count);
}

static double accuracy_of(const evaluation *e)
{
    return e->labelled ? (double)e->right / (double)e->labelled : NAN;
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

/* ---- figures as a list, for programs ------------------------------------- */

enum { FEW = 28, TOPIC_FIGURES = 5, NUMBER_SIZE = 12 };

typedef struct figures {
    cli_measure *list;
    uint32_t n, n_all; /* figures of all documents (n_all), then of topics */
    char (*number)[NUMBER_SIZE];
} figures;

static void add_figure(figures *f, const char *part, const char *name,
                       double value)
{
    f->list[f->n++] = cli_figure(name, part, value);
}

static void add_score(figures *f, const char *part, double log_likelihood,
                      uint64_t tokens)
{
    const double mean = per_token(log_likelihood, tokens);
    add_figure(f, part, "tokens", (double)tokens);
    add_figure(f, part, "log_likelihood", log_likelihood);
    if (tokens > 0) {
        add_figure(f, part, "log_likelihood_per_token", mean);
        add_figure(f, part, "perplexity", exp(-mean));
    }
}

static void list_figures(const evaluation *e, figures *f)
{
    const strads_lda_model *m = e->r.model;
    const strads_lda_score *half = &e->completion, *left = &e->left_to_right;
    add_figure(f, "documents", "documents",
               (double)strads_data_rows(e->r.corpus.data));
    add_figure(f, "documents", "tokens", (double)e->r.corpus.tokens);
    add_figure(f, "documents", "unknown_tokens", (double)e->r.corpus.unknown);
    add_score(f, "completion", half->log_likelihood, half->tokens);
    if (e->particles > 0)
        add_score(f, "left_to_right", left->log_likelihood, left->tokens);
    if (e->assignments) {
        add_figure(f, "assignments", "documents", (double)e->joint.documents);
        add_score(f, "assignments", e->joint.log_likelihood, e->joint.tokens);
    }
    if (e->labels) {
        add_figure(f, "labels", "documents", (double)e->labelled);
        add_figure(f, "labels", "accuracy", accuracy_of(e));
        add_figure(f, "labels", "macro_f1", e->macro_f1);
    }
    add_figure(f, "coherence", "words", e->words);
    add_figure(f, "coherence", "umass", mean_of(e->umass, m->topics));
    add_figure(f, "coherence", "npmi", mean_of(e->npmi, m->topics));
    if (e->reference) {
        add_figure(f, "reference", "documents", (double)e->reference_documents);
        add_figure(f, "reference", "words", (double)e->reference_words);
        add_figure(f, "reference", "npmi", mean_of(e->window_npmi, m->topics));
        add_figure(f, "reference", "c_v", mean_of(e->cv, m->topics));
    }
    f->n_all = f->n;
    for (uint32_t k = 0; k < m->topics; k++) {
        (void)snprintf(f->number[k], NUMBER_SIZE, "%" PRIu32, k);
        add_figure(f, f->number[k], "tokens", (double)m->total[k]);
        add_figure(f, f->number[k], "umass", e->umass[k]);
        add_figure(f, f->number[k], "npmi", e->npmi[k]);
        if (e->reference) {
            add_figure(f, f->number[k], "reference_npmi", e->window_npmi[k]);
            add_figure(f, f->number[k], "reference_c_v", e->cv[k]);
        }
    }
}

/* One line for each part with its figures, and for each topic with its
 * words. */
static void put_topics_json(const evaluation *e, const figures *f, FILE *out)
{
    const strads_lda_model *m = e->r.model;
    cli_json j = {.out = out};
    for (uint32_t k = 0; k < f->n; k++) {
        const cli_measure *now = &f->list[k];
        if (k == 0 || now->part != now[-1].part) {
            j = cli_json_begin(out);
            if (k < f->n_all)
                cli_json_string(&j, "measure", now->part);
            else
                cli_json_raw(&j, "topic", now->part);
        }
        cli_json_number(&j, now->name, now->value);
        if (k + 1 < f->n && now[1].part == now->part)
            continue;
        if (k >= f->n_all) {
            const size_t topic =
                (k - f->n_all) /
                (e->reference ? TOPIC_FIGURES : TOPIC_FIGURES - 2);
            cli_json_open(&j, "words", '[');
            cli_words_put(m, e->top + topic * e->words, e->words, &j);
            cli_json_close(&j, ']');
        }
        cli_json_end(&j);
    }
}

/* ---- text output --------------------------------------------------------- */

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

/* Formats x with `decimals` decimals, or "-" if these documents do not
 * determine it. */
static const char *figure(double x, int decimals, char out[FIGURE_SIZE])
{
    (void)snprintf(out, FIGURE_SIZE, "%.*f", decimals, x);
    return isnan(x) ? "-" : out;
}

static void put_topics_text(const evaluation *e, FILE *out)
{
    const strads_lda_model *m = e->r.model;
    char umass[FIGURE_SIZE], npmi[FIGURE_SIZE], buffer[CLI_NAME_SIZE];
    (void)fprintf(out,
                  "documents      %" PRIu64 " with %" PRIu64 " tokens; %" PRIu64
                  " more are of words that the model does not have\n",
                  strads_data_rows(e->r.corpus.data), e->r.corpus.tokens,
                  e->r.corpus.unknown);
    put_text_score(out, "completion", &e->completion);
    if (e->particles > 0)
        put_text_score(out, "left to right", &e->left_to_right);
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
    if (e->labels) {
        (void)fprintf(out,
                      "labels         accuracy %s, macro F1 %s, of %" PRIu64
                      " documents\n",
                      figure(accuracy_of(e), 4, umass),
                      figure(e->macro_f1, 4, npmi), e->labelled);
    }
    (void)fprintf(out,
                  "coherence      UMass %s, NPMI %s: means over topics, "
                  "top %" PRIu32 " words, documents as windows\n",
                  figure(mean_of(e->umass, m->topics), 2, umass),
                  figure(mean_of(e->npmi, m->topics), 4, npmi), e->words);
    if (e->reference) {
        (void)
            fprintf(out,
                    "reference      NPMI %s (windows of 10 words), C_V %s (of "
                    "110), in %" PRIu64 " documents with %" PRIu64 " words\n",
                    figure(mean_of(e->window_npmi, m->topics), 4, umass),
                    figure(mean_of(e->cv, m->topics), 4, npmi),
                    e->reference_documents, e->reference_words);
    }
    (void)fprintf(out, "topic   share     UMass     NPMI%s words\n",
                  e->reference ? "  ref.NPMI  ref.C_V" : "");
    for (uint32_t k = 0; k < m->topics; k++) {
        const uint32_t *top = e->top + (size_t)k * e->words;
        (void)fprintf(out, "%5" PRIu32 " %5.1f %% %9s %8s ", k,
                      100 * (double)m->total[k] / strads_lda_mass(m),
                      figure(e->umass[k], 2, umass),
                      figure(e->npmi[k], 4, npmi));
        if (e->reference) {
            (void)fprintf(out, "%9s %8s ", figure(e->window_npmi[k], 4, umass),
                          figure(e->cv[k], 4, npmi));
        }
        for (uint32_t i = 0; i < cli_words_found(top, e->words); i++) {
            (void)fprintf(out, "%s%s", i ? " " : "",
                          cli_word_name(m, top[i], buffer));
        }
        (void)fputc('\n', out);
    }
}

static strads_err put_figures(const evaluation *e, FILE *out, cli_format format)
{
    const uint32_t topics = e->r.model->topics;
    figures f = {0};
    CLI_TRY(cli_reserve(FEW + TOPIC_FIGURES * (size_t)topics, sizeof *f.list,
                        "a table", &f.list));
    CLI_TRY(cli_reserve(topics, NUMBER_SIZE, "a table", &f.number));
    list_figures(e, &f);
    if (format != CLI_FORMAT_JSON)
        return cli_measures_write(out, &e->r.use.out, f.list, f.n);
    put_topics_json(e, &f, out);
    return STRADS_OK;
}

static strads_err put_topics_evaluation(void *state, FILE *out)
{
    const evaluation *e = state;
    const cli_format format = cli_format_of(&e->r.use.out);
    if (format != CLI_FORMAT_TEXT)
        return put_figures(e, out, format);
    put_topics_text(e, out);
    return STRADS_OK;
}

static strads_err evaluate_topics(void *state, const char *const *path)
{
    evaluation *e = state;
    CLI_TRY(read_documents(&e->r, path));
    if (e->labels) {
        CLI_TRY(check_classes(e->r.model, path[0]));
        CLI_TRY(compare_labels(e));
    }
    CLI_TRY(score_documents(e, true, &e->completion));
    if (e->particles > 0)
        CLI_TRY(score_documents(e, false, &e->left_to_right));
    if (e->assignments)
        CLI_TRY(strads_lda_joint_of(e->r.model, e->assignments, &e->joint));
    CLI_TRY(judge_topics(e));
    return e->reference ? judge_windows(e) : STRADS_OK;
}

const cli_verb cli_lda_evaluate = {
    .size = sizeof(evaluation),
    .initial =
        &(const evaluation){.r = {.sweeps = 50, .burn_in = 10}, .words = 10},
    .table = evaluate_table,
    .more = data_table,
    .title = "Data:",
    .usual = "text",
    .read = evaluate_topics,
    .write = put_topics_evaluation,
};
