/* Plans: copies, and the rules that every plan must follow. */
#include "engine/round/ring_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/plan.h"

enum { MOST = 1 << 20 };

static strads_err no_plan_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a plan");
}

/* ---- copies ------------------------------------------------------------ */

void strads_plan_free(strads_plan *plan)
{
    if (!plan)
        return;
    free((void *)(uintptr_t)plan->start);
    free((void *)(uintptr_t)plan->block);
    free((void *)(uintptr_t)plan->block_weight);
    free((void *)(uintptr_t)plan->partition_weight);
    free(plan);
}

static void *copy_array(const void *from, size_t bytes)
{
    void *to = malloc(bytes ? bytes : 1);
    return to && bytes ? memcpy(to, from, bytes) : to;
}

static double *copy_weights(const double *from, uint32_t n)
{
    double *to = malloc(sizeof *to * ((size_t)n + 1));
    for (uint32_t k = 0; to && k < n; k++)
        to[k] = from ? from[k] : 1;
    return to;
}

strads_err strads_plan_new(const strads_plan *draft, strads_plan **out)
{
    strads_err err = strads_plan_check(draft, 0);
    if (err)
        return err;
    strads_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return no_plan_memory();
    size_t places = (size_t)draft->steps * draft->partitions + 1;
    size_t entries = (size_t)draft->blocks * draft->partitions;
    plan->partitions = draft->partitions;
    plan->blocks = draft->blocks;
    plan->steps = draft->steps;
    plan->start = copy_array(draft->start, sizeof *plan->start * places);
    plan->block = copy_array(draft->block, sizeof *plan->block * entries);
    plan->block_weight = copy_weights(draft->block_weight, draft->blocks);
    plan->partition_weight =
        copy_weights(draft->partition_weight, draft->partitions);
    if (!plan->start || !plan->block || !plan->block_weight ||
        !plan->partition_weight) {
        strads_plan_free(plan);
        return no_plan_memory();
    }
    *out = plan;
    return STRADS_OK;
}

/* ---- rules ------------------------------------------------------------- */

static strads_err check_weights(const char *of, const double *weight,
                                uint32_t n)
{
    double sum = 0;
    for (uint32_t k = 0; weight && k < n; k++) {
        if (!(weight[k] >= 0) || isinf(weight[k]))
            return strads_fail(STRADS_EINVAL,
                               "%s %u has the weight %g: expected a finite "
                               "number from 0 up",
                               of, k, weight[k]);
        sum += weight[k];
    }
    if (isinf(sum))
        return strads_fail(STRADS_EINVAL,
                           "the weights of all %ss together are infinite", of);
    return STRADS_OK;
}

static strads_err check_sizes(const strads_plan *plan)
{
    if (plan->partitions == 0 || plan->partitions > MOST || plan->blocks == 0 ||
        plan->blocks > MOST || plan->steps == 0)
        return strads_fail(STRADS_EINVAL,
                           "a plan of %u partitions, %u blocks and %u steps: "
                           "expected 1 to %d partitions and blocks, and a step",
                           plan->partitions, plan->blocks, plan->steps, MOST);
    size_t places = (size_t)plan->steps * plan->partitions;
    bool ascend = plan->start[0] == 0;
    for (size_t k = 0; k < places && ascend; k++)
        ascend = plan->start[k] <= plan->start[k + 1];
    if (!ascend)
        return strads_fail(STRADS_EINVAL, "a plan's start must ascend from 0");
    strads_err err = check_weights("block", plan->block_weight, plan->blocks);
    return err ? err
               : check_weights("partition", plan->partition_weight,
                               plan->partitions);
}

/* Progress of a check. */
typedef struct meetings {
    uint32_t *met;  /* [B x K] 1 + the step in which b visits p; 0: not seen */
    uint32_t *held; /* [B] 1 + the last step in which b was seen */
    uint32_t *by;   /* [B] and the partition */
} meetings;

static strads_err take_entry(const strads_plan *plan, meetings *s, uint32_t t,
                             uint32_t p, uint32_t b)
{
    if (b >= plan->blocks)
        return strads_fail(STRADS_EINVAL,
                           "step %u, partition %u: there is no block %u, "
                           "expected 0 to %u",
                           t, p, b, plan->blocks - 1);
    uint32_t *met = &s->met[(size_t)b * plan->partitions + p];
    if (*met)
        return strads_fail(STRADS_EINVAL,
                           "block %u visits partition %u twice, in steps %u "
                           "and %u: expected once",
                           b, p, *met - 1, t);
    if (s->held[b] == t + 1)
        return strads_fail(STRADS_EINVAL,
                           "step %u: block %u is held by partitions %u and %u "
                           "at once",
                           t, b, s->by[b], p);
    *met = s->held[b] = t + 1;
    s->by[b] = p;
    return STRADS_OK;
}

