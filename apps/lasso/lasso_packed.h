/* The working set through its columns: where it has too many pairs to keep, its
 * columns are brought to the coordinator once, and blocks are solved there on a
 * residual of its own. Workers hear of the changes with the next scan. */
#ifndef LASSO_PACKED_H
#define LASSO_PACKED_H

#include "apps/linear/linear_packed.h"
#include "lasso_parts.h"

/* What a step of a member needs, together. */
typedef struct lasso_packed_member {
    double w;         /* where descent has come to */
    double shrink;    /* L2 s^2 */
    double curvature; /* |x_c|^2 + L2 s^2; 0: never enters */
    double l1;        /* L1 s */
    double mean;
    double gain; /* its priority */
} lasso_packed_member;

/* Column k here is state->set[k]. */
typedef struct lasso_packed {
    linear_packed columns;
    uint32_t *place;             /* [all columns] 1 + k, 0: not in the set */
    lasso_packed_member *member; /* [capacity] */
    uint32_t capacity;
    bool has_rows;    /* y is here */
    double *y;        /* [rows] labels, without their mean if there is an
                         intercept */
    double *residual; /* [rows] y - X w */
    double sum;       /* of the residual; 0 without an intercept */
    uint64_t fetches; /* blocks of columns asked for */
    double always;    /* entries of a set that may always be kept here */
    double share;     /* of all entries: a larger set may have as many */
    double *vectors;  /* [room_vectors] steps on a block's support */
    size_t room_vectors;
} lasso_packed;

strads_err lasso_packed_new(uint64_t columns, uint64_t rows,
                            lasso_packed **out);
void lasso_packed_free(lasso_packed *packed);

/* STRADS_ENOMEM, for so many numbers. */
strads_err lasso_no_memory(uint64_t numbers);

/* Columns of a block that is solved this way. */
enum { LASSO_PACKED_MAX = 32768 };

/* Whether a set of so many entries may be kept a second time. Once it is, it
 * stays: the policy's blocks would be too large for pairs of their own. */
bool lasso_packed_fits(const lasso_state *state, double entries);

/* After a scan that chose this way: what is still to be brought here. */
bool lasso_packed_lacks_rows(const lasso_state *state);
bool lasso_packed_lacks_columns(const lasso_state *state);
/* The next columns to bring: a block that lasts until the next call. */
strads_block lasso_packed_next(lasso_state *state);

/* Aggregates of the phases that bring rows and columns. */
strads_err lasso_packed_take_rows(strads_commit *commit);
strads_err lasso_packed_take_columns(strads_commit *commit);

/* After a scan: takes the committed w[columns]. */
strads_err lasso_packed_start(lasso_state *state, const double *w);
/* When everything is here: the residual at these w. */
void lasso_packed_settle(lasso_state *state);

/* Aggregate of the phase that solves: descent on the block's members. */
strads_err lasso_packed_solve(strads_commit *commit);

#endif
