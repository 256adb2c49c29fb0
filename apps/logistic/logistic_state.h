/* What the coordinator has: numbers by column, and the working set with its model
 * and the rows. */
#ifndef LOGISTIC_STATE_H
#define LOGISTIC_STATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/logistic.h>

#include "apps/linear/linear_classes.h"
#include "apps/kernels/column_kernels.h"
#include "apps/linear/linear_ridge.h"
#include "apps/linear/linear_set.h"
#include "apps/kernels/logistic_loops.h"

typedef enum logistic_next {
    LOGISTIC_TO_LABELS,
    LOGISTIC_TO_MOMENTS,
    LOGISTIC_TO_ROWS,
    LOGISTIC_TO_LEVEL,
    LOGISTIC_TO_SCAN,
    LOGISTIC_TO_FETCH,
    LOGISTIC_TO_SOLVE,
    LOGISTIC_TO_HESSIAN,
    LOGISTIC_TO_PRODUCT,
    LOGISTIC_TO_JUDGE
} logistic_next;

/* Where the last laps of a softmax ended (logistic_laps.c): numbers of the
 * alive columns' [n_alive x width], then b's. */
typedef struct logistic_laps {
    uint64_t numbers; /* of a lap, at most */
    double *past;     /* [laps x numbers], NULL: not kept */
    uint32_t n;       /* laps in it */
    double *now;      /* [numbers] as committed */
    double *change;   /* [numbers] on its way, class by class */
    double before;    /* P where the last lap ended */
    bool telling;     /* `change` is on its way */
    bool leapt;       /* this lap began beyond those before */
} logistic_laps;

typedef struct logistic_state {
    strads_logistic_options options; /* as given, later as resolved */
    char *classes_text;              /* what options.classes points to */
    const strads_data *data;
    const column_kernels *kernels;
    const logistic_loops *loops;
    linear_classes classes;
    linear_set set;
    linear_ridge ridge; /* an L2 penalty alone */
    logistic_next next;
    uint64_t columns;
    double weight; /* W */
    double lambda_max;
    double l1, l2; /* L1 and L2 of logistic_parts.h, at the lambda at hand */
    double lambda;

    /* Of every column, [columns] each. */
    double *norm;    /* sum c x^2; centred under an intercept */
    double *scale;   /* s_j; 0: the column never enters */
    double *mean;    /* sum c x / W; 0 without an intercept */
    double *steep;   /* |x_j' g| / s_j of the dual point, before `share` */
    double *slope;   /* of the smooth part, downward, at the last scan */
    double *urgency; /* what its own step would gain, at least */
    double *told;    /* priorities on their way to the policy */
    uint32_t *alive; /* columns that may still enter: n_alive */
    uint32_t *candidate;
    uint32_t n_alive;
    double least_norm; /* the least norm / scale^2 of those that may enter */

    uint32_t width;  /* problems, one after the other */
    uint32_t target; /* the one at hand */
    bool surveys;    /* moments are for lambda_max alone */
    double *b;       /* [width] of the trial points */
    double *trial;   /* [width] changes of b, on their way */
    struct {
        double primal, dual;
        uint64_t nonzeros;
    } * done;     /* [width] of problems that are not at hand */
    double *wide; /* [(columns + 1) x width] changes, spread */
    bool softmax; /* the problems are turns of one */
    logistic_laps laps;
    struct {
        double primal, dual;
        uint64_t nonzeros;
        linear_watch watch;
    } judged; /* softmax: the whole, when last looked at */

    double level; /* sum r at the last scan, with an intercept */
    double loss;  /* sum c f there */
    double primal, dual;
    double gap;    /* P - D */
    double share;  /* of the slopes that the last dual point has */
    double sphere; /* how far, at most, the best dual point is from it */
    uint64_t nonzeros;
    uint64_t scans, levels;
    uint32_t searches; /* since the last scan */
    linear_watch watch;
    double shrink; /* how far below the gap's share the target lies */
    bool complete; /* hardly a column outside violated at the last scan */
    bool enough;   /* the last search gained so little that a scan is due */
} logistic_state;

/* A model is solved when a sweep gains this share of the first one; that of a
 * softmax' turn, which has one scan only, is solved better. */
#define LOGISTIC_SETTLED 0.2
#define LOGISTIC_SETTLED_TURN 0.02

/* Where the problem at hand has its number of parameter k of a block. */
static inline size_t logistic_at(const logistic_state *state, uint32_t k)
{
    return (size_t)k * state->width + state->target;
}

/* The best step of coordinate j alone from w, where the smooth part (L2
 * included) slopes down by `slope` and has that curvature. */
static inline double logistic_step(const logistic_state *state, uint64_t j,
                                   double w, double slope, double curvature)
{
    const double l1 = state->l1 * state->scale[j];
    const double z = slope + curvature * w;

    if (!(curvature > 0))
        return -w;
    if (z > l1)
        return (z - l1) / curvature - w;
    if (z < -l1)
        return (z + l1) / curvature - w;
    return -w;
}

#endif
