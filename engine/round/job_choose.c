/* A scheduler's job: what is new to its policy, then the policy's choice. A
 * policy numbers the parameters of its range from 0 on and knows of no other
 * range; where there are several, numbers and ids are translated here. */
#include "engine/round/job.h"
#include "engine/round/owned_policy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* One scheduler's view. */
typedef struct view {
    sti_run *run;
    sti_range *range;
    uint32_t number;   /* the scheduler's */
    uint32_t first, n; /* its parameters */
    sti_pairs *pairs;  /* NULL without a PROBE phase */
} view;

static view view_of(sti_run *run, uint32_t number)
{
    sti_range *range = &run->range[number];
    uint32_t first = sti_run_range(run, number);
    return (view){.run = run,
                  .range = range,
                  .number = number,
                  .first = first,
                  .n = sti_run_range(run, number + 1) - first,
                  .pairs = run->schedulers > 1 ? range->pairs : run->pairs};
}

static double dependency(const void *engine, uint32_t i, uint32_t j)
{
    return sti_pairs_dependency(engine, i, j);
}

/* ---- numbers within the range, and in the run --------------------------- */

static uint64_t id_base(const view *v)
{
    return v->number * STI_RANGE_IDS;
}

/* Copies blocks, each as far as it lies in the range. *n of them are left. */
static strads_err to_range(const view *v, uint32_t *n,
                           const strads_block *blocks, strads_block **out)
{
    strads_err err = sti_blocks_copy(*n, blocks, out);
    if (err)
        return err;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < *n; k++) {
        strads_block block = (*out)[k];
        uint32_t *param = (uint32_t *)(uintptr_t)block.param;
        uint32_t end = block.first + block.n, last = v->first + v->n;
        uint32_t members = 0;
        for (uint32_t l = 0; param && l < block.n; l++)
            if (param[l] - v->first < v->n)
                param[members++] = param[l] - v->first;
        if (!param) {
            uint32_t from = block.first > v->first ? block.first : v->first;
            members = from < (end < last ? end : last)
                          ? (end < last ? end : last) - from
                          : 0;
            block.first = members ? from - v->first : 0;
        }
        block.n = members;
        if (sti_run_chooser(v->run, block.id) == v->number)
            block.id -= id_base(v);
        if (members)
            (*out)[kept++] = block;
    }
    *n = kept;
    return STRADS_OK;
}

/* The way back, in place: the policy's own blocks. */
static void from_range(const view *v, uint32_t n, strads_block *blocks)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *param = (uint32_t *)(uintptr_t)blocks[k].param;
        for (uint32_t l = 0; param && l < blocks[k].n; l++)
            param[l] += v->first;
        if (!param)
            blocks[k].first += v->first;
        blocks[k].id += id_base(v);
    }
}

/* ---- the answer --------------------------------------------------------- */

static strads_err answer(const view *v, sti_choose_job *job,
                         strads_choice_kind kind, uint32_t n,
                         const strads_block *blocks)
{
    strads_err err = sti_blocks_copy(n, blocks, &job->choice->blocks);
    if (!err)
        from_range(v, n, job->choice->blocks);
    job->choice->kind = kind;
    job->choice->n = n;
    return err;
}

/* An only scheduler's ids are its policy's own affair. */
static strads_err check_id(const view *v, uint64_t id)
{
    if (v->run->schedulers == 1 ||
        (id >= STRADS_POLICY_BLOCK_IDS &&
         id - STRADS_POLICY_BLOCK_IDS < STI_RANGE_IDS))
        return STRADS_OK;
    return strads_fail(STRADS_EPROGRAM,
                       "policy %s gave a block the id %llu: with several "
                       "schedulers they are numbered from 2^63 on, below 2^63 "
                       "+ 2^52",
                       v->run->policy->name, (unsigned long long)id);
}

static strads_err check_blocks(const view *v, uint32_t n,
                               const strads_block *blocks)
{
    const char *name = v->run->policy->name;
    if (n == 0)
        return strads_fail(STRADS_EPROGRAM,
                           "policy %s chose no blocks: it may answer WAIT or "
                           "REST instead",
                           name);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t l = 0; l < blocks[k].n; l++)
            if (strads_block_param(&blocks[k], l) >= v->n)
                return strads_fail(STRADS_EPROGRAM,
                                   "policy %s chose parameter %u of %u", name,
                                   strads_block_param(&blocks[k], l), v->n);
        if (blocks[k].n == 0)
            return strads_fail(STRADS_EPROGRAM,
                               "policy %s chose an empty block", name);
        strads_err err = check_id(v, blocks[k].id);
        if (err)
            return err;
    }
    return STRADS_OK;
}

static strads_err answer_probe(const view *v, sti_choose_job *job,
                               const strads_choice *choice)
{
    const strads_block pair[2] = {choice->block, choice->against};
    if (!v->pairs)
        return strads_fail(STRADS_EPROGRAM,
                           "policy %s asks for a probe; program %s has no "
                           "PROBE phase",
                           v->run->policy->name, v->run->program->name);
    strads_err err = check_blocks(v, 2, pair);
    job->probed = true;
    return err ? err : answer(v, job, STRADS_CHOOSE_PROBE, 2, pair);
}

static strads_err answer_blocks(const view *v, sti_choose_job *job,
                                const strads_choice *choice)
{
    strads_err err = check_blocks(v, choice->n, choice->blocks);
    return err ? err
               : answer(v, job, STRADS_CHOOSE_BLOCKS, choice->n,
                        choice->blocks);
}

