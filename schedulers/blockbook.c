/* Entries in an array that grows, the dissolved ones in a stack to be used
 * again. of[param[k]] names the entry for each of its members, always. */
#include "schedulers/blockbook.h"

#include <stdlib.h>
#include <string.h>

#include "strads/policy.h"

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for another block of "
                                      "parameters; try larger blocks");
}

strads_err sti_blockbook_open(uint32_t parameters, sti_blockbook *book)
{
    memset(book, 0, sizeof *book);
    book->last_id = STRADS_POLICY_BLOCK_IDS;
    book->of = malloc(parameters * sizeof *book->of);
    if (!book->of)
        return no_memory();
    for (uint32_t i = 0; i < parameters; i++)
        book->of[i] = STI_BLOCK_NONE;
    return STRADS_OK;
}

void sti_blockbook_close(sti_blockbook *book)
{
    for (uint32_t e = 0; e < book->n; e++)
        free(book->entry[e].param);
    free(book->entry);
    free(book->free_entry);
    free(book->of);
    memset(book, 0, sizeof *book);
}

uint64_t sti_blockbook_id(sti_blockbook *book)
{
    return ++book->last_id;
}

static strads_err grow(sti_blockbook *book)
{
    uint32_t capacity = book->capacity ? 2 * book->capacity : 64;
    sti_blockbook_entry *entry =
        realloc(book->entry, capacity * sizeof *book->entry);
    if (!entry)
        return no_memory();
    book->entry = entry;
    uint32_t *free_entry =
        realloc(book->free_entry, capacity * sizeof *book->free_entry);
    if (!free_entry)
        return no_memory();
    book->free_entry = free_entry;
    book->capacity = capacity;
    return STRADS_OK;
}

strads_err sti_blockbook_add(sti_blockbook *book, uint64_t id, uint32_t n,
                             const uint32_t *param, const float *weight,
                             uint32_t *entry)
{
    if (!book->n_free && book->n == book->capacity) {
        strads_err err = grow(book);
        if (err)
            return err;
    }
    uint32_t *copy = malloc(n * (sizeof *copy + sizeof(float)));
    if (!copy)
        return no_memory();
    float *copy_weight = (float *)(copy + n);
    memcpy(copy, param, n * sizeof *copy);
    uint32_t at = book->n_free ? book->free_entry[--book->n_free] : book->n++;
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        book->of[copy[k]] = at;
        copy_weight[k] = weight[copy[k]];
        sum += (double)copy_weight[k];
    }
    book->entry[at] = (sti_blockbook_entry){
        .block = {.id = id, .n = n, .first = copy[0], .param = copy},
        .param = copy,
        .member_weight = copy_weight,
        .weight = sum,
    };
    *entry = at;
    return STRADS_OK;
}

void sti_blockbook_dissolve(sti_blockbook *book, uint32_t entry)
{
    sti_blockbook_entry *gone = &book->entry[entry];
    for (uint32_t k = 0; k < gone->block.n; k++)
        book->of[gone->param[k]] = STI_BLOCK_NONE;
    free(gone->param);
    memset(gone, 0, sizeof *gone);
    book->free_entry[book->n_free++] = entry;
}
