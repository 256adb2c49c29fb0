/* The columns of the working set, over all rows, at the coordinator: solving a
 * block there needs no message. Workers write a column's entries of their rows,
 * one after the other; what they write is put together here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "logistic_parts.h"

/* Entries of one fetch, so that what is on its way stays small. */
#define FETCH_ENTRIES (UINT64_C(1) << 22)

/* ---- memory ------------------------------------------------------------ */

strads_err logistic_set_new(uint64_t columns, uint64_t rows, logistic_set *set)
{
    double **by_row[] = {&set->y,         &set->c,       &set->z,
                         &set->root,      &set->lasting, &set->frozen,
                         &set->along,     &set->trial,   &set->root_trial,
                         &set->rest_trial};
    bool there = true;

    set->n_rows = rows;
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
    set->n = set->fetched = 0;
    set->entries = 0;
    set->looked = set->open = false;
    set->spent = 0;
}

void logistic_set_free(logistic_set *set)
{
    free(set->member);
    free(set->place);
    free(set->value);
    free(set->scaled);
    free(set->index);
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
    free(set->newton);
    free(set->support);
    free(set->past_w);
    free(set->past_rest);
}

/* Makes the array that *array points to one of n elements. */
static bool widen(void *array, uint64_t n, size_t size)
{
    void *at;

    memcpy(&at, array, sizeof(at));
    at = realloc(at, n * size);
    if (at)
        memcpy(array, &at, sizeof(at));
    return at != NULL;
}

/* Kernels may read up to 16 entries beyond a column's end. */
static strads_err reserve(logistic_set *set, uint64_t entries)
{
    if (entries <= set->room_entries)
        return STRADS_OK;
    const uint64_t room = entries + entries / 2 + 64;
    if (!widen(&set->value, room + 16, sizeof(double)) ||
        !widen(&set->scaled, room + 16, sizeof(double)) ||
        !widen(&set->index, room + 16, sizeof(uint32_t)))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu entries of the working set",
                           (unsigned long long)entries);
    set->room_entries = room;
    return STRADS_OK;
}

