/* Things in the order of falling weight. */
#ifndef STI_FALLING_H
#define STI_FALLING_H

#include <stdint.h>

#include "strads/error.h"

/* order[n] becomes 0 .. n - 1 by falling weight, equal ones by number; weight
 * NULL: all are equal. STRADS_EINVAL: a weight below 0 or not finite;
 * STRADS_ENOMEM. */
strads_err sti_falling_order(uint32_t n, const double *weight, uint32_t *order);

#endif
