/* A policy for each pool. Inside, a pool's parameters count from 0; block ids
 * of pool g of G are dealt out as id * G + g, so that no two policies give the
 * same one.
 *
 * Where a pool is one partition these are the policy's ids. Otherwise each of
 * its blocks is dealt out among the partitions, anew whenever it is chosen: a
 * draw for each few parameters says to whom they go, and nobody gets more than
 * his share of the work. Such parts have ids of their own, never used before,
 * and the policy is told that its block is in flight as long as one of them
 * is. */
#include "engine/round/owned_policy.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "strads/policy.h"

/* A block that has been dealt out, as its policy knows it. */
typedef struct dealt {
    strads_block block;
    uint64_t first; /* of its parts' numbers, */
    uint32_t n;     /* so many */
} dealt;

typedef struct pool {
    strads_range range;
    uint32_t first, n;    /* partitions */
    void *state;          /* the policy's, NULL where nothing is owned */
    strads_block *inside; /* [room_inside] blocks in flight, as it knows them */
    uint32_t room_inside;
    uint64_t parts; /* that have been dealt out so far */
    dealt *dealt;   /* [n_dealt] those that are in flight */
    uint32_t n_dealt, room_dealt;
} pool;

struct sti_owned {
    const strads_policy *policy;
    uint32_t pools;
    pool *pool;        /* [pools] */
    uint64_t most;     /* parameters of the largest pool */
    uint32_t *own;     /* [most] parameters, as their pool counts them */
    strads_block *out; /* [room_out] what was chosen last */
    uint32_t n_out, room_out;
    uint32_t *param; /* [n_param] the members of these */
    size_t n_param, room_param;
    uint64_t seed;
    const float *weight; /* [parameters] */
    uint32_t *to;        /* [most] whom a member goes to, while dealing; NULL
                            where all pools are one partition */
    double *load;        /* [partitions] what they have been given */
    uint32_t *count;     /* [partitions] */
    uint32_t hands;      /* of a pool that blocks are dealt out among now */
};

static strads_err no_memory(uint32_t pools)
{
    return strads_fail(STRADS_ENOMEM, "no memory for the policies of %u pools",
                       pools);
}

/* Ranges follow each other, so that who owns what can be found by halves. */
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
                               "of partition %u: those of a pool are one range",
                               run->program->name, g->first + k);
        g->range.begin = k ? g->range.begin : r.begin;
        g->range.end = end = r.end;
    }
    if (g->range.end - g->range.begin > o->most)
        o->most = g->range.end - g->range.begin;
    return STRADS_OK;
}

/* Each draws from streams of its own. */
static uint64_t seed_of(uint64_t seed, uint32_t number)
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
        .seed = seed_of(run->seed, number),
    };
    return setup.parameters ? o->policy->open(&setup, &g->state) : STRADS_OK;
}

static strads_err reserve_dealing(sti_owned *o, uint32_t partitions)
{
    o->to = malloc(sizeof *o->to * (o->most + 1));
    o->load = malloc(sizeof *o->load * partitions);
    o->count = malloc(sizeof *o->count * partitions);
    return o->to && o->load && o->count ? STRADS_OK : no_memory(o->pools);
}

