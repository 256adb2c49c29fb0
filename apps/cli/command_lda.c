/* strads lda train. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_documents.h"
#include "cli_lda.h"
#include "cli_number_search.h"
#include "cli_train.h"
#include "engine/base/atomic_file.h"
#include "strads/lda.h"
#include "strads/policy.h"

typedef struct lda_files {
    cli_use use;
    cli_number_search search; /* of --topics auto */
    const char *assignments;
    const char *path; /* path of the data */
    cli_words words;
    strads_names *names;     /* names of the words, or NULL */
    bool word_ids;           /* they are ids */
    strads_lda_model *old;   /* model of --from, or NULL */
    strads_lda_model *model; /* the written model, or NULL */
    cli_log *log;            /* of interim models */
    const char *labels;
    strads_lda_labels truth; /* the documents' labels */
    const char *seeds;
    uint32_t topics;
    /* absolute, because other nodes read them, too */
    char *old_path, *labels_path, *seeds_path;
} lda_files;

static const strads_option file_table[] = {
    CLI_TEXT(lda_files, assignments, "assignments", "FILE",
             "lines `N word:topic ...`, from 0 (none)"),
    CLI_WORDS_OPTIONS(lda_files, words),
    {.name = NULL},
};

/* ---- the number of topics ------------------------------------------------ */

/* `--topics auto`; set before the data is read, because `tunes` has the
 * program's options alone. */
static bool chooses_topics;

static strads_err check_choice(strads_lda_options *o)
{
    const strads_lda_options *defaults = strads_program_lda.defaults;
    chooses_topics = o->topics == 0;
    if (!chooses_topics)
        return STRADS_OK;
    o->topics = defaults->topics;
    return o->from || o->labels || o->seed_words
               ? strads_fail(STRADS_EINVAL,
                             "--topics auto is without --from, --labels and "
                             "--seed-words: give a number")
               : STRADS_OK;
}

static bool tunes_topics(const void *state, const void *config)
{
    (void)state;
    (void)config;
    return chooses_topics;
}

/* A tenth of the documents is held out, of at most about this many entries. */
static const double TRIAL_ENTRIES = 1e6, HELD_SHARE = 0.1;

/* Least gain of the log-likelihood of a held-out token. */
static const double LEAST_GAIN = 0.01;

enum { TRIAL_SWEEPS = 60, LEAST_TOPICS = 10, MOST_TOPICS = 20480 };

typedef struct topics_search {
    const strads_data *all;
    uint64_t seed;
    double sample; /* share of the documents that take part */
    strads_data *train, *held;
    uint32_t *word, *count; /* of a held-out document */
} topics_search;

static bool takes_part(const topics_search *s, uint64_t d, bool held)
{
    enum { DRAW_SAMPLE = 0x746F7073, DRAW_HELD };
    return strads_random_unit(s->seed, DRAW_SAMPLE, d, 0) < s->sample &&
           (strads_random_unit(s->seed, DRAW_HELD, d, 0) < HELD_SHARE) == held;
}

/* The entries of the documents of a part, column by column. */
typedef struct part_entries {
    uint64_t *start; /* [columns + 1] */
    uint32_t *index;
    double *value;
    uint64_t n, capacity;
} part_entries;

static bool keep_entry(part_entries *x, uint64_t document, double value)
{
    enum { FIRST_ENTRIES = 1 << 16 };
    if (x->n == x->capacity) {
        const uint64_t more = x->n > 0 ? 2 * x->n : FIRST_ENTRIES;
        uint32_t *index = realloc(x->index, more * sizeof *index);
        x->index = index ? index : x->index;
        double *values = realloc(x->value, more * sizeof *values);
        x->value = values ? values : x->value;
        if (!index || !values)
            return false;
        x->capacity = more;
    }
    x->index[x->n] = (uint32_t)document;
    x->value[x->n++] = value;
    return true;
}

