/* A policy for each partition. Inside, a partition's parameters count from 0;
 * block ids of partition p are dealt out as id * K + p, so that no two policies
 * give the same one. */
#include "engine/role/owned_policy.h"

#include <stdlib.h>
#include <string.h>

typedef struct owner {
    strads_range range;
    void *state;          /* the policy's, NULL where nothing is owned */
    strads_block *inside; /* [room_inside] blocks in flight, as it knows them */
    uint32_t room_inside;
} owner;

struct sti_owned {
    const strads_policy *policy;
    uint32_t partitions;
    owner *owner;      /* [partitions] */
    uint64_t most;     /* parameters of the largest partition */
    uint32_t *own;     /* [most] parameters, as their owner counts them */
    strads_block *out; /* [room_out] what was chosen last */
    uint32_t n_out, room_out;
    uint32_t *param; /* [n_param] the members of these */
    size_t n_param, room_param;
};

static strads_err no_memory(uint32_t partitions)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the policies of %u "
                       "partitions",
                       partitions);
}

/* Ranges follow each other, so that who owns what can be found by halves. */
static strads_err take_ranges(const sti_run *run, sti_owned *o)
{
    uint64_t end = 0;
    for (uint32_t p = 0; p < o->partitions; p++) {
        strads_range r =
            run->program->owned(run->config, run->data, &run->shape, p);
        if (r.begin < end || r.end < r.begin || r.end > run->shape.parameters)
            return strads_fail(
                STRADS_EPROGRAM,
                "program %s gives partition %u the parameters %llu to %llu of "
                "%llu, those before it end at %llu: expected ranges in the "
                "order of partitions",
                run->program->name, p, (unsigned long long)r.begin,
                (unsigned long long)r.end,
                (unsigned long long)run->shape.parameters,
                (unsigned long long)end);
        o->owner[p].range = r;
        end = r.end;
        if (r.end - r.begin > o->most)
            o->most = r.end - r.begin;
    }
    return STRADS_OK;
}

/* Each draws from streams of its own. */
static uint64_t seed_of(const sti_run *run, uint32_t p)
{
    return run->seed ^ (p * UINT64_C(0x9e3779b97f4a7c15));
}

strads_err sti_owned_open(const sti_run *run, sti_owned **out)
{
    sti_owned *o = calloc(1, sizeof *o);
    *out = o;
    if (!o)
        return no_memory(run->partitions);
    o->policy = run->policy;
    o->partitions = run->partitions;
    o->owner = calloc(o->partitions, sizeof *o->owner);
    if (!o->owner)
        return no_memory(run->partitions);
    strads_err err = take_ranges(run, o);
    if (err)
        return err;
    o->own = malloc(sizeof *o->own * (o->most + 1));
    if (!o->own)
        return no_memory(run->partitions);
    for (uint32_t p = 0; p < o->partitions && !err; p++) {
        owner *w = &o->owner[p];
        const strads_policy_setup setup = {
            .parameters = w->range.end - w->range.begin,
            .weight = run->weight + w->range.begin,
            .block_max = run->shape.block_max,
            .threshold = run->threshold,
            .seed = seed_of(run, p),
        };
        if (setup.parameters)
            err = o->policy->open(&setup, &w->state);
    }
    return err;
}

void sti_owned_free(sti_owned *o)
{
    if (!o)
        return;
    for (uint32_t p = 0; o->owner && p < o->partitions; p++) {
        if (o->owner[p].state)
            o->policy->close(o->owner[p].state);
        free(o->owner[p].inside);
    }
    free(o->owner);
    free(o->own);
    free(o->out);
    free(o->param);
    free(o);
}

/* ---- who owns what ----------------------------------------------------- */

