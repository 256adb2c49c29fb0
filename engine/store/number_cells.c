/* One loop for each type. Integers add as unsigned ones, for which wrapping
 * around is defined. */
#include "engine/store/number_cells.h"

#include <math.h>

#include "engine/base/instruction_set.h"

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

/* `type` in both arrays, element `at` of `into` for each i. */
#define ADD_ALL(type, at)                       \
    do {                                        \
        type *restrict sum = into;              \
        const type *restrict add = from;        \
        for (size_t i = 0; i < n; i++)          \
            sum[at] = (type)(sum[at] + add[i]); \
    } while (0)

STI_EACH_INSTRUCTION_SET
static void add_all(strads_scalar type, void *into, const void *from, size_t n)
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
    add_all(type, into, from, n);
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

static strads_err whole_number(double number, double bound, int64_t *out)
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
        err = whole_number(number, 0x1p31, &whole);
        if (!err)
            *(int32_t *)cell = (int32_t)whole;
        break;
    case STRADS_I64:
        err = whole_number(number, 0x1p63, &whole);
        if (!err)
            *(int64_t *)cell = whole;
        break;
    }
    return err;
}
