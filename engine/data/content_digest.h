/* engine/data/content_digest.h - the checksum of a data set.
 *
 * The sum, modulo 2^64, of XXH3-64(row, column, value) over all entries, and
 * likewise of the labels, and of what they are called, hashed once more with
 * the sizes. A sum does not care in which order, by whom or from which format
 * entries were read. */
#ifndef STI_DATA_CONTENT_DIGEST_H
#define STI_DATA_CONTENT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/data/text_feed.h"
#include "strads/names.h"

typedef struct sti_digest {
    uint64_t rows, cols, nnz;
    uint64_t has_labels;
    uint64_t entry_sum;
    uint64_t label_sum;
} sti_digest;

uint64_t sti_digest_entries(const sti_batch *batch);
uint64_t sti_digest_label(uint64_t row, double label);
/* Of what labels are called, to be added to label_sum; of NULL: 0. */
uint64_t sti_digest_label_names(const strads_names *names);
uint64_t sti_digest_finish(const sti_digest *digest);

#endif
