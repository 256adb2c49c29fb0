/* Entries are in an array that grows; dissolved ones are in a stack for
 * reuse. Invariant: of[param[k]] is the entry of each of its members. */
#include "schedulers/block_table.h"

#include <stdlib.h>
#include <string.h>

#include "strads/policy.h"

static strads_err no_table_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for another block of "
                                      "parameters; try larger blocks");
}

strads_err sti_block_table_open(uint32_t parameters, sti_block_table *table)
{
    memset(table, 0, sizeof *table);
    table->last_id = STRADS_POLICY_BLOCK_IDS;
    table->of = malloc(parameters * sizeof *table->of);
    if (!table->of)
        return no_table_memory();
    for (uint32_t i = 0; i < parameters; i++)
        table->of[i] = STI_BLOCK_NONE;
    return STRADS_OK;
}

void sti_block_table_close(sti_block_table *table)
{
    for (uint32_t e = 0; e < table->n; e++)
        free(table->entry[e].param);
    free(table->entry);
    free(table->free_entry);
    free(table->of);
    memset(table, 0, sizeof *table);
}

uint64_t sti_block_table_id(sti_block_table *table)
{
    return ++table->last_id;
}

static strads_err grow_table(sti_block_table *table)
{
    uint32_t capacity = table->capacity ? 2 * table->capacity : 64;
    sti_block_entry *entry =
        realloc(table->entry, capacity * sizeof *table->entry);
    if (!entry)
        return no_table_memory();
    table->entry = entry;
    uint32_t *free_entry =
        realloc(table->free_entry, capacity * sizeof *table->free_entry);
    if (!free_entry)
        return no_table_memory();
    table->free_entry = free_entry;
    table->capacity = capacity;
    return STRADS_OK;
}

strads_err sti_block_table_add(sti_block_table *table, uint64_t id, uint32_t n,
                               const uint32_t *param, const float *weight,
                               uint32_t *entry)
{
    if (!table->n_free && table->n == table->capacity) {
        strads_err err = grow_table(table);
        if (err)
            return err;
    }
    uint32_t *copy = malloc(n * (sizeof *copy + sizeof(float)));
    if (!copy)
        return no_table_memory();
    float *copy_weight = (float *)(copy + n);
    memcpy(copy, param, n * sizeof *copy);
    uint32_t at =
        table->n_free ? table->free_entry[--table->n_free] : table->n++;
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        table->of[copy[k]] = at;
        copy_weight[k] = weight[copy[k]];
        sum += (double)copy_weight[k];
    }
    table->entry[at] = (sti_block_entry){
        .block = {.id = id, .n = n, .first = copy[0], .param = copy},
        .param = copy,
        .member_weight = copy_weight,
        .weight = sum,
    };
    *entry = at;
    return STRADS_OK;
}

void sti_block_table_dissolve(sti_block_table *table, uint32_t entry)
{
    sti_block_entry *gone = &table->entry[entry];
    for (uint32_t k = 0; k < gone->block.n; k++)
        table->of[gone->param[k]] = STI_BLOCK_NONE;
    free(gone->param);
    memset(gone, 0, sizeof *gone);
    table->free_entry[table->n_free++] = entry;
}
