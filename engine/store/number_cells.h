/* engine/store/number_cells.h - arithmetic on cells of a table's type.
 *
 * Floating point adds as IEEE 754 does: infinities and NaN pass through, for a
 * store cannot tell a program's mistake from its intent. Integers wrap around
 * (two's complement). */
#ifndef STI_STORE_NUMBER_CELLS_H
#define STI_STORE_NUMBER_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"

/* Bytes of a cell; 0 for an unknown type. */
size_t sti_cell_size(strads_scalar type);

/* into[i] += from[i], i < n. */
void sti_cells_add(strads_scalar type, void *into, const void *from, size_t n);

/* into[place[i]] += from[i], in order: places may repeat. */
void sti_cells_add_at(strads_scalar type, void *into, const uint32_t *place,
                      const void *from, size_t n);

/* Is cell i of an array 0? */
bool sti_cell_is_zero(strads_scalar type, const void *cells, size_t i);

/* Writes `number` as one cell. STRADS_EINVAL: an integer type and a number
 * that is not whole or out of range. */
strads_err sti_cell_from(strads_scalar type, double number, void *cell);

#endif
