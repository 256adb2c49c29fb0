/* Public functions of a finished data set. They do not modify it, except
 * that the caller may release arrays that it no longer needs. */
#include "engine/data/build.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/cores.h"
#include "engine/data/memory.h"

static strads_err check_options(const strads_data_options *o)
{
    if (o->kind < STRADS_KIND_SAMPLES || o->kind > STRADS_KIND_GRAPH)
        return strads_fail(STRADS_EINVAL,
                           "kind is %d, expected samples, corpus, text, "
                           "ratings or documents",
                           (int)o->kind);
    if (o->split < STRADS_SPLIT_ROWS || o->split > STRADS_SPLIT_GRID)
        return strads_fail(STRADS_EINVAL,
                           "split is %d, expected rows, cols, both or grid",
                           (int)o->split);
    if (o->split == STRADS_SPLIT_GRID &&
        (o->partitions % o->grid_cols != 0 || o->partition_entries > 0))
        return strads_fail(STRADS_EINVAL,
                           "%u partitions in a grid of %u columns: expected a "
                           "multiple of %u",
                           o->partitions, o->grid_cols, o->grid_cols);
    if (o->layout < STRADS_LAYOUT_COLS || o->layout > STRADS_LAYOUT_BOTH)
        return strads_fail(STRADS_EINVAL,
                           "layout is %d, expected cols, rows or both",
                           (int)o->layout);
    if (o->values != STRADS_F64 && o->values != STRADS_F32)
        return strads_fail(STRADS_EINVAL,
                           "values of a data set are f64 or f32, not type %d",
                           (int)o->values);
    if (o->keep_first > o->partitions ||
        o->keep_count > o->partitions - o->keep_first)
        return strads_fail(
            STRADS_EINVAL,
            "partitions %u to %u shall be kept, but there are only %u",
            o->keep_first, o->keep_first + o->keep_count - 1, o->partitions);
    if (o->partition_entries > 0 && o->keep_count < o->partitions)
        return strads_fail(STRADS_EINVAL,
                           "partition_entries is %llu, but %u of %u partitions "
                           "are kept: where processes share the partitions, "
                           "their number is fixed; leave partition_entries out",
                           (unsigned long long)o->partition_entries,
                           o->keep_count, o->partitions);
    if (o->row_bounds != NULL &&
        (o->split == STRADS_SPLIT_COLS || o->partition_entries > 0))
        return strads_fail(
            STRADS_EINVAL,
            "row_bounds define how rows are split: leave them out "
            "where columns are, and partition_entries too");
    if (!(o->max_df >= 0 && o->max_df <= 1))
        return strads_fail(STRADS_EINVAL,
                           "max_df is %g, expected 0, or a share of the "
                           "documents above 0 and below 1",
                           o->max_df);
    if (o->min_cols > STI_MOST_LINES)
        return strads_fail(STRADS_ELIMIT,
                           "min_cols is %llu, at most %llu columns fit",
                           (unsigned long long)o->min_cols,
                           (unsigned long long)STI_MOST_LINES);
    if (o->most_cols != 0 &&
        (o->most_cols < o->min_cols || o->kind != STRADS_KIND_SAMPLES))
        return strads_fail(STRADS_EINVAL,
                           "most_cols is %llu, expected 0, or of samples at "
                           "least min_cols, %llu",
                           (unsigned long long)o->most_cols,
                           (unsigned long long)o->min_cols);
    return STRADS_OK;
}

strads_err sti_data_options(const strads_data_options *given,
                            strads_data_options *out)
{
    strads_data_options o = {0};
    if (given != NULL) {
        if (given->size == 0 || given->size > sizeof o)
            return strads_fail(STRADS_EINVAL,
                               "strads_data_options.size is %zu, expected "
                               "sizeof(strads_data_options), %zu",
                               given->size, sizeof o);
        memcpy(&o, given, given->size);
    }
    o.size = sizeof o;
    o.partitions = o.partitions == 0 ? 1 : o.partitions;
    if (o.keep_count == 0 && o.keep_first <= o.partitions)
        o.keep_count = o.partitions - o.keep_first;
    if (o.layout == 0)
        o.layout = STRADS_LAYOUT_COLS;
    if (o.grid_cols == 0 || o.split != STRADS_SPLIT_GRID)
        o.grid_cols = 1;
    if (o.threads == 0)
        o.threads = sti_cores();
    if (o.memory_limit == 0)
        o.memory_limit = sti_memory_available();
    strads_err err = check_options(&o);
    if (err == STRADS_OK)
        *out = o;
    return err;
}

