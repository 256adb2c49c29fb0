/* Maps words to a model's numbers, by name or by number. Words that the model
 * lacks are dropped, and their tokens are counted. When a model is trained
 * further, new words are numbered after its own. */
#include "cli_documents.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_options.h"

/* ---- words to train on --------------------------------------------------- */

static strads_err use_stop_words(cli_words *w, strads_data_options *options)
{
    static const char *const known[] = {"auto", "de", "en", "es", "fr",
                                        "it",   "nl", "pt", "ru"};
    const char *wanted = w->stop ? w->stop : w->vocab ? "none" : "auto";
    if (strcmp(wanted, "none") == 0)
        return STRADS_OK;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(wanted, known[k]) == 0)
            options->stop_language = known[k];
    if (options->stop_language)
        return STRADS_OK;
    if (!w->stop_names)
        CLI_TRY(strads_names_read_words(w->stop, &w->stop_names));
    options->stop_words = w->stop_names;
    return STRADS_OK;
}

strads_err cli_words_use(cli_words *w, strads_data_options *options)
{
    options->kind = cli_data_kind(w->kind, options->kind);
    CLI_TRY(use_stop_words(w, options));
    if (w->vocab && !w->vocab_names)
        CLI_TRY(strads_names_read(w->vocab, &w->vocab_names));
    options->col_names = w->vocab_names;
    options->min_df = w->min_df;
    options->trim_words = !w->vocab;
    options->max_df = w->max_df;
    options->text_column = w->column;
    if (w->column && !w->kind)
        options->kind = STRADS_KIND_TEXT;
    return STRADS_OK;
}

bool cli_is_read_twice(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode) ||
           S_ISDIR(info.st_mode);
}

strads_err cli_words_find_phrases(cli_words *w, const char *path,
                                  strads_data_options *options)
{
    if (w->phrases == 0)
        return STRADS_OK;
    if (!cli_is_read_twice(path)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is not a plain file, and text with --phrases "
                           "is read twice: give a file",
                           path);
    }
    if (!w->phrase_names)
        CLI_TRY(strads_data_find_phrases(path, options, w->phrases,
                                         &w->phrase_names));
    options->phrases = w->phrase_names;
    return STRADS_OK;
}

void cli_words_tell(const strads_data *data, bool quiet)
{
    const strads_word_rules rules = strads_data_word_rules(data);
    char stop[40] = "", rare[60] = "", frequent[60] = "";
    if (rules.stop_language) {
        (void)snprintf(stop, sizeof stop, "stop words (%s)",
                       rules.stop_language);
    }
    if (rules.min_df > 1) {
        (void)snprintf(rare, sizeof rare,
                       "%swords in fewer than %" PRIu32 " documents",
                       *stop ? ", " : "", rules.min_df);
    }
    if (rules.max_df > 0 && rules.max_df < 1) {
        (void)snprintf(frequent, sizeof frequent,
                       "%swords in more than %g %% of them",
                       *stop || *rare ? ", " : "", 100 * rules.max_df);
    }
    if (*stop || *rare || *frequent) {
        cli_say(quiet, "left out: %s%s%s (--stop-words, --min-df, --max-df)",
                stop, rare, frequent);
    }
}

/* Adds names; `path` is the file that has them. */
static strads_err add_names(strads_names *to, const strads_names *from,
                            const char *path)
{
    for (uint32_t w = 0; w < strads_names_count(from); w++) {
        const char *name = strads_names_at(from, w);
        uint32_t number;
        json_t *text = json_string(name);
        json_decref(text);
        if (!text) {
            return strads_fail(
                STRADS_EFORMAT,
                "%s: word %" PRIu32 ", \"%.40s\", is not in "
                "UTF-8: a model cannot keep it; convert the text",
                path, w + 1, name);
        }
        CLI_TRY(strads_names_add(to, name, strlen(name), &number));
    }
    return STRADS_OK;
}

