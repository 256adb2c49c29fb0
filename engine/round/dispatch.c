/* Dispatches and news: each is one counted object whose blocks and parameter
 * lists lie in one allocation of its own. */
#include "engine/round/dispatch.h"

#include <stdlib.h>
#include <string.h>

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
    d->follows = parts->follows;
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
