/* engine/data/big_array.h - zeroed arrays, large ones on huge pages. */
#ifndef STI_DATA_BIG_ARRAY_H
#define STI_DATA_BIG_ARRAY_H

#include <stddef.h>

/* Zeroed, aligned to 64 bytes; NULL when memory ran out. Zero bytes give a
 * valid array. Free with the same size. */
void *sti_big_alloc(size_t bytes);
void sti_big_free(void *array, size_t bytes);

/* Grows an array of sti_big_alloc (or NULL with old == 0) and zeroes what is
 * new. On failure NULL, and the old array is still the caller's. */
void *sti_big_grow(void *array, size_t old, size_t bytes);

#endif
