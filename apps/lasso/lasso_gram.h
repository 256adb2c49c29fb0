/* The working set in Gram space: once all its pairs X_c' X_c are known, blocks
 * are solved without the data, and workers hear of the changes with the next
 * scan. Everything here is n-fold and centred, as in lasso_parts.h. */
#ifndef LASSO_GRAM_H
#define LASSO_GRAM_H

#include "lasso_parts.h"

/* Members in the order in which they joined: place k is column member[k]. */
typedef struct lasso_gram {
    uint32_t n, capacity;
    uint32_t known;   /* members whose pairs with all before are here */
    uint32_t *place;  /* [columns] 1 + place, 0: no member */
    uint32_t *member; /* [capacity] */
    double *entry;    /* [capacity x capacity] X_c' X_c, both triangles */
    double *q;        /* [capacity] X_c' r_c at w */
    double *w;        /* [capacity] committed */
    double squares;   /* |r_c|^2 at w */
    double target;    /* gap within the set at which the policy may rest */
    bool blurred;     /* a scan has found another |r_c|^2 than the pairs had:
                         means are so large that pairs have few digits left; then it goes by columns */
    double spent;     /* multiplications in sweeps since Newton's last step */
    double *before;   /* [capacity] w after a block's first sweep */
    double *trial;    /* [4 x capacity] (w, q) at the end of Newton's steps */
    double *newton;   /* [room_newton] its workspace */
    size_t room_newton;

    /* A path whose set is of all columns that can enter, lasso_gram_reckon. */
    bool complete;
    double *scan;          /* [columns + 3] a scan's sums */
    double *far_q, *far_w; /* [capacity] q and w at the last scan, */
    double far_squares;    /* and |r_c|^2; below 0: there was none */
} lasso_gram;

enum { LASSO_GRAM_MAX = 4096 };

strads_err lasso_gram_new(uint64_t columns, lasso_gram **out);
void lasso_gram_free(lasso_gram *gram);

/* Whether solving the set through its pairs is cheaper than through the data:
 * n_set columns of `entries` entries together. */
bool lasso_gram_pays(uint64_t n_set, double entries, bool dense);

/* After a scan: lets state->set join, asks for the pairs of those that are new,
 * and takes q, w and |r_c|^2 from the scan. `gap_target` is how small the gap
 * within the set should become. */
strads_err lasso_gram_start(strads_commit *commit, double gap_target);

/* Aggregate of the pairs: stores those that lasso_gram_start asked for. */
strads_err lasso_gram_store(strads_commit *commit);

/* Paths over few, full columns have them all as members at once, whose pairs
 * cost less than a scan for each point: whether this is such a one; lets them
 * join. */
bool lasso_gram_takes_all(const lasso_state *state);
void lasso_gram_take_all(lasso_state *state);
/* What a scan would tell, from the last one and the pairs: into gram->scan, as
 * a scan's partial. Points before a path's last one are certified so; false:
 * only a scan will do. */
bool lasso_gram_may_reckon(const lasso_state *state);
void lasso_gram_reckon(lasso_state *state, const double *w);

/* Aggregate of the solve phase: descent on the block's members. */
strads_err lasso_gram_solve(strads_commit *commit);

/* lasso_newton.c: Newton's step on the support of a block's n members, if the
 * sweeps so far have cost as much. */
void lasso_newton(lasso_state *state, uint32_t n, const uint32_t *place);

#endif
