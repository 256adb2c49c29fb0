/* Steps of conjugate gradients in the b that are between their bounds: what
 * dual_face.c, which knows the way, and dual_face_rows.c, which walks the rows,
 * have in common. */
#ifndef DUAL_FACE_H
#define DUAL_FACE_H

#include "dual.h"

/* What a step finds over a face's rows: r'r, r'(r before), r'p, the rows'
 * shares of the gap, how many have come to a bound, and in how many groups b
 * moved. */
enum {
    FACE_SQUARE,
    FACE_BEFORE,
    FACE_ALONG,
    FACE_GAP,
    FACE_HITS,
    FACE_MOVED,
    FACE_SUMS
};

/* What partitions give of a step that is a round. */
enum { FACE_RISE, FACE_OWED, FACE_GONE, FACE_VECTORS };

/* What a step finds: s, what w and v are to be told of rows that came to a
 * bound, NULL where they have been, and sums. */
typedef struct dual_face_step {
    const double *rise, *owed, *gone; /* [columns + 1] */
    const double *sums;
} dual_face_step;

strads_err dual_heading_begin(dual_heading *heading, uint64_t columns);
/* What a step has found; false: there is no next one, since what is left of the
 * gap is `enough`, say. */
bool dual_heading_next(dual_heading *heading, uint64_t columns,
                       const dual_face_step *found, double enough);

#endif
