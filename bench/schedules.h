/* bench/schedules.h - the programs that with_schedules compares: one Lasso with
 * the same kernels; the setup selects the schedule. */
#ifndef BENCH_SCHEDULES_H
#define BENCH_SCHEDULES_H

#include <stdio.h>

#include "strads/strads.h"

/* `config` of both points to a pointer to it. */
typedef struct schedules_setup {
    double ratio;       /* lambda / lambda_max */
    double limit;       /* seconds of the processor */
    uint32_t width;     /* columns, or rows of a batch, at once */
    const char *policy; /* of rounds: the policy that chooses blocks */
    bool joint;         /* their columns are solved together, by pairs */
    bool scans;         /* the rest level is set from the results of a scan */
} schedules_setup;

/* Prints a line "SECONDS UPDATES OBJECTIVE". */
static inline void schedules_tell(double seconds, double updates,
                                  double objective)
{
    (void)printf("%.6f %.0f %.17g\n", seconds, updates, objective);
}

/* Blocks of columns, solved alone or together. */
const strads_program *schedules_rounds(bool joint);
/* Proximal steps along gradients of batches of rows, through the store. */
extern const strads_program schedules_sgd;

/* argmin over z of (z - x)^2 / 2 + by |z|. */
static inline double schedules_soft(double x, double by)
{
    return x > by ? x - by : x < -by ? x + by : 0;
}

#endif