strads_err cli_words_names(const strads_data *data, const char *path,
                           const strads_lda_model *old, strads_names **out)
{
    const strads_names *names = strads_data_col_names(data);
    *out = NULL;
    if (!names && old && old->names) {
        names = old->names;
        if (strads_data_cols(data) > old->words) {
            return strads_fail(STRADS_EMISMATCH,
                               "the data has %" PRIu64 " words and the model "
                               "names %" PRIu64 ": name them all by --vocab",
                               strads_data_cols(data), old->words);
        }
    }
    if (!names)
        return STRADS_OK;
    CLI_TRY(strads_names_new(out));
    return add_names(*out, names, path);
}

/* ---- words of an older model --------------------------------------------- */

/* Adds a text's words after the existing names. */
static strads_err add_from_text(strads_names *all, const char *path,
                                const strads_data_options *options)
{
    strads_data_options wanted = *options;
    strads_data *data = NULL;
    wanted.col_names = NULL;
    strads_err err = strads_data_read(path, &wanted, &data);
    if (!err)
        err = add_names(all, strads_data_col_names(data), path);
    strads_data_free(data);
    return err;
}

static strads_err extend_text(cli_words *w, const strads_lda_model *old,
                              const char *path, strads_data_options *options)
{
    if (!old->names) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is text, and the model has no names of words: "
                           "train it on text or with --vocab",
                           path);
    }
    if (!w->vocab_names && !cli_is_read_twice(path)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is not a plain file, and text with new words "
                           "is read twice: give a file, or --vocab",
                           path);
    }
    CLI_TRY(strads_names_new(&w->all_names));
    CLI_TRY(add_names(w->all_names, old->names, "the model"));
    options->col_names = w->all_names;
    return w->vocab_names ? add_names(w->all_names, w->vocab_names, w->vocab)
                          : add_from_text(w->all_names, path, options);
}

static strads_err check_vocab(const cli_words *w, const strads_lda_model *old)
{
    const uint32_t n = strads_names_count(w->vocab_names);
    if (n < old->words) {
        return strads_fail(STRADS_EMISMATCH,
                           "--vocab %s: has %" PRIu32 " names, the model has "
                           "%" PRIu64 " words: expected these and then new "
                           "ones",
                           w->vocab, n, old->words);
    }
    for (uint32_t k = 0; old->names && k < old->words; k++) {
        const char *name = strads_names_at(w->vocab_names, k);
        const char *known = strads_names_at(old->names, k);
        if (strcmp(name, known) != 0) {
            return strads_fail(STRADS_EMISMATCH,
                               "--vocab %s: line %" PRIu32 ": found \"%.40s\", "
                               "expected the model's word \"%.40s\": new words "
                               "come behind its own",
                               w->vocab, k + 1, name, known);
        }
    }
    return STRADS_OK;
}

strads_err cli_words_extend(cli_words *w, const strads_lda_model *old,
                            const char *path, strads_data_options *options)
{
    if (old->word_ids) {
        return strads_fail(STRADS_EINVAL,
                           "%s: the words of the model of --from are ids with "
                           "gaps, and such a model cannot be extended: train "
                           "on all documents together",
                           path);
    }
    if (options->kind == STRADS_KIND_DOCUMENTS)
        CLI_TRY(strads_data_find_kind(path, &options->kind));
    options->min_cols = old->words;
    if (w->phrases > 0) {
        return strads_fail(STRADS_EINVAL,
                           "--phrases: the phrases are those of the model of "
                           "--from, leave the option out");
    }
    options->phrases = old->phrases;
    if (options->kind == STRADS_KIND_TEXT)
        return extend_text(w, old, path, options);
    return w->vocab_names ? check_vocab(w, old) : STRADS_OK;
}

/* ---- documents for a model ----------------------------------------------- */

static const strads_sparse *rows_of(const cli_corpus *corpus)
{
    return &strads_data_share(corpus->data, 0)->by_row;
}

/* ---- text -------------------------------------------------------------- */

