/* bench/measuring.h - clocks and medians for the benchmarks. */
#ifndef BENCH_MEASURING_H
#define BENCH_MEASURING_H

#include <stddef.h>

/* Seconds since an arbitrary moment; and the processor time of this process,
 * which excludes the load of other processes. */
double bench_wall(void);
double bench_cpu(void);

/* The median of n numbers, which it sorts; the upper one of two in the
 * middle. */
double bench_median(double *values, size_t n);

#endif
