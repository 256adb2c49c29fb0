/* cli_lda.h - applying topic models: words of topics, topics of new documents,
 * and measures of quality. */
#ifndef CLI_LDA_H
#define CLI_LDA_H

#include "cli_log.h"
#include "cli_options.h"
#include "strads/lda.h"

extern const cli_verb cli_lda_topics, cli_lda_infer, cli_lda_evaluate,
    cli_lda_predict, cli_lda_show;

/* Logs each topic's share and top words. */
strads_err cli_lda_tell(const strads_lda_model *model, cli_log *log);

#endif
