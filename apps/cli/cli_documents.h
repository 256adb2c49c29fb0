/* cli_documents.h - documents: the words that a topic model is trained on, and
 * documents that a model is asked about, whose words are brought to its numbers,
 * by name where there are names. */
#ifndef CLI_DOCUMENTS_H
#define CLI_DOCUMENTS_H

#include <stddef.h>

#include "strads/lda.h"
#include "strads/strads.h"

/* ---- to train on --------------------------------------------------------- */

typedef struct cli_words {
    const char *kind, *vocab, *stop, *column;
    uint32_t min_df;
    double max_df;
    strads_names *vocab_names, *stop_names; /* once they were read */
    strads_names *all_names;                /* an older model's, and new ones */
} cli_words;

/* Lines of a table of options, of a struct `type` that has such a member. */
#define CLI_WORDS_OPTIONS(type, member)                                        \
    CLI_TEXT(type, member.stop, "stop-words", "FILE",                          \
             "text: words to leave out, one a line (none)"),                   \
        STRADS_OPTION(U32, type, member.min_df, "min-df", "N",                 \
                      "text: leave out words in fewer documents (default: 1)", \
                      .rare = true, .min = 1, .max = 4e9),                     \
        STRADS_OPTION(                                                         \
            F64, type, member.max_df, "max-df", "SHARE",                       \
            "text: and words in more than this share (default: none)",         \
            .rare = true, .min = 1e-9, .max = 1 - 1e-9),                       \
        CLI_TEXT(type, member.column, "text-column", "NAME",                   \
                 "text: a table's column with a document a row"),              \
        CLI_TEXT(type, member.vocab, "vocab", "FILE",                          \
                 "the words' names, one a line; text: these words alone"),     \
        CLI_CHOICE(type, member.kind, "kind", "KIND",                          \
                   "corpus, text, documents (by the first line)",              \
                   "documents|corpus|text")

/* Reads the files and sets what data are read with; an option that was not
 * given leaves it as it is. STRADS_EINVAL, and as strads_names_read. */
strads_err cli_words_use(cli_words *words, strads_data_options *options);

/* After cli_words_use, where `old` is to be trained on: its words keep their
 * numbers, new ones come behind them. Of text that means its names, and then
 * the vocabulary's or all of the text, which is read for that; a vocabulary of
 * counts has to begin with them. STRADS_EINVAL, STRADS_EMISMATCH, and as
 * strads_data_read. */
strads_err cli_words_extend(cli_words *words, const strads_lda_model *old,
                            const char *path, strads_data_options *options);

/* The names of the data's words, which are from the file `path`, or the old
 * model's (NULL: none) where the data has none, copied; *out is NULL where
 * there are none. STRADS_EFORMAT: a name that is no UTF-8, which no model can
 * keep. STRADS_EMISMATCH: words without a name behind the old ones. */
strads_err cli_words_names(const strads_data *data, const char *path,
                           const strads_lda_model *old, strads_names **out);

/* ---- to be asked about --------------------------------------------------- */

/* The options of commands that read such documents. */
typedef struct cli_corpus_options {
    const char *kind, *vocab, *column;
} cli_corpus_options;

typedef struct cli_corpus {
    strads_data *data;        /* by row, a column for each word of the model */
    uint64_t tokens, longest; /* longest: different words of a document */
    uint64_t unknown;         /* tokens of words that the model does not have */
} cli_corpus;

/* Reads `path`. Text needs a model with names; counts go by their numbers, or
 * with `vocab`, a name for each of their words, by name. Start with {0}.
 * STRADS_EINVAL, and as strads_data_read. */
strads_err cli_corpus_read(const strads_lda_model *model, const char *path,
                           const cli_corpus_options *options, cli_corpus *out);

/* Document d; word and count have room for `longest`. */
strads_lda_words cli_corpus_words(const cli_corpus *corpus, uint64_t d,
                                  uint32_t *word, uint32_t *count);

/* Says for people how many tokens are unknown, if any. */
void cli_corpus_tell(const cli_corpus *corpus, bool quiet);

#endif
