/* report_topics.h - a topic model in a report: a map of its topics, and the
 * words of the selected topic, after LDAvis (Sievert and Shirley 2014). */
#ifndef REPORT_TOPICS_H
#define REPORT_TOPICS_H

#include <stdio.h>

#include "strads/lda.h"

/* Writes a section of HTML with its data and script. A model with more than 100
 * topics is reduced to the 100 largest. STRADS_ENOMEM. */
strads_err report_topics_write(const strads_lda_model *model, FILE *out);

/* Writes the prepared data of pyLDAvis as JSON, of the 100 largest topics at
 * most; `model` is a strads_lda_model. STRADS_ENOMEM. */
strads_err report_topics_pyldavis(void *model, FILE *out);

#endif