static bool collect_entries(const topics_search *s, bool held, part_entries *x)
{
    const uint64_t cols = strads_data_cols(s->all);
    const strads_share *share;
    x->start = calloc(cols + 1, sizeof *x->start);
    for (uint64_t c = 0; x->start && c < cols; c++) {
        for (uint32_t p = 0; (share = strads_data_share(s->all, p)); p++) {
            const strads_sparse *in = &share->by_col;
            for (uint64_t e = in->start[c]; e < in->start[c + 1]; e++) {
                const uint64_t d = share->rows.begin + in->index[e];
                if (takes_part(s, d, held) &&
                    !keep_entry(x, d, strads_sparse_value(in, e)))
                    return false;
            }
        }
        x->start[c + 1] = x->n;
    }
    return x->start != NULL;
}

/* Documents keep their numbers; those of the other part are empty. */
static strads_err take_documents(const topics_search *s, bool held,
                                 strads_data **out)
{
    const strads_data_options wanted = {.size = sizeof wanted,
                                        .kind = STRADS_KIND_CORPUS,
                                        .values = STRADS_F32,
                                        .layout = held ? STRADS_LAYOUT_ROWS
                                                       : STRADS_LAYOUT_COLS};
    part_entries x = {0};
    const strads_err err =
        collect_entries(s, held, &x)
            ? strads_data_from_columns(
                  &(strads_columns){.rows = strads_data_rows(s->all),
                                    .cols = strads_data_cols(s->all),
                                    .start = x.start,
                                    .index = x.index,
                                    .value = x.value},
                  &wanted, out)
            : strads_fail(STRADS_ENOMEM,
                          "no memory left for documents to try numbers of "
                          "topics: give --topics a number");
    free(x.start);
    free(x.index);
    free(x.value);
    return err;
}

static strads_err open_topics_search(topics_search *s)
{
    const double entries = (double)strads_data_nnz(s->all);
    uint64_t longest = 0;
    s->sample = entries > TRIAL_ENTRIES ? TRIAL_ENTRIES / entries : 1;
    CLI_TRY(take_documents(s, false, &s->train));
    CLI_TRY(take_documents(s, true, &s->held));
    const strads_sparse *x = &strads_data_share(s->held, 0)->by_row;
    if (x->nnz == 0) {
        return strads_fail(STRADS_EINVAL,
                           "--topics auto: there are too few documents to "
                           "choose by, give a number");
    }
    for (uint64_t d = 0; d < x->lines; d++)
        if (x->start[d + 1] - x->start[d] > longest)
            longest = x->start[d + 1] - x->start[d];
    CLI_TRY(cli_reserve(longest, sizeof *s->word, "a document", &s->word));
    return cli_reserve(longest, sizeof *s->count, "a document", &s->count);
}

/* The mean log-likelihood of the second halves of held-out documents. */
static strads_err score_held(void *state, const strads_lda_model *model,
                             cli_trial *trial)
{
    const topics_search *s = state;
    const strads_sparse *x = &strads_data_share(s->held, 0)->by_row;
    const strads_lda_draws draws = {.sweeps = 20,
                                    .burn_in = 5,
                                    .seed = s->seed};
    strads_lda_score all = {0};
    for (uint64_t d = 0; d < x->lines; d++) {
        strads_lda_score one = {0};
        const uint64_t at = x->start[d];
        const uint32_t n = (uint32_t)(x->start[d + 1] - at);
        for (uint32_t i = 0; i < n; i++) {
            s->word[i] = x->index[at + i];
            s->count[i] = (uint32_t)x->f32[at + i];
        }
        if (n > 0)
            CLI_TRY(
                strads_lda_complete(model, &draws,
                                    &(strads_lda_words){n, s->word, s->count},
                                    &one));
        all.tokens += one.tokens;
        all.log_likelihood += one.log_likelihood;
    }
    trial->score =
        all.tokens > 0 ? all.log_likelihood / (double)all.tokens : -INFINITY;
    trial->measure[0] = exp(-trial->score);
    return STRADS_OK;
}

