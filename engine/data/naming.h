/* engine/data/naming.h - rows and columns that are named, and labels that are.
 *
 * A pass of its own goes over the text once, in order, and adds every name that
 * it meets; the passes after it look names up and change nothing here. */
#ifndef STI_DATA_NAMING_H
#define STI_DATA_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/data/text.h"
#include "strads/data.h"
#include "strads/error.h"
#include "strads/names.h"

/* One axis: rows or columns. `names` is NULL where the text has numbers. */
typedef struct sti_axis {
    const strads_names *names;
    strads_names *own; /* what `names` is, where it is made here */
    bool adding;       /* `own` takes names that are new */
} sti_axis;

typedef struct sti_naming {
    sti_axis row, col;
    /* Texts: words that are left out, and in how many documents one must be. */
    const strads_names *stop_words;
    uint32_t min_df;
    double max_df;      /* in what share of them at most; 0: any */
    uint64_t rows;      /* documents that were met while adding */
    uint32_t *df;       /* by word: documents that have it; while adding */
    uint64_t *last_row; /* the last of these, counted from 1 */
    uint64_t df_capacity;
    /* Entries that the last pass with values left out, because a name was not
     * known. Added to atomically. */
    uint64_t unknown;
} sti_naming;

/* All of them, in the order of their bytes, for the caller to free; they live as
 * long as `names`, which may be NULL: none. STRADS_ENOMEM. */
strads_err sti_names_sorted(const strads_names *names, const char ***out,
                            uint32_t *n);

/* Names are to be made where `given` is NULL, and only looked up otherwise. */
strads_err sti_axis_open(sti_axis *axis, const strads_names *given);

/* The number of a name. Not found, and not to be added: STRADS_OK, and *known
 * is false. */
strads_err sti_axis_number(sti_axis *axis, const char *name, size_t size,
                           uint32_t *number, bool *known);

/* Word `word` was met in document `row`. STRADS_ENOMEM. */
strads_err sti_naming_count(sti_naming *naming, uint32_t word, uint64_t row);

/* Ends the pass that adds: words in fewer documents than min_df, or in a larger
 * share of them than max_df, are forgotten, the others move up. */
strads_err sti_naming_end(sti_naming *naming);

void sti_naming_free(sti_naming *naming);

typedef struct sti_label_names {
    const strads_names *names; /* in order; NULL: they are being collected */
    strads_names *own;         /* what `names` is, where it is made here */
    strads_names *found;       /* in any order; chunks add to it in turn */
} sti_label_names;

/* Whether labels of the text [begin, end) are names, which its first row tells;
 * *form says, for sentences, what a label has to be. */
bool sti_label_names_are(const char *begin, const char *end, const char **form);

/* How long the UTF-8 character at p is; 0: it is none, or a blank. */
size_t sti_character(const unsigned char *p, size_t size);

/* Whether the text from p to `after` can be a label's name; STI_TEXT_SLACK bytes
 * may be read behind it. */
bool sti_label_is_name(const char *p, const char *after);

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
    uint64_t memory;           /* bytes that reading them may take */
    bool named;                /* they may be names, */
    const strads_names *given; /* these, or NULL */
} sti_labels_options;

/* Reads labels[rows], which are 0, from what samples are read from: lines with one
 * label each, or a matrix of one column or one row. Where they are names, *names
 * gets these. STRADS_EFORMAT also when the file does not hold exactly `rows` of
 * them. */
strads_err sti_labels_read(const char *path, const sti_labels_options *options,
                           sti_label_names *names, double *labels);

#endif
