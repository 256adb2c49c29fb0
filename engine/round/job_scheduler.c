/* The policies of pools. Inside a pool, parameters count from 0. Block ids of
 * pool g of G become id * G + g, so ids of different policies differ.
 *
 * If a pool is one partition, these are the policy's ids. Otherwise each block
 * is distributed over the partitions whenever it is chosen: a random draw for
 * every few parameters picks their partition, and no partition gets more than
 * its share of the work. Such parts have fresh ids, and the policy sees its
 * block in flight as long as one of its parts is. */
#include "engine/round/owned_policy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/round/job.h"
#include "strads/policy.h"

/* A distributed block, as its policy knows it. */
typedef struct dealt {
    strads_block block;
    uint64_t first; /* number of its first part, */
    uint32_t n;     /* and how many parts */
} dealt;

typedef struct pool {
    strads_range range;
    uint32_t first, n; /* partitions */
    void *state;       /* the policy's; NULL if no parameters are owned */
    /* [cap_inside] blocks in flight, as the policy knows them */
    strads_block *inside;
    uint32_t cap_inside;
    uint64_t parts; /* number of parts made so far */
    dealt *dealt;   /* [n_dealt] distributed blocks in flight */
    uint32_t n_dealt, cap_dealt;
} pool;

struct sti_owned {
    const strads_policy *policy;
    uint32_t pools;
    pool *pool;        /* [pools] */
    uint64_t most;     /* parameters of the largest pool */
    uint32_t *own;     /* [most] parameters in the pool's numbering */
    strads_block *out; /* [cap_out] the last choice */
    uint32_t n_out, cap_out;
    uint32_t *param; /* [n_param] the members of its blocks */
    size_t n_param, cap_param;
    uint64_t seed;
    const float *weight; /* [parameters] */
    /* [most] the partition of each member during distribution; NULL if all
     * pools are one partition */
    uint32_t *to;
    double *load;            /* [partitions] work assigned */
    uint32_t *count;         /* [partitions] */
    uint32_t max_partitions; /* of a pool, for the current distribution */
};

static strads_err no_pool_memory(uint32_t pools)
{
    return strads_fail(STRADS_ENOMEM, "no memory for the policies of %u pools",
                       pools);
}

/* Reads a partition's range. Ranges ascend, so owners are found by
 * bisection. */
static strads_err take_range(const sti_run *run, uint32_t p, uint64_t end,
                             strads_range *out)
{
    const strads_range r =
        run->program->owned(run->config, run->data, &run->shape, p);
    if (r.begin < end || r.end < r.begin || r.end > run->shape.parameters)
        return strads_fail(
            STRADS_EPROGRAM,
            "program %s gives partition %u the parameters %llu to %llu of "
            "%llu, those before it end at %llu: expected ranges in the "
            "order of partitions",
            run->program->name, p, (unsigned long long)r.begin,
            (unsigned long long)r.end,
            (unsigned long long)run->shape.parameters, (unsigned long long)end);
    *out = r;
    return STRADS_OK;
}

static strads_err take_pool(const sti_run *run, sti_owned *o, uint32_t number)
{
    pool *g = &o->pool[number];
    uint64_t end = number ? o->pool[number - 1].range.end : 0;
    g->first = strads_pool_first(&run->shape, number);
    g->n = strads_pool_first(&run->shape, number + 1) - g->first;
    for (uint32_t k = 0; k < g->n; k++) {
        strads_range r = {0};
        strads_err err = take_range(run, g->first + k, end, &r);
        if (err)
            return err;
        if (k > 0 && r.begin != end)
            return strads_fail(STRADS_EPROGRAM,
                               "program %s leaves a gap before the parameters "
                               "of partition %u: those of a pool must be one "
                               "range",
                               run->program->name, g->first + k);
        g->range.begin = k ? g->range.begin : r.begin;
        g->range.end = end = r.end;
    }
    if (g->range.end - g->range.begin > o->most)
        o->most = g->range.end - g->range.begin;
    return STRADS_OK;
}

/* Each policy draws from its own streams. */
static uint64_t pool_seed(uint64_t seed, uint32_t number)
{
    return seed ^ (number * UINT64_C(0x9e3779b97f4a7c15));
}

static strads_err open_policy(const sti_run *run, sti_owned *o, uint32_t number)
{
    pool *g = &o->pool[number];
    const strads_policy_setup setup = {
        .parameters = g->range.end - g->range.begin,
        .weight = run->weight + g->range.begin,
        .block_max = run->shape.block_max,
        .threshold = run->threshold,
        .seed = pool_seed(run->seed, number),
    };
    return setup.parameters ? o->policy->open(&setup, &g->state) : STRADS_OK;
}