static strads_err choose_topic_number(void *state, void *config,
                                      const strads_data *data,
                                      const strads_engine_options *engine,
                                      bool quiet)
{
    cli_number_search *search = &((lda_files *)state)->search;
    strads_lda_options *o = config;
    topics_search s = {.all = data, .seed = engine->seed};
    if (!chooses_topics)
        return STRADS_OK;
    CLI_TRY(open_topics_search(&s));
    *search = (cli_number_search){.program = &strads_program_lda,
                                  .unit = "topics",
                                  .measure = {"perplexity"},
                                  .first = LEAST_TOPICS,
                                  .last = MOST_TOPICS,
                                  .growth = 2,
                                  .gain = LEAST_GAIN,
                                  .options = *o,
                                  .data = s.train,
                                  .engine = engine,
                                  .judge = score_held,
                                  .state = &s};
    search->options.keep_assignments = false;
    search->options.sweeps = o->sweeps == 0 || o->sweeps > 4 * TRIAL_SWEEPS
                                 ? TRIAL_SWEEPS
                                 : (o->sweeps + 3) / 4;
    CLI_TRY(cli_number_choose(search));
    strads_data_free(s.train);
    strads_data_free(s.held);
    o->topics = search->chosen;
    if (search->stopped)
        return STRADS_OK;
    cli_say(quiet,
            "chosen: %" PRIu32 " topics, for a perplexity of %.1f of held-out "
            "halves of documents, the best of %" PRIu32 " fits",
            o->topics, search->trial[search->best].measure[0], search->trials);
    return STRADS_OK;
}

/* ---- files --------------------------------------------------------------- */

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
    CLI_TRY(check_choice(options));
    if (options->from)
        CLI_TRY(read_old(f, options));
    f->labels_path = options->labels ? realpath(options->labels, NULL) : NULL;
    if (f->labels_path)
        options->labels = f->labels_path;
    f->labels = options->labels;
    f->seeds_path =
        options->seed_words ? realpath(options->seed_words, NULL) : NULL;
    if (f->seeds_path)
        options->seed_words = f->seeds_path;
    f->seeds = options->seed_words;
    f->topics = options->topics;
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

/* Finds errors in the seeds, and unknown words, before the run. */
static strads_err check_seeds(const lda_files *f, const strads_data *data)
{
    const strads_names *names = strads_data_col_names(data);
    strads_lda_seeds seeds;
    if (!names && f->old)
        names = f->old->names;
    const strads_err err =
        strads_lda_seeds_read(f->seeds, names, strads_data_cols(data),
                              f->topics, &seeds);
    const uint32_t unknown = err ? 0 : strads_names_count(seeds.unknown);
    for (uint32_t k = 0; k < unknown; k++) {
        cli_say(false,
                "%s: line %" PRIu64 ": \"%s\" is not among the words of the "
                "data and is left out",
                f->seeds, seeds.line[k], strads_names_at(seeds.unknown, k));
    }
    strads_lda_seeds_free(&seeds);
    return err;
}

static strads_err read_word_names(void *state, const strads_data *data)
{
    lda_files *f = state;
    const char *path = f->words.vocab ? f->words.vocab : f->path;
    if (f->seeds)
        CLI_TRY(check_seeds(f, data));
    if (f->labels)
        CLI_TRY(strads_lda_labels_read(f->labels, strads_data_rows(data), NULL,
                                       &f->truth));
    f->word_ids = strads_data_col_ids(data);
    return cli_words_names(data, path, f->old, &f->names);
}

/* The model of the run has no names: they are the command's. */
static strads_err log_interim(void *state, const strads_lda_model *model,
                              uint64_t sweep)
{
    const lda_files *f = state;
    strads_lda_model named = *model;
    named.names = f->names;
    return cli_lda_tell_interim(&named, sweep, f->log);
}

static void listen_to_topics(void *state, void *config, cli_log *log)
{
    lda_files *f = state;
    strads_lda_options *options = config;
    f->log = log;
    options->interim = log_interim;
    options->interim_arg = f;
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
    f->model->word_ids = f->word_ids;
    CLI_TRY(keep_phrases(f));
    return strads_lda_model_write(f->model, trained->options, path);
}

static strads_err log_topics(void *state, cli_log *log)
{
    const lda_files *f = state;
    cli_number_log(&f->search, log);
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
    .tunes = tunes_topics,
    .tune = choose_topic_number,
    .read = set_reading,
    .look = read_word_names,
    .listen = listen_to_topics,
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
    {.name = "lda merge",
     .args = "MODEL",
     .summary = "join its topics that are nearly the same",
     .about = "Joins topics whose words have nearly the same probabilities, "
              "by their cosine, until no two are that close, and writes the "
              "model that remains. A line for each joined topic names its "
              "members.",
     .verb = &cli_lda_merge},
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
