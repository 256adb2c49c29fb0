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
                         means are so large that pairs have few digits left */
    /* Extrapolation: (w, q) before and after the last sweeps. */
    double *past; /* [PAST x 2 x capacity] */
    uint32_t n_past;
    double *beyond; /* [2 x capacity] where they lead to */
    double spent;   /* multiplications in sweeps since Newton's last step */
    double *newton; /* [room_newton] its workspace */
    size_t room_newton;
    uint32_t
        *origin; /* [capacity] of a live part: the members' places in the set
                       */
    struct lasso_gram *live; /* the part that is live; NULL in itself */
} lasso_gram;

enum { LASSO_GRAM_MAX = 4096, LASSO_GRAM_PAST = 6 };

strads_err lasso_gram_new(uint64_t columns, lasso_gram **out);
void lasso_gram_free(lasso_gram *gram);
/* Room for n members; the entries are moved to their longer lines. */
strads_err lasso_gram_reserve(lasso_gram *gram, uint32_t n);

/* Whether solving the set through its pairs is cheaper than through the data:
 * n_set columns of `entries` entries together. */
bool lasso_gram_pays(uint64_t n_set, double entries, bool dense);

/* After a scan: lets state->set join, asks for the pairs of those that are new,
 * and takes q, w and |r_c|^2 from the scan. `gap_target` is how small the gap
 * within the set should become. */
strads_err lasso_gram_start(strads_commit *commit, double gap_target);

/* Aggregate of the pairs: stores those that lasso_gram_start asked for. */
strads_err lasso_gram_store(strads_commit *commit);

/* Aggregate of the solve phase: descent on the block's members. */
strads_err lasso_gram_solve(strads_commit *commit);

/* lasso_live.c: state->gram is the live part, until lasso_live_leave brings the
 * whole one up to it; false, and nothing changes, where that would not pay. */
bool lasso_live_enter(lasso_state *state);
void lasso_live_leave(lasso_state *state, lasso_gram *gram);

/* lasso_extrapolate.c: a point beyond the last sweeps that lowers P, in
 * w_out[n] and q_out[n]; false when there is none. */
bool lasso_extrapolate(const lasso_state *state, lasso_gram *gram,
                       double *w_out, double *q_out);

/* P(w) - P(state->gram->w), where q is X_c' r_c at w. */
double lasso_rise(const lasso_state *state, const double *w, const double *q);

/* Moves the set to w, where q is X_c' r_c. */
void lasso_gram_go(lasso_state *state, const double *w, const double *q);

/* lasso_newton.c: Newton's step on the support of a block's n members, if the
 * sweeps so far have cost as much. */
void lasso_newton(lasso_state *state, uint32_t n, const uint32_t *place);

#endif