static strads_err check_meetings(const strads_plan *plan, meetings *s)
{
    uint32_t K = plan->partitions;
    for (uint32_t t = 0; t < plan->steps; t++)
        for (uint32_t p = 0; p < K; p++) {
            const uint32_t *start = &plan->start[(size_t)t * K + p];
            for (uint32_t e = start[0]; e < start[1]; e++) {
                strads_err err = take_entry(plan, s, t, p, plan->block[e]);
                if (err)
                    return err;
            }
        }
    for (uint32_t b = 0; b < plan->blocks; b++)
        for (uint32_t p = 0; p < K; p++)
            if (!s->met[(size_t)b * K + p])
                return strads_fail(STRADS_EINVAL,
                                   "block %u is missing on partition %u: it "
                                   "must visit every partition once",
                                   b, p);
    return STRADS_OK;
}

/* ---- balance ----------------------------------------------------------- */

static double partition_load(const strads_plan *plan, uint32_t t, uint32_t p)
{
    const uint32_t *start = &plan->start[(size_t)t * plan->partitions + p];
    double sum = 0;
    for (uint32_t e = start[0]; e < start[1]; e++)
        sum += plan->block_weight ? plan->block_weight[plan->block[e]] : 1;
    return plan->partition_weight ? sum * plan->partition_weight[p] : sum;
}

static void measure_step(const strads_plan *plan, uint32_t t, double *most,
                         double *mean, uint32_t *who)
{
    *most = *mean = 0;
    *who = 0;
    for (uint32_t p = 0; p < plan->partitions; p++) {
        double load = partition_load(plan, t, p);
        *mean += load / plan->partitions;
        if (load > *most) {
            *most = load;
            *who = p;
        }
    }
}

double strads_plan_imbalance(const strads_plan *plan)
{
    double busiest = 0, all = 0;
    for (uint32_t t = 0; t < plan->steps; t++) {
        double most, mean;
        uint32_t who;
        measure_step(plan, t, &most, &mean, &who);
        busiest += most;
        all += mean;
    }
    return all > 0 ? busiest / all : 1;
}

static strads_err check_balance(const strads_plan *plan, double balance)
{
    for (uint32_t t = 0; t < plan->steps; t++) {
        double most, mean;
        uint32_t who;
        measure_step(plan, t, &most, &mean, &who);
        if (most > balance * mean * (1 + 1e-12))
            return strads_fail(STRADS_EINVAL,
                               "step %u: partition %u has %.3g times the work "
                               "of the mean one, allowed are %.3g",
                               t, who, most / mean, balance);
    }
    return STRADS_OK;
}

strads_err strads_plan_check(const strads_plan *plan, double balance)
{
    strads_err err = check_sizes(plan);
    if (err)
        return err;
    size_t pairs = (size_t)plan->blocks * plan->partitions;
    meetings s = {.met = calloc(pairs, sizeof *s.met),
                  .held = calloc(plan->blocks, sizeof *s.held),
                  .by = calloc(plan->blocks, sizeof *s.by)};
    err = s.met && s.held && s.by ? check_meetings(plan, &s) : no_plan_memory();
    free(s.met);
    free(s.held);
    free(s.by);
    return !err && balance > 0 ? check_balance(plan, balance) : err;
}

/* ---- routes: tables made once from a checked plan, so that each step is a
 * lookup */

void sti_route_free(sti_route *route)
{
    if (!route)
        return;
    free(route->order);
    free(route->met);
    free(route->next);
    free(route->home);
    free(route);
}

/* Follows the plan step by step; `at` is the last partition of each block. */
static void follow_plan(sti_route *r, const strads_plan *plan, uint32_t *at,
                        uint32_t *met, uint32_t *taken)
{
    size_t K = r->partitions, B = r->blocks;
    for (size_t place = 0; place < (size_t)plan->steps * K; place++) {
        uint32_t p = (uint32_t)(place % K);
        for (uint32_t e = plan->start[place]; e < plan->start[place + 1]; e++) {
            uint32_t b = plan->block[e];
            r->order[p * B + taken[p]++] = b;
            r->met[b * K + p] = met[b];
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
    r->met = calloc(K * B, sizeof *r->met);
    r->next = calloc(K * B, sizeof *r->next);
    r->home = calloc(B, sizeof *r->home);
    if (!r->order || !r->met || !r->next || !r->home)
        goto fail;
    follow_plan(r, plan, at, met, taken);
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
    return no_plan_memory();
}

strads_err sti_ring_settle(const sti_run *run, uint32_t n, strads_block *blocks)
{
    const sti_route *r = run->route;
    if (!r)
        return STRADS_OK;
    unsigned char *seen = calloc(r->blocks, 1);
    strads_err err = seen ? STRADS_OK : no_plan_memory();
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

/* The plan's order, without blocks that this dispatch lacks. */
static strads_err planned_order(const sti_route *r, const sti_dispatch *d,
                                uint32_t p, uint32_t *order)
{
    uint32_t *place = malloc(sizeof *place * r->blocks);
    if (!place)
        return no_plan_memory();
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

/* The circle: step t has the blocks with owner p - t, in the order of the
 * dispatch. */
static strads_err rotated_order(uint32_t K, const sti_dispatch *d, uint32_t p,
                                uint32_t *order)
{
    uint32_t *end = calloc((size_t)K + 1, sizeof *end); /* of step t - 1 */
    if (!end)
        return no_plan_memory();
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
