/* Clocks and medians. */
#include "bench/measuring.h"

#include <stdlib.h>
#include <time.h>

static double seconds_by(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_wall(void)
{
    return seconds_by(CLOCK_MONOTONIC);
}

double bench_cpu(void)
{
    return seconds_by(CLOCK_PROCESS_CPUTIME_ID);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}
