/* Planners of static runs, and the greedy partition of parameters into
 * blocks.
 *
 * A plan has groups of blocks, initially one for each partition; all of them
 * move by one partition in each step. Planners differ in the grouping. All
 * decisions depend on weights and numbers only, so each node and machine gets
 * the same plan. */
#include "strads/plan.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 1 << 20 };

/* ---- sorting ------------------------------------------------------------ */

typedef struct item {
    double weight;
    uint32_t number;
} item;

static int compare_item_weights(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Fills order[n] with 0 .. n - 1 by descending weight, ties by number;
 * weight NULL: all are equal. */
static strads_err sort_descending(uint32_t n, const double *weight,
                                  uint32_t *order)
{
    item *items = malloc(sizeof *items * ((size_t)n + 1));
    if (!items)
        return strads_fail(STRADS_ENOMEM, "no memory to sort %u weights", n);
    for (uint32_t k = 0; k < n; k++) {
        items[k] = (item){.weight = weight ? weight[k] : 1, .number = k};
        if (!(items[k].weight >= 0) || isinf(items[k].weight)) {
            double wrong = items[k].weight;
            free(items);
            return strads_fail(STRADS_EINVAL,
                               "weight %u is %g: expected a finite number "
                               "from 0 up",
                               k, wrong);
        }
    }
    qsort(items, n, sizeof *items, compare_item_weights);
    for (uint32_t k = 0; k < n; k++)
        order[k] = items[k].number;
    free(items);
    return STRADS_OK;
}

/* ---- plans --------------------------------------------------------------- */

static strads_err no_plan_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a plan");
}

static strads_err check_sizes(uint32_t partitions, uint32_t blocks)
{
    if (partitions == 0 || partitions > MOST || blocks == 0 || blocks > MOST)
        return strads_fail(STRADS_EINVAL,
                           "a plan for %u partitions and %u blocks: expected "
                           "1 to %d of each",
                           partitions, blocks, MOST);
    if ((uint64_t)partitions * blocks > UINT32_MAX ||
        (uint64_t)partitions * partitions > UINT32_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a plan for %u partitions and %u blocks has more "
                           "than 2^32 entries: run it without a plan",
                           partitions, blocks);
    return STRADS_OK;
}

/* Groups as lists: group g is member[first[g] .. first[g + 1] - 1]. */
static void list_members(const uint32_t *group, uint32_t K, uint32_t B,
                         uint32_t *first, uint32_t *member)
{
    for (uint32_t b = 0; b < B; b++)
        first[group[b] + 1]++;
    for (uint32_t g = 0; g < K; g++)
        first[g + 1] += first[g];
    for (uint32_t b = 0; b < B; b++)
        member[first[group[b]]++] = b;
    for (uint32_t g = K; g > 0; g--)
        first[g] = first[g - 1];
    first[0] = 0;
}

/* In step t partition p has the group that started at p - t. */
static strads_err rotate_groups(const strads_plan *sizes, const uint32_t *group,
                                strads_plan **out)
{
    uint32_t K = sizes->partitions, B = sizes->blocks;
    uint32_t *first = calloc((size_t)K + 1, sizeof *first);
    uint32_t *member = malloc(sizeof *member * B);
    uint32_t *start = malloc(sizeof *start * ((size_t)K * K + 1));
    uint32_t *block = malloc(sizeof *block * K * B);
    strads_err err = no_plan_memory();
    if (first && member && start && block) {
        list_members(group, K, B, first, member);
        uint32_t n = 0;
        for (uint32_t t = 0; t < K; t++)
            for (uint32_t p = 0; p < K; p++) {
                uint32_t g = (p + K - t) % K;
                start[(size_t)t * K + p] = n;
                for (uint32_t m = first[g]; m < first[g + 1]; m++)
                    block[n++] = member[m];
            }
        start[(size_t)K * K] = n;
        strads_plan draft = *sizes;
        draft.steps = K;
        draft.start = start;
        draft.block = block;
        err = strads_plan_new(&draft, out);
    }
    free(first);
    free(member);
    free(start);
    free(block);
    return err;
}

strads_err strads_plan_rotation(uint32_t partitions, uint32_t blocks,
                                strads_plan **out)
{
    strads_err err = check_sizes(partitions, blocks);
    if (err)
        return err;
    uint32_t *group = malloc(sizeof *group * blocks);
    if (!group)
        return no_plan_memory();
    for (uint32_t b = 0; b < blocks; b++)
        group[b] = b % partitions;
    const strads_plan sizes = {.partitions = partitions, .blocks = blocks};
    err = rotate_groups(&sizes, group, out);
    free(group);
    return err;
}

static double weight_of(const double *weight, uint32_t b)
{
    return weight ? weight[b] : 1;
}

