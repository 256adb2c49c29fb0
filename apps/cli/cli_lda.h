/* cli_lda.h - using topic models: what they say of their words and of new
 * documents, and how good that is. */
#ifndef CLI_LDA_H
#define CLI_LDA_H

#include "cli_options.h"

extern const cli_verb cli_lda_topics, cli_lda_infer, cli_lda_evaluate;

#endif
