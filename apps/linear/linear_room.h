/* Large arrays that are filled soon after they are made. */
#ifndef LINEAR_ROOM_H
#define LINEAR_ROOM_H

#include <stdint.h>

/* Room for n numbers on lines' boundaries, and on huge pages where it fills
 * some: the first touch of a small page costs as much as filling it. NULL: no
 * memory. free() frees it. */
double *linear_room(uint64_t n);

#endif
