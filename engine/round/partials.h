/* engine/round/partials.h - what workers send back: partials that are added up
 * or kept apart as records, the shared totals in front of them. */
#ifndef STI_PARTIALS_H
#define STI_PARTIALS_H

#include <stdbool.h>

#include "engine/base/object.h"
#include "engine/round/job.h"

/* partials that are kept apart instead of added up:
 * CONCAT, OWNER and RING. A buffer of records, one for each block and
 * partition that computed it; merging is appending. */

typedef struct sti_record {
    uint32_t block;         /* place in the dispatch */
    uint32_t n_values;      /* numbers at `values` */
    uint64_t partial_bytes; /* in use; the capacity was rounded up to 8 */
    double *partial;        /* 8-byte aligned */
    double *values;
} sti_record;

/* Appends a record with zeroed space for a partial and for values, to be filled
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

/* what all tasks share and no block owns.
 *
 *   view_p(s) = totals(settled) + sum over settled <= q < s of added_p(q)
 *
 * Partition p sees in dispatch s what is committed of all dispatches below
 * `settled`, and what it added itself since then. What it adds in s is
 * the difference that its updates make to the view; it leads the partial, and
 * is summed up in the order of the tree. */

static inline size_t sti_totals_bytes(const sti_run *run)
{
    return sizeof(double) * run->shape.totals;
}

/* Space for a partition's view. STRADS_ENOMEM. */
strads_err sti_totals_open(const sti_run *run, sti_partition *part);
void sti_totals_close(sti_partition *part);

/* A dispatch begins: what the partition sees from now on. */
void sti_totals_look(const sti_run *run, const sti_worker_job *job);
/* It ends: what was added goes to the head of the partial. */
void sti_totals_tell(const sti_run *run, const sti_worker_job *job);

/* A buffer of records with nothing but zeroed totals. STRADS_ENOMEM. */
strads_err sti_totals_begin_records(const sti_run *run, sti_buffer *partial);

/* Coordinator: the table, made after the program's own. */
strads_err sti_totals_create(sti_run *run);
const double *sti_totals_now(const sti_run *run);
/* Commits what a dispatch added, at the head of its partial. STRADS_EPEER;
 * STRADS_EPROGRAM: a number that is not finite. */
strads_err sti_totals_commit(sti_run *run, const sti_buffer *partial);
/* Commits what an aggregate adds. */
strads_err sti_totals_add(sti_run *run, const double *change);

/* Two partials of one dispatch, or chunks of them, become one: `from`, of later
 * partitions, goes into its place in `into`, or behind it. STRADS_EPEER: a size
 * that is not due; STRADS_ENOMEM. */
strads_err sti_merge(const sti_run *run, const sti_dispatch *dispatch,
                     uint32_t chunk, sti_buffer *into, const sti_buffer *from);

#endif
