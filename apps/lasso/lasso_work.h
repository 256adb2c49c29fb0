/* A block at work on the columns that were brought to the coordinator: what
 * passes over it and steps on its support share. */
#ifndef LASSO_WORK_H
#define LASSO_WORK_H

#include "lasso_packed.h"

typedef struct lasso_work {
    lasso_state *state;
    lasso_packed *packed;
    uint32_t n, live; /* members; the first `live` are in every pass */
    uint32_t *place;  /* [n] in the set */
} lasso_work;

static inline data_column lasso_work_column(const lasso_work *b, uint32_t k)
{
    return linear_packed_column(&b->packed->columns, k);
}

/* lasso_conjugate.c: towards the minimum among the live members that are not 0,
 * with the signs that they have, until steps gain far less than `enough`.
 * STRADS_ENOMEM. */
strads_err lasso_conjugate(lasso_work *b, double enough);

/* The same file: to where a path leads, if that lowers P. STRADS_ENOMEM. */
strads_err lasso_go_ahead(lasso_work *b);

#endif