/* The partition whose range holds j, or `partitions`. */
static uint32_t owner_of(const sti_owned *o, uint64_t j)
{
    uint32_t low = 0, high = o->partitions;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (o->owner[middle].range.end <= j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->partitions && o->owner[low].range.begin <= j
               ? low
               : o->partitions;
}

bool sti_owned_has(const sti_owned *o, uint32_t j)
{
    return owner_of(o, j) < o->partitions;
}

/* ---- priorities -------------------------------------------------------- */

void sti_owned_prioritise(sti_owned *o, uint32_t n, const uint32_t *param,
                          const double *priority)
{
    for (uint32_t k = 0; k < n;) {
        uint32_t p = owner_of(o, param[k]);
        if (p == o->partitions) {
            k++;
            continue;
        }
        const owner *w = &o->owner[p];
        uint32_t first = k, m = 0;
        for (; k < n && m < o->most && param[k] >= w->range.begin &&
               param[k] < w->range.end;
             k++)
            o->own[m++] = (uint32_t)(param[k] - w->range.begin);
        o->policy->prioritise(w->state, m, o->own, priority + first);
    }
}

/* ---- choosing ---------------------------------------------------------- */

static uint64_t id_inside(const sti_owned *o, uint64_t id)
{
    return id < STRADS_POLICY_BLOCK_IDS
               ? id
               : STRADS_POLICY_BLOCK_IDS +
                     (id - STRADS_POLICY_BLOCK_IDS) / o->partitions;
}

static uint64_t id_outside(const sti_owned *o, uint64_t id, uint32_t p)
{
    return STRADS_POLICY_BLOCK_IDS +
           (id - STRADS_POLICY_BLOCK_IDS) * o->partitions + p;
}

/* A block of a policy's choosing has one owner; of another one the policy is
 * told that it is there if it may hold something of this partition. */
static bool concerns(const strads_block *block, const owner *w, uint32_t p)
{
    if (block->id >= STRADS_POLICY_BLOCK_IDS)
        return block->owner == p;
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t j = strads_block_param(block, k);
        if (j >= w->range.begin && j < w->range.end)
            return true;
    }
    return false;
}

/* The blocks in flight that partition p is to know of. Their members are not
 * looked at by a policy that compares nothing. */
static strads_err look_inside(sti_owned *o, uint32_t p,
                              strads_choice_request *request)
{
    owner *w = &o->owner[p];
    uint32_t n = 0;
    if (request->n_in_flight > w->room_inside) {
        strads_block *more =
            realloc(w->inside, sizeof *more * request->n_in_flight);
        if (!more)
            return no_memory(o->partitions);
        w->inside = more;
        w->room_inside = request->n_in_flight;
    }
    for (uint32_t k = 0; k < request->n_in_flight; k++) {
        const strads_block *block = &request->in_flight[k];
        if (!concerns(block, w, p))
            continue;
        w->inside[n] = *block;
        w->inside[n++].id = id_inside(o, block->id);
    }
    request->in_flight = w->inside;
    request->n_in_flight = n;
    return STRADS_OK;
}

static strads_err reserve_out(sti_owned *o, const strads_choice *choice)
{
    size_t members = 0;
    for (uint32_t k = 0; k < choice->n; k++)
        members += choice->blocks[k].n;
    if (o->n_out + choice->n > o->room_out) {
        uint32_t room = 2 * (o->n_out + choice->n);
        strads_block *more = realloc(o->out, sizeof *more * room);
        if (!more)
            return no_memory(o->partitions);
        o->out = more;
        o->room_out = room;
    }
    if (o->n_param + members > o->room_param) {
        size_t room = 2 * (o->n_param + members);
        uint32_t *more = realloc(o->param, sizeof *more * room);
        if (!more)
            return no_memory(o->partitions);
        o->param = more;
        o->room_param = room;
    }
    return STRADS_OK;
}

/* Adds a partition's choice to all of it. Where members stand is filled in when
 * they no longer move. */
static strads_err take(sti_owned *o, uint32_t p, const strads_choice *choice)
{
    strads_err err = reserve_out(o, choice);
    for (uint32_t k = 0; k < choice->n && !err; k++) {
        const strads_block *from = &choice->blocks[k];
        o->out[o->n_out++] = (strads_block){.id = id_outside(o, from->id, p),
                                            .n = from->n,
                                            .owner = p};
        for (uint32_t i = 0; i < from->n; i++)
            o->param[o->n_param++] = (uint32_t)(o->owner[p].range.begin +
                                                strads_block_param(from, i));
    }
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
                            strads_choice *choice)
{
    bool waits = false;
    o->n_out = 0;
    o->n_param = 0;
    for (uint32_t p = 0; p < o->partitions; p++) {
        strads_choice_request own = *request;
        strads_choice chosen = {.kind = STRADS_CHOOSE_REST};
        own.rest = request->rest / o->partitions;
        strads_err err = look_inside(o, p, &own);
        if (!err && o->owner[p].state)
            err = o->policy->choose(o->owner[p].state, &own, &chosen);
        if (!err && chosen.kind == STRADS_CHOOSE_BLOCKS)
            err = take(o, p, &chosen);
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
