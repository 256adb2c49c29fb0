/* engine/round/records.h - partials that are kept apart instead of added up:
 * CONCAT, OWNER and RING. A buffer of records, one for each block and
 * partition that computed it; merging is appending. */
#ifndef STI_RECORDS_H
#define STI_RECORDS_H

#include <stdbool.h>

#include "engine/base/object.h"

typedef struct sti_record {
    uint32_t block;         /* place in the dispatch */
    uint32_t n_values;      /* numbers at `values` */
    uint64_t partial_bytes; /* in use; the room was rounded up to 8 */
    double *partial;        /* 8-byte aligned */
    double *values;
} sti_record;

/* Appends a record with zeroed room for a partial and for values, to be filled
 * through *out until the buffer grows again. STRADS_ENOMEM. */
strads_err sti_records_append(sti_buffer *buffer, uint32_t block,
                              size_t partial_bytes, uint32_t n_values,
                              sti_record *out);

/* Lowers the partial of the record appended last, which has no values. */
void sti_records_shrink(sti_buffer *buffer, const sti_record *last,
                        size_t partial_bytes);

/* Reads the record at *at and moves on; false at the end. A record that does
 * not fit its buffer (a peer's) is STRADS_EPEER in *err, and false. */
bool sti_records_next(const sti_buffer *buffer, size_t *at, sti_record *out,
                      strads_err *err);

#endif
