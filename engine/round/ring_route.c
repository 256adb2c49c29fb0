/* Routes. The tables are made once, from a plan that was checked; what a
 * partition does next is then a look-up. */
#include "engine/round/ring_route.h"

#include <stdlib.h>
#include <string.h>

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a ring's routes");
}

void sti_route_free(sti_route *route)
{
    if (!route)
        return;
    free(route->order);
    free(route->hops);
    free(route->next);
    free(route->home);
    free(route);
}

/* Goes through the plan step by step; `at` is where each block was last. */
static void follow(sti_route *r, const strads_plan *plan, uint32_t *at,
                   uint32_t *met, uint32_t *taken)
{
    size_t K = r->partitions, B = r->blocks;
    for (size_t place = 0; place < (size_t)plan->steps * K; place++) {
        uint32_t p = (uint32_t)(place % K);
        for (uint32_t e = plan->start[place]; e < plan->start[place + 1]; e++) {
            uint32_t b = plan->block[e];
            r->order[p * B + taken[p]++] = b;
            r->hops[b * K + p] = met[b];
            if (met[b]++ == 0)
                r->home[b] = p;
            else
                r->next[b * K + at[b]] = p;
            at[b] = p;
        }
    }
    for (uint32_t b = 0; b < B; b++)
        r->next[b * K + at[b]] = r->home[b];
}

strads_err sti_route_new(const strads_plan *plan, sti_route **out)
{
    size_t K = plan->partitions, B = plan->blocks;
    sti_route *r = calloc(1, sizeof *r);
    uint32_t *at = calloc(B, sizeof *at);
    uint32_t *met = calloc(B, sizeof *met);
    uint32_t *taken = calloc(K, sizeof *taken);
    if (!r || !at || !met || !taken)
        goto fail;
    r->partitions = plan->partitions;
    r->blocks = plan->blocks;
    r->order = calloc(K * B, sizeof *r->order);
    r->hops = calloc(K * B, sizeof *r->hops);
    r->next = calloc(K * B, sizeof *r->next);
    r->home = calloc(B, sizeof *r->home);
    if (!r->order || !r->hops || !r->next || !r->home)
        goto fail;
    follow(r, plan, at, met, taken);
    free(at);
    free(met);
    free(taken);
    *out = r;
    return STRADS_OK;
fail:
    free(at);
    free(met);
    free(taken);
    sti_route_free(r);
    return no_memory();
}

strads_err sti_ring_settle(const sti_run *run, uint32_t n, strads_block *blocks)
{
    const sti_route *r = run->route;
    if (!r)
        return STRADS_OK;
    unsigned char *seen = calloc(r->blocks, 1);
    strads_err err = seen ? STRADS_OK : no_memory();
    for (uint32_t k = 0; k < n && !err; k++) {
        uint64_t id = blocks[k].id;
        if (id >= r->blocks)
            err = strads_fail(STRADS_EINVAL,
                              "program %s sends block %llu round, the plan "
                              "has blocks 0 to %u: give it a plan made for "
                              "its blocks, or none",
                              run->program->name, (unsigned long long)id,
                              r->blocks - 1);
        else if (seen[id]++)
            err = strads_fail(STRADS_EINVAL,
                              "program %s sends block %llu round twice at once",
                              run->program->name, (unsigned long long)id);
        else
            blocks[k].owner = r->home[id];
    }
    free(seen);
    return err;
}

/* By the plan: its order, less the blocks that this dispatch has not. */
static strads_err planned_order(const sti_route *r, const sti_dispatch *d,
                                uint32_t p, uint32_t *order)
{
    uint32_t *place = malloc(sizeof *place * r->blocks);
    if (!place)
        return no_memory();
    memset(place, 0xff, sizeof *place * r->blocks);
    for (uint32_t k = 0; k < d->n_blocks; k++)
        place[d->blocks[k].id] = k;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->blocks; i++) {
        uint32_t b = r->order[(size_t)p * r->blocks + i];
        if (place[b] != UINT32_MAX)
            order[n++] = place[b];
    }
    free(place);
    return STRADS_OK;
}

/* Round and round: in step t come those whose owner is t before p, by their
 * place in the dispatch. */
static strads_err rotated_order(uint32_t K, const sti_dispatch *d, uint32_t p,
                                uint32_t *order)
{
    uint32_t *end = calloc((size_t)K + 1, sizeof *end); /* of step t - 1 */
    if (!end)
        return no_memory();
    for (uint32_t k = 0; k < d->n_blocks; k++)
        end[(p + K - d->blocks[k].owner) % K + 1]++;
    for (uint32_t t = 0; t < K; t++)
        end[t + 1] += end[t];
    for (uint32_t k = 0; k < d->n_blocks; k++)
        order[end[(p + K - d->blocks[k].owner) % K]++] = k;
    free(end);
    return STRADS_OK;
}

strads_err sti_ring_order(const sti_run *run, const sti_dispatch *dispatch,
                          uint32_t p, uint32_t *order)
{
    return run->route ? planned_order(run->route, dispatch, p, order)
                      : rotated_order(run->partitions, dispatch, p, order);
}