void strads_data_free(strads_data *data)
{
    if (data == NULL)
        return;
    sti_side_free(&data->by_col);
    sti_side_free(&data->by_row);
    sti_big_free(data->label, data->label_count * sizeof *data->label);
    if (data->col_nnz != NULL)
        sti_big_free(data->col_nnz, data->cols * sizeof *data->col_nnz);
    strads_names_free(data->own_row_names);
    strads_names_free(data->own_col_names);
    strads_names_free(data->own_label_names);
    free(data->own_col_means);
    sti_big_free(data->row_nnz, data->rows * sizeof *data->row_nnz);
    free(data->row_bounds);
    free(data->col_bounds);
    free(data->weight);
    free(data->shares);
    strads_pack_free(data->pack);
    strads_data_free(data->times);
    free(data);
}

uint64_t strads_data_rows(const strads_data *data)
{
    return data->rows;
}

uint64_t strads_data_cols(const strads_data *data)
{
    return data->cols;
}

uint64_t strads_data_nnz(const strads_data *data)
{
    return data->nnz;
}

uint32_t strads_data_col_nnz(const strads_data *data, uint64_t j)
{
    return j < data->cols && data->col_nnz ? data->col_nnz[j] : 0;
}

uint32_t strads_data_row_nnz(const strads_data *data, uint64_t i)
{
    return i < data->rows && data->row_nnz ? data->row_nnz[i] : 0;
}

uint32_t strads_data_partitions(const strads_data *data)
{
    return data->partitions;
}

strads_range strads_data_part(const strads_data *data, uint32_t partition)
{
    if (partition >= data->partitions)
        return (strads_range){0, 0};
    const uint64_t *at = data->row_bounds + partition / data->grid_cols;
    return (strads_range){at[0], at[1]};
}

strads_range strads_data_part_cols(const strads_data *data, uint32_t partition)
{
    if (partition >= data->partitions || !data->col_bounds)
        return (strads_range){0, 0};
    const uint64_t *at = data->col_bounds + partition;
    return (strads_range){at[0], at[1]};
}

uint64_t strads_data_checksum(const strads_data *data)
{
    return data->unsummed ? sti_data_sum(data) : data->checksum;
}

uint64_t strads_data_index_base(const strads_data *data)
{
    return data->index_base;
}

uint64_t strads_data_bytes(const strads_data *data)
{
    return data->bytes;
}

const strads_names *strads_data_row_names(const strads_data *data)
{
    return data->row_names;
}

bool strads_data_col_ids(const strads_data *data)
{
    return data->col_ids;
}

const strads_names *strads_data_col_names(const strads_data *data)
{
    return data->col_names;
}

const double *strads_data_col_means(const strads_data *data)
{
    return data->own_col_means;
}

const strads_names *strads_data_label_names(const strads_data *data)
{
    return data->label_names;
}

strads_word_rules strads_data_word_rules(const strads_data *data)
{
    return data->word_rules;
}

uint64_t strads_data_unknown(const strads_data *data)
{
    return data->unknown;
}

uint64_t strads_data_repeated(const strads_data *data)
{
    return data->repeated;
}

strads_err strads_data_weigh(strads_data *data, const double *weight,
                             uint64_t n)
{
    const uint32_t kept = data->keep_count;
    const uint64_t begin = kept > 0 ? data->shares[0].rows.begin : 0;
    const uint64_t held =
        kept > 0 ? data->shares[kept - 1].rows.end - begin : 0;

    if (n != held)
        return strads_fail(STRADS_EINVAL,
                           "%" PRIu64 " weights for %" PRIu64
                           " rows; expected one a row",
                           n, held);
    for (uint64_t i = 0; i < n; i++)
        if (!(weight[i] >= 0) || isinf(weight[i])) {
            const uint64_t row = begin + i + 1;
            return strads_fail(STRADS_EINVAL,
                               "the weight of row %" PRIu64 " is %g; expected "
                               "a number from 0 up",
                               row, weight[i]);
        }
    double *own = malloc((n + 1) * sizeof *own);
    if (own == NULL)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the weights of %" PRIu64 " rows", n);
    if (n > 0)
        memcpy(own, weight, n * sizeof *own);
    free(data->weight);
    data->weight = own;
    for (uint32_t k = 0; k < kept; k++)
        data->shares[k].weight = own + (data->shares[k].rows.begin - begin);
    return STRADS_OK;
}

