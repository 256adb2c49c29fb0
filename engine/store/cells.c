/* Cells, counted memory, the place index and sparse rows.
 *
 * Invariants: a budget's `used` is raised before the allocation, so the sum
 * never passes the limit. An index has a free slot, and no free slot lies
 * between an id's home and its slot. Only the id that was added last is
 * removed; later probes have not passed it. A sparse row keeps its columns in
 * the order of their addition, with an index once it is longer than one or two
 * cache lines. It only grows: a column that returns to 0 keeps its place. */
#include "engine/store/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/instruction_set.h"

/* One loop for each type. Integers are added as unsigned, because unsigned
 * overflow is defined. */

size_t sti_cell_size(strads_scalar type)
{
    switch (type) {
    case STRADS_F64:
    case STRADS_I64:
        return 8;
    case STRADS_F32:
    case STRADS_I32:
        return 4;
    }
    return 0;
}

/* Adds from[i] to into[at] for each i, both arrays of `type`. */
#define ADD_ALL(type, at)                       \
    do {                                        \
        type *restrict sum = into;              \
        const type *restrict add = from;        \
        for (size_t i = 0; i < n; i++)          \
            sum[at] = (type)(sum[at] + add[i]); \
    } while (0)

STI_EACH_INSTRUCTION_SET
static void add_cells(strads_scalar type, void *into, const void *from,
                      size_t n)
{
    switch (type) {
    case STRADS_F64:
        ADD_ALL(double, i);
        break;
    case STRADS_F32:
        ADD_ALL(float, i);
        break;
    case STRADS_I32:
        ADD_ALL(uint32_t, i);
        break;
    case STRADS_I64:
        ADD_ALL(uint64_t, i);
        break;
    }
}

void sti_cells_add(strads_scalar type, void *into, const void *from, size_t n)
{
    add_cells(type, into, from, n);
}

void sti_cells_add_at(strads_scalar type, void *into, const uint32_t *place,
                      const void *from, size_t n)
{
    switch (type) {
    case STRADS_F64:
        ADD_ALL(double, place[i]);
        break;
    case STRADS_F32:
        ADD_ALL(float, place[i]);
        break;
    case STRADS_I32:
        ADD_ALL(uint32_t, place[i]);
        break;
    case STRADS_I64:
        ADD_ALL(uint64_t, place[i]);
        break;
    }
}

/* ---- in 8 bits ----------------------------------------------------------- */

static double cell_as_f64(strads_scalar type, const void *cells, size_t i)
{
    return type == STRADS_F32 ? (double)((const float *)cells)[i]
                              : ((const double *)cells)[i];
}

/* The value of code k, rounded to the cell's type. */
static double unpack_code(strads_scalar type, double step, int code)
{
    const double value = step * code;
    return type == STRADS_F32 ? (double)(float)value : value;
}

void sti_cells_pack(strads_scalar type, const void *cells, size_t n, void *out)
{
    int8_t *code = (int8_t *)out + sizeof(double);
    double most = 0, step;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(cell_as_f64(type, cells, i));
        most = size > most || isnan(size) ? size : most;
        if (!isfinite(most))
            break;
    }
    step = isfinite(most) ? most / 127 : NAN;
    memcpy(out, &step, sizeof step);
    memset(code, 0, sti_packed_bytes(n) - sizeof step);
    for (size_t i = 0; i < n && step != 0; i++) {
        const double k =
            isnan(step) ? 1 : rint(cell_as_f64(type, cells, i) / step);
        /* a denormal step can give more */
        code[i] = (int8_t)fmax(-127, fmin(127, k));
    }
}

void sti_cells_add_packed(strads_scalar type, void *into, const void *packed,
                          size_t n)
{
    const int8_t *code = (const int8_t *)packed + sizeof(double);
    double step;
    memcpy(&step, packed, sizeof step);
    for (size_t i = 0; i < n; i++) {
        const double by = unpack_code(type, step, code[i]);
        if (type == STRADS_F32)
            ((float *)into)[i] += (float)by;
        else
            ((double *)into)[i] += by;
    }
}

