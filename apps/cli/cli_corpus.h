/* cli_corpus.h - documents that a topic model is asked about: their words are
 * brought to the model's numbers, by name where there are names. */
#ifndef CLI_CORPUS_H
#define CLI_CORPUS_H

#include "strads/lda.h"

/* The options of commands that read such documents; a group's table. */
typedef struct cli_corpus_options {
    const char *kind, *vocab;
} cli_corpus_options;
extern const strads_option cli_corpus_table[];

typedef struct cli_corpus {
    strads_data *data;        /* by row, a column for each word of the model */
    uint64_t tokens, longest; /* longest: different words of a document */
    uint64_t unknown;         /* tokens of words that the model does not have */
} cli_corpus;

/* Reads `path`. Text needs a model with names; counts go by their numbers, or
 * with `vocab`, a name for each of their words, by name. Start with {0}, free
 * after an error too. STRADS_EINVAL, and as strads_data_read. */
strads_err cli_corpus_read(const strads_lda_model *model, const char *path,
                           const cli_corpus_options *options, cli_corpus *out);
void cli_corpus_free(cli_corpus *corpus);

/* Document d; word and count have room for `longest`. */
strads_lda_words cli_corpus_words(const cli_corpus *corpus, uint64_t d,
                                  uint32_t *word, uint32_t *count);

/* The name of a word; without names its number, from 0, written to `room`. */
#define CLI_WORD_SIZE 16
const char *cli_corpus_name(const strads_lda_model *model, uint32_t word,
                            char room[CLI_WORD_SIZE]);

/* Says for people how many tokens are unknown, if any. */
void cli_corpus_tell(const cli_corpus *corpus, bool quiet);

/* The kind of that name: documents (NULL, too), corpus or text.
 * STRADS_EINVAL. */
strads_err cli_corpus_kind(const char *name, strads_kind *kind);

#endif
