/* The scheduler's job: new priorities to the policy, then its choice. The
 * engine's promise is kept here for every policy: with a PROBE phase no block
 * leaves before its inner pairs, and those with what will be in flight beside
 * it, are known. */
#include "engine/role/job.h"
#include "engine/role/owned_policy.h"

static double dependency(const void *engine, uint32_t i, uint32_t j)
{
    const sti_run *run = engine;
    return sti_pairs_dependency(run->pairs, i, j);
}

static strads_err answer(sti_choose_job *job, strads_choice_kind kind,
                         uint32_t n, const strads_block *blocks)
{
    strads_err err = sti_blocks_copy(n, blocks, &job->choice->blocks);
    job->choice->kind = kind;
    job->choice->n = n;
    return err;
}

static strads_err answer_probe(sti_choose_job *job, const strads_block *block,
                               const strads_block *against)
{
    const strads_block pair[2] = {*block, *against};
    job->probed = true;
    return answer(job, STRADS_CHOOSE_PROBE, 2, pair);
}

/* The first pair of blocks whose pairs must be known and are not. */
static bool first_unknown(const sti_choose_job *job, uint32_t n,
                          const strads_block *blocks, const strads_block **a,
                          const strads_block **b)
{
    sti_pairs *pairs = job->run->pairs;
    for (uint32_t k = 0; k < n; k++) {
        *a = &blocks[k];
        for (uint32_t l = 0; l <= k; l++) {
            *b = &blocks[l];
            if (!sti_pairs_known(pairs, *a, *b))
                return true;
        }
        for (uint32_t l = 0; l < job->ask->n_in_flight; l++) {
            *b = &job->ask->in_flight[l];
            if (!sti_pairs_known(pairs, *a, *b))
                return true;
        }
    }
    return false;
}

static strads_err check_blocks(const sti_run *run, uint32_t n,
                               const strads_block *blocks)
{
    if (n == 0)
        return strads_fail(STRADS_EPROGRAM,
                           "policy %s chose no blocks: it may answer WAIT or "
                           "REST instead",
                           run->policy->name);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t l = 0; l < blocks[k].n; l++)
            if (strads_block_param(&blocks[k], l) >= run->shape.parameters)
                return strads_fail(STRADS_EPROGRAM,
                                   "policy %s chose parameter %u of %llu",
                                   run->policy->name,
                                   strads_block_param(&blocks[k], l),
                                   (unsigned long long)run->shape.parameters);
        if (blocks[k].n == 0)
            return strads_fail(STRADS_EPROGRAM,
                               "policy %s chose an empty block",
                               run->policy->name);
    }
    return STRADS_OK;
}

static void tell_moved(sti_run *run, sti_choose_job *job)
{
    for (uint32_t k = 0; k < job->ask->n_moved; k++) {
        const sti_moved *moved = job->ask->moved[k];
        if (moved->n && run->owned)
            sti_owned_prioritise(run->owned, (uint32_t)moved->n, moved->param,
                                 moved->priority);
        else if (moved->n)
            run->policy->prioritise(run->policy_state, (uint32_t)moved->n,
                                    moved->param, moved->priority);
        if (moved->rest >= 0)
            job->rest = moved->rest;
    }
}

static strads_err answer_blocks(sti_run *run, sti_choose_job *job,
                                const strads_choice *choice)
{
    strads_err err = check_blocks(run, choice->n, choice->blocks);
    if (err)
        return err;
    return answer(job, STRADS_CHOOSE_BLOCKS, choice->n, choice->blocks);
}

static strads_err ask_policy(sti_run *run, sti_choose_job *job)
{
    const strads_choice_request request = {
        .want = run->want,
        .work = job->ask->work,
        .draw = job->draw,
        .in_flight = job->ask->in_flight,
        .n_in_flight = job->ask->n_in_flight,
        .rest = job->rest,
        .dependency = run->pairs ? dependency : NULL,
        .engine = run,
        .epoch = run->pairs ? sti_pairs_epoch(run->pairs) : 0,
    };
    strads_choice choice = {.kind = STRADS_CHOOSE_REST};
    strads_err err =
        run->owned ? sti_owned_choose(run->owned, &request, &choice)
                   : run->policy->choose(run->policy_state, &request, &choice);
    if (err)
        return err;
    switch (choice.kind) {
    case STRADS_CHOOSE_BLOCKS:
        return answer_blocks(run, job, &choice);
    case STRADS_CHOOSE_PROBE:
        if (!run->pairs)
            return strads_fail(STRADS_EPROGRAM,
                               "policy %s asks for a probe; program %s has no "
                               "PROBE phase",
                               run->policy->name, run->program->name);
        err = check_blocks(run, 1, &choice.block);
        if (!err)
            err = check_blocks(run, 1, &choice.against);
        return err ? err : answer_probe(job, &choice.block, &choice.against);
    case STRADS_CHOOSE_WAIT:
    case STRADS_CHOOSE_REST:
        return answer(job, choice.kind, 0, NULL);
    }
    return strads_fail(STRADS_EPROGRAM, "policy %s gave an unknown answer %d",
                       run->policy->name, (int)choice.kind);
}

/* Whether a choice may leave now. One that has to wait for a probe stays with
 * the scheduler as `chosen` and is not asked for again. */
static strads_err release(sti_run *run, sti_choose_job *job)
{
    const sti_choice *chosen = job->chosen;
    const strads_block *a, *b;
    if (run->pairs && !job->ask->alone &&
        first_unknown(job, chosen->n, chosen->blocks, &a, &b))
        return answer_probe(job, a, b);
    sti_object_drop(job->choice);
    job->choice = job->chosen;
    job->chosen = NULL;
    return STRADS_OK;
}

strads_err sti_job_choose(sti_run *run, sti_choose_job *job)
{
    job->run = run;
    tell_moved(run, job);
    /* After a probe the policy is to find what it asked for. */
    if (run->pairs && job->ask->n_in_flight == 0 && !job->chosen &&
        !job->probed)
        sti_pairs_trim(run->pairs);
    job->probed = false;
    strads_err err = sti_choice_new(&job->choice);
    if (err)
        return err;
    if (!job->chosen) {
        err = ask_policy(run, job);
        if (err || job->choice->kind != STRADS_CHOOSE_BLOCKS)
            return err;
        job->chosen = job->choice;
        err = sti_choice_new(&job->choice);
        if (err)
            return err;
    }
    return release(run, job);
}
