/* engine/data/naming.h - names of rows and columns, and of labels.
 *
 * A first pass reads the text once, in order, and adds every name. Later passes
 * look names up and add none. */
#ifndef STI_DATA_NAMING_H
#define STI_DATA_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/data/text.h"
#include "strads/data.h"
#include "strads/error.h"
#include "strads/names.h"

/* One axis: rows or columns. `names` is NULL if the text has numbers. */
typedef struct sti_axis {
    const strads_names *names;
    strads_names *own; /* the same object as `names`, if it was made here */
    bool adding;       /* `own` accepts new names */
} sti_axis;

typedef struct sti_naming {
    sti_axis row, col;
    /* Texts: words to leave out, and the least number of documents with a
     * word. */
    const strads_names *stop_words;
    const strads_names *phrases; /* strads_data_options.phrases */
    const char *language; /* its stop words are left out, too; "auto": not
                           * known yet; NULL: none */
    strads_names *language_words;
    uint32_t min_df;
    double max_df;      /* the largest share of documents; 0: any */
    bool trims;         /* strads_data_options.trim_words */
    uint64_t words;     /* words read while adding */
    uint64_t rows;      /* documents read while adding */
    uint32_t *df;       /* by word: documents that have it; while adding */
    uint64_t *last_row; /* the last such document, from 1 */
    uint64_t df_capacity;
    /* Entries that the last pass with values left out because of an unknown
     * name. Added to atomically. */
    uint64_t unknown;
} sti_naming;

/* Returns all names in byte order. The caller frees the array; the strings
 * live as long as `names`, which may be NULL: no names. STRADS_ENOMEM. */
strads_err sti_names_sorted(const strads_names *names, const char ***out,
                            uint32_t *n);

/* Prepares to make names if `given` is NULL, and otherwise to look them up. */
strads_err sti_axis_open(sti_axis *axis, const strads_names *given);

/* Starts to load the part of the table that sti_axis_number will read for this
 * name. Parsers of ids split some lines ahead, because in a table larger than
 * the caches most of the time of a search is waiting for memory. */
void sti_axis_prefetch(const sti_axis *axis, const char *name, size_t size);

/* How many lines such parsers split ahead. */
enum { STI_LINES_AHEAD = 16 };

/* Finds the number of a name. If the name is unknown and may not be added,
 * returns STRADS_OK and *known is false. */
strads_err sti_axis_number(sti_axis *axis, const char *name, size_t size,
                           uint32_t *number, bool *known);

/* Finds the column of a word's id, which is its name in decimal digits. Returns
 * false after an error. */
bool sti_feed_id(sti_feed *feed, uint64_t id, uint64_t *col);

/* Numbers the ids of an axis that has made its names in ascending order, so
 * that the numbers do not depend on the order of the text. STRADS_ENOMEM. */
strads_err sti_axis_sort_ids(sti_axis *axis);

/* Makes the list of stop words of a language; the caller frees it. *code is
 * then a constant string. STRADS_EINVAL: an unknown language. STRADS_ENOMEM. */
strads_err sti_stop_words(const char **code, strads_names **out);
/* Returns the code of the language with the most stop words among words that
 * are in df[word] documents each, or NULL if none has a tenth of these. */
const char *sti_language_of(const strads_names *names, const uint32_t *df);

/* Counts word `word` in document `row`. STRADS_ENOMEM. */
strads_err sti_naming_count(sti_naming *naming, uint32_t word, uint64_t row);

/* Chooses the rules that depend on the text, before the pass that adds names
 * ends. */
strads_err sti_naming_choose(sti_naming *naming);

/* Whether a word is a stop word or, with `trims`, a number. */
bool sti_naming_drops(const sti_naming *naming, const char *name);

/* Reads the run at p, which is before `end` and no line end, and returns the
 * position behind it. *size is 0 if the run is no word. */
const char *sti_word_next(const char *p, const char *end,
                          char word[STI_WORD_SIZE], size_t *size);

/* Joins two words; returns the size of the phrase, or 0 if it is not among
 * `phrases`. */
size_t sti_phrase_join(const strads_names *phrases, const char *a,
                       size_t a_size, const char *b, size_t b_size,
                       char out[STI_PHRASE_SIZE]);

/* Ends the pass that adds names. Chooses the rules that depend on the text,
 * drops stop words and words that occur in fewer documents than min_df, or in a
 * larger share of documents than max_df, and renumbers the others. */
strads_err sti_naming_end(sti_naming *naming);

void sti_naming_free(sti_naming *naming);

typedef struct sti_label_names {
    const strads_names *names; /* in order; NULL while they are collected */
    strads_names *own;         /* the same object as `names`, if it was made
                                * here */
    strads_names *found;       /* in any order; chunks add to it under a lock */
} sti_label_names;

/* True if the labels of the text [begin, end) are names; its first row
 * decides. *form describes a valid label, for messages. */
bool sti_label_names_are(const char *begin, const char *end, const char **form);

/* Length of the UTF-8 character at p; 0 if it is invalid or a blank. */
size_t sti_character(const unsigned char *p, size_t size);

/* True if the text from p to `after` is a valid label name. STI_TEXT_SLACK
 * bytes behind it must be readable. */
bool sti_label_is_name(const char *p, const char *after);

/* Prepares to collect names or, if names are given, to look them up. */
strads_err sti_label_names_open(sti_label_names *names,
                                const strads_names *given);

/* Returns the end of the label at p. */
const char *sti_label_end(const char *p, const char *end);

/* Finds the number of the label at p; 0 while names are collected. Returns
 * false after an error. A feed takes the lock on the shared names only for a
 * label that it has not seen before. */
bool sti_label_names_number(sti_feed *feed, const char *p, const char *end,
                            double *number);

/* Drops all collected names: the text is read again from its beginning. */
strads_err sti_label_names_restart(sti_label_names *names);

/* Ends the pass that collects. */
strads_err sti_label_names_end(sti_label_names *names);

void sti_label_names_free(sti_label_names *names);

/* Labels in a separate file. */

/* How a file of labels is read. */
typedef struct sti_labels_options {
    uint64_t rows;             /* expected number of labels */
    uint64_t memory;           /* limit in bytes for reading them */
    bool named;                /* labels may be names: */
    const strads_names *given; /* these, or NULL */
} sti_labels_options;

/* Fills labels[rows], which must be zeros, from a file in a format for
 * samples: lines with one label each, or a matrix of one column or one row. If
 * labels are names, *names receives them. STRADS_EFORMAT also if the file does
 * not hold exactly `rows` labels. */
strads_err sti_labels_read(const char *path, const sti_labels_options *options,
                           sti_label_names *names, double *labels);

#endif
