/* Dispatches and updates: each is one counted object; its blocks and parameter
 * lists are in one more allocation. */
#include "engine/round/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/job.h"

static strads_err no_dispatch_memory(const char *what)
{
    return strads_fail(STRADS_ENOMEM, "no memory for %s", what);
}

/* ---- blocks ------------------------------------------------------------ */

static size_t params_bytes(const strads_block *block)
{
    return block->param ? sizeof *block->param * block->n : 0;
}

static size_t blocks_bytes(uint32_t n, const strads_block *blocks)
{
    size_t bytes = sizeof *blocks * n;
    for (uint32_t i = 0; i < n; i++)
        bytes += params_bytes(&blocks[i]);
    return bytes;
}

/* Copies blocks to `to` and their parameters to `at`; returns the end. */
static unsigned char *put_blocks(unsigned char *at, uint32_t n,
                                 const strads_block *blocks, strads_block *to)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = blocks[i];
        if (!blocks[i].param)
            continue;
        size_t bytes = params_bytes(&blocks[i]);
        to[i].param = memcpy(at, blocks[i].param, bytes);
        at += bytes;
    }
    return at;
}

strads_err sti_blocks_copy(uint32_t n, const strads_block *blocks,
                           strads_block **out)
{
    strads_block *copy = malloc(blocks_bytes(n, blocks) + 1);
    if (!copy)
        return no_dispatch_memory("a list of blocks");
    put_blocks((unsigned char *)(copy + n), n, blocks, copy);
    *out = copy;
    return STRADS_OK;
}

/* ---- updates ------------------------------------------------------------- */

static void update_destroy(sti_object *object)
{
    sti_update *update = (sti_update *)object;
    sti_object_drop(update->partial);
    free(update);
}

strads_err sti_update_change(uint64_t version, uint32_t n, uint32_t width,
                             sti_update **out)
{
    size_t numbers = (size_t)n * width;
    sti_update *update = malloc(sizeof *update + sizeof(double) * numbers +
                                sizeof(uint32_t) * n);
    if (!update)
        return no_dispatch_memory("a commit's changes");
    *update = (sti_update){.kind = STI_UPDATE_CHANGE};
    sti_object_init(&update->head, update_destroy);
    double *change = (double *)(update + 1);
    update->change = (strads_change){
        .version = version,
        .n = n,
        .param = (const uint32_t *)(change + numbers),
        .change = change,
    };
    *out = update;
    return STRADS_OK;
}

strads_err sti_update_result(uint32_t phase, const strads_block *block,
                             sti_buffer *partial, sti_update **out)
{
    sti_update *update = malloc(sizeof *update + params_bytes(block));
    if (!update)
        return no_dispatch_memory("a phase's result");
    *update = (sti_update){.kind = STI_UPDATE_RESULT, .phase = phase};
    sti_object_init(&update->head, update_destroy);
    put_blocks((unsigned char *)(update + 1), 1, block, &update->block);
    update->partial = sti_object_keep(partial);
    *out = update;
    return STRADS_OK;
}

/* ---- dispatches -------------------------------------------------------- */

static void dispatch_destroy(sti_object *object)
{
    sti_dispatch *d = (sti_dispatch *)object;
    for (uint32_t i = 0; i < d->n_updates; i++)
        sti_object_drop(d->updates[i]);
    free(d->memory);
    free(d);
}

/* Bytes of the dispatch's memory. The widest items come first, so that all are
 * aligned. */
static size_t dispatch_bytes(const sti_dispatch_parts *p)
{
    return sizeof(double) * (p->n_values + p->n_totals) +
           2 * sizeof(size_t) * (p->n_blocks + 1) +
           sizeof(sti_update *) * p->n_updates +
           blocks_bytes(p->n_blocks, p->blocks) +
           blocks_bytes(p->n_in_flight, p->in_flight) +
           (p->against ? blocks_bytes(1, p->against) : 0);
}

static void lay_out_dispatch(sti_dispatch *d, const sti_dispatch_parts *p)
{
    unsigned char *at = d->memory;
    d->values = p->n_values ? (double *)at : NULL;
    at += sizeof(double) * p->n_values;
    d->totals = p->n_totals ? (double *)at : NULL;
    at += sizeof(double) * p->n_totals;
    d->value_at = (size_t *)at;
    d->partial_at = d->value_at + p->n_blocks + 1;
    at += 2 * sizeof(size_t) * (p->n_blocks + 1);
    d->updates = (sti_update **)at;
    at += sizeof(sti_update *) * p->n_updates;
    d->blocks = (strads_block *)at;
    at += sizeof(strads_block) * p->n_blocks;
    d->in_flight = (strads_block *)at;
    at += sizeof(strads_block) * p->n_in_flight;
    at = put_blocks(at, p->n_blocks, p->blocks, d->blocks);
    at = put_blocks(at, p->n_in_flight, p->in_flight, d->in_flight);
    if (p->against)
        put_blocks(at, 1, p->against, &d->against);
}

