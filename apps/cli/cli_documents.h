/* cli_documents.h - the words that a topic model is trained on, and documents
 * to apply a model to. The words of such documents are mapped to the model's
 * numbers, by name if both have names. */
#ifndef CLI_DOCUMENTS_H
#define CLI_DOCUMENTS_H

#include <stddef.h>

#include "strads/lda.h"
#include "strads/strads.h"

/* ---- words to train on --------------------------------------------------- */

typedef struct cli_words {
    const char *kind, *vocab, *stop, *column;
    uint32_t min_df, phrases;
    double max_df;
    strads_names *phrase_names; /* of the text or of an older model, or NULL */
    strads_names *vocab_names, *stop_names; /* set once the files are read */
    strads_names *all_names;                /* an older model's names, then new
                                             * ones */
} cli_words;

/* Rows of a table of options, for a struct `type` that has a cli_words as
 * `member`. */
#define CLI_WORDS_OPTIONS(type, member)                                       \
    CLI_TEXT(                                                                 \
        type, member.stop, "stop-words", "WHICH",                             \
        "text: words to leave out: auto (default), none, a FILE, de, en, "    \
        "es, fr, it, nl, pt, ru"),                                            \
        STRADS_OPTION(U32, type, member.min_df, "min-df", "N",                \
                      "text: leave out words in fewer documents (default: a " \
                      "thousandth, at most 5)",                               \
                      .rare = true, .min = 1, .max = 4e9),                    \
        STRADS_OPTION(                                                        \
            F64, type, member.max_df, "max-df", "SHARE",                      \
            "text: and words in more than this share (default: 0.5 of 1000 "  \
            "documents or more)",                                             \
            .rare = true, .min = 1e-9, .max = 1),                             \
        CLI_U32(type, member.phrases, "phrases", "N",                         \
                "text: join words that follow each other N times (none)", 0,  \
                1e9),                                                         \
        CLI_TEXT(type, member.column, "text-column", "NAME",                  \
                 "text: a table's column with a document a row"),             \
        CLI_TEXT(type, member.vocab, "vocab", "FILE",                         \
                 "the words' names, one a line; text: these words alone"),    \
        CLI_CHOICE(type, member.kind, "kind", "KIND",                         \
                   "corpus, text, documents (by the first line)",             \
                   "documents|corpus|text")

/* Whether data can be read twice: false for a pipe. */
bool cli_is_read_twice(const char *path);

/* Reads the files, unless an earlier call has read them, and sets the options
 * for reading data. Without a vocabulary, words of text that say little are
 * left out by default. STRADS_EINVAL, and errors of strads_names_read. */
strads_err cli_words_use(cli_words *words, strads_data_options *options);

/* Call after cli_words_use: finds the phrases of the text `path`, if they are
 * wanted. STRADS_EINVAL, and errors of strads_data_find_phrases. */
strads_err cli_words_find_phrases(cli_words *words, const char *path,
                                  strads_data_options *options);

/* Call after cli_words_use to train `old` further. Its words keep their numbers
 * and new words follow. For text, the words are the names of `old`, then those
 * of the vocabulary or, without one, of the whole text, which is read for that.
 * A vocabulary of counts must start with the names of `old`. STRADS_EINVAL,
 * STRADS_EMISMATCH, and errors of strads_data_read. */
strads_err cli_words_extend(cli_words *words, const strads_lda_model *old,
                            const char *path, strads_data_options *options);

/* Reports which words of a text were left out. */
void cli_words_tell(const strads_data *data, bool quiet);

/* Copies the names of the data's words, which come from the file `path`. If the
 * data has no names, copies those of `old` (NULL: none). *out is NULL if there
 * are no names. STRADS_EFORMAT: a name is not UTF-8. STRADS_EMISMATCH: words
 * after the old ones have no name. */
strads_err cli_words_names(const strads_data *data, const char *path,
                           const strads_lda_model *old, strads_names **out);

/* ---- documents for a model ----------------------------------------------- */

/* The options of commands that read documents. */
typedef struct cli_corpus_options {
    const char *kind, *vocab, *column;
} cli_corpus_options;

typedef struct cli_corpus {
    strads_data *data;        /* by row, one column for each word of the
                               * model */
    uint64_t tokens, longest; /* longest: most distinct words in one document */
    uint64_t unknown;         /* tokens of words that the model lacks */
} cli_corpus;

/* Reads `path` into *out, which starts as {0}. Text needs a model with names.
 * Counts are mapped by number, by id if the model has ids, or with `vocab` (a
 * name for each of their words) by name. STRADS_EINVAL, and errors of
 * strads_data_read. */
strads_err cli_corpus_read(const strads_lda_model *model, const char *path,
                           const cli_corpus_options *options, cli_corpus *out);

/* Document d. word and count have space for `longest` entries. */
strads_lda_words cli_corpus_words(const cli_corpus *corpus, uint64_t d,
                                  uint32_t *word, uint32_t *count);

/* Reports the number of unknown tokens, if any. */
void cli_corpus_tell(const cli_corpus *corpus, bool quiet);

#endif