/* Longest processing time first (Graham 1969); ties go to the group with
 * fewer blocks, then to the first one. */
static strads_err group_by_work(uint32_t K, uint32_t B, const double *weight,
                                uint32_t *group)
{
    uint32_t *order = malloc(sizeof *order * B);
    double *load = calloc(K, sizeof *load);
    uint32_t *count = calloc(K, sizeof *count);
    strads_err err = no_plan_memory();
    if (order && load && count)
        err = sort_descending(B, weight, order);
    for (uint32_t k = 0; k < B && !err; k++) {
        uint32_t best = 0;
        for (uint32_t g = 1; g < K; g++)
            if (load[g] < load[best] ||
                (load[g] <= load[best] && count[g] < count[best]))
                best = g;
        group[order[k]] = best;
        load[best] += weight_of(weight, order[k]);
        count[best]++;
    }
    free(order);
    free(load);
    free(count);
    return err;
}

strads_err strads_plan_weighted(uint32_t partitions, uint32_t blocks,
                                const double *block_weight,
                                const double *partition_weight,
                                strads_plan **out)
{
    strads_err err = check_sizes(partitions, blocks);
    if (err)
        return err;
    uint32_t *group = malloc(sizeof *group * blocks);
    if (!group)
        return no_plan_memory();
    const strads_plan sizes = {.partitions = partitions,
                               .blocks = blocks,
                               .block_weight = block_weight,
                               .partition_weight = partition_weight};
    err = group_by_work(partitions, blocks, block_weight, group);
    if (!err)
        err = rotate_groups(&sizes, group, out);
    free(group);
    return err;
}

/* ---- cutting parameters into blocks -------------------------------------- */

void strads_cut_free(strads_cut *cut)
{
    if (!cut)
        return;
    free(cut->block);
    free(cut->param);
    free(cut->weight);
    free(cut);
}

/* The block of the k-th parameter, in snake order. */
static uint32_t snake_block(uint32_t k, uint32_t blocks)
{
    uint32_t row = k / blocks, at = k % blocks;
    return row % 2 ? blocks - 1 - at : at;
}

/* Counts sizes first, then puts every parameter in ascending order into its
 * block. */
static void fill_blocks(strads_cut *cut, uint32_t n, const uint32_t *block_of,
                        const double *weight)
{
    uint32_t at = 0;
    for (uint32_t j = 0; j < n; j++)
        cut->block[block_of[j]].n++;
    for (uint32_t b = 0; b < cut->blocks; b++) {
        cut->block[b].param = cut->param + at;
        at += cut->block[b].n;
        cut->block[b].n = 0;
    }
    for (uint32_t j = 0; j < n; j++) {
        strads_block *block = &cut->block[block_of[j]];
        uint32_t *param = cut->param + (block->param - cut->param);
        param[block->n++] = j;
        cut->weight[block_of[j]] += weight ? weight[j] : 1;
    }
}

strads_err strads_cut_deal(uint32_t n, const double *weight, uint32_t blocks,
                           uint32_t partitions, strads_cut **out)
{
    if (blocks == 0 || partitions == 0)
        return strads_fail(STRADS_EINVAL,
                           "%u parameters in %u blocks for %u partitions: "
                           "expected 1 or more of both",
                           n, blocks, partitions);
    strads_err err = STRADS_ENOMEM;
    uint32_t *order = malloc(sizeof *order * ((size_t)n + 1));
    uint32_t *block_of = malloc(sizeof *block_of * ((size_t)n + 1));
    strads_cut *cut = calloc(1, sizeof *cut);
    if (!order || !block_of || !cut)
        goto fail;
    cut->blocks = blocks;
    cut->block = calloc(blocks, sizeof *cut->block);
    cut->param = malloc(sizeof *cut->param * ((size_t)n + 1));
    cut->weight = calloc(blocks, sizeof *cut->weight);
    if (!cut->block || !cut->param || !cut->weight)
        goto fail;
    err = sort_descending(n, weight, order);
    if (err)
        goto fail;
    for (uint32_t k = 0; k < n; k++)
        block_of[order[k]] = snake_block(k, blocks);
    for (uint32_t b = 0; b < blocks; b++)
        cut->block[b] = (strads_block){.id = b, .owner = b % partitions};
    fill_blocks(cut, n, block_of, weight);
    free(order);
    free(block_of);
    *out = cut;
    return STRADS_OK;
fail:
    free(order);
    free(block_of);
    strads_cut_free(cut);
    return err == STRADS_ENOMEM ? strads_fail(STRADS_ENOMEM,
                                              "no memory to cut %u parameters "
                                              "into %u blocks",
                                              n, blocks)
                                : err;
}
