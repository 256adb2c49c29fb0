#include "engine/data/naming.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

strads_err sti_axis_open(sti_axis *axis, const strads_names *given)
{
    *axis = (sti_axis){.names = given};
    if (given != NULL)
        return STRADS_OK;
    strads_err err = strads_names_new(&axis->own);
    axis->names = axis->own;
    axis->adding = err == STRADS_OK;
    return err;
}

strads_err sti_axis_number(sti_axis *axis, const char *name, size_t size,
                           uint32_t *number, bool *known)
{
    *known = true;
    if (axis->adding)
        return strads_names_add(axis->own, name, size, number);
    *known = strads_names_find(axis->names, name, size, number);
    return STRADS_OK;
}

static strads_err grow(sti_naming *n, uint32_t word)
{
    uint64_t room = n->df_room == 0 ? FIRST_ROOM : n->df_room;
    while (room <= word)
        room *= 2;
    uint32_t *df = realloc(n->df, room * sizeof *df);
    if (df != NULL)
        n->df = df;
    uint64_t *last = realloc(n->last_row, room * sizeof *last);
    if (last != NULL)
        n->last_row = last;
    if (df == NULL || last == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory to count %u words", word);
    memset(df + n->df_room, 0, (room - n->df_room) * sizeof *df);
    memset(last + n->df_room, 0, (room - n->df_room) * sizeof *last);
    n->df_room = room;
    return STRADS_OK;
}

strads_err sti_naming_count(sti_naming *n, uint32_t word, uint64_t row)
{
    strads_err err = word >= n->df_room ? grow(n, word) : STRADS_OK;
    if (err != STRADS_OK || n->last_row[word] == row + 1)
        return err;
    n->last_row[word] = row + 1;
    n->df[word]++;
    return STRADS_OK;
}

static strads_err forget_rare(sti_naming *n)
{
    strads_names *kept = NULL;
    strads_err err = strads_names_new(&kept);
    uint32_t count = strads_names_count(n->col.own);
    for (uint32_t word = 0; err == STRADS_OK && word < count; word++) {
        if (n->df[word] < n->min_df)
            continue;
        const char *name = strads_names_at(n->col.own, word);
        uint32_t number;
        err = strads_names_add(kept, name, strlen(name), &number);
    }
    strads_names_free(n->col.own);
    n->col.names = n->col.own = kept;
    return err;
}

strads_err sti_naming_end(sti_naming *n)
{
    strads_err err = STRADS_OK;
    if (n->col.adding && n->min_df > 1 && n->df != NULL)
        err = forget_rare(n);
    n->row.adding = n->col.adding = false;
    free(n->df);
    free(n->last_row);
    n->df = NULL;
    n->last_row = NULL;
    n->df_room = 0;
    return err;
}

void sti_naming_free(sti_naming *n)
{
    strads_names_free(n->row.own);
    strads_names_free(n->col.own);
    free(n->df);
    free(n->last_row);
    *n = (sti_naming){0};
}