strads_err sti_dispatch_new(const sti_dispatch_parts *parts, sti_dispatch **out)
{
    sti_dispatch *d = malloc(sizeof *d);
    if (!d)
        return no_dispatch_memory("a dispatch");
    *d = (sti_dispatch){0};
    sti_object_init(&d->head, dispatch_destroy);
    d->memory = malloc(dispatch_bytes(parts) + 1);
    if (!d->memory) {
        free(d);
        return no_dispatch_memory("a dispatch");
    }
    d->round = parts->round;
    d->seq = parts->seq;
    d->phase = parts->phase;
    d->width = parts->width;
    d->known = parts->known;
    d->settled = parts->settled;
    d->n_totals = parts->n_totals;
    d->n_blocks = parts->n_blocks;
    d->n_in_flight = parts->n_in_flight;
    d->has_against = parts->against != NULL;
    d->n_updates = parts->n_updates;
    lay_out_dispatch(d, parts);
    memset(d->value_at, 0, 2 * sizeof(size_t) * (parts->n_blocks + 1));
    for (uint32_t i = 0; i < d->n_updates; i++)
        d->updates[i] = sti_object_keep(parts->updates[i]);
    *out = d;
    return STRADS_OK;
}

/* ---- other counted objects of jobs and messages: ring steps, priorities,
 * requests and choices */

static void ring_step_destroy(sti_object *object)
{
    sti_ring_step *step = (sti_ring_step *)object;
    if (step->object && step->payload && step->payload->close)
        step->payload->close(step->object);
    sti_object_drop(step->partial);
    sti_object_drop(step->packed);
    free(step);
}

strads_err sti_ring_step_new(uint32_t index, size_t n_values,
                             size_t partial_bytes, sti_ring_step **out)
{
    sti_ring_step *step = malloc(sizeof *step + sizeof(double) * n_values);
    if (!step)
        return strads_fail(STRADS_ENOMEM, "no memory for a ring block");
    *step = (sti_ring_step){.index = index, .n_values = n_values};
    sti_object_init(&step->head, ring_step_destroy);
    step->values = (double *)(step + 1);
    strads_err err = sti_buffer_new(partial_bytes, &step->partial);
    if (err) {
        sti_object_drop(step);
        return err;
    }
    memset(step->partial->bytes, 0, partial_bytes);
    *out = step;
    return STRADS_OK;
}

static void priorities_destroy(sti_object *object)
{
    sti_priorities *priorities = (sti_priorities *)object;
    free(priorities->param);
    free(priorities->priority);
    free(priorities);
}

strads_err sti_priorities_new(sti_priorities **out)
{
    sti_priorities *priorities = calloc(1, sizeof *priorities);
    if (!priorities)
        return strads_fail(STRADS_ENOMEM, "no memory for priorities");
    sti_object_init(&priorities->head, priorities_destroy);
    priorities->rest = -1;
    *out = priorities;
    return STRADS_OK;
}

static strads_err priorities_grow(sti_priorities *priorities, size_t need)
{
    size_t capacity = priorities->capacity + priorities->capacity / 2;
    if (capacity < need)
        capacity = need;
    uint32_t *param = realloc(priorities->param, sizeof *param * capacity);
    if (param)
        priorities->param = param;
    double *priority =
        realloc(priorities->priority, sizeof *priority * capacity);
    if (priority)
        priorities->priority = priority;
    if (!param || !priority)
        return strads_fail(STRADS_ENOMEM, "no memory for %zu priorities",
                           capacity);
    priorities->capacity = capacity;
    return STRADS_OK;
}

strads_err sti_priorities_add(sti_priorities *priorities, uint32_t n,
                              const uint32_t *param, const double *priority)
{
    if (n == 0) /* then param may be NULL */
        return STRADS_OK;
    if (priorities->n + n > priorities->capacity) {
        strads_err err = priorities_grow(priorities, priorities->n + n);
        if (err)
            return err;
    }
    memcpy(priorities->param + priorities->n, param, sizeof *param * n);
    memcpy(priorities->priority + priorities->n, priority,
           sizeof *priority * n);
    priorities->n += n;
    return STRADS_OK;
}

