/* engine/data/duplicate_entry.h - naming the two lines of a MatrixMarket entry
 * that is there twice. */
#ifndef STI_DATA_DUPLICATE_ENTRY_H
#define STI_DATA_DUPLICATE_ENTRY_H

#include "engine/data/sparse_build.h"
#include "engine/data/text_pass.h"

/* Reads the text of `pass` once more; STRADS_EFORMAT with a sentence that holds
 * both lines. `twice` has the row in line and the column in minor. */
strads_err sti_duplicate_fail(const sti_pass *pass, const sti_twice *twice);

#endif