static strads_err reserve_distribution(sti_owned *o, uint32_t partitions)
{
    o->to = malloc(sizeof *o->to * (o->most + 1));
    o->load = malloc(sizeof *o->load * partitions);
    o->count = malloc(sizeof *o->count * partitions);
    return o->to && o->load && o->count ? STRADS_OK : no_pool_memory(o->pools);
}

strads_err sti_owned_open(const sti_run *run, sti_owned **out)
{
    const uint32_t pools = run->shape.pools;
    sti_owned *o = calloc(1, sizeof *o);
    strads_err err = STRADS_OK;
    *out = o;
    if (!o)
        return no_pool_memory(pools);
    o->policy = run->policy;
    o->pools = pools;
    o->pool = calloc(pools, sizeof *o->pool);
    if (!o->pool)
        return no_pool_memory(pools);
    for (uint32_t g = 0; g < pools && !err; g++)
        err = take_pool(run, o, g);
    if (err)
        return err;
    o->own = malloc(sizeof *o->own * (o->most + 1));
    if (!o->own)
        return no_pool_memory(pools);
    o->seed = run->seed;
    o->weight = run->weight;
    if (pools < run->partitions)
        err = reserve_distribution(o, run->partitions);
    for (uint32_t g = 0; g < pools && !err; g++)
        err = open_policy(run, o, g);
    return err;
}

void sti_owned_free(sti_owned *o)
{
    if (!o)
        return;
    for (uint32_t g = 0; o->pool && g < o->pools; g++) {
        if (o->pool[g].state)
            o->policy->close(o->pool[g].state);
        free(o->pool[g].inside);
        free(o->pool[g].dealt);
    }
    free(o->pool);
    free(o->own);
    free(o->out);
    free(o->param);
    free(o->to);
    free(o->load);
    free(o->count);
    free(o);
}

/* ---- ownership --------------------------------------------------------- */

/* The pool that owns parameter j, or `pools`. */
static uint32_t pool_of(const sti_owned *o, uint64_t j)
{
    uint32_t low = 0, high = o->pools;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (o->pool[middle].range.end <= j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->pools && o->pool[low].range.begin <= j ? low : o->pools;
}

bool sti_owned_has(const sti_owned *o, uint32_t j)
{
    return pool_of(o, j) < o->pools;
}

bool sti_owned_meets(const sti_owned *o, uint32_t first, uint32_t n)
{
    return (uint64_t)first + n > o->pool[0].range.begin &&
           first < o->pool[o->pools - 1].range.end;
}

/* ---- priorities -------------------------------------------------------- */

/* As a policy's `prioritise`; parameters without an owner are skipped. */
static void owned_prioritise(sti_owned *o, uint32_t n, const uint32_t *param,
                             const double *priority)
{
    for (uint32_t k = 0; k < n;) {
        uint32_t number = pool_of(o, param[k]);
        if (number == o->pools) {
            k++;
            continue;
        }
        const pool *g = &o->pool[number];
        uint32_t first = k, m = 0;
        for (; k < n && m < o->most && param[k] >= g->range.begin &&
               param[k] < g->range.end;
             k++)
            o->own[m++] = (uint32_t)(param[k] - g->range.begin);
        o->policy->prioritise(g->state, m, o->own, priority + first);
    }
}

/* ---- choosing ---------------------------------------------------------- */

static uint64_t id_inside(const sti_owned *o, uint64_t id)
{
    return id < STRADS_POLICY_BLOCK_IDS
               ? id
               : STRADS_POLICY_BLOCK_IDS +
                     (id - STRADS_POLICY_BLOCK_IDS) / o->pools;
}

static uint64_t id_outside(const sti_owned *o, uint64_t id, uint32_t number)
{
    return STRADS_POLICY_BLOCK_IDS + (id - STRADS_POLICY_BLOCK_IDS) * o->pools +
           number;
}

/* Whether a part of a distributed block is still in flight. */
static bool has_part(const sti_owned *o, const dealt *d, uint32_t number,
                     const strads_choice_request *request)
{
    for (uint32_t k = 0; k < request->n_in_flight; k++) {
        const uint64_t id = request->in_flight[k].id;
        if (id < STRADS_POLICY_BLOCK_IDS ||
            (id - STRADS_POLICY_BLOCK_IDS) % o->pools != number)
            continue;
        const uint64_t part = (id - STRADS_POLICY_BLOCK_IDS) / o->pools;
        if (part >= d->first && part < d->first + d->n)
            return true;
    }
    return false;
}

/* Whether a policy must know of a block: its own, or a block of the program
 * with a parameter of the pool. */
static bool is_of_pool(const strads_block *block, const pool *g)
{
    if (block->id >= STRADS_POLICY_BLOCK_IDS)
        return g->n == 1 && block->owner == g->first;
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t j = strads_block_param(block, k);
        if (j >= g->range.begin && j < g->range.end)
            return true;
    }
    return false;
}

