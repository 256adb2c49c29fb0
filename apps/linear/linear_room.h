/* Large arrays that are filled soon after they are made. */
#ifndef LINEAR_ROOM_H
#define LINEAR_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for n numbers on lines' boundaries, and on huge pages where it fills
 * some: the first touch of a small page costs as much as filling it. NULL: no
 * memory. free() frees it. */
double *linear_room(uint64_t n);
/* Asks for the pages of an array that are about to be filled from number `from`
 * to before `to`, of so many bytes each: together they cost less than one by
 * one. The array may have more room behind, which stays untouched. */
void linear_room_ready(void *array, uint64_t from, uint64_t to, size_t bytes);
/* Makes the array that *array points to one of n elements of `size` bytes. False:
 * no memory, and it is as it was. */
bool linear_widen(void *array, uint64_t n, size_t size);

#endif
