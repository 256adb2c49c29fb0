/* engine/round/commit_block.h - the commit of one block of a dispatch. */
#ifndef STI_COMMIT_BLOCK_H
#define STI_COMMIT_BLOCK_H

#include "engine/round/job.h"
#include "engine/round/records.h"

/* Hands *commit, whose partial is merged, to `aggregate`, and takes what comes
 * of it: a change into the store and the news, priorities to the schedulers,
 * the result to those who wait for it. `held` is what the block's holder wrote,
 * or NULL where blocks have none. STRADS_EPROGRAM: a change that is not
 * finite; STRADS_ENOMEM; whatever `aggregate` returned. */
strads_err sti_commit_block(sti_aggregate_job *job, strads_commit *commit,
                            const sti_record *held);

#endif
