/* The columns of the working set, over all rows, at the coordinator: solving a
 * block there needs no message. Workers write a column's entries of their rows,
 * one after the other; what they write is put together here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_room.h"
#include "logistic_parts.h"

/* Entries of one fetch, so that what is on its way stays small. */
#define FETCH_ENTRIES (UINT64_C(1) << 22)

/* ---- memory ------------------------------------------------------------ */

strads_err logistic_set_new(uint64_t columns, uint64_t rows, logistic_set *set)
{
    double **by_row[] = {&set->y,          &set->c,       &set->z,
                         &set->root,       &set->lasting, &set->frozen,
                         &set->along,      &set->trial,   &set->root_trial,
                         &set->rest_trial, &set->met};
    bool there = true;

    set->n_rows = set->columns.rows = rows;
    set->place = calloc(columns + 1, sizeof(*set->place));
    for (size_t k = 0; k < sizeof(by_row) / sizeof(*by_row); k++) {
        *by_row[k] = calloc(rows + 1, sizeof(double));
        there = there && *by_row[k];
    }
    if (set->place && there)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for the margins of %llu rows",
                       (unsigned long long)rows);
}

void logistic_set_clear(logistic_set *set)
{
    for (uint32_t k = 0; k < set->n; k++)
        set->place[set->member[k].column] = 0;
    set->n = 0;
    linear_packed_clear(&set->columns);
    set->looked = set->open = set->met_known = false;
    set->spent = 0;
}

void logistic_set_free(logistic_set *set)
{
    free(set->member);
    free(set->visit);
    free(set->place);
    linear_packed_free(&set->columns);
    free(set->scaled);
    free(set->y);
    free(set->c);
    free(set->z);
    free(set->root);
    free(set->lasting);
    free(set->frozen);
    free(set->along);
    free(set->trial);
    free(set->root_trial);
    free(set->rest_trial);
    free(set->met);
    free(set->newton);
    free(set->support);
    free(set->past_w);
    free(set->past_rest);
}

strads_err logistic_set_join(logistic_state *state, uint32_t j, double w)
{
    logistic_set *set = &state->set;

    if (set->n == set->capacity) {
        const uint32_t capacity = set->capacity ? 2 * set->capacity : 256;
        if (!linear_widen(&set->member, capacity, sizeof(*set->member)) ||
            !linear_widen(&set->visit, capacity, sizeof(*set->visit)) ||
            !linear_widen(&set->support, capacity, sizeof(*set->support)))
            return strads_fail(STRADS_ENOMEM,
                               "no memory for a working set of %u columns",
                               capacity);
        set->capacity = capacity;
    }
    set->member[set->n++] = (logistic_member){.column = j, .w = w, .base = w};
    set->place[j] = set->n;
    return STRADS_OK;
}

/* ---- fetching ---------------------------------------------------------- */

uint32_t logistic_set_next(const logistic_state *state, uint64_t *entries)
{
    const logistic_set *set = &state->set;
    uint32_t n = 0;

    *entries = 0;
    while (set->columns.n + n < set->n) {
        const uint64_t more =
            strads_data_col_nnz(state->data,
                                set->member[set->columns.n + n].column);
        if (n > 0 && *entries + more > FETCH_ENTRIES)
            break;
        *entries += more;
        n++;
    }
    return n;
}

data_column logistic_column_of(const logistic_set *set,
                               const logistic_member *m, const double *of)
{
    return (data_column){.n = m->n,
                         .index = m->full ? NULL : set->columns.index + m->at,
                         .f64 = of + m->at};
}

/* Room for what is scaled wherever there is room for a value. */
static strads_err reserve(logistic_set *set)
{
    const uint64_t capacity = linear_packed_room(&set->columns);

    if (capacity <= set->room_scaled)
        return STRADS_OK;
    if (!linear_widen(&set->scaled, capacity, sizeof(double)))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu entries of the working set",
                           (unsigned long long)capacity);
    set->room_scaled = capacity;
    return STRADS_OK;
}

strads_err logistic_take_columns(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    const linear_packed *columns = &set->columns;
    const uint64_t before = columns->entries;
    uint32_t k = columns->n;
    strads_err err = linear_packed_take(&set->columns, commit);

    if (!err)
        err = reserve(set);
    if (!err)
        linear_room_ready(set->scaled, before, columns->entries,
                          sizeof(*set->scaled));
    for (; k < columns->n && !err; k++) {
        logistic_member *m = &set->member[k];
        const data_column x = linear_packed_column(columns, k);
        m->at = columns->at[k];
        m->n = columns->count[k];
        m->full = x.index == NULL;
        if (m->w != 0 && !state->softmax)
            state->kernels->add(&x, m->w, set->z);
    }
    return err;
}

strads_err logistic_take_rows(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;

    if (commit->partial_bytes != set->n_rows * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the rows that workers sent do not fit the data: a "
                           "node runs another version or is broken");
    for (uint64_t i = 0; i < set->n_rows; i++) {
        set->y[i] = copysign(1, commit->partial[i]);
        set->c[i] = fabs(commit->partial[i]);
        set->z[i] = state->b[state->target];
    }
    return STRADS_OK;
}
