/* Drawing. Each draw removes its result from the sampler, so the next one
 * finds another item; a block is drawn as a whole. Drawing ends when enough
 * blocks are gathered: as many as the request wants, or OVERSAMPLE times as
 * many if they are to be checked. Loose parameters count as the blocks that
 * they will make. It also ends at a bound: VAIN draws of hidden items, POOL_MAX
 * parameters to compare pair by pair, or PASS_OVER surplus blocks while the
 * loose parameters are too light for a block.
 *
 * Blocks change only if that pays for the new probes. A block that is mostly
 * inactive (less than half of its weight is active) is dissolved. Without
 * probes this happens at once. Otherwise it happens when the wasted work
 * reaches 1 / WASTE of the cost of comparing as many members with each other,
 * which is its weight times their number; by then most pairs are known. A light
 * block (less than half of the wanted work) joins other loose parameters if the
 * union is at least half as heavy again. So a parameter changes its block
 * O(log) times while blocks grow. After TRIES batches without a partner the
 * block is used as it is. If a block should have all the work there is, all
 * active parameters join it. */
#include "schedulers/batch.h"

#include <stdlib.h>

#include "schedulers/policies.h"

enum {
    OVERSAMPLE = 3,
    PASS_OVER = 4,
    VAIN = 64,
    POOL_MAX = 1024,
    TRIES = 8,
    WASTE = 16
};

strads_err sti_numbers_push(sti_numbers *numbers, uint32_t number)
{
    if (numbers->n == numbers->capacity) {
        uint32_t capacity = numbers->capacity ? 2 * numbers->capacity : 64;
        uint32_t *at = realloc(numbers->at, capacity * sizeof *at);
        if (!at)
            return strads_fail(STRADS_ENOMEM,
                               "no memory to schedule %u parameters at once",
                               capacity);
        numbers->at = at;
        numbers->capacity = capacity;
    }
    numbers->at[numbers->n++] = number;
    return STRADS_OK;
}

static strads_err add_to_pool(sti_batch *b, const sti_batch_source *s,
                              uint32_t i)
{
    sti_sampler_hide(s->sampler, i);
    b->pool_weight += (double)s->setup->weight[i];
    return sti_numbers_push(&b->pool, i);
}

/* True if a drawn block should be dissolved because of its inactive members. */
static bool wastes_work(const sti_batch_source *s, sti_block_entry *entry)
{
    if (2 * entry->active >= entry->weight)
        return false;
    entry->wasted += entry->weight - entry->active;
    return !s->setup->probes ||
           WASTE * entry->wasted >= entry->weight * entry->block.n;
}

/* Dissolves a block. Its members go into the pool: all, or the active ones. */
static strads_err dissolve_block(sti_batch *b, const sti_batch_source *s,
                                 uint32_t e, bool all)
{
    strads_err err = STRADS_OK;
    const sti_block_entry *entry = &s->table->entry[e];
    sti_sampler_split(s->sampler, e);
    for (uint32_t k = 0; k < entry->block.n && !err; k++)
        if (all || s->sampler->priority[entry->param[k]] > 0)
            err = add_to_pool(b, s, entry->param[k]);
    sti_block_table_dissolve(s->table, e);
    return err;
}

/* Progress of a batch, in blocks. */
typedef struct progress {
    double work;
    double loose_weight; /* of the pool and of light blocks */
    double light_weight; /* of the heaviest light block */
    uint32_t loose;      /* parameters in these */
    uint32_t full;       /* blocks that are not light */
    bool all;            /* all active parameters fit in one block: leave
                          * none out */
} progress;

/* True if one block of all active parameters is wanted. */
static bool is_endless(const sti_batch_source *s, const progress *p)
{
    return p->work >= s->total;
}

/* True if a block should join others, if there are any. */
static bool is_light(const sti_batch_source *s, const progress *p,
                     sti_block_entry *entry)
{
    if (p->all)
        return true;
    if (2 * entry->block.n >= s->setup->block_max)
        return false;
    if (is_endless(s, p))
        return true;
    if (2 * entry->weight >= p->work)
        return false;
    if (p->work >= 2 * entry->tried) {
        entry->tried = p->work;
        entry->tries = 0;
    }
    return entry->tries++ < TRIES;
}

static bool is_enough(const sti_batch_source *s, const progress *p,
                      uint32_t target)
{
    double by_work = p->loose_weight / p->work;
    double by_count = (double)p->loose / s->setup->block_max;
    double loose = by_work > by_count ? by_work : by_count;
    if (p->loose > 0 && loose < 1)
        return p->full >= target + PASS_OVER;
    return p->full + loose >= target;
}

static strads_err take_block(sti_batch *b, const sti_batch_source *s,
                             progress *p, uint32_t e)
{
    sti_block_entry *entry = &s->table->entry[e];
    sti_sampler_hide(s->sampler, entry->param[0]);
    entry->light = e != s->due && is_light(s, p, entry);
    if (entry->light) {
        p->loose += entry->block.n;
        p->loose_weight += entry->weight;
        if (entry->weight > p->light_weight)
            p->light_weight = entry->weight;
    } else {
        p->full++;
    }
    return sti_numbers_push(&b->block, e);
}

