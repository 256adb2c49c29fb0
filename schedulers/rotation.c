/* Planners: blocks in groups, one to begin with for each partition, that all
 * move on by one partition in each step. They differ in who is in a group. */
#include "strads/plan.h"

#include <math.h>
#include <stdlib.h>

#include "schedulers/falling.h"

enum { MOST = 1 << 20 };

static strads_err no_memory(void)
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

/* In step t partition p has the group that began at p - t. */
static strads_err rotate(const strads_plan *sizes, const uint32_t *group,
                         strads_plan **out)
{
    uint32_t K = sizes->partitions, B = sizes->blocks;
    uint32_t *first = calloc((size_t)K + 1, sizeof *first);
    uint32_t *member = malloc(sizeof *member * B);
    uint32_t *start = malloc(sizeof *start * ((size_t)K * K + 1));
    uint32_t *block = malloc(sizeof *block * K * B);
    strads_err err = no_memory();
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
        return no_memory();
    for (uint32_t b = 0; b < blocks; b++)
        group[b] = b % partitions;
    const strads_plan sizes = {.partitions = partitions, .blocks = blocks};
    err = rotate(&sizes, group, out);
    free(group);
    return err;
}

static double weight_of(const double *weight, uint32_t b)
{
    return weight ? weight[b] : 1;
}

/* Longest processing time first (Graham 1969); of groups with as little work
 * the one with fewer blocks, then the first. */
static strads_err group_by_work(uint32_t K, uint32_t B, const double *weight,
                                uint32_t *group)
{
    uint32_t *order = malloc(sizeof *order * B);
    double *load = calloc(K, sizeof *load);
    uint32_t *count = calloc(K, sizeof *count);
    strads_err err = no_memory();
    if (order && load && count)
        err = sti_falling_order(B, weight, order);
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
        return no_memory();
    const strads_plan sizes = {.partitions = partitions,
                               .blocks = blocks,
                               .block_weight = block_weight,
                               .partition_weight = partition_weight};
    err = group_by_work(partitions, blocks, block_weight, group);
    if (!err)
        err = rotate(&sizes, group, out);
    free(group);
    return err;
}
