/* The working set's memory, and its columns over all rows: workers write a
 * column's entries of their rows, and what they write is put together here. */
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_room.h"
#include "glm_parts.h"

/* Entries of one fetch, so that what is on its way stays small. */
#define FETCH_ENTRIES (UINT64_C(1) << 22)

strads_err glm_set_new(uint64_t columns, uint64_t rows, glm_set *set)
{
    double **by_row[] = {&set->y,    &set->c,    &set->o,     &set->z,
                         &set->rest, &set->root, &set->along, &set->trial};
    bool there = true;

    set->rows = set->columns.rows = rows;
    set->place = calloc(columns + 2, sizeof(*set->place));
    for (size_t k = 0; k < sizeof(by_row) / sizeof(by_row[0]); k++) {
        *by_row[k] = calloc(rows + 1, sizeof(double));
        there = there && *by_row[k];
    }
    return set->place && there
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the margins of %llu rows",
                             (unsigned long long)rows);
}

void glm_set_free(glm_set *set)
{
    void *all[] = {set->member, set->place,  set->y,         set->c,
                   set->o,      set->z,      set->rest,      set->root,
                   set->along,  set->trial,  set->scaled,    set->list,
                   set->awake,  set->past_w, set->past_rest, set->newton};

    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
        free(all[k]);
    linear_packed_free(&set->columns);
}

static strads_err reserve_member(glm_set *set)
{
    if (set->n < set->capacity)
        return STRADS_OK;
    const uint32_t capacity = set->capacity ? 2 * set->capacity : 256;
    if (!linear_widen(&set->member, capacity, sizeof(*set->member)) ||
        !linear_widen(&set->list, capacity, sizeof(*set->list)) ||
        !linear_widen(&set->awake, capacity, sizeof(*set->awake)) ||
        !linear_widen(&set->newton, 4 * (uint64_t)capacity, sizeof(double)))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a working set of %u columns",
                           capacity);
    set->capacity = capacity;
    return STRADS_OK;
}

strads_err glm_set_join(glm_state *state, uint32_t g)
{
    glm_set *set = &state->set;
    const uint32_t n = glm_size(state, g);
    strads_err err = STRADS_OK;

    for (uint32_t k = 0; k < n && !(err = reserve_member(set)); k++) {
        const uint32_t j = glm_column(state, g, k);
        const double w = state->w[j];
        set->member[set->n++] = (glm_member){.column = j,
                                             .w = w,
                                             .base = w,
                                             .told = w,
                                             .unit = glm_unit(state, g, j),
                                             .size = k == 0 ? n : 0};
        set->place[j] = set->n;
    }
    return err;
}

uint32_t glm_set_next(const glm_state *state, uint64_t *entries)
{
    const glm_set *set = &state->set;
    uint32_t n = 0;

    *entries = 0;
    while (set->columns.n + n < set->n) {
        const uint32_t column = set->member[set->columns.n + n].column;
        const uint64_t more = strads_data_col_nnz(state->data, column);
        if (n > 0 && *entries + more > FETCH_ENTRIES)
            break;
        *entries += more;
        n++;
    }
    return n;
}

strads_err glm_set_take(strads_commit *commit)
{
    glm_state *state = commit->state;

    return linear_packed_take(&state->set.columns, commit);
}