/* ---- the question ------------------------------------------------------- */

static void tell_moved(const view *v, sti_choose_job *job)
{
    for (uint32_t k = 0; k < job->ask->n_moved; k++) {
        const sti_moved *moved = job->ask->moved[k];
        if (moved->n && v->run->owned)
            sti_owned_prioritise(v->run->owned, (uint32_t)moved->n,
                                 moved->param, moved->priority);
        else if (moved->n)
            v->run->policy->prioritise(v->range->policy, (uint32_t)moved->n,
                                       moved->param, moved->priority);
        if (moved->rest >= 0)
            job->rest = moved->rest;
    }
}

/* Where there are several schedulers each has a cache of its own, which holds
 * what its own probes have found. */
static strads_err tell_found(const view *v, const sti_ask *ask)
{
    if (v->pairs != v->range->pairs || !v->pairs)
        return STRADS_OK;
    if (ask->epoch != v->range->epoch)
        sti_pairs_forget(v->pairs);
    v->range->epoch = ask->epoch;
    strads_err err = STRADS_OK;
    for (const sti_found *f = ask->found; f && !err; f = f->next) {
        uint32_t n = 2;
        strads_block *pair;
        err = to_range(v, &n, f->pair, &pair);
        if (err)
            return err;
        err = sti_pairs_put(v->pairs, &pair[0], &pair[1], f->value);
        free(pair);
    }
    return err;
}

/* After a probe the policy is to find what it asked for. */
static void trim(const view *v, sti_choose_job *job)
{
    if (v->pairs && job->ask->n_in_flight == 0 && !job->probed)
        sti_pairs_trim(v->pairs);
    job->probed = false;
}

static strads_err answer_choice(const view *v, sti_choose_job *job,
                                const strads_choice *choice)
{
    switch (choice->kind) {
    case STRADS_CHOOSE_BLOCKS:
        return answer_blocks(v, job, choice);
    case STRADS_CHOOSE_PROBE:
        return answer_probe(v, job, choice);
    case STRADS_CHOOSE_WAIT:
    case STRADS_CHOOSE_REST:
        return answer(v, job, choice->kind, 0, NULL);
    }
    return strads_fail(STRADS_EPROGRAM, "policy %s gave an unknown answer %d",
                       v->run->policy->name, (int)choice->kind);
}

static strads_err ask_policy(const view *v, sti_choose_job *job)
{
    uint32_t n = job->ask->n_in_flight;
    strads_block *own = NULL;
    strads_err err = STRADS_OK;
    if (v->run->schedulers > 1)
        err = to_range(v, &n, job->ask->in_flight, &own);
    if (err)
        return err;
    const strads_choice_request request = {
        .want = v->run->want,
        .work = job->ask->work,
        .draw = job->draw,
        .in_flight = own ? own : job->ask->in_flight,
        .n_in_flight = n,
        .rest = job->rest / v->run->schedulers,
        .dependency = v->pairs ? dependency : NULL,
        .engine = v->pairs,
        .epoch = v->pairs ? sti_pairs_epoch(v->pairs) : 0,
    };
    strads_choice choice = {.kind = STRADS_CHOOSE_REST};
    err = v->run->owned
              ? sti_owned_choose(v->run->owned, &request, job->ask->hands,
                                 &choice)
              : v->run->policy->choose(v->range->policy, &request, &choice);
    /* A probe may name blocks that the policy was given as in flight. */
    if (!err)
        err = answer_choice(v, job, &choice);
    if (!err && choice.mass > 0)
        job->choice->mass = fmin(choice.mass, DBL_MAX);
    free(own);
    return err;
}

/* ---- opening ------------------------------------------------------------ */

/* Streams of their own: policies draw by numbers within their ranges. */
static uint64_t seed_of(const view *v)
{
    enum { PURPOSE = 0x73636801 };
    return v->number ? strads_random_bits(v->run->seed, PURPOSE, v->number, 0)
                     : v->run->seed;
}

static strads_err open_policy(const view *v)
{
    sti_run *run = v->run;
    strads_err err = STRADS_OK;
    if (!run->weight && !v->range->weight)
        err = sti_job_weigh(run, v->first, v->n, &v->range->weight);
    const strads_policy_setup setup = {
        .parameters = v->n,
        .weight = run->weight ? run->weight + v->first : v->range->weight,
        .block_max = run->shape.block_max,
        .threshold = run->threshold,
        .probes = run->probe_phase < run->n_phases,
        .seed = seed_of(v),
    };
    return err ? err : run->policy->open(&setup, &v->range->policy);
}

static strads_err open_range(sti_run *run, uint32_t number)
{
    view v = view_of(run, number);
    if (v.range->policy || run->owned)
        return STRADS_OK;
    strads_err err = STRADS_OK;
    if (run->schedulers > 1 && run->probe_phase < run->n_phases &&
        !v.range->pairs)
        err = sti_pairs_new(v.n, STI_PAIRS_BYTES / run->schedulers,
                            &v.range->pairs);
    return err ? err : open_policy(&v);
}

strads_err sti_job_choose(sti_run *run, sti_choose_job *job)
{
    job->run = run;
    strads_err err = open_range(run, job->scheduler);
    if (err)
        return err;
    const view v = view_of(run, job->scheduler);
    err = tell_found(&v, job->ask);
    if (err)
        return err;
    tell_moved(&v, job);
    trim(&v, job);
    err = sti_choice_new(&job->choice);
    return err ? err : ask_policy(&v, job);
}
