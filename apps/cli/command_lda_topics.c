/* strads lda topics: the top words of a model's topics. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_corpus.h"
#include "cli_lda_matrix.h"
#include "cli_names.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"
#include "strads/lda.h"

typedef struct topics_options {
    uint32_t words;
    double relevance;
    const char *vocab, *format, *output, *matrix;
} topics_options;

static const strads_option topics_table[] = {
    {.name = "words",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(topics_options, words),
     .metavar = "N",
     .help = "words of each topic (default: 10)",
     .min = 1,
     .max = 10000},
    {.name = "relevance",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(topics_options, relevance),
     .metavar = "L",
     .help = "1: most probable first; less: typical of it (1)",
     .min = 0,
     .max = 1},
    {.name = "vocab",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(topics_options, vocab),
     .metavar = "FILE",
     .help = "the words' names, one a line (the model's, if any)"},
    {.name = "format",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(topics_options, format),
     .metavar = "F",
     .help = "text, csv or json (default: text)",
     .choices = "text|csv|json"},
    CLI_OPTION_OUTPUT(offsetof(topics_options, output)),
    {.name = "matrix",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(topics_options, matrix),
     .metavar = "FILE",
     .help = "all probabilities, topics x words: .npy, .csv or .json (none)"},
    {.name = NULL},
};

typedef struct topics {
    topics_options options;
    strads_lda_model *model;
    uint32_t *word; /* [topics x options.words] */
    double *score;
    char number[CLI_WORD_SIZE]; /* a name for a word without one */
} topics;

static uint32_t found(const topics *t, uint32_t topic)
{
    uint32_t n = 0;
    while (n < t->options.words &&
           t->word[(size_t)topic * t->options.words + n] !=
               STRADS_LDA_NO_WORD) {
        n++;
    }
    return n;
}

/* ---- formats ----------------------------------------------------------- */

static void print_text(topics *t, uint32_t topic, FILE *out)
{
    const uint32_t *word = t->word + (size_t)topic * t->options.words;
    (void)fprintf(out, "%4" PRIu32 " %5.1f %%", topic,
                  100 * (double)t->model->total[topic] /
                      (double)t->model->tokens);
    for (uint32_t i = 0; i < found(t, topic); i++) {
        (void)fprintf(out, " %s",
                      cli_corpus_name(t->model, word[i], t->number));
    }
    (void)fputc('\n', out);
}

static void print_csv(topics *t, uint32_t topic, FILE *out)
{
    const size_t first = (size_t)topic * t->options.words;
    for (uint32_t i = 0; i < found(t, topic); i++) {
        (void)fprintf(out, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",", topic, i,
                      t->word[first + i]);
        cli_csv_text(out,
                     cli_corpus_name(t->model, t->word[first + i], t->number));
        (void)fprintf(out, ",%.9g\n", t->score[first + i]);
    }
}

static strads_err print_json(topics *t, uint32_t topic, FILE *out)
{
    const size_t first = (size_t)topic * t->options.words;
    json_t *line = json_object(), *words = json_array(), *scores = json_array();
    int bad = !line || !words || !scores;
    for (uint32_t i = 0; i < found(t, topic) && !bad; i++) {
        bad |= json_array_append_new(
            words, json_string(cli_corpus_name(t->model, t->word[first + i],
                                               t->number)));
        bad |= json_array_append_new(scores, json_real(t->score[first + i]));
    }
    bad |= json_object_set_new(line, "topic", json_integer(topic));
    bad |=
        json_object_set_new(line, "tokens",
                            json_integer((json_int_t)t->model->total[topic]));
    bad |= json_object_set_new(line, "words", words);
    bad |= json_object_set_new(line, "scores", scores);
    bad = bad || json_dumpf(line, out, JSON_REAL_PRECISION(9)) != 0;
    (void)fputc('\n', out);
    json_decref(line);
    return bad ? strads_fail(STRADS_ENOMEM, "no memory left for a line")
               : STRADS_OK;
}

static strads_err print(void *arg, FILE *out)
{
    topics *t = arg;
    strads_err err = STRADS_OK;
    const bool csv = strcmp(t->options.format, "csv") == 0;
    const bool json = strcmp(t->options.format, "json") == 0;
    if (csv) {
        (void)fputs("topic,rank,word,name,score\n", out);
    }
    for (uint32_t k = 0; k < t->model->topics && !err; k++) {
        if (json) {
            err = print_json(t, k, out);
        } else if (csv) {
            print_csv(t, k, out);
        } else {
            print_text(t, k, out);
        }
    }
    return err;
}

/* ---- the command ------------------------------------------------------- */

static strads_err read_vocab(topics *t)
{
    strads_names *names = NULL;
    strads_err err = strads_names_read(t->options.vocab, &names);
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
                             t->options.vocab, strads_names_count(names),
                             t->model->words);
}

static strads_err show(topics *t, const char *path)
{
    strads_err err = strads_lda_model_read(path, &t->model);
    if (!err && t->options.vocab) {
        err = read_vocab(t);
    }
    if (err) {
        return err;
    }
    const size_t n = (size_t)t->model->topics * t->options.words;
    t->word = calloc(n, sizeof *t->word);
    t->score = calloc(n, sizeof *t->score);
    if (!t->word || !t->score) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the words");
    }
    err = strads_lda_top_words(t->model, t->options.relevance, t->options.words,
                               t->word, t->score);
    if (!err && t->options.matrix) {
        err = cli_lda_matrix_write(t->model, t->options.matrix);
    }
    return err ? err : cli_output(t->options.output, print, t);
}

int cli_lda_topics(int argc, char **argv)
{
    topics t = {
        .options = {.words = 10, .relevance = 1, .format = "text"},
    };
    cli_syntax syntax = {
        .name = "lda topics",
        .args = "MODEL",
        .summary =
            "Prints the top words of each topic: its number, its share "
            "of all tokens, words. Scores in csv and json are logarithms "
            "of probabilities, or relevances.",
        .groups = {{NULL, topics_table, &t.options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = show(&t, parsed.arg[0]);
    }
    int code = err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
    strads_lda_model_free(t.model);
    free(t.word);
    free(t.score);
    sti_config_strings_free(&strings);
    return code;
}
