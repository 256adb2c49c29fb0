/* Parameters dealt to blocks like cards, heavy ones first, back and forth. */
#include "strads/plan.h"

#include <stdlib.h>

#include "schedulers/falling.h"

void strads_cut_free(strads_cut *cut)
{
    if (!cut)
        return;
    free(cut->block);
    free(cut->param);
    free(cut->weight);
    free(cut);
}

/* Which block the k-th card goes to. */
static uint32_t snake(uint32_t k, uint32_t blocks)
{
    uint32_t row = k / blocks, at = k % blocks;
    return row % 2 ? blocks - 1 - at : at;
}

/* Sizes from the deal, then every parameter in ascending order into its
 * block. */
static void fill(strads_cut *cut, uint32_t n, const uint32_t *block_of,
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
    err = sti_falling_order(n, weight, order);
    if (err)
        goto fail;
    for (uint32_t k = 0; k < n; k++)
        block_of[order[k]] = snake(k, blocks);
    for (uint32_t b = 0; b < blocks; b++)
        cut->block[b] = (strads_block){.id = b, .owner = b % partitions};
    fill(cut, n, block_of, weight);
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
