/* engine/base/cores.h - how many threads can run at once. */
#ifndef STI_BASE_CORES_H
#define STI_BASE_CORES_H

#include <stdint.h>

/* The number of cores that this thread may run on, at least 1. taskset, cpusets
 * and containers reduce it. */
uint32_t sti_cores(void);

#endif
