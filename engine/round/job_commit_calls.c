/* What a program's `aggregate` may call: what it says is checked, copied, and
 * kept with the job until the block's commit is taken in (commit_block.c). */
#include "engine/round/job_commit_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a commit");
}

/* A policy indexes by parameter and sums priorities: what it gets is checked
 * here, once for all policies. */
static strads_err check_priorities(const sti_run *run, uint32_t n,
                                   const uint32_t *param,
                                   const double *priority)
{
    for (uint32_t k = 0; k < n; k++)
        if (param[k] >= run->shape.parameters || !(priority[k] >= 0) ||
            isinf(priority[k]))
            return strads_fail(STRADS_EPROGRAM,
                               "program %s gave parameter %u of %llu the "
                               "priority %g: expected a finite number from 0 "
                               "up",
                               run->program->name, param[k],
                               (unsigned long long)run->shape.parameters,
                               priority[k]);
    return STRADS_OK;
}

strads_err sti_commit_prioritise(sti_aggregate_job *job, uint32_t n,
                                 const uint32_t *param, const double *priority)
{
    strads_err err = check_priorities(job->run, n, param, priority);
    return err ? err : sti_moved_deal(job->run, job->moved, n, param, priority);
}

void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *priority)
{
    sti_aggregate_job *job = commit->engine;
    strads_err err = sti_commit_prioritise(job, n, param, priority);
    if (err)
        job->job.err = err;
}

void strads_commit_rest(strads_commit *commit, double level)
{
    sti_aggregate_job *job = commit->engine;
    job->rest = level > 0 ? level : 0;
    strads_err err = sti_moved_rest(job->run, job->moved, job->rest);
    if (err)
        job->job.err = err;
}

strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                               double work)
{
    sti_aggregate_job *job = commit->engine;
    const sti_run *run = job->run;
    if (phase >= run->n_phases || run->phases[phase].when != STRADS_WHEN_POLICY)
        return strads_fail(STRADS_EINVAL,
                           "program %s routes blocks to phase %u, which is no "
                           "POLICY phase",
                           run->program->name, phase);
    job->routed = true;
    job->route_phase = phase;
    job->route_work = work > 0 ? work : 0;
    return STRADS_OK;
}

void strads_commit_hands(strads_commit *commit, uint32_t hands)
{
    ((sti_aggregate_job *)commit->engine)->hands = hands;
}

void strads_commit_moved(strads_commit *commit, uint64_t n)
{
    ((sti_aggregate_job *)commit->engine)->updates_other += n;
}

static strads_err also_grow(sti_aggregate_job *job, uint32_t need,
                            uint32_t width)
{
    uint32_t room = 2 * job->room_also > need ? 2 * job->room_also : need;
    uint32_t *param = realloc(job->also_param, sizeof *param * room);
    if (param)
        job->also_param = param;
    double *change = realloc(job->also_change, sizeof *change * room * width);
    if (change)
        job->also_change = change;
    if (!param || !change)
        return no_memory();
    job->room_also = room;
    return STRADS_OK;
}

strads_err strads_commit_also(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *change)
{
    sti_aggregate_job *job = commit->engine;
    if (n == 0)
        return STRADS_OK;
    if (job->n_also + n > job->room_also) {
        strads_err err = also_grow(job, job->n_also + n, commit->width);
        if (err)
            return err;
    }
    memcpy(job->also_param + job->n_also, param, sizeof *param * n);
    memcpy(job->also_change + (size_t)job->n_also * commit->width, change,
           sizeof *change * n * commit->width);
    job->n_also += n;
    return STRADS_OK;
}

static strads_err check_params(const sti_run *run, uint32_t n,
                               const uint32_t *param)
{
    for (uint32_t k = 0; k < n; k++)
        if (param[k] >= run->shape.parameters)
            return strads_fail(STRADS_EINVAL,
                               "program %s asks for a probe of parameter %u, "
                               "there are %llu",
                               run->program->name, param[k],
                               (unsigned long long)run->shape.parameters);
    return STRADS_OK;
}

strads_err strads_commit_probe(strads_commit *commit, uint32_t n,
                               const uint32_t *param, uint32_t m,
                               const uint32_t *against)
{
    sti_aggregate_job *job = commit->engine;
    if (!job->run->pairs)
        return strads_fail(STRADS_ESTATE,
                           "program %s asks for a probe without a PROBE phase",
                           job->run->program->name);
    strads_err err = check_params(job->run, n, param);
    if (!err)
        err = check_params(job->run, m, against);
    if (err)
        return err;
    const strads_block pair[2] = {{.n = n, .param = param},
                                  {.n = m, .param = against}};
    sti_wish *wish = calloc(1, sizeof *wish);
    err = wish ? sti_blocks_copy(2, pair, &wish->pair) : no_memory();
    if (err) {
        free(wish);
        return err;
    }
    sti_wish **last = &job->wishes;
    while (*last)
        last = &(*last)->next;
    *last = wish;
    job->n_wishes++;
    return STRADS_OK;
}

const double *strads_commit_pairs(const strads_commit *commit)
{
    const sti_aggregate_job *job = commit->engine;
    return job->run->pairs ? sti_pairs_square(job->run->pairs, &commit->block)
                           : NULL;
}

double strads_commit_pair(const strads_commit *commit, uint32_t i, uint32_t j)
{
    const sti_run *run = ((const sti_aggregate_job *)commit->engine)->run;
    if (!run->pairs || i >= run->shape.parameters || j >= run->shape.parameters)
        return NAN;
    return sti_pairs_get(run->pairs, i, j);
}