strads_err sti_owned_open(const sti_run *run, sti_owned **out)
{
    const uint32_t pools = run->shape.pools;
    sti_owned *o = calloc(1, sizeof *o);
    strads_err err = STRADS_OK;
    *out = o;
    if (!o)
        return no_memory(pools);
    o->policy = run->policy;
    o->pools = pools;
    o->pool = calloc(pools, sizeof *o->pool);
    if (!o->pool)
        return no_memory(pools);
    for (uint32_t g = 0; g < pools && !err; g++)
        err = take_pool(run, o, g);
    if (err)
        return err;
    o->own = malloc(sizeof *o->own * (o->most + 1));
    if (!o->own)
        return no_memory(pools);
    o->seed = run->seed;
    o->weight = run->weight;
    if (pools < run->partitions)
        err = reserve_dealing(o, run->partitions);
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

/* ---- who owns what ----------------------------------------------------- */

/* The pool whose range holds j, or `pools`. */
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

void sti_owned_prioritise(sti_owned *o, uint32_t n, const uint32_t *param,
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

/* Whether a part of a block that was dealt out is still in flight. */
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

/* Of a block that no policy chose, a policy is told that it is there if it may
 * hold something of the pool. */
static bool concerns(const strads_block *block, const pool *g)
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
    if (need <= g->room_inside)
        return STRADS_OK;
    strads_block *more = realloc(g->inside, sizeof *more * need);
    if (!more)
        return no_memory(o->pools);
    g->inside = more;
    g->room_inside = need;
    return STRADS_OK;
}

/* The blocks in flight that a pool's policy is to know of. Their members are
 * not looked at by a policy that compares nothing. */
static strads_err look_inside(sti_owned *o, uint32_t number,
                              strads_choice_request *request)
{
    pool *g = &o->pool[number];
    uint32_t n = 0, kept = 0;
    strads_err err = reserve_inside(o, g, request->n_in_flight + g->n_dealt);
    if (err)
        return err;
    for (uint32_t k = 0; k < request->n_in_flight; k++) {
        const strads_block *block = &request->in_flight[k];
        if (!concerns(block, g))
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
    if (o->n_out + parts > o->room_out) {
        uint32_t room = 2 * (o->n_out + parts);
        strads_block *more = realloc(o->out, sizeof *more * room);
        if (!more)
            return no_memory(o->pools);
        o->out = more;
        o->room_out = room;
    }
    if (o->n_param + members > o->room_param) {
        size_t room = 2 * (o->n_param + members);
        uint32_t *more = realloc(o->param, sizeof *more * room);
        if (!more)
            return no_memory(o->pools);
        o->param = more;
        o->room_param = room;
    }
    return STRADS_OK;
}

static void put_member(sti_owned *o, const pool *g, const strads_block *from,
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
        put_member(o, g, from, k);
}

static uint32_t hands_of(const sti_owned *o, const pool *g)
{
    return o->hands && o->hands < g->n ? o->hands : g->n;
}

/* Says to whom each member goes. A few neighbours go together: what belongs to
 * them lies together, too. */
static void draw_hands(sti_owned *o, uint32_t number, const strads_block *from)
{
    enum { PURPOSE = 0x6465616c, RUN = 8 };
    uint32_t drawn = 0;
    const pool *g = &o->pool[number];
    const uint32_t hands = hands_of(o, g);
    const float *weight = o->weight + g->range.begin;
    sti_random random =
        sti_random_stream(seed_of(o->seed, number), PURPOSE, g->parts);
    double sum = 0;
    for (uint32_t k = 0; k < from->n; k++)
        sum += (double)weight[strads_block_param(from, k)];
    for (uint32_t p = 0; p < g->n; p++) {
        o->load[p] = 0;
        o->count[p] = 0;
    }
    for (uint32_t k = 0; k < from->n; k++) {
        if (k % RUN == 0)
            drawn = (uint32_t)(sti_random_unit(&random) * hands);
        uint32_t p = drawn;
        for (uint32_t tries = 0; tries < hands && o->load[p] * hands >= sum;
             tries++)
            p = p + 1 < hands ? p + 1 : 0;
        o->to[k] = p;
        o->load[p] += (double)weight[strads_block_param(from, k)];
        o->count[p]++;
    }
}

static strads_err remember(sti_owned *o, pool *g, const strads_block *from,
                           uint32_t parts)
{
    if (g->n_dealt == g->room_dealt) {
        uint32_t room = g->room_dealt ? 2 * g->room_dealt : 8;
        dealt *more = realloc(g->dealt, sizeof *more * room);
        if (!more)
            return no_memory(o->pools);
        g->dealt = more;
        g->room_dealt = room;
    }
    g->dealt[g->n_dealt++] =
        (dealt){.block = {.id = from->id, .n = from->n, .first = from->first},
                .first = g->parts,
                .n = parts};
    g->parts += parts;
    return STRADS_OK;
}

static strads_err deal(sti_owned *o, uint32_t number, const strads_block *from)
{
    pool *g = &o->pool[number];
    uint32_t parts = 0;
    draw_hands(o, number, from);
    for (uint32_t p = 0; p < g->n; p++) {
        if (!o->count[p])
            continue;
        const uint64_t id = STRADS_POLICY_BLOCK_IDS + g->parts + parts++;
        o->out[o->n_out++] = (strads_block){.id = id_outside(o, id, number),
                                            .n = o->count[p],
                                            .owner = g->first + p};
        for (uint32_t k = 0; k < from->n; k++)
            if (o->to[k] == p)
                put_member(o, g, from, k);
    }
    return remember(o, g, from, parts);
}

/* Adds a pool's choice to all of it. Where members stand is filled in when they
 * no longer move. */
static strads_err take(sti_owned *o, uint32_t number,
                       const strads_choice *choice)
{
    const pool *g = &o->pool[number];
    strads_err err = reserve_out(o, g, choice);
    for (uint32_t k = 0; k < choice->n && !err; k++)
        if (g->n == 1)
            take_whole(o, number, &choice->blocks[k]);
        else
            err = deal(o, number, &choice->blocks[k]);
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

strads_err sti_owned_choose(sti_owned *o, const strads_choice_request *request,
                            uint32_t hands, strads_choice *choice)
{
    bool waits = false;
    o->hands = hands;
    o->n_out = 0;
    o->n_param = 0;
    for (uint32_t k = 0; k < o->pools; k++) {
        pool *g = &o->pool[k];
        strads_choice_request own = *request;
        strads_choice chosen = {.kind = STRADS_CHOOSE_REST};
        own.rest = request->rest / o->pools;
        own.work = request->work * g->n;
        strads_err err = look_inside(o, k, &own);
        if (!err && g->state)
            err = o->policy->choose(g->state, &own, &chosen);
        if (!err && chosen.kind == STRADS_CHOOSE_BLOCKS)
            err = take(o, k, &chosen);
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