static strads_err reserve_inside(sti_owned *o, pool *g, uint32_t need)
{
    if (need <= g->cap_inside)
        return STRADS_OK;
    strads_block *more = realloc(g->inside, sizeof *more * need);
    if (!more)
        return no_pool_memory(o->pools);
    g->inside = more;
    g->cap_inside = need;
    return STRADS_OK;
}

/* Collects the blocks in flight that a pool's policy must know. Policies that
 * compare blocks read their members; the others do not. */
static strads_err collect_inside(sti_owned *o, uint32_t number,
                                 strads_choice_request *request)
{
    pool *g = &o->pool[number];
    uint32_t n = 0, kept = 0;
    strads_err err = reserve_inside(o, g, request->n_in_flight + g->n_dealt);
    if (err)
        return err;
    for (uint32_t k = 0; k < request->n_in_flight; k++) {
        const strads_block *block = &request->in_flight[k];
        if (!is_of_pool(block, g))
            continue;
        g->inside[n] = *block;
        g->inside[n++].id = id_inside(o, block->id);
    }
    for (uint32_t k = 0; k < g->n_dealt; k++) {
        if (!has_part(o, &g->dealt[k], number, request))
            continue;
        g->inside[n++] = g->dealt[k].block;
        g->dealt[kept++] = g->dealt[k];
    }
    g->n_dealt = kept;
    request->in_flight = g->inside;
    request->n_in_flight = n;
    return STRADS_OK;
}

static strads_err reserve_out(sti_owned *o, const pool *g,
                              const strads_choice *choice)
{
    const uint32_t parts = choice->n * g->n;
    size_t members = 0;
    for (uint32_t k = 0; k < choice->n; k++)
        members += choice->blocks[k].n;
    if (o->n_out + parts > o->cap_out) {
        uint32_t capacity = 2 * (o->n_out + parts);
        strads_block *more = realloc(o->out, sizeof *more * capacity);
        if (!more)
            return no_pool_memory(o->pools);
        o->out = more;
        o->cap_out = capacity;
    }
    if (o->n_param + members > o->cap_param) {
        size_t capacity = 2 * (o->n_param + members);
        uint32_t *more = realloc(o->param, sizeof *more * capacity);
        if (!more)
            return no_pool_memory(o->pools);
        o->param = more;
        o->cap_param = capacity;
    }
    return STRADS_OK;
}

static void append_member(sti_owned *o, const pool *g, const strads_block *from,
                          uint32_t k)
{
    o->param[o->n_param++] =
        (uint32_t)(g->range.begin + strads_block_param(from, k));
}

static void take_whole(sti_owned *o, uint32_t number, const strads_block *from)
{
    const pool *g = &o->pool[number];
    o->out[o->n_out++] = (strads_block){.id = id_outside(o, from->id, number),
                                        .n = from->n,
                                        .owner = g->first};
    for (uint32_t k = 0; k < from->n; k++)
        append_member(o, g, from, k);
}

static uint32_t max_partitions_of(const sti_owned *o, const pool *g)
{
    return o->max_partitions && o->max_partitions < g->n ? o->max_partitions
                                                         : g->n;
}

/* Assigns each member to a partition. Runs of a few neighbours stay together,
 * because their data does, too. */
static void draw_partitions(sti_owned *o, uint32_t number,
                            const strads_block *from)
{
    enum { PURPOSE = 0x6465616c, RUN = 8 };
    uint32_t drawn = 0;
    const pool *g = &o->pool[number];
    const uint32_t max_partitions = max_partitions_of(o, g);
    const float *weight = o->weight + g->range.begin;
    sti_random random =
        sti_random_stream(pool_seed(o->seed, number), PURPOSE, g->parts);
    double sum = 0;
    for (uint32_t k = 0; k < from->n; k++)
        sum += (double)weight[strads_block_param(from, k)];
    for (uint32_t p = 0; p < g->n; p++) {
        o->load[p] = 0;
        o->count[p] = 0;
    }
    for (uint32_t k = 0; k < from->n; k++) {
        if (k % RUN == 0)
            drawn = (uint32_t)(sti_random_unit(&random) * max_partitions);
        uint32_t p = drawn;
        for (uint32_t tries = 0;
             tries < max_partitions && o->load[p] * max_partitions >= sum;
             tries++)
            p = p + 1 < max_partitions ? p + 1 : 0;
        o->to[k] = p;
        o->load[p] += (double)weight[strads_block_param(from, k)];
        o->count[p]++;
    }
}

