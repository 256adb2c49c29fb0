/* cli_lda.h - using topic models: what they say of their words and of new
 * documents, and how good that is. */
#ifndef CLI_LDA_H
#define CLI_LDA_H

#include "cli_log.h"
#include "cli_options.h"
#include "strads/lda.h"

extern const cli_verb cli_lda_topics, cli_lda_infer, cli_lda_evaluate,
    cli_lda_predict, cli_lda_show;

/* Tells the log of each topic's share and its first words. */
strads_err cli_lda_tell(const strads_lda_model *model, cli_log *log);

#endif
