/* strads/loop.h - what a data-parallel loop calls beside its session. */
#ifndef STRADS_LOOP_H
#define STRADS_LOOP_H

#include <stdbool.h>

#include "strads/report.h"
#include "strads/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Clocks that a loop may go on for after the run's end, see below. */
#define STRADS_LOOP_GRACE 8

/* Whether the run is to end: a bound (max_rounds counts this partition's
 * clocks), `stop`, a report that ends it, another partition's failure. To be
 * asked once a clock, within `run`. A loop that ends STRADS_LOOP_GRACE clocks
 * after the run's end and has not asked since is cut off: its session's clock
 * and advance return STRADS_ECANCELED, and when `run` returns that, the run
 * ends as for all others, with the model so far.
 * Who is told true computes no more, but may finish what all partitions do
 * together: the others hear of it at other clocks, so each one advances its
 * session to the clock at which a whole run ends, and all meet there. Does not
 * block. */
STRADS_API bool strads_loop_ends(const strads_task *task);

/* Hands progress over, from any partition, within `run`: it becomes a line of
 * progress, and the last one is the result's. The run is to end when the gap
 * is at most the tolerance, or when `stop` is set. Waits until the report
 * before this one has been told. */
STRADS_API void strads_loop_report(const strads_task *task,
                                   const strads_report *report);

#ifdef __cplusplus
}
#endif

#endif