static strads_err record_dealt(sti_owned *o, pool *g, const strads_block *from,
                               uint32_t parts)
{
    if (g->n_dealt == g->cap_dealt) {
        uint32_t capacity = g->cap_dealt ? 2 * g->cap_dealt : 8;
        dealt *more = realloc(g->dealt, sizeof *more * capacity);
        if (!more)
            return no_pool_memory(o->pools);
        g->dealt = more;
        g->cap_dealt = capacity;
    }
    g->dealt[g->n_dealt++] =
        (dealt){.block = {.id = from->id, .n = from->n, .first = from->first},
                .first = g->parts,
                .n = parts};
    g->parts += parts;
    return STRADS_OK;
}

static strads_err distribute_block(sti_owned *o, uint32_t number,
                                   const strads_block *from)
{
    pool *g = &o->pool[number];
    uint32_t parts = 0;
    draw_partitions(o, number, from);
    for (uint32_t p = 0; p < g->n; p++) {
        if (!o->count[p])
            continue;
        const uint64_t id = STRADS_POLICY_BLOCK_IDS + g->parts + parts++;
        o->out[o->n_out++] = (strads_block){.id = id_outside(o, id, number),
                                            .n = o->count[p],
                                            .owner = g->first + p};
        for (uint32_t k = 0; k < from->n; k++)
            if (o->to[k] == p)
                append_member(o, g, from, k);
    }
    return record_dealt(o, g, from, parts);
}

/* Adds a pool's choice to the result. Pointers to members are set later,
 * because the array still grows. */
static strads_err take_choice(sti_owned *o, uint32_t number,
                              const strads_choice *choice)
{
    const pool *g = &o->pool[number];
    strads_err err = reserve_out(o, g, choice);
    for (uint32_t k = 0; k < choice->n && !err; k++)
        if (g->n == 1)
            take_whole(o, number, &choice->blocks[k]);
        else
            err = distribute_block(o, number, &choice->blocks[k]);
    return err;
}

static void place_members(sti_owned *o)
{
    size_t at = 0;
    for (uint32_t k = 0; k < o->n_out; k++) {
        o->out[k].param = o->param + at;
        at += o->out[k].n;
    }
}

static strads_err owned_choose(sti_owned *o,
                               const strads_choice_request *request,
                               uint32_t max_partitions, strads_choice *choice)
{
    bool waits = false;
    o->max_partitions = max_partitions;
    o->n_out = 0;
    o->n_param = 0;
    for (uint32_t k = 0; k < o->pools; k++) {
        pool *g = &o->pool[k];
        strads_choice_request own = *request;
        strads_choice chosen = {.kind = STRADS_CHOOSE_REST};
        own.rest = request->rest / o->pools;
        own.work = request->work * g->n;
        strads_err err = collect_inside(o, k, &own);
        if (!err && g->state)
            err = o->policy->choose(g->state, &own, &chosen);
        if (!err && chosen.kind == STRADS_CHOOSE_BLOCKS)
            err = take_choice(o, k, &chosen);
        if (err)
            return err;
        waits = waits || chosen.kind == STRADS_CHOOSE_WAIT;
    }
    place_members(o);
    *choice = (strads_choice){.kind = o->n_out ? STRADS_CHOOSE_BLOCKS
                                      : waits  ? STRADS_CHOOSE_WAIT
                                               : STRADS_CHOOSE_REST,
                              .n = o->n_out,
                              .blocks = o->out};
    return STRADS_OK;
}

/* ---- a scheduler's job: gives its policy the news and gets the policy's
 * choice. A policy numbers the parameters of its range from 0 and knows no
 * other range. With several schedulers, numbers and ids are translated here. */

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

static double pair_dependency(const void *engine, uint32_t i, uint32_t j)
{
    return sti_pairs_dependency(engine, i, j);
}

/* ---- numbering within the range and in the run -------------------------- */

static uint64_t id_base(const view *v)
{
    return v->number * STI_RANGE_IDS;
}