/* Makes the list for scheduler s when it is first needed. */
static strads_err priorities_for(sti_priorities **priorities, uint32_t s)
{
    return priorities[s] ? STRADS_OK : sti_priorities_new(&priorities[s]);
}

/* Renumbers the last n parameters from the start of the scheduler's range. */
static void number_from(sti_priorities *priorities, uint32_t n, uint32_t first)
{
    for (size_t k = priorities->n - n; k < priorities->n; k++)
        priorities->param[k] -= first;
}

strads_err sti_priorities_deal(const sti_run *run, sti_priorities **priorities,
                               uint32_t n, const uint32_t *param,
                               const double *priority)
{
    strads_err err = STRADS_OK;
    for (uint32_t from = 0, to; from < n && !err; from = to) {
        uint32_t s = 0;
        to = n;
        if (run->schedulers > 1) {
            s = sti_run_scheduler(run, param[from]);
            uint32_t first = sti_run_range(run, s);
            uint32_t end = sti_run_range(run, s + 1);
            for (to = from + 1; to < n; to++)
                if (param[to] < first || param[to] >= end)
                    break;
        }
        err = priorities_for(priorities, s);
        if (!err)
            err = sti_priorities_add(priorities[s], to - from, param + from,
                                     priority + from);
        if (!err && s)
            number_from(priorities[s], to - from, sti_run_range(run, s));
    }
    return err;
}

strads_err sti_priorities_rest(const sti_run *run, sti_priorities **priorities,
                               double rest)
{
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < run->schedulers && !err; s++) {
        err = priorities_for(priorities, s);
        if (!err)
            priorities[s]->rest = rest;
    }
    return err;
}

static void choice_destroy(sti_object *object)
{
    sti_choice *choice = (sti_choice *)object;
    free(choice->blocks);
    free(choice);
}

strads_err sti_choice_new(sti_choice **out)
{
    sti_choice *choice = calloc(1, sizeof *choice);
    if (!choice)
        return strads_fail(STRADS_ENOMEM, "no memory for a choice");
    sti_object_init(&choice->head, choice_destroy);
    *out = choice;
    return STRADS_OK;
}

static void found_free(sti_found *found)
{
    while (found) {
        sti_found *next = found->next;
        sti_object_drop(found->values);
        free(found->pair);
        free(found);
        found = next;
    }
}

static void ask_destroy(sti_object *object)
{
    sti_ask *ask = (sti_ask *)object;
    for (uint32_t k = 0; k < ask->n_priorities; k++)
        sti_object_drop(ask->priorities[k]);
    found_free(ask->found);
    free(ask->priorities);
    free(ask->in_flight);
    free(ask);
}

strads_err sti_ask_new(sti_ask **out)
{
    sti_ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        return strads_fail(STRADS_ENOMEM, "no memory for a request");
    sti_object_init(&ask->head, ask_destroy);
    *out = ask;
    return STRADS_OK;
}

strads_err sti_ask_add_priorities(sti_ask *ask, sti_priorities *priorities)
{
    if (!priorities)
        return STRADS_OK;
    if (ask->n_priorities == ask->cap_priorities) {
        uint32_t capacity = ask->cap_priorities ? 2 * ask->cap_priorities : 4;
        sti_priorities **list =
            realloc(ask->priorities, sizeof(sti_priorities *) * capacity);
        if (!list) {
            sti_object_drop(priorities);
            return strads_fail(STRADS_ENOMEM, "no memory for priorities");
        }
        ask->priorities = list;
        ask->cap_priorities = capacity;
    }
    ask->priorities[ask->n_priorities++] = priorities;
    return STRADS_OK;
}

strads_err sti_ask_add_found(sti_ask *ask, const strads_block *pair,
                             sti_buffer *values, const double *value)
{
    sti_found **last = &ask->found;
    while (*last)
        last = &(*last)->next;
    sti_found *found = calloc(1, sizeof *found);
    strads_err err =
        found ? sti_blocks_copy(2, pair, &found->pair)
              : strads_fail(STRADS_ENOMEM, "no memory for a probe's values");
    if (err) {
        free(found);
        sti_object_drop(values);
        return err;
    }
    found->values = values;
    found->value = value;
    *last = found;
    return STRADS_OK;
}
