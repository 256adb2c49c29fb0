/* engine/round/shared_totals.h - what all tasks share and no block owns.
 *
 *   view_p(s) = totals(settled) + sum over settled <= q < s of added_p(q)
 *
 * Partition p sees in dispatch s what is committed of all dispatches below
 * `settled`, and what it added itself since then. What it adds in s is
 * the difference that its updates make to the view; it leads the partial, and
 * is summed up in the order of the tree. */
#ifndef STI_SHARED_TOTALS_H
#define STI_SHARED_TOTALS_H

#include "engine/round/job.h"

static inline size_t sti_totals_bytes(const sti_run *run)
{
    return sizeof(double) * run->shape.totals;
}

/* Room for a partition's view. STRADS_ENOMEM. */
strads_err sti_totals_open(const sti_run *run, sti_partition *part);
void sti_totals_close(sti_partition *part);

/* A dispatch begins: what the partition sees from now on. */
void sti_totals_look(const sti_run *run, const sti_worker_job *job);
/* It ends: what was added goes to the head of the partial. */
void sti_totals_tell(const sti_run *run, const sti_worker_job *job);

/* A buffer of records with nothing but zeroed totals. STRADS_ENOMEM. */
strads_err sti_totals_begin_records(const sti_run *run, sti_buffer *partial);

/* Adds the heads of two partials that have one. */
void sti_totals_merge(const sti_run *run, sti_buffer *into,
                      const sti_buffer *from);

/* Coordinator: the table, made after the program's own. */
strads_err sti_totals_create(sti_run *run);
const double *sti_totals_now(const sti_run *run);
/* Commits what a dispatch added, at the head of its partial. STRADS_EPEER;
 * STRADS_EPROGRAM: a number that is not finite. */
strads_err sti_totals_commit(sti_run *run, const sti_buffer *partial);
/* Commits what an aggregate adds. */
strads_err sti_totals_add(sti_run *run, const double *change);

#endif
