/* Fits by columns: the unpacked columns of a partition. */
#include <stdlib.h>

#include "columns_parts.h"

void columns_kept_free(columns_kept *k)
{
    free(k->id);
    free(k->start);
    free(k->row);
    free(k->value);
    free(k->sorted);
    free(k->origin);
    free(k->factor);
    *k = (columns_kept){0};
}

bool columns_grow(void **array, size_t size, uint64_t n)
{
    void *more = realloc(*array, size * n);
    if (more)
        *array = more;
    return more != NULL;
}

static strads_err lack_room(const columns_kept *k)
{
    return strads_fail(
        STRADS_ENOMEM,
        "no memory for more than %u columns that may be "
        "nonzero: allow more (--memory), or give a larger lambda",
        k->n);
}

enum { ENTRY_BYTES = sizeof(uint32_t) + sizeof(double) };

strads_err columns_kept_reserve(columns_kept *k, uint64_t n)
{
    const uint64_t need = k->nnz + n, most = k->limit / ENTRY_BYTES;
    if (need <= k->room)
        return STRADS_OK;
    const uint64_t more = 2 * need + 4096 < most ? 2 * need + 4096 : most;
    if (need > most || !columns_grow((void **)&k->row, sizeof *k->row, more) ||
        !columns_grow((void **)&k->value, sizeof *k->value, more))
        return lack_room(k);
    k->room = more;
    return STRADS_OK;
}

strads_err columns_kept_begin(columns_kept *k, uint64_t n)
{
    if (k->n == k->capacity) {
        const uint32_t more = k->capacity ? 2 * k->capacity : 1024;
        if (!columns_grow((void **)&k->id, sizeof *k->id, more) ||
            !columns_grow((void **)&k->start, sizeof *k->start, more + 1) ||
            !columns_grow((void **)&k->sorted, sizeof *k->sorted, more) ||
            !columns_grow((void **)&k->origin, sizeof *k->origin, more) ||
            !columns_grow((void **)&k->factor, sizeof *k->factor, more))
            return lack_room(k);
        k->start[0] = 0;
        k->capacity = more;
    }
    return columns_kept_reserve(k, n);
}

void columns_kept_end(columns_kept *k, uint32_t id, uint64_t n, double origin,
                      double factor)
{
    k->origin[k->n] = origin;
    k->factor[k->n] = factor;
    k->id[k->n++] = id;
    k->nnz += n;
    k->start[k->n] = k->nnz;
}

columns_entries columns_kept_entries(const columns_kept *k, uint32_t at)
{
    return (columns_entries){k->start[at + 1] - k->start[at],
                             k->row + k->start[at], k->value + k->start[at]};
}

columns_entries columns_kept_taken(const columns_kept *k, uint64_t n)
{
    return (columns_entries){n, k->row + k->nnz, k->value + k->nnz};
}

double columns_kept_dot(const columns_kept *k, uint32_t at, const double *v)
{
    double sum = 0;
    for (uint64_t e = k->start[at]; e < k->start[at + 1]; e++)
        sum += k->value[e] * v[k->row[e]];
    return sum;
}

/* A scan adds columns in ascending order, so a merge of two runs would do; the
 * sort is as short. */
strads_err columns_kept_sort(columns_kept *k)
{
    struct pair {
        uint32_t id, at;
    } *pair = malloc((k->n + 1) * sizeof *pair);
    if (!pair)
        return strads_fail(STRADS_ENOMEM, "no memory to sort %u columns", k->n);
    for (uint32_t at = 0; at < k->n; at++)
        pair[at] = (struct pair){k->id[at], at};
    qsort(pair, k->n, sizeof *pair, columns_compare);
    for (uint32_t at = 0; at < k->n; at++)
        k->sorted[at] = pair[at].at;
    free(pair);
    return STRADS_OK;
}

uint32_t columns_kept_find(const columns_kept *k, uint32_t sorted, uint32_t id)
{
    uint32_t low = 0, high = sorted;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (k->id[k->sorted[middle]] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sorted && k->id[k->sorted[low]] == id ? k->sorted[low]
                                                       : UINT32_MAX;
}

void columns_kept_add(const columns_kept *k, uint32_t at, double a, double *v)
{
    for (uint64_t e = k->start[at]; e < k->start[at + 1]; e++)
        v[k->row[e]] += a * k->value[e];
}
