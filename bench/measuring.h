/* bench/measuring.h - what the programs here measure with. */
#ifndef BENCH_MEASURING_H
#define BENCH_MEASURING_H

#include <stddef.h>

/* Seconds since some moment; and those that this process has computed, in which
 * nothing counts that others do on the machine. */
double bench_wall(void);
double bench_cpu(void);

/* Of n numbers, which are sorted; the higher one of two in the middle. */
double bench_median(double *values, size_t n);

#endif
