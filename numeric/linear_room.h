/* Large arrays that are filled soon after their allocation. */
#ifndef LINEAR_ROOM_H
#define LINEAR_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocates n numbers on cache-line boundaries, and on huge pages if large
 * enough: the first touch of a small page costs as much as filling it. NULL: no
 * memory. free() frees it. */
double *linear_room(uint64_t n);
/* Requests the pages of an array for numbers `from` to `to` - 1, of `bytes`
 * bytes each: together they cost less than one by one. Space behind stays
 * untouched. */
void linear_room_ready(void *array, uint64_t from, uint64_t to, size_t bytes);
/* Resizes the array *array to n elements of `size` bytes. False: no memory,
 * and the array is unchanged. */
bool linear_widen(void *array, uint64_t n, size_t size);

#endif