void sti_cells_error(strads_scalar type, const void *cells, const void *packed,
                     size_t n, void *out)
{
    const int8_t *code = (const int8_t *)packed + sizeof(double);
    double step;
    memcpy(&step, packed, sizeof step);
    for (size_t i = 0; i < n; i++) {
        const double left = isnan(step) ? 0
                                        : cell_as_f64(type, cells, i) -
                                              unpack_code(type, step, code[i]);
        if (type == STRADS_F32)
            ((float *)out)[i] = (float)left;
        else
            ((double *)out)[i] = left;
    }
}

bool sti_cell_is_zero(strads_scalar type, const void *cells, size_t i)
{
    switch (type) {
    case STRADS_F64:
        return ((const double *)cells)[i] == 0;
    case STRADS_F32:
        return ((const float *)cells)[i] == 0;
    case STRADS_I32:
        return ((const int32_t *)cells)[i] == 0;
    case STRADS_I64:
        return ((const int64_t *)cells)[i] == 0;
    }
    return true;
}

static strads_err to_whole_number(double number, double bound, int64_t *out)
{
    if (!(number >= -bound && number < bound) || number != trunc(number))
        return strads_fail(STRADS_EINVAL,
                           "%.17g cannot be added to a table of integers: a "
                           "whole number from %.0f up to, not including, %.0f "
                           "is expected",
                           number, -bound, bound);
    *out = (int64_t)number;
    return STRADS_OK;
}

strads_err sti_cell_from(strads_scalar type, double number, void *cell)
{
    int64_t whole = 0;
    strads_err err = STRADS_OK;
    switch (type) {
    case STRADS_F64:
        *(double *)cell = number;
        break;
    case STRADS_F32:
        *(float *)cell = (float)number;
        break;
    case STRADS_I32:
        err = to_whole_number(number, 0x1p31, &whole);
        if (!err)
            *(int32_t *)cell = (int32_t)whole;
        break;
    case STRADS_I64:
        err = to_whole_number(number, 0x1p63, &whole);
        if (!err)
            *(int64_t *)cell = whole;
        break;
    }
    return err;
}

/* ---- memory -------------------------------------------------------------- */

static uint64_t count_bytes(uint64_t bytes)
{
    return bytes ? bytes : 1;
}

static bool take_budget(sti_budget *budget, uint64_t bytes, uint64_t *used)
{
    *used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do {
        if (bytes > budget->limit - *used)
            return false;
    } while (!atomic_compare_exchange_weak(&budget->used, used, *used + bytes));
    return true;
}

strads_err sti_budget_alloc(sti_budget *budget, uint64_t bytes,
                            const char *what, void **out)
{
    uint64_t used;
    bytes = count_bytes(bytes);
    if (!take_budget(budget, bytes, &used))
        return strads_fail(STRADS_ENOMEM,
                           "%s needs %" PRIu64 " bytes; of the %" PRIu64
                           " that the store may take, %" PRIu64
                           " are in use: raise the limit, or make fewer or "
                           "smaller tables",
                           what, bytes, budget->limit, used);
    void *memory = calloc(1, bytes);
    if (!memory) {
        atomic_fetch_sub(&budget->used, bytes);
        return strads_fail(STRADS_ENOMEM,
                           "%s needs %" PRIu64 " bytes, which the system "
                           "did not give",
                           what, bytes);
    }
    *out = memory;
    return STRADS_OK;
}

void sti_budget_free(sti_budget *budget, void *memory, uint64_t bytes)
{
    if (!memory)
        return;
    free(memory);
    atomic_fetch_sub(&budget->used, count_bytes(bytes));
}

/* ---- an index of places -------------------------------------------------- */

/* Fibonacci hashing, Knuth 6.4; its high bits are the best mixed. */
static uint32_t home_slot(uint32_t id, uint32_t size)
{
    uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) & (size - 1);
}

uint32_t sti_index_find(const uint32_t *slots, uint32_t size,
                        const uint32_t *ids, uint32_t id)
{
    for (uint32_t s = home_slot(id, size); slots[s]; s = (s + 1) & (size - 1))
        if (ids[slots[s] - 1] == id)
            return slots[s] - 1;
    return STI_NO_PLACE;
}

void sti_index_put(uint32_t *slots, uint32_t size, const uint32_t *ids,
                   uint32_t place)
{
    uint32_t s = home_slot(ids[place], size);
    while (slots[s])
        s = (s + 1) & (size - 1);
    slots[s] = place + 1;
}

