#include "cli_words.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "cli_corpus.h"

void cli_words_free(cli_words *words)
{
    strads_names_free(words->vocab_names);
    strads_names_free(words->stop_names);
    words->vocab_names = words->stop_names = NULL;
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

strads_err cli_words_names(const strads_data *data, strads_names **out)
{
    const strads_names *names = strads_data_col_names(data);
    *out = NULL;
    strads_err err = names ? strads_names_new(out) : STRADS_OK;
    for (uint32_t w = 0; names && w < strads_names_count(names) && !err; w++) {
        const char *name = strads_names_at(names, w);
        uint32_t number;
        err = is_utf8(name)
                  ? strads_names_add(*out, name, strlen(name), &number)
                  : strads_fail(STRADS_EFORMAT,
                                "word %" PRIu32 ", \"%.40s\", is not in UTF-8: "
                                "a model cannot keep it; convert the text",
                                w + 1, name);
    }
    if (err) {
        strads_names_free(*out);
        *out = NULL;
    }
    return err;
}
