/* cli_lda.h - applying topic models: words of topics, topics of new documents,
 * and measures of quality. */
#ifndef CLI_LDA_H
#define CLI_LDA_H

#include "cli_log.h"
#include "cli_options.h"
#include "strads/lda.h"

extern const cli_verb cli_lda_topics, cli_lda_infer, cli_lda_evaluate,
    cli_lda_predict, cli_lda_show, cli_lda_merge;

/* The name of a word or, without names, its number from 0. */
const char *cli_word_name(const strads_lda_model *model, uint32_t word,
                          char buffer[CLI_NAME_SIZE]);

/* The name of a topic, or NULL. */
const char *cli_topic_name(const strads_lda_model *model, uint32_t topic);

/* The words of a topic's list of `most` places; and their names, into an array
 * of JSON. */
uint32_t cli_words_found(const uint32_t *word, uint32_t most);
void cli_words_put(const strads_lda_model *model, const uint32_t *word,
                   uint32_t most, cli_json *j);

/* Logs each topic's share and top words. */
strads_err cli_lda_tell(const strads_lda_model *model, cli_log *log);
/* The same during a run, of the largest topics only: a line of bounded size,
 * with the sweep. STRADS_ENOMEM. */
strads_err cli_lda_tell_interim(const strads_lda_model *model, uint64_t sweep,
                                cli_log *log);

#endif