/* Copies the parts of blocks that lie in the range; *n becomes their number. */
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
        if (sti_run_scheduler_of(v->run, block.id) == v->number)
            block.id -= id_base(v);
        if (members)
            (*out)[kept++] = block;
    }
    *n = kept;
    return STRADS_OK;
}

/* Translates the policy's own blocks back, in place. */
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

static strads_err make_answer(const view *v, sti_choose_job *job,
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

/* Checks a block's id. With one scheduler, its policy may use any id. */
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
    return err ? err : make_answer(v, job, STRADS_CHOOSE_PROBE, 2, pair);
}

static strads_err answer_blocks(const view *v, sti_choose_job *job,
                                const strads_choice *choice)
{
    strads_err err = check_blocks(v, choice->n, choice->blocks);
    return err ? err
               : make_answer(v, job, STRADS_CHOOSE_BLOCKS, choice->n,
                             choice->blocks);
}

/* ---- the request -------------------------------------------------------- */

/* Counts priorities for the watch page; the bin is the binary exponent. */
static void count_priorities(sti_run *run, const sti_priorities *told)
{
    enum { EXPONENT_BITS = 0x7ff, BIAS = 1023, LOWEST = -40 };
    for (uint64_t k = 0; k < told->n; k++) {
        uint64_t bits;
        memcpy(&bits, &told->priority[k], sizeof bits);
        const int place = (int)(bits >> 52 & EXPONENT_BITS) - BIAS - LOWEST + 1;
        run->priorities[place < 0 ? 0
                        : place > STRADS_PRIORITY_BINS - 1
                            ? STRADS_PRIORITY_BINS - 1
                            : place]++;
    }
}

static void deliver_priorities(const view *v, sti_choose_job *job)
{
    for (uint32_t k = 0; k < job->ask->n_priorities; k++) {
        const sti_priorities *priorities = job->ask->priorities[k];
        count_priorities(v->run, priorities);
        if (priorities->n && v->run->owned)
            owned_prioritise(v->run->owned, (uint32_t)priorities->n,
                             priorities->param, priorities->priority);
        else if (priorities->n)
            v->run->policy->prioritise(v->range->policy,
                                       (uint32_t)priorities->n,
                                       priorities->param, priorities->priority);
        if (priorities->rest >= 0)
            job->rest = priorities->rest;
    }
}

/* With several schedulers, each stores the results of its own probes in its own
 * cache. */
static strads_err store_found(const view *v, const sti_ask *ask)
{
    if (v->pairs != v->range->pairs || !v->pairs)
        return STRADS_OK;
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

/* Trims the cache, except after a probe, which the policy is about to read. */
static void trim_cache(const view *v, sti_choose_job *job)
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
        return make_answer(v, job, choice->kind, 0, NULL);
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
        .dependency = v->pairs ? pair_dependency : NULL,
        .engine = v->pairs,
    };
    strads_choice choice = {.kind = STRADS_CHOOSE_REST};
    err = v->run->owned
              ? owned_choose(v->run->owned, &request, job->ask->max_partitions,
                             &choice)
              : v->run->policy->choose(v->range->policy, &request, &choice);
    /* A probe may name blocks of the request, so `own` is freed after the
     * answer. */
    if (!err)
        err = answer_choice(v, job, &choice);
    if (!err && choice.remaining > 0)
        job->choice->remaining = fmin(choice.remaining, DBL_MAX);
    free(own);
    return err;
}

/* ---- opening ------------------------------------------------------------ */

/* Policies draw by numbers within their ranges, so each needs its own seed. */
static uint64_t seed_of_range(const view *v)
{
    enum { PURPOSE = 0x73636801 };
    return v->number ? strads_random_bits(v->run->seed, PURPOSE, v->number, 0)
                     : v->run->seed;
}

static strads_err open_range_policy(const view *v)
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
        .seed = seed_of_range(v),
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
        err = sti_pairs_new(v.n,
                            sti_pairs_limit(run->shape.spare_bytes) /
                                run->schedulers,
                            &v.range->pairs);
    return err ? err : open_range_policy(&v);
}

strads_err sti_job_choose(sti_run *run, sti_choose_job *job)
{
    job->run = run;
    strads_err err = open_range(run, job->scheduler);
    if (err)
        return err;
    const view v = view_of(run, job->scheduler);
    err = store_found(&v, job->ask);
    if (err)
        return err;
    deliver_priorities(&v, job);
    trim_cache(&v, job);
    err = sti_choice_new(&job->choice);
    return err ? err : ask_policy(&v, job);
}