static bool has_same_entries(const strads_sparse *a, const strads_sparse *b)
{
    if (a->lines != b->lines || a->nnz != b->nnz ||
        memcmp(a->start, b->start, (a->lines + 1) * sizeof *a->start) != 0)
        return false;
    return a->nnz == 0 || memcmp(a->index + a->start[0], b->index + b->start[0],
                                 a->nnz * sizeof *a->index) == 0;
}

strads_err strads_data_time(strads_data *data, strads_data *times)
{
    bool same = data->rows == times->rows && data->cols == times->cols &&
                data->partitions == times->partitions &&
                data->keep_first == times->keep_first &&
                data->keep_count == times->keep_count;
    for (uint32_t k = 0; same && k < data->keep_count; k++) {
        const strads_sparse *x = &data->shares[k].by_row;
        const strads_sparse *t = &times->shares[k].by_row;
        if (!x->start || !t->start || !x->index || !t->index || !t->f64)
            return strads_fail(
                STRADS_EINVAL,
                "times are of entries by row, in f64: set layout "
                "and values of the options");
        same = has_same_entries(x, t);
    }
    if (!same)
        return strads_fail(STRADS_EMISMATCH,
                           "the times are not of the same entries: give each "
                           "rating one time");
    for (uint32_t k = 0; k < data->keep_count; k++)
        data->shares[k].time = times->shares[k].by_row.f64;
    data->bytes += times->bytes;
    strads_data_free(data->times);
    data->times = times;
    return STRADS_OK;
}

void strads_data_spend(strads_data *data)
{
    /* Lent arrays belong to their owner. */
    const bool own = !data->by_col.lent && !data->by_row.lent;
    if (own && data->unsummed) {
        data->checksum = sti_data_sum(data);
        data->unsummed = false;
    }
    for (uint32_t k = 0; k < data->keep_count; k++)
        data->shares[k].spendable = own;
}

/* Returns the pages that lie wholly within [begin, end) of the array to the
 * system. */
static void give_back(const void *array, size_t width, uint64_t begin,
                      uint64_t end, int advice)
{
    const uintptr_t page = 4096;
    const uintptr_t first = (uintptr_t)array + begin * width;
    const uintptr_t from = (first + page - 1) / page * page;
    const uintptr_t to = ((uintptr_t)array + end * width) / page * page;

    if (array != NULL && from < to)
        (void)madvise((void *)from, to - from, advice);
}

static void give_back_lines(const strads_sparse *x, uint64_t begin,
                            uint64_t end, int advice)
{
    const uint64_t from = x->start[begin], to = x->start[end];

    give_back(x->index, sizeof *x->index, from, to, advice);
    give_back(x->f32, sizeof *x->f32, from, to, advice);
    give_back(x->f64, sizeof *x->f64, from, to, advice);
}

static void spend(const strads_share *share, const strads_sparse *x,
                  uint64_t begin, uint64_t end)
{
    if (!share->spendable || x->start == NULL || begin >= end)
        return;
    int advice = MADV_DONTNEED;
#ifdef MADV_REMOVE
    if (share->on_disk) /* returns the room on disk as well */
        advice = MADV_REMOVE;
#endif
    give_back_lines(x, begin, end, advice);
}

void strads_share_evict(const strads_share *share)
{
    const strads_sparse *sides[] = {&share->by_col, &share->by_row};

    for (int k = 0; share->on_disk && k < 2; k++)
        if (sides[k]->start)
            give_back_lines(sides[k], 0, sides[k]->lines, MADV_DONTNEED);
}

void strads_share_spend(const strads_share *share, uint64_t begin, uint64_t end)
{
    spend(share, &share->by_row, begin, end);
}

void strads_share_spend_cols(const strads_share *share, uint64_t begin,
                             uint64_t end)
{
    spend(share, &share->by_col, begin, end);
}

const strads_share *strads_data_share(const strads_data *data,
                                      uint32_t partition)
{
    uint32_t k = partition - data->keep_first;
    return partition >= data->keep_first && k < data->keep_count
               ? &data->shares[k]
               : NULL;
}
