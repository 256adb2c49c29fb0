/* engine/round/partials.h - partials: the results that workers return. They are
 * summed, or kept as records; the shared totals precede them. */
#ifndef STI_PARTIALS_H
#define STI_PARTIALS_H

#include <stdbool.h>

#include "engine/base/object.h"
#include "engine/round/job.h"

/* Partials that are kept apart instead of summed: CONCAT, OWNER and RING. A
 * buffer of records, one for each block and partition that computed it. Merging
 * appends. */

typedef struct sti_record {
    uint32_t block;         /* index in the dispatch */
    uint32_t n_values;      /* size of `values` */
    uint64_t partial_bytes; /* in use; the space was rounded up to 8 */
    double *partial;        /* 8-byte aligned */
    double *values;
} sti_record;

/* Appends a record with zeroed space for a partial and for values. *out is
 * valid until the buffer grows. STRADS_ENOMEM. */
strads_err sti_records_append(sti_buffer *buffer, uint32_t block,
                              size_t partial_bytes, uint32_t n_values,
                              sti_record *out);

/* Reduces the partial of the last record, which has no values. */
void sti_records_shrink(sti_buffer *buffer, const sti_record *last,
                        size_t partial_bytes);

/* Reads the record at *at and advances; false at the end. If a record exceeds
 * its buffer (a peer sent it), returns false and sets *err to STRADS_EPEER. */
bool sti_records_next(const sti_buffer *buffer, size_t *at, sti_record *out,
                      strads_err *err);

/* Shared totals, which all tasks share and no block owns.
 *
 *   view_p(s) = totals(settled) + sum over settled <= q < s of added_p(q)
 *
 * In dispatch s, partition p sees the committed totals of all dispatches below
 * `settled` plus its own additions since then. Its additions in s are the
 * difference that its updates make to the view. They precede the partial and
 * are summed in the order of the tree. */

static inline size_t sti_totals_bytes(const sti_run *run)
{
    return sizeof(double) * run->shape.totals;
}

/* Allocates a partition's view. STRADS_ENOMEM. */
strads_err sti_totals_open(const sti_run *run, sti_partition *part);
void sti_totals_close(sti_partition *part);

/* Starts a dispatch: computes the partition's view. */
void sti_totals_look(const sti_run *run, const sti_worker_job *job);
/* Ends it: writes the partition's additions to the head of the partial. */
void sti_totals_report(const sti_run *run, const sti_worker_job *job);

/* Makes a buffer of records that has only zeroed totals. STRADS_ENOMEM. */
strads_err sti_totals_begin_records(const sti_run *run, sti_buffer *partial);

/* Coordinator: makes the table, after the program's own tables. */
strads_err sti_totals_create(sti_run *run);
const double *sti_totals_now(const sti_run *run);
/* Commits the additions at the head of a dispatch's partial. STRADS_EPEER;
 * STRADS_EPROGRAM: a number is not finite. */
strads_err sti_totals_commit(sti_run *run, const sti_buffer *partial);
/* Commits the additions of an aggregate. */
strads_err sti_totals_add(sti_run *run, const double *change);

/* Merges `from`, of later partitions, into `into`: two partials of one
 * dispatch, or their chunks. Adds in place or appends. STRADS_EPEER: unexpected
 * size; STRADS_ENOMEM. */
strads_err sti_merge(const sti_run *run, const sti_dispatch *dispatch,
                     uint32_t chunk, sti_buffer *into, const sti_buffer *from);

#endif
