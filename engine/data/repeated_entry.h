/* engine/data/repeated_entry.h - entries that may be there twice. */
#ifndef STI_DATA_REPEATED_ENTRY_H
#define STI_DATA_REPEATED_ENTRY_H

#include "engine/data/data_build.h"
#include "engine/data/text_format.h"

/* Makes one entry of those with the same row and column, in every part of a
 * build whose lines are in order: what sti_build_order has found, before
 * sti_build_finish. ADD: their sum. LAST: the last one in the text of `pass`,
 * which is read once more for that. STRADS_ENOMEM, and what a pass may end
 * with. */
strads_err sti_repeats_merge(sti_build *build, const sti_pass *pass,
                             sti_repeats repeats);

#endif
