/* Dispatches and news: each is one counted object whose blocks and parameter
 * lists lie in one allocation of its own. */
#include "engine/round/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/job.h"

static strads_err no_memory(const char *what)
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

/* Copies blocks to `to`, their parameters behind them; returns the end. */
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
        return no_memory("a list of blocks");
    put_blocks((unsigned char *)(copy + n), n, blocks, copy);
    *out = copy;
    return STRADS_OK;
}

/* ---- news -------------------------------------------------------------- */

static void news_destroy(sti_object *object)
{
    sti_news *news = (sti_news *)object;
    sti_object_drop(news->partial);
    free(news);
}

strads_err sti_news_change(uint64_t version, uint32_t n, uint32_t width,
                           sti_news **out)
{
    size_t numbers = (size_t)n * width;
    sti_news *news =
        malloc(sizeof *news + sizeof(double) * numbers + sizeof(uint32_t) * n);
    if (!news)
        return no_memory("a commit's changes");
    *news = (sti_news){.kind = STI_NEWS_CHANGE};
    sti_object_init(&news->head, news_destroy);
    double *change = (double *)(news + 1);
    news->change = (strads_change){
        .version = version,
        .n = n,
        .param = (const uint32_t *)(change + numbers),
        .change = change,
    };
    *out = news;
    return STRADS_OK;
}

strads_err sti_news_result(uint32_t phase, const strads_block *block,
                           sti_buffer *partial, sti_news **out)
{
    sti_news *news = malloc(sizeof *news + params_bytes(block));
    if (!news)
        return no_memory("a phase's result");
    *news = (sti_news){.kind = STI_NEWS_RESULT, .phase = phase};
    sti_object_init(&news->head, news_destroy);
    put_blocks((unsigned char *)(news + 1), 1, block, &news->block);
    news->partial = sti_object_keep(partial);
    *out = news;
    return STRADS_OK;
}

/* ---- dispatches -------------------------------------------------------- */

static void dispatch_destroy(sti_object *object)
{
    sti_dispatch *d = (sti_dispatch *)object;
    for (uint32_t i = 0; i < d->n_news; i++)
        sti_object_drop(d->news[i]);
    free(d->memory);
    free(d);
}

/* Bytes behind the dispatch, widest items first so that all are aligned. */
static size_t room_for(const sti_dispatch_parts *p)
{
    return sizeof(double) * (p->n_values + p->n_totals) +
           2 * sizeof(size_t) * (p->n_blocks + 1) +
           sizeof(sti_news *) * p->n_news +
           blocks_bytes(p->n_blocks, p->blocks) +
           blocks_bytes(p->n_in_flight, p->in_flight) +
           (p->against ? blocks_bytes(1, p->against) : 0);
}

static void lay_out(sti_dispatch *d, const sti_dispatch_parts *p)
{
    unsigned char *at = d->memory;
    d->values = p->n_values ? (double *)at : NULL;
    at += sizeof(double) * p->n_values;
    d->totals = p->n_totals ? (double *)at : NULL;
    at += sizeof(double) * p->n_totals;
    d->value_at = (size_t *)at;
    d->partial_at = d->value_at + p->n_blocks + 1;
    at += 2 * sizeof(size_t) * (p->n_blocks + 1);
    d->news = (sti_news **)at;
    at += sizeof(sti_news *) * p->n_news;
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
        return no_memory("a dispatch");
    *d = (sti_dispatch){0};
    sti_object_init(&d->head, dispatch_destroy);
    d->memory = malloc(room_for(parts) + 1);
    if (!d->memory) {
        free(d);
        return no_memory("a dispatch");
    }
    d->round = parts->round;
    d->seq = parts->seq;
    d->phase = parts->phase;
    d->width = parts->width;
    d->known = parts->known;
    d->settled = parts->settled;
    d->versions = parts->versions;
    d->n_totals = parts->n_totals;
    d->n_blocks = parts->n_blocks;
    d->n_in_flight = parts->n_in_flight;
    d->has_against = parts->against != NULL;
    d->n_news = parts->n_news;
    lay_out(d, parts);
    memset(d->value_at, 0, 2 * sizeof(size_t) * (parts->n_blocks + 1));
    for (uint32_t i = 0; i < d->n_news; i++)
        d->news[i] = sti_object_keep(parts->news[i]);
    *out = d;
    return STRADS_OK;
}

/* The counted things that jobs make and messages carry: hops of a RING,
 * priorities, questions and choices, wishes for a probe. */

static void hop_destroy(sti_object *object)
{
    sti_hop *hop = (sti_hop *)object;
    if (hop->object && hop->payload && hop->payload->close)
        hop->payload->close(hop->object);
    sti_object_drop(hop->partial);
    sti_object_drop(hop->packed);
    free(hop);
}

