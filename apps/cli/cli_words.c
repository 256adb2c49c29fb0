#include "cli_words.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_corpus.h"

void cli_words_free(cli_words *words)
{
    strads_names_free(words->vocab_names);
    strads_names_free(words->stop_names);
    strads_names_free(words->all_names);
    words->vocab_names = words->stop_names = words->all_names = NULL;
}

strads_err cli_words_use(cli_words *w, strads_data_options *options)
{
    strads_err err =
        w->kind ? cli_corpus_kind(w->kind, &options->kind) : STRADS_OK;
    if (!err && w->stop) {
        err = strads_names_read(w->stop, &w->stop_names);
        options->stop_words = w->stop_names;
    }
    if (!err && w->vocab) {
        err = strads_names_read(w->vocab, &w->vocab_names);
        options->col_names = w->vocab_names;
    }
    if (w->min_df) {
        options->min_df = w->min_df;
    }
    return err;
}

static bool is_utf8(const char *name)
{
    json_t *string = json_string(name);
    json_decref(string);
    return string != NULL;
}

/* `path` has the names that are added. */
static strads_err add_names(strads_names *to, const strads_names *from,
                            const char *path)
{
    strads_err err = STRADS_OK;
    for (uint32_t w = 0; w < strads_names_count(from) && !err; w++) {
        const char *name = strads_names_at(from, w);
        uint32_t number;
        err = is_utf8(name)
                  ? strads_names_add(to, name, strlen(name), &number)
                  : strads_fail(STRADS_EFORMAT,
                                "%s: word %" PRIu32 ", \"%.40s\", is not in "
                                "UTF-8: a model cannot keep it; convert the "
                                "text",
                                path, w + 1, name);
    }
    return err;
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
    if (!names) {
        return STRADS_OK;
    }
    strads_err err = strads_names_new(out);
    if (!err) {
        err = add_names(*out, names, path);
    }
    if (err) {
        strads_names_free(*out);
        *out = NULL;
    }
    return err;
}

/* ---- an older model's words -------------------------------------------- */

/* The words of a text come behind the names that are there. */
static strads_err add_from_text(strads_names *all, const char *path,
                                const strads_data_options *options)
{
    strads_data_options wanted = *options;
    strads_data *data = NULL;
    wanted.col_names = NULL;
    strads_err err = strads_data_read(path, &wanted, &data);
    if (!err) {
        err = add_names(all, strads_data_col_names(data), path);
    }
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
    struct stat info;
    if (!w->vocab_names && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: is no plain file, and text that brings new "
                           "words is read twice: give it as a file, or --vocab",
                           path);
    }
    strads_err err = strads_names_new(&w->all_names);
    if (!err) {
        err = add_names(w->all_names, old->names, "the model");
    }
    if (!err) {
        err = w->vocab_names ? add_names(w->all_names, w->vocab_names, w->vocab)
                             : add_from_text(w->all_names, path, options);
    }
    options->col_names = w->all_names;
    return err;
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
    strads_err err = STRADS_OK;
    if (options->kind == STRADS_KIND_DOCUMENTS) {
        err = strads_data_find_kind(path, &options->kind);
    }
    if (err) {
        return err;
    }
    options->min_cols = old->words;
    if (options->kind == STRADS_KIND_TEXT) {
        return extend_text(w, old, path, options);
    }
    return w->vocab_names ? check_vocab(w, old) : STRADS_OK;
}
