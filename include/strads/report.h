/* strads/report.h - what a program says of its progress. */
#ifndef STRADS_REPORT_H
#define STRADS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many figures of its own a program may report, at most. */
#define STRADS_MEASURES 9

/* What `objective` fills. */
typedef struct strads_report {
    double objective;  /* what is minimised; NaN when not known */
    double gap;        /* relative duality gap, or another certificate that is
                         0 at the optimum; NaN when there is none. The run ends
                         when it is at most the tolerance */
    uint64_t nonzeros; /* parameters that are not 0 */
    bool stop;         /* end the run whatever the gap says */
    /* By the program's `measures`: a likelihood, an error on other data, a
     * rate. NaN where it is not known, which `objective` finds preset. */
    double measure[STRADS_MEASURES];
} strads_report;

#ifdef __cplusplus
}
#endif

#endif