strads_err sti_hop_new(uint32_t index, size_t n_values, size_t partial_bytes,
                       sti_hop **out)
{
    sti_hop *hop = malloc(sizeof *hop + sizeof(double) * n_values);
    if (!hop)
        return strads_fail(STRADS_ENOMEM, "no memory for a travelling block");
    *hop = (sti_hop){.index = index, .n_values = n_values};
    sti_object_init(&hop->head, hop_destroy);
    hop->values = (double *)(hop + 1);
    strads_err err = sti_buffer_new(partial_bytes, &hop->partial);
    if (err) {
        sti_object_drop(hop);
        return err;
    }
    memset(hop->partial->bytes, 0, partial_bytes);
    *out = hop;
    return STRADS_OK;
}

static void moved_destroy(sti_object *object)
{
    sti_moved *moved = (sti_moved *)object;
    free(moved->param);
    free(moved->priority);
    free(moved);
}

strads_err sti_moved_new(sti_moved **out)
{
    sti_moved *moved = calloc(1, sizeof *moved);
    if (!moved)
        return strads_fail(STRADS_ENOMEM, "no memory for priorities");
    sti_object_init(&moved->head, moved_destroy);
    moved->rest = -1;
    *out = moved;
    return STRADS_OK;
}

static strads_err moved_grow(sti_moved *moved, size_t need)
{
    size_t room = moved->room + moved->room / 2;
    if (room < need)
        room = need;
    uint32_t *param = realloc(moved->param, sizeof *param * room);
    if (param)
        moved->param = param;
    double *priority = realloc(moved->priority, sizeof *priority * room);
    if (priority)
        moved->priority = priority;
    if (!param || !priority)
        return strads_fail(STRADS_ENOMEM, "no memory for %zu priorities", room);
    moved->room = room;
    return STRADS_OK;
}

strads_err sti_moved_add(sti_moved *moved, uint32_t n, const uint32_t *param,
                         const double *priority)
{
    if (n == 0) /* param may be NULL then */
        return STRADS_OK;
    if (moved->n + n > moved->room) {
        strads_err err = moved_grow(moved, moved->n + n);
        if (err)
            return err;
    }
    memcpy(moved->param + moved->n, param, sizeof *param * n);
    memcpy(moved->priority + moved->n, priority, sizeof *priority * n);
    moved->n += n;
    return STRADS_OK;
}

/* The list for scheduler s, made when there is something for it. */
static strads_err moved_for(sti_moved **moved, uint32_t s)
{
    return moved[s] ? STRADS_OK : sti_moved_new(&moved[s]);
}

/* Within its range a scheduler numbers parameters from 0 on: the last n. */
static void number_from(sti_moved *moved, uint32_t n, uint32_t first)
{
    for (size_t k = moved->n - n; k < moved->n; k++)
        moved->param[k] -= first;
}

strads_err sti_moved_deal(const sti_run *run, sti_moved **moved, uint32_t n,
                          const uint32_t *param, const double *priority)
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
        err = moved_for(moved, s);
        if (!err)
            err = sti_moved_add(moved[s], to - from, param + from,
                                priority + from);
        if (!err && s)
            number_from(moved[s], to - from, sti_run_range(run, s));
    }
    return err;
}

strads_err sti_moved_rest(const sti_run *run, sti_moved **moved, double rest)
{
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < run->schedulers && !err; s++) {
        err = moved_for(moved, s);
        if (!err)
            moved[s]->rest = rest;
    }
    return err;
}

void sti_wishes_free(sti_wish *first)
{
    while (first) {
        sti_wish *wish = first;
        first = wish->next;
        free(wish->pair);
        free(wish);
    }
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
    for (uint32_t k = 0; k < ask->n_moved; k++)
        sti_object_drop(ask->moved[k]);
    found_free(ask->found);
    free(ask->moved);
    free(ask->in_flight);
    free(ask);
}

strads_err sti_ask_new(sti_ask **out)
{
    sti_ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        return strads_fail(STRADS_ENOMEM, "no memory for a question");
    sti_object_init(&ask->head, ask_destroy);
    *out = ask;
    return STRADS_OK;
}

strads_err sti_ask_add_moved(sti_ask *ask, sti_moved *moved)
{
    if (!moved)
        return STRADS_OK;
    if (ask->n_moved == ask->room_moved) {
        uint32_t room = ask->room_moved ? 2 * ask->room_moved : 4;
        sti_moved **list = realloc(ask->moved, sizeof(sti_moved *) * room);
        if (!list) {
            sti_object_drop(moved);
            return strads_fail(STRADS_ENOMEM, "no memory for priorities");
        }
        ask->moved = list;
        ask->room_moved = room;
    }
    ask->moved[ask->n_moved++] = moved;
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