static strads_err read_text(const strads_lda_model *model, const char *path,
                            const cli_corpus_options *options, cli_corpus *out)
{
    const strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .kind = STRADS_KIND_TEXT,
        .values = STRADS_F32,
        .col_names = model->names,
        .phrases = model->phrases,
        .text_column = options->column,
    };
    if (options->vocab) {
        return strads_fail(STRADS_EINVAL,
                           "--vocab %s: names words of counts, and %s is text",
                           options->vocab, path);
    }
    if (!model->names) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is text, and the model has no names of words: "
                           "train it on text or with --vocab",
                           path);
    }
    CLI_TRY(strads_data_read(path, &wanted, &out->data));
    out->unknown = strads_data_unknown(out->data);
    return STRADS_OK;
}

/* ---- counts ------------------------------------------------------------ */

/* from[word] is the data's column of the model's word, or NONE. */
enum { NONE = UINT32_MAX };

/* The id of the data's column c, as the file has it. */
static uint64_t id_of(const strads_data *data, uint32_t c)
{
    if (!strads_data_col_ids(data))
        return c + strads_data_index_base(data);
    return strtoull(strads_names_at(strads_data_col_names(data), c), NULL, 10);
}

/* Matches words by number, or by id if the model has ids. */
static void map_ids(const strads_lda_model *model, const strads_data *data,
                    uint32_t *from)
{
    const strads_sparse *x = &strads_data_share(data, 0)->by_col;
    for (uint32_t c = 0; c < strads_data_cols(data); c++) {
        char name[24];
        const uint64_t id = id_of(data, c);
        uint64_t word = id - strads_data_index_base(data);
        if (x->start[c] == x->start[c + 1])
            continue;
        if (model->word_ids) {
            uint32_t number = NONE;
            const int n = snprintf(name, sizeof name, "%" PRIu64, id);
            word = strads_names_find(model->names, name, (size_t)n, &number)
                       ? number
                       : model->words;
        }
        if (word < model->words)
            from[word] = c;
    }
}

static strads_err map_names(const strads_lda_model *model, const char *path,
                            const char *vocab, const strads_data *data,
                            uint32_t *from)
{
    const uint64_t cols = strads_data_cols(data);
    const bool ids = strads_data_col_ids(data);
    strads_names *names = NULL;
    if (!model->names) {
        return strads_fail(STRADS_EINVAL,
                           "--vocab %s: the model has no names of words: train "
                           "it on text or with --vocab",
                           vocab);
    }
    strads_err err = strads_names_read(vocab, &names);
    if (!err && !ids && strads_names_count(names) != cols) {
        err = strads_fail(STRADS_EMISMATCH,
                          "--vocab %s: has %" PRIu32 " names, %s has %" PRIu64
                          " words",
                          vocab, strads_names_count(names), path, cols);
    }
    for (uint32_t c = 0; c < cols && !err; c++) {
        const uint64_t line = id_of(data, c) - strads_data_index_base(data);
        uint32_t word;
        if (line >= strads_names_count(names)) {
            err = strads_fail(STRADS_EMISMATCH,
                              "--vocab %s: has %" PRIu32 " names, and %s has "
                              "word %" PRIu64,
                              vocab, strads_names_count(names), path,
                              id_of(data, c));
            break;
        }
        const char *name = strads_names_at(names, (uint32_t)line);
        if (strads_names_find(model->names, name, strlen(name), &word))
            from[word] = c;
    }
    strads_names_free(names);
    return err;
}

static uint64_t tokens_of(const strads_sparse *x, uint64_t line)
{
    uint64_t tokens = 0;
    for (uint64_t e = x->start[line]; e < x->start[line + 1]; e++)
        tokens += (uint64_t)x->f64[e];
    return tokens;
}