/* Adds drawn parameter i, and its block, to the batch. */
static strads_err take_drawn(sti_batch *b, const sti_batch_source *s,
                             progress *p, uint32_t i)
{
    uint32_t e = s->table->of[i];
    bool first = !b->pool.n && !b->block.n;
    if (e != STI_BLOCK_NONE && !wastes_work(s, &s->table->entry[e]))
        return take_block(b, s, p, e);
    b->pool_first = b->pool_first || first;
    uint32_t n = b->pool.n;
    double weight = b->pool_weight;
    /* A parameter that the floor has drawn counts, although it is inactive. */
    bool alone = e == STI_BLOCK_NONE || !(s->table->entry[e].active > 0);
    strads_err err = STRADS_OK;
    if (e != STI_BLOCK_NONE)
        err = dissolve_block(b, s, e, false);
    if (!err && alone)
        err = add_to_pool(b, s, i);
    p->loose += b->pool.n - n;
    p->loose_weight += b->pool_weight - weight;
    return err;
}

/* One block of all active parameters: no drawing is needed. */
static strads_err take_all(sti_batch *b, const sti_batch_source *s, progress *p)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < s->sampler->n_floor && !err; k++) {
        uint32_t i = s->sampler->floor[k];
        if (s->sampler->priority[i] > 0 &&
            !sti_sampler_is_hidden(s->sampler, sti_sampler_item(s->sampler, i)))
            err = take_drawn(b, s, p, i);
    }
    return err;
}

/* Dissolves the light blocks into the pool if the union is much heavier.
 * With `all`, the active parameters fit in one block. If they do not fit
 * together with the inactive ones, the latter are left out. Otherwise the same
 * two blocks would be made again and again, and the first one taken. */
static strads_err merge_light(sti_batch *b, const sti_batch_source *s,
                              const progress *p)
{
    const double worth = is_endless(s, p) ? 1 : 1.5;
    const bool rests_too = !p->all || p->loose <= s->setup->block_max;
    if (!(p->light_weight > 0) || p->loose_weight <= p->light_weight ||
        p->loose_weight < worth * p->light_weight)
        return STRADS_OK;
    strads_err err = STRADS_OK;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < b->block.n; k++) {
        uint32_t e = b->block.at[k];
        if (err || !s->table->entry[e].light) {
            b->block.at[kept++] = e;
            continue;
        }
        b->pool_first = b->pool_first || k == 0;
        err = dissolve_block(b, s, e, rests_too);
    }
    b->block.n = kept;
    return err;
}

static bool is_sorted(const sti_numbers *numbers)
{
    for (uint32_t k = 1; k < numbers->n; k++)
        if (numbers->at[k - 1] > numbers->at[k])
            return false;
    return true;
}

static int compare_numbers(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

strads_err sti_batch_draw(sti_batch *b, const sti_batch_source *s,
                          const strads_choice_request *r, bool check)
{
    progress p = {.work = r->work};
    uint32_t target = check ? OVERSAMPLE * r->want : r->want;
    strads_err err = STRADS_OK;
    uint32_t vain = 0;
    b->open = true;
    b->checked = check;
    b->pool_first = false;
    if (s->due != STI_BLOCK_NONE)
        err = take_block(b, s, &p, s->due);
    /* If there are more than one block can hold, they are drawn, so that
     * none of them starves. */
    p.all = !check && is_endless(s, &p) &&
            s->sampler->positive <= s->setup->block_max;
    if (!err && p.all)
        err = take_all(b, s, &p);
    for (uint64_t k = 0; !err && !p.all && !is_enough(s, &p, target); k++) {
        if (check && b->pool.n >= POOL_MAX)
            break;
        double unit = strads_random_unit(s->setup->seed, STI_PURPOSE_PRIORITY,
                                         r->draw, k);
        uint32_t i = sti_sampler_draw(s->sampler, s->floor, unit);
        if (i == STI_DRAW_NONE || (i == STI_DRAW_AGAIN && ++vain == VAIN))
            break;
        if (i != STI_DRAW_AGAIN)
            err = take_drawn(b, s, &p, i);
    }
    if (!err)
        err = merge_light(b, s, &p);
    if (b->pool.n) {
        if (!is_sorted(&b->pool))
            qsort(b->pool.at, b->pool.n, sizeof *b->pool.at, compare_numbers);
        b->pool_id = sti_block_table_id(s->table);
    }
    return err;
}

void sti_batch_return(sti_batch *b, const sti_batch_source *s)
{
    for (uint32_t k = 0; k < b->block.n; k++) {
        const sti_block_entry *entry = &s->table->entry[b->block.at[k]];
        sti_sampler_show(s->sampler, entry->param[0]);
    }
    for (uint32_t k = 0; k < b->pool.n; k++)
        sti_sampler_show(s->sampler, b->pool.at[k]);
    b->block.n = b->pool.n = 0;
    b->pool_weight = 0;
    b->open = false;
}

void sti_batch_free(sti_batch *b)
{
    free(b->block.at);
    free(b->pool.at);
}
