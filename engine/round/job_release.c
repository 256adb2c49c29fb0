/* The engine's own check of what a policy chose, at the moment when it is to
 * leave. Two promises are kept here for every policy: with a PROBE phase no
 * block leaves before its inner pairs, and those with what is in flight beside
 * it, are known; and what different schedulers chose, of which none knows the
 * other's, is not in flight together when it depends on each other. */
#include "engine/round/job.h"

/* The first pair of blocks whose pairs must be known and are not. */
static bool first_unknown(sti_pairs *pairs, const sti_dispatch_parts *parts,
                          const strads_block **a, const strads_block **b)
{
    for (uint32_t k = 0; k < parts->n_blocks; k++) {
        *a = &parts->blocks[k];
        for (uint32_t l = 0; l <= k; l++) {
            *b = &parts->blocks[l];
            if (!sti_pairs_known(pairs, *a, *b))
                return true;
        }
        for (uint32_t l = 0; l < parts->n_in_flight; l++) {
            *b = &parts->in_flight[l];
            if (!sti_pairs_known(pairs, *a, *b))
                return true;
        }
    }
    return false;
}

/* Whether a block may not leave beside one in flight. A block of the program's
 * may hold any parameter; an only scheduler's policy has seen it. Of two joint
 * blocks nobody has seen both. */
static bool conflict(const sti_run *run, bool compare, const strads_block *a,
                     const strads_block *b)
{
    uint32_t chooser = sti_run_chooser(run, b->id);
    if (chooser == UINT32_MAX)
        return b->n > 0;
    bool seen =
        chooser < run->schedulers && chooser == sti_run_chooser(run, a->id);
    return compare && !seen &&
           sti_pairs_strongest(run->pairs, a, b) > run->threshold;
}

static bool conflicts(const sti_run *run, bool compare,
                      const sti_dispatch_parts *parts)
{
    for (uint32_t k = 0; k < parts->n_blocks; k++)
        for (uint32_t l = 0; l < parts->n_in_flight; l++)
            if (conflict(run, compare, &parts->blocks[k], &parts->in_flight[l]))
                return true;
    return false;
}

strads_err sti_job_release(sti_run *run, sti_prepare_job *job, bool *may)
{
    const sti_dispatch_parts *parts = &job->parts;
    bool pairs = run->pairs && run->phases[parts->phase].to != STRADS_TO_NOBODY;
    bool several = run->schedulers > 1;
    const strads_block *a, *b;
    if (several && pairs && parts->n_in_flight == 0 && !job->again)
        sti_pairs_trim(run->pairs);
    *may = false;
    if (pairs && first_unknown(run->pairs, parts, &a, &b)) {
        const strads_block pair[2] = {*a, *b};
        return sti_blocks_copy(2, pair, &job->unknown);
    }
    *may = !several || !conflicts(run, pairs && !run->policy->unchecked, parts);
    return STRADS_OK;
}
