/* engine/data/naming.h - texts whose rows or columns are named, not numbered.
 * naming.c also holds strads/names.h: the table of names, and files of them.
 *
 * A pass of its own goes over the text once, in order, and adds every name that
 * it meets; the passes after it look names up and change nothing here. */
#ifndef STI_DATA_NAMING_H
#define STI_DATA_NAMING_H

#include <stdbool.h>
#include <stdint.h>

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
    uint32_t *df;       /* by word: documents that have it; while adding */
    uint64_t *last_row; /* the last of these, counted from 1 */
    uint64_t df_room;
    /* Entries that the last pass with values left out, because a name was not
     * known. Added to atomically. */
    uint64_t unknown;
} sti_naming;

/* Names are to be made where `given` is NULL, and only looked up otherwise. */
strads_err sti_axis_open(sti_axis *axis, const strads_names *given);

/* The number of a name. Not found, and not to be added: STRADS_OK, and *known
 * is false. */
strads_err sti_axis_number(sti_axis *axis, const char *name, size_t size,
                           uint32_t *number, bool *known);

/* Word `word` was met in document `row`. STRADS_ENOMEM. */
strads_err sti_naming_count(sti_naming *naming, uint32_t word, uint64_t row);

/* Ends the pass that adds: words in fewer documents than min_df are forgotten,
 * the others move up. */
strads_err sti_naming_end(sti_naming *naming);

void sti_naming_free(sti_naming *naming);

#endif