strads_err logistic_set_join(logistic_state *state, uint32_t j, double w)
{
    logistic_set *set = &state->set;

    if (set->n == set->room) {
        const uint32_t room = set->room ? 2 * set->room : 256;
        if (!widen(&set->member, room, sizeof(*set->member)) ||
            !widen(&set->support, room, sizeof(*set->support)))
            return strads_fail(STRADS_ENOMEM,
                               "no memory for a working set of %u columns",
                               room);
        set->room = room;
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
    while (set->fetched + n < set->n) {
        const uint64_t more =
            strads_data_col_nnz(state->data,
                                set->member[set->fetched + n].column);
        if (n > 0 && *entries + more > FETCH_ENTRIES)
            break;
        *entries += more;
        n++;
    }
    return n;
}

/* How many entries each column has, then their values, then their rows. */
static size_t counts_bytes(uint32_t n)
{
    return ((size_t)n + 1) / 2 * 8;
}

size_t logistic_fetch_bytes(uint32_t n, uint64_t entries)
{
    return counts_bytes(n) + (size_t)entries * 12 + 8;
}

size_t logistic_write_columns(const strads_task *task)
{
    const uint32_t n = task->block.n;
    char *bytes = (char *)task->partial;
    uint32_t *count = (uint32_t *)(void *)bytes;
    double *value = (double *)(void *)(bytes + counts_bytes(n));
    const uint32_t first = (uint32_t)task->share->rows.begin;

    for (uint32_t k = 0; k < n; k++) {
        const linear_column x =
            linear_column_of(task->share, strads_block_param(&task->block, k));
        count[k] = (uint32_t)x.n;
        if (x.f64)
            memcpy(value, x.f64, x.n * sizeof(*value));
        for (uint64_t e = 0; e < x.n && !x.f64; e++)
            value[e] = (double)x.f32[e];
        value += x.n;
    }
    uint32_t *row = (uint32_t *)(void *)value;
    for (uint32_t k = 0; k < n; k++) {
        const linear_column x =
            linear_column_of(task->share, strads_block_param(&task->block, k));
        for (uint64_t e = 0; e < x.n; e++)
            *row++ = first + (x.index ? x.index[e] : (uint32_t)e);
    }
    if (((char *)row - bytes) % 8)
        *row++ = 0; /* the next partition's begins on a line of 8 bytes */
    return (size_t)((char *)row - bytes);
}

/* One partition's piece as it lies in the merged partial. */
typedef struct piece {
    const uint32_t *count;
    const double *value;
    const uint32_t *row;
    size_t bytes;
} piece;

static piece read_piece(const char *bytes, uint32_t n)
{
    piece p = {.count = (const uint32_t *)(const void *)bytes};
    uint64_t entries = 0;

    for (uint32_t k = 0; k < n; k++)
        entries += p.count[k];
    p.value = (const double *)(const void *)(bytes + counts_bytes(n));
    p.row = (const uint32_t *)(const void *)(p.value + entries);
    p.bytes = counts_bytes(n) + (entries * 12 + 7) / 8 * 8;
    return p;
}

static strads_err bad_piece(void)
{
    return strads_fail(STRADS_EPEER,
                       "the columns that a worker sent do not fit the data: a "
                       "node runs another version or is broken");
}

/* Sizes of the new members, from all pieces; where they begin. */
static strads_err measure(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    const uint32_t n = commit->block.n;
    const char *bytes = (const char *)commit->partial;

    for (size_t at = 0; at < commit->partial_bytes;) {
        if (commit->partial_bytes - at < counts_bytes(n))
            return bad_piece();
        const piece p = read_piece(bytes + at, n);
        if (p.bytes > commit->partial_bytes - at)
            return bad_piece();
        for (uint32_t k = 0; k < n; k++)
            set->member[set->fetched + k].n += p.count[k];
        at += p.bytes;
    }
    uint64_t entries = set->entries;
    for (uint32_t k = 0; k < n; k++) {
        logistic_member *m = &set->member[set->fetched + k];
        m->at = entries;
        m->full = m->n == set->n_rows;
        entries += m->n;
        m->n = 0; /* and fill() counts again */
    }
    return reserve(set, entries);
}

static void fill(logistic_set *set, const piece *p, uint32_t n)
{
    const double *value = p->value;
    const uint32_t *row = p->row;

    for (uint32_t k = 0; k < n; k++) {
        logistic_member *m = &set->member[set->fetched + k];
        const uint64_t to = m->at + m->n;
        memcpy(set->value + to, value, p->count[k] * sizeof(*value));
        memcpy(set->index + to, row, p->count[k] * sizeof(*row));
        value += p->count[k];
        row += p->count[k];
        m->n += p->count[k];
        set->entries += p->count[k];
    }
}

linear_column logistic_column_of(const logistic_set *set,
                                 const logistic_member *m, const double *of)
{
    return (linear_column){.n = m->n,
                           .index = m->full ? NULL : set->index + m->at,
                           .f64 = of + m->at};
}

/* Rows that a peer sent are looked at once, as kernels take them as they are.
 */
static bool has_valid_rows(const logistic_set *set, const logistic_member *m)
{
    for (uint64_t e = m->at; e < m->at + m->n; e++)
        if (set->index[e] >= set->n_rows ||
            (e > m->at && set->index[e] <= set->index[e - 1]))
            return false;
    return true;
}

strads_err logistic_take_columns(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    const uint32_t n = commit->block.n;
    const char *bytes = (const char *)commit->partial;
    const strads_err err = measure(commit);

    if (err)
        return err;
    for (size_t at = 0; at < commit->partial_bytes;) {
        const piece p = read_piece(bytes + at, n);
        fill(set, &p, n);
        at += p.bytes;
    }
    for (uint32_t k = 0; k < n; k++) {
        const logistic_member *m = &set->member[set->fetched + k];
        const linear_column x = logistic_column_of(set, m, set->value);
        if (!has_valid_rows(set, m))
            return bad_piece();
        if (m->w != 0 && !state->softmax)
            state->kernels->add(&x, m->w, set->z);
    }
    set->fetched += n;
    return STRADS_OK;
}

strads_err logistic_take_rows(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;

    if (commit->partial_bytes != set->n_rows * sizeof(double))
        return bad_piece();
    for (uint64_t i = 0; i < set->n_rows; i++) {
        set->y[i] = copysign(1, commit->partial[i]);
        set->c[i] = fabs(commit->partial[i]);
        set->z[i] = state->b[state->target];
    }
    return STRADS_OK;
}
