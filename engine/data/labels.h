/* engine/data/labels.h - labels that are names, not numbers.
 *
 * The first row tells which they are. The first pass over the text collects the
 * names from all chunks; put in order they are numbered, and every later pass
 * looks them up, so that a sink is told a name's number as the row's label. */
#ifndef STI_DATA_LABELS_H
#define STI_DATA_LABELS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/data/text_pass.h"
#include "strads/data.h"
#include "strads/error.h"

typedef struct sti_label_names {
    const strads_names *names; /* in order; NULL: they are being collected */
    strads_names *own;         /* what `names` is, where it is made here */
    strads_names *found;       /* in any order; guarded by `lock` */
    pthread_mutex_t lock;
} sti_label_names;

/* Whether labels of the text [begin, end) are names, which its first row tells;
 * *form says, for sentences, what a label has to be. */
bool sti_label_names_are(const char *begin, const char *end, const char **form);

/* Names are to be collected, or, where some are given, looked up at once. */
strads_err sti_label_names_open(sti_label_names *names,
                                const strads_names *given);

/* Where the label at p ends. */
const char *sti_label_end(const char *p, const char *end);

/* The number of the label at p, 0 while names are collected; false after a
 * trouble. A feed asks the others' names only for what it has not met. */
bool sti_label_names_number(sti_feed *feed, const char *p, const char *end,
                            double *number);

/* Forgets what has been collected: the text is read once more from its
 * beginning. */
strads_err sti_label_names_restart(sti_label_names *names);

/* Ends the pass that collects. */
strads_err sti_label_names_end(sti_label_names *names);

void sti_label_names_free(sti_label_names *names);

/* Labels that stand in a file of their own. */

/* How a file of labels is read. */
typedef struct sti_labels_options {
    uint64_t rows;             /* that are expected */
    uint64_t memory;           /* bytes that a pipe's text may take */
    bool named;                /* they may be names, */
    const strads_names *given; /* these, or NULL */
} sti_labels_options;

/* Reads labels[rows] from text with one label a line, or from a MatrixMarket
 * array of one column or one row; plain or compressed. Where they are names,
 * `names` is opened. STRADS_EFORMAT also when
 * the file does not hold exactly `rows` of them. */
strads_err sti_labels_read(const char *path, const sti_labels_options *options,
                           sti_label_names *names, double *labels);

#endif