/* Puts the data's columns into the model's order. */
static strads_err rearrange(const strads_lda_model *model,
                            const strads_data *data, const uint32_t *from,
                            cli_corpus *out)
{
    const strads_sparse *x = &strads_data_share(data, 0)->by_col;
    const strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .kind = STRADS_KIND_CORPUS,
        .values = STRADS_F32,
    };
    uint64_t *start = calloc(model->words + 1, sizeof *start);
    uint32_t *index = malloc((x->nnz + 1) * sizeof *index);
    double *value = malloc((x->nnz + 1) * sizeof *value);
    uint64_t n = 0, all = 0, known = 0;
    strads_err err = strads_fail(STRADS_ENOMEM, "no memory left for documents");
    if (!start || !index || !value)
        goto done;
    for (uint64_t c = 0; c < x->lines; c++)
        all += tokens_of(x, c);
    for (uint64_t w = 0; w < model->words; w++) {
        if (from[w] != NONE) {
            const uint64_t at = x->start[from[w]];
            const uint64_t size = x->start[from[w] + 1] - at;
            memcpy(index + n, x->index + at, size * sizeof *index);
            memcpy(value + n, x->f64 + at, size * sizeof *value);
            n += size;
            known += tokens_of(x, from[w]);
        }
        start[w + 1] = n;
    }
    out->unknown = all - known;
    err = strads_data_from_columns(&(strads_columns){.rows =
                                                         strads_data_rows(data),
                                                     .cols = model->words,
                                                     .start = start,
                                                     .index = index,
                                                     .value = value},
                                   &wanted, &out->data);
done:
    free(start);
    free(index);
    free(value);
    return err;
}

static strads_err read_counts(const strads_lda_model *model, const char *path,
                              const cli_corpus_options *options,
                              cli_corpus *out)
{
    const strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_COLS,
        .kind = STRADS_KIND_CORPUS,
    };
    strads_data *data = NULL;
    uint32_t *from;
    CLI_TRY(cli_reserve(model->words, sizeof *from, "documents", &from));
    CLI_TRY(strads_data_read(path, &wanted, &data));
    strads_err err = STRADS_OK;
    for (uint64_t w = 0; w < model->words; w++)
        from[w] = NONE;
    if (options->vocab)
        err = map_names(model, path, options->vocab, data, from);
    else
        map_ids(model, data, from);
    if (!err)
        err = rearrange(model, data, from, out);
    strads_data_free(data);
    return err;
}

/* ---- text and counts ----------------------------------------------------- */

static void measure_corpus(cli_corpus *corpus)
{
    const strads_sparse *rows = rows_of(corpus);
    for (uint64_t d = 0; d < rows->lines; d++) {
        const uint64_t n = rows->start[d + 1] - rows->start[d];
        corpus->longest = n > corpus->longest ? n : corpus->longest;
    }
    for (uint64_t e = 0; e < rows->nnz; e++)
        corpus->tokens += (uint64_t)rows->f32[e];
}

strads_err cli_corpus_read(const strads_lda_model *model, const char *path,
                           const cli_corpus_options *options, cli_corpus *out)
{
    strads_kind kind = cli_data_kind(options->kind, STRADS_KIND_DOCUMENTS);
    if (options->column && !options->kind) {
        kind = STRADS_KIND_TEXT;
    } else if (options->column && kind != STRADS_KIND_TEXT) {
        return strads_fail(
            STRADS_EINVAL,
            "--text-column %s is for text, and --kind is %s: leave one out",
            options->column, options->kind);
    }
    if (kind == STRADS_KIND_DOCUMENTS)
        CLI_TRY(strads_data_find_kind(path, &kind));
    CLI_TRY(kind == STRADS_KIND_TEXT ? read_text(model, path, options, out)
                                     : read_counts(model, path, options, out));
    measure_corpus(out);
    return STRADS_OK;
}

strads_lda_words cli_corpus_words(const cli_corpus *corpus, uint64_t d,
                                  uint32_t *word, uint32_t *count)
{
    const strads_sparse *rows = rows_of(corpus);
    const uint64_t at = rows->start[d];
    const uint32_t n = (uint32_t)(rows->start[d + 1] - at);
    for (uint32_t i = 0; i < n; i++) {
        word[i] = rows->index[at + i];
        count[i] = (uint32_t)rows->f32[at + i];
    }
    return (strads_lda_words){.n = n, .word = word, .count = count};
}

void cli_corpus_tell(const cli_corpus *corpus, bool quiet)
{
    if (corpus->unknown > 0) {
        cli_say(quiet,
                "%" PRIu64 " of %" PRIu64 " tokens are of words that the model "
                "does not have: they are left out",
                corpus->unknown, corpus->unknown + corpus->tokens);
    }
}
