/* The working set's columns: brought to the coordinator, once each. */
#include "lasso_packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entries of one fetch, so that what is on its way stays small; of a set that
 * may always be kept; and the share of the data that a larger one may be. */
#define FETCH_ENTRIES (UINT64_C(1) << 22)
#define ALWAYS_FITS (1 << 22)
#define SHARE_MAX 0.25

/* ---- memory ------------------------------------------------------------ */

strads_err lasso_packed_new(uint64_t columns, uint64_t rows, lasso_packed **out)
{
    lasso_packed *packed = calloc(1, sizeof(*packed));

    if (packed) {
        packed->columns.rows = rows;
        packed->always = ALWAYS_FITS;
        packed->share = SHARE_MAX;
        packed->place = calloc(columns + 1, sizeof(*packed->place));
    }
    if (!packed || !packed->place) {
        lasso_packed_free(packed);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the places of %llu columns",
                           (unsigned long long)columns);
    }
    *out = packed;
    return STRADS_OK;
}

void lasso_packed_free(lasso_packed *packed)
{
    if (!packed)
        return;
    linear_packed_free(&packed->columns);
    free(packed->place);
    free(packed->member);
    free(packed->y);
    free(packed->residual);
    free(packed->vectors);
    free(packed);
}

strads_err lasso_no_memory(uint64_t numbers)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for %llu numbers of the working set",
                       (unsigned long long)numbers);
}

/* ---- bringing it here -------------------------------------------------- */

bool lasso_packed_fits(const lasso_state *state, double entries)
{
    const lasso_packed *packed = state->packed;

    return packed->columns.n > 0 || entries <= packed->always ||
           entries <= packed->share * state->entries;
}

bool lasso_packed_lacks_rows(const lasso_state *state)
{
    return !state->packed->has_rows;
}

bool lasso_packed_lacks_columns(const lasso_state *state)
{
    return state->packed->columns.n < state->n_set;
}

strads_block lasso_packed_next(lasso_state *state)
{
    lasso_packed *packed = state->packed;
    const uint32_t from = packed->columns.n;
    uint64_t entries = 0;
    uint32_t n = 0;

    while (from + n < state->n_set) {
        const uint64_t more =
            strads_data_col_nnz(state->data, state->set[from + n]);
        if (n > 0 && entries + more > FETCH_ENTRIES)
            break;
        entries += more;
        n++;
    }
    return (strads_block){.id = linear_packed_id(++packed->fetches, entries),
                          .n = n,
                          .param = state->set + from};
}

strads_err lasso_packed_take_rows(strads_commit *commit)
{
    lasso_packed *packed = ((lasso_state *)commit->state)->packed;
    const uint64_t rows = packed->columns.rows;

    if (commit->partial_bytes != rows * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the labels that workers sent are %zu bytes instead "
                           "of 8 for each of %llu rows",
                           commit->partial_bytes, (unsigned long long)rows);
    packed->y = calloc(rows + 1, sizeof(*packed->y));
    packed->residual = calloc(rows + 1, sizeof(*packed->residual));
    if (!packed->y || !packed->residual)
        return lasso_no_memory(2 * rows);
    memcpy(packed->y, commit->partial, rows * sizeof(*packed->y));
    packed->has_rows = true;
    return STRADS_OK;
}

strads_err lasso_packed_take_columns(strads_commit *commit)
{
    lasso_packed *packed = ((lasso_state *)commit->state)->packed;
    const uint32_t from = packed->columns.n;
    const strads_err err = linear_packed_take(&packed->columns, commit);

    for (uint32_t k = from; k < packed->columns.n; k++)
        packed->place[strads_block_param(&commit->block, k - from)] = k + 1;
    return err;
}

strads_err lasso_packed_start(lasso_state *state, const double *w)
{
    lasso_packed *packed = state->packed;

    if (state->n_set > packed->capacity) {
        const uint32_t capacity = state->n_set + state->n_set / 2;
        lasso_packed_member *wider =
            realloc(packed->member, capacity * sizeof(*wider));
        if (!wider)
            return lasso_no_memory(capacity);
        packed->member = wider;
        packed->capacity = capacity;
    }
    for (uint32_t k = 0; k < state->n_set; k++) {
        const uint32_t j = state->set[k];
        const double s = lasso_scale(state, j), shrink = state->l2 * s * s;
        packed->member[k] =
            (lasso_packed_member){.w = w[j],
                                  .shrink = shrink,
                                  .curvature = state->norm[j] > 0
                                                   ? state->norm[j] + shrink
                                                   : 0,
                                  .l1 = state->l1 * s,
                                  .mean = state->mean[j]};
    }
    return STRADS_OK;
}

void lasso_packed_settle(lasso_state *state)
{
    lasso_packed *packed = state->packed;
    const uint64_t rows = packed->columns.rows;

    memcpy(packed->residual, packed->y, rows * sizeof(*packed->y));
    for (uint32_t k = 0; k < state->n_set; k++) {
        const data_column x = linear_packed_column(&packed->columns, k);
        if (packed->member[k].w != 0)
            state->kernels->add(&x, -packed->member[k].w, packed->residual);
    }
    packed->sum = state->label_sum;
    for (uint32_t k = 0; k < state->n_set; k++)
        packed->sum -=
            state->rows * packed->member[k].mean * packed->member[k].w;
}
