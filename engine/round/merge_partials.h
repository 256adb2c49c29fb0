/* engine/round/merge_partials.h - two partials of one dispatch become one. */
#ifndef STI_MERGE_PARTIALS_H
#define STI_MERGE_PARTIALS_H

#include "engine/round/job.h"

/* Whole ones, `from` behind `into`: blocks in their places, records appended.
 * STRADS_EPEER: a size that is not due; STRADS_ENOMEM. */
strads_err sti_merge_partials(const sti_run *run, const sti_dispatch *dispatch,
                              sti_buffer *into, const sti_buffer *from);

/* A slice, into its place in `into`. The same errors. */
strads_err sti_merge_slice(const sti_run *run, const sti_dispatch *dispatch,
                           uint32_t slice, sti_buffer *into,
                           const sti_buffer *from);

/* What came of the heads of trees, in their order, as one; n > 0. The same
 * errors. */
strads_err sti_merge_heads(const sti_run *run, const sti_dispatch *dispatch,
                           uint32_t n, sti_buffer *const *heads,
                           sti_buffer **out);

#endif
