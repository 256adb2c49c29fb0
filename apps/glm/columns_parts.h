/* Declarations that the files of the fits by columns share.
 *
 *     P(w, b) = sum f(y_i, z_i) + l1 |w|_1 + l2/2 |w|^2,   z = X w + b
 *
 * is n times the objective that users see. A partition holds a range of
 * columns, in memory or packed in a file, and a copy of the margins X w. So a
 * scan of all columns needs no sum over partitions, and only columns that may
 * be nonzero, the candidates, are ever held unpacked.
 *
 * Parameters: the coefficients, 0 .. p - 1; then the margins X w, p .. p + n -
 * 1; then b. A commit changes the coefficients of one block and the margins,
 * so every partition has the margins of the last commit. */
#ifndef COLUMNS_PARTS_H
#define COLUMNS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/glm.h>
#include <strads/pack.h>

#include "glm_parts.h"

enum { COLUMNS_SCAN, COLUMNS_MARGINS, COLUMNS_SOLVE, COLUMNS_PHASES };

/* Numbers that travel with each dispatch (shared totals). */
enum {
    COLUMNS_L1, /* the penalty's weights, times n */
    COLUMNS_L2,
    COLUMNS_THRESHOLD, /* a scan keeps columns with |slope| from here on; 0,
                        * as at the start: it finds the largest |slope| at w =
                        * 0 only */
    COLUMNS_TOTALS
};

/* The head of one partition's result of a scan; a columns_found for each new
 * candidate follows. */
typedef struct columns_scanned {
    double largest;   /* |slope| of all columns, if it reaches the threshold */
    double beyond;    /* sum of max(0, |slope| - l1)^2 */
    double threshold; /* from which candidates are kept: above the one that was
                       * asked for, if there were too many */
    uint64_t n;
} columns_scanned;

typedef struct columns_found {
    uint32_t column;
    uint32_t unused;
    double slope;
} columns_found;

/* What a partition needs for each row. */
enum { COLUMNS_ROW_BYTES = 8 * sizeof(double) + sizeof(float) };

/* Most new candidates of a partition in one scan. */
enum { COLUMNS_FOUND_MAX = 1 << 15 };

/* The head of a block's result; the change of the margins follows, [n]. */
enum {
    COLUMNS_LARGEST,   /* |slope| in the block before */
    COLUMNS_BEYOND,    /* sum of max(0, |slope| - l1)^2 before */
    COLUMNS_L1_CHANGE, /* sum |w + d| - |w| for the change d, */
    COLUMNS_CROSS,     /* w'd, */
    COLUMNS_MOVED,     /* d'd */
    COLUMNS_ORIGINS,   /* sum of the columns' origins times d; for margins,
                        * times w */
    COLUMNS_UPDATES,   /* updates of coordinates */
    COLUMNS_NUMBERS
};

/* ---- a partition (columns_worker.c) -------------------------------------- */

/* Unpacked columns, in any order. */
typedef struct columns_kept {
    uint32_t n, capacity;
    uint64_t nnz, room;
    uint32_t *id;     /* [n] */
    uint64_t *start;  /* [n + 1] */
    uint32_t *row;    /* [nnz] */
    double *value;    /* [nnz] */
    double *origin;   /* [n] subtracted from the values */
    uint32_t *sorted; /* [n] places, by id */
    uint64_t limit;   /* most bytes of entries */
} columns_kept;

typedef struct columns_local {
    glm_problem problem;
    uint64_t rows, columns; /* of the data */
    double *y;              /* [rows] targets */
    double *c;              /* [rows] ones: weights of rows */
    double *margin;         /* [rows] X w, */
    double b;               /* and the intercept */
    bool fresh;             /* the six members that follow are of now */
    double *z, *r, *h;      /* [rows] margins with b; -f'; curvature */
    double norm, unit;      /* |r|, max |r_i| */
    float *narrow;          /* [rows + 16] r / unit */
    double *left;           /* [rows] of a solution */
    double *none;           /* [rows] margins of w = 0 */
    columns_kept kept;
    strads_pack_reader *reader; /* NULL: the columns are in memory */
    float *dot;                 /* [most columns of a chunk] */
    uint32_t dots;
    columns_kept pending; /* the last column of a chunk, which may continue */
} columns_local;

strads_err columns_open(const glm_problem *problem, const strads_task *task,
                        void **local);
void columns_close(void *local);
strads_err columns_refresh(strads_task *task, const strads_change *change,
                           uint32_t n);
size_t columns_partial_scan(const strads_task *task);
strads_err columns_update_scan(strads_task *task);
size_t columns_partial_block(const strads_task *task);
strads_err columns_update_margins(strads_task *task);
strads_err columns_update_solve(strads_task *task);

/* Fills in the targets of a share's rows, and the classes as text, which the
 * caller frees (NULL: not wanted; unchanged if the loss has none).
 * STRADS_EINVAL, STRADS_EFORMAT, STRADS_ENOMEM. */
strads_err columns_targets(const glm_problem *problem,
                           const strads_share *share, double *y, char **text);

/* Whether r has the mean 0, by definition of b: then rounding is removed. Other
 * losses bound r on one side, which subtraction could leave. */
static inline bool columns_centre(const glm_problem *problem)
{
    return problem->options.intercept && problem->loss->constant;
}

/* Returns the b that minimises sum f(y, margin + b), from b on, or b without an
 * intercept; and z = margin + b, r, h and the loss there. */
double columns_intercept(const glm_problem *problem, const double *y,
                         const double *c, const double *margin, uint64_t n,
                         double b, double *z, double *r, double *h,
                         double *loss);

/* Compares two columns, at the start of the elements of qsort. */
static inline int columns_compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* w = argmin a/2 (w - u/a)^2 + l1 |w| + l2/2 w^2, for u = a w_0 + slope. */
static inline double columns_step(double u, double a, double l1, double l2)
{
    const double over = fabs(u) - l1;
    return over > 0 && a + l2 > 0 ? copysign(over, u) / (a + l2) : 0;
}

#endif
