/* The columns of the working set, over all rows, at the coordinator: solving
 * a block there needs no messages. Workers write a column's entries of their
 * rows, one partition after the other; this file assembles them. */
#include "linear_set.h"

#include <stdlib.h>

#include "linear_room.h"

/* Entries of one fetch, to limit the data in flight. */

strads_err linear_set_new(uint64_t columns, uint64_t rows, linear_set *set)
{
    double **by_row[] = {&set->y,         &set->c,       &set->z,
                         &set->root,      &set->lasting, &set->frozen,
                         &set->along,     &set->trial,   &set->root_trial,
                         &set->rest_trial};
    bool there = true;

    set->parameters = columns;
    set->rows = set->n_rows = set->columns.rows = rows;
    set->columns_changed = true;
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

void linear_set_clear(linear_set *set)
{
    for (uint32_t k = 0; k < set->n; k++)
        set->place[set->member[k].column] = 0;
    set->n = 0;
    linear_packed_clear(&set->columns);
    linear_set_use_columns(set);
    set->solved = false;
    set->spent = set->unfactored = 0;
}

void linear_set_free(linear_set *set)
{
    void *all[] = {set->member,  set->visit,   set->place,      set->scaled,
                   set->y,       set->c,       set->z,          set->root,
                   set->lasting, set->frozen,  set->along,      set->trial,
                   set->newton,  set->support, set->root_trial, set->rest_trial,
                   set->group,   set->past_w,  set->past_rest,  set->factor};

    for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
        free(all[k]);
    linear_packed_free(&set->columns);
}

static strads_err reserve_member(linear_set *set)
{
    const uint32_t capacity = set->capacity ? 2 * set->capacity : 256;

    if (set->n < set->capacity)
        return STRADS_OK;
    if (!linear_widen(&set->member, capacity, sizeof(*set->member)) ||
        !linear_widen(&set->visit, capacity, sizeof(*set->visit)) ||
        !linear_widen(&set->support, capacity, sizeof(*set->support)) ||
        !linear_widen(&set->group, 2 * (uint64_t)capacity, sizeof(double)))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a working set of %u columns",
                           capacity);
    set->capacity = capacity;
    return STRADS_OK;
}

strads_err linear_set_join(linear_set *set, uint32_t j, double w, uint32_t size,
                           double unit)
{
    const strads_err err = reserve_member(set);

    if (err)
        return err;
    set->member[set->n++] = (linear_member){
        .column = j, .size = size, .w = w, .base = w, .told = w, .unit = unit};
    set->place[j] = set->n;
    return STRADS_OK;
}

strads_err linear_set_take(linear_set *set, uint32_t n, const void *pieces,
                           size_t bytes)
{
    const linear_packed *columns = &set->columns;
    uint32_t k = columns->n;
    const strads_err err = linear_packed_take(&set->columns, n, pieces, bytes);

    for (; k < columns->n && !err; k++) {
        linear_member *m = &set->member[k];
        m->at = columns->at[k];
        m->n = columns->count[k];
        m->full = m->n == set->n_rows;
    }
    return err;
}

/* The first set has one in this many of the columns that violate at w = 0.
 * Most of them violate because of a few others and never enter, yet each would
 * be fetched and scaled. */
#define FIRST_OF 6

uint32_t linear_growth(const linear_set *set, uint64_t columns,
                       uint64_t nonzeros, uint32_t n)
{
    enum { GROWTH_MIN = 16, GROWTH_MAX = 128 };
    const double share = fmin((double)columns / 8, GROWTH_MAX);
    const double support = (double)nonzeros;
    const double least =
        set->n == 0 ? fmin(share, (double)n / FIRST_OF) : share;
    const double most =
        set->reduced ? support
                     : fmax(support, fmin(2 * support, (double)set->rows));

    return (uint32_t)fmin(fmax(fmax(least, GROWTH_MIN), most), n);
}
