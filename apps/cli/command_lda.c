/* strads lda train. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_documents.h"
#include "cli_lda.h"
#include "cli_train.h"
#include "engine/base/atomic_file.h"
#include "strads/lda.h"

typedef struct lda_files {
    cli_use use;
    const char *assignments;
    const char *path; /* path of the data */
    cli_words words;
    strads_names *names;     /* names of the words, or NULL */
    strads_lda_model *old;   /* model of --from, or NULL */
    strads_lda_model *model; /* the written model, or NULL */
    const char *labels;
    strads_lda_labels truth;      /* the documents' labels */
    char *old_path, *labels_path; /* absolute, because other nodes read them,
                                   * too */
} lda_files;

static const strads_option file_table[] = {
    CLI_TEXT(lda_files, assignments, "assignments", "FILE",
             "lines `N word:topic ...`, from 0 (none)"),
    CLI_WORDS_OPTIONS(lda_files, words),
    {.name = NULL},
};

/* Training of an older model continues with its number of topics. */
static strads_err read_old(lda_files *f, strads_lda_options *options)
{
    const strads_lda_options *defaults = strads_program_lda.defaults;
    CLI_TRY(strads_lda_model_read(options->from, &f->old));
    if (options->topics != defaults->topics &&
        options->topics != f->old->topics) {
        return strads_fail(STRADS_EMISMATCH,
                           "--topics %" PRIu32 ": the model %s has %" PRIu32
                           ", leave the option out",
                           options->topics, options->from, f->old->topics);
    }
    options->topics = f->old->topics;
    f->old_path = realpath(options->from, NULL);
    if (f->old_path)
        options->from = f->old_path;
    return STRADS_OK;
}

static strads_err check_files(void *state, void *config)
{
    lda_files *f = state;
    strads_lda_options *options = config;
    if (options->from)
        CLI_TRY(read_old(f, options));
    f->labels_path = options->labels ? realpath(options->labels, NULL) : NULL;
    if (f->labels_path)
        options->labels = f->labels_path;
    f->labels = options->labels;
    options->keep_assignments = f->assignments != NULL;
    return f->assignments ? sti_atomic_file_check(f->assignments) : STRADS_OK;
}

static strads_err set_reading(void *state, const char *path,
                              strads_data_options *options)
{
    lda_files *f = state;
    f->path = path;
    CLI_TRY(cli_words_use(&f->words, options));
    return f->old ? cli_words_extend(&f->words, f->old, path, options)
                  : cli_words_find_phrases(&f->words, path, options);
}

static strads_err read_word_names(void *state, const strads_data *data)
{
    lda_files *f = state;
    const char *path = f->words.vocab ? f->words.vocab : f->path;
    if (f->labels)
        CLI_TRY(strads_lda_labels_read(f->labels, strads_data_rows(data), NULL,
                                       &f->truth));
    return cli_words_names(data, path, f->old, &f->names);
}

static void tell_words(const lda_files *f, const cli_trained *trained)
{
    const uint64_t unknown = strads_data_unknown(trained->data);
    const uint64_t words = strads_data_cols(trained->data);
    if (f->words.phrase_names) {
        cli_say(trained->quiet,
                "%" PRIu32 " phrases of two words are one word each",
                strads_names_count(f->words.phrase_names));
    }
    if (unknown > 0) {
        cli_say(trained->quiet,
                "%" PRIu64 " tokens of words that are not in the vocabulary "
                "were left out",
                unknown);
    }
    if (f->old && words > f->old->words) {
        cli_say(trained->quiet,
                "%" PRIu64 " words are new to the model's %" PRIu64,
                words - f->old->words, f->old->words);
    }
}

/* A copy, because the data refers to the words' own. */
static strads_err keep_phrases(lda_files *f)
{
    const strads_names *from = f->old ? f->old->phrases : f->words.phrase_names;
    uint32_t number;
    if (!from)
        return STRADS_OK;
    CLI_TRY(strads_names_new(&f->model->phrases));
    for (uint32_t k = 0; k < strads_names_count(from); k++) {
        const char *name = strads_names_at(from, k);
        CLI_TRY(
            strads_names_add(f->model->phrases, name, strlen(name), &number));
    }
    return STRADS_OK;
}

static strads_err write_lda_model(const cli_trained *trained, const char *path)
{
    lda_files *f = trained->state;
    CLI_TRY(strads_lda_model_from_result(trained->result, &f->model));
    f->model->names = f->names;
    CLI_TRY(keep_phrases(f));
    return strads_lda_model_write(f->model, trained->options, path);
}

static strads_err log_topics(void *state, cli_log *log)
{
    const lda_files *f = state;
    return f->model ? cli_lda_tell(f->model, log) : STRADS_OK;
}

static void tell_ending(const cli_trained *trained)
{
    const strads_lda_ending end = strads_lda_ending_of(trained->result);
    char mean[64] = "";
    if (end.samples > 1) {
        (void)snprintf(mean, sizeof mean,
                       "; the model is the mean of %" PRIu32 " of them",
                       end.samples);
    }
    cli_say(trained->quiet, "%" PRIu64 " sweep%s%s%s", end.sweeps,
            end.sweeps == 1 ? "" : "s",
            end.flat ? ": the likelihood of the training data is flat" : "",
            mean);
}

static strads_err finish_lda(void *state, const cli_trained *trained)
{
    const lda_files *f = state;
    cli_words_tell(trained->data, trained->quiet);
    tell_words(f, trained);
    tell_ending(trained);
    return f->assignments
               ? strads_lda_assignments_write(trained->result, f->assignments)
               : STRADS_OK;
}

static const cli_train train = {
    .program = &strads_program_lda,
    .options = "LDA:",
    .write = write_lda_model,
    .size = sizeof(lda_files),
    .more = file_table,
    .check = check_files,
    .read = set_reading,
    .look = read_word_names,
    .finish = finish_lda,
    .tell = log_topics,
};

const cli_command cli_lda_commands[] = {
    {.name = "lda train",
     .args = "DATA",
     .summary = "find the topics of documents",
     .about = "Finds the topics of documents: text, a table's column, counts.",
     .train = &train},
    {.name = "lda topics",
     .args = "MODEL",
     .summary = "print the top words of its topics",
     .about = "Prints the top words of each topic: its number, its share of "
              "all tokens, words. Scores in csv and json are logarithms of "
              "probabilities, or relevances.",
     .verb = &cli_lda_topics},
    {.name = "lda infer",
     .args = "MODEL DATA",
     .summary = "write shares of its topics in documents",
     .about = "Writes the shares of the model's topics in each document. Words "
              "that the model does not have are ignored.",
     .verb = &cli_lda_infer},
    {.name = "lda predict",
     .args = "MODEL DATA",
     .summary = "write labels of new documents",
     .about = "Writes the label that a model trained with --labels gives each "
              "document, one a line. Words that the model does not have are "
              "ignored.",
     .verb = &cli_lda_predict},
    {.name = "lda show",
     .args = "MODEL",
     .summary = "print its topics' weights by label",
     .about = "Writes the weight of each topic for each label of a model "
              "trained with --labels, and the topic's share of all tokens.",
     .verb = &cli_lda_show},
    {.name = "lda evaluate",
     .args = "MODEL DATA",
     .summary = "measure its predictions and coherence",
     .about = "Measures how well a topic model predicts documents (half of "
              "each from the other half, or from left to right), and how "
              "often the top words of its topics occur together in them.",
     .verb = &cli_lda_evaluate},
    {.name = NULL},
};