void sti_index_remove_last(uint32_t *slots, uint32_t size, const uint32_t *ids,
                           uint32_t place)
{
    uint32_t s = home_slot(ids[place], size);
    while (slots[s] != place + 1)
        s = (s + 1) & (size - 1);
    slots[s] = 0;
}

/* ---- sparse rows --------------------------------------------------------- */

enum { FIRST_CAPACITY = 4, SCANNED_CAPACITY = 16 };

/* A larger row would need a place index of more than 32 bits. */
static const uint32_t most_capacity = UINT32_C(1) << 30;

uint32_t sti_sparse_row_find(const sti_sparse_row *row, uint32_t col,
                             uint32_t guess)
{
    if (guess < row->n && row->cols[guess] == col)
        return guess;
    if (row->slots)
        return sti_index_find(row->slots, 2 * row->capacity, row->cols, col);
    for (uint32_t i = 0; i < row->n; i++)
        if (row->cols[i] == col)
            return i;
    return STI_NO_PLACE;
}

static uint64_t sparse_row_bytes(uint32_t capacity, size_t cell_size)
{
    uint64_t slots = capacity > SCANNED_CAPACITY ? 2 : 0;
    return capacity * (cell_size + (1 + slots) * sizeof(uint32_t));
}

/* Copies a row into one of the given capacity. */
static strads_err copy_sparse_row(const sti_sparse_row *row, uint32_t capacity,
                                  size_t cell_size, sti_budget *budget,
                                  sti_sparse_row *out)
{
    sti_sparse_row more = {.n = row->n, .capacity = capacity};
    strads_err err =
        sti_budget_alloc(budget, sparse_row_bytes(capacity, cell_size),
                         "a sparse row", &more.values);
    if (err)
        return err;
    more.cols = (uint32_t *)((char *)more.values + capacity * cell_size);
    if (row->n) {
        memcpy(more.values, row->values, row->n * cell_size);
        memcpy(more.cols, row->cols, row->n * sizeof *row->cols);
    }
    if (capacity > SCANNED_CAPACITY) {
        more.slots = more.cols + capacity;
        for (uint32_t i = 0; i < more.n; i++)
            sti_index_put(more.slots, 2 * capacity, more.cols, i);
    }
    *out = more;
    return STRADS_OK;
}

strads_err sti_sparse_row_copy(const sti_sparse_row *row, size_t cell_size,
                               sti_budget *budget, sti_sparse_row *out)
{
    return row->n ? copy_sparse_row(row, row->capacity, cell_size, budget, out)
                  : STRADS_OK;
}

static strads_err grow_sparse_row(sti_sparse_row *row, size_t cell_size,
                                  sti_budget *budget)
{
    sti_sparse_row more;
    if (row->capacity == most_capacity)
        return strads_fail(STRADS_ELIMIT,
                           "a sparse row cannot hold more than %u columns",
                           most_capacity);
    strads_err err =
        copy_sparse_row(row, row->capacity ? 2 * row->capacity : FIRST_CAPACITY,
                        cell_size, budget, &more);
    if (err)
        return err;
    sti_sparse_row_free(row, cell_size, budget);
    *row = more;
    return STRADS_OK;
}

strads_err sti_sparse_row_place(sti_sparse_row *row, uint32_t col,
                                size_t cell_size, sti_budget *budget,
                                uint32_t *place)
{
    uint32_t at = sti_sparse_row_find(row, col, *place);
    if (at == STI_NO_PLACE) {
        strads_err err = STRADS_OK;
        if (row->n == row->capacity)
            err = grow_sparse_row(row, cell_size, budget);
        if (err)
            return err;
        at = row->n++;
        row->cols[at] = col;
        if (row->slots)
            sti_index_put(row->slots, 2 * row->capacity, row->cols, at);
    }
    *place = at;
    return STRADS_OK;
}

void sti_sparse_row_free(sti_sparse_row *row, size_t cell_size,
                         sti_budget *budget)
{
    sti_budget_free(budget, row->values,
                    sparse_row_bytes(row->capacity, cell_size));
    *row = (sti_sparse_row){0};
}
