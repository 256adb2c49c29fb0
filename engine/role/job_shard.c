/* The shard's job, and what the coordinator still owes it at the end. */
#include "engine/role/job.h"
#include "engine/store/follower.h"

strads_err sti_job_apply(sti_run *run, sti_apply_job *job)
{
    strads_err err = run->kept ? STRADS_OK : strads_store_open(0, &run->kept);
    for (uint32_t k = 0; !err && k < job->n; k++)
        err = sti_push_apply(job->pushes[k], run->kept);
    return err;
}

/* Callbacks other than `aggregate` may have added to tables of the program's
 * own after the last commit. */
strads_err sti_job_settle(sti_run *run, sti_settle_job *job)
{
    job->push = sti_store_take(run->store);
    return STRADS_OK;
}
