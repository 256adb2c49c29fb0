/* What the coordinator has: the groups' shares of the gap, and where the
 * problem at hand stands. */
#ifndef DUAL_STATE_H
#define DUAL_STATE_H

#include "dual_problem.h"

/* Parts of a pass at most; a merge comes after each. */
enum { DUAL_PARTS_MAX = 4 };

/* The groups of one pool of partitions, as the coordinator sees them. A pass is
 * over when each group that does not rest has been visited once. */
typedef struct dual_pool {
    uint64_t begin, end;
    uint64_t left;  /* groups yet to be visited in this pass, */
    uint64_t told;  /* those of them that the policy knows of, and */
    uint64_t awake; /* all that this pass visits */
    uint32_t part[DUAL_PARTS_MAX]; /* the most promising comes first */
    uint32_t parts;
    uint64_t pass;          /* its number */
    uint32_t next;          /* part that the policy is to be told of */
    double sum;             /* of the gaps found in this pass, */
    double before;          /* and in the one before, */
    double falls;           /* which is this share of what another before had */
    double worst_now;       /* the steepest rise of D found in this pass, */
    double worst;           /* and in the one before */
    double inside, crossed; /* rows of this pass, as dual_partial_ascend says */
    uint32_t since;         /* passes since the last scan */
    bool settled;  /* the last pass changed little but b between bounds */
    bool sleepers; /* rows may have been let rest in haste */
    bool wakes;    /* this pass looks at rows that rest as well */
} dual_pool;

/* What is summed up over all rows, to know P and D: of rows whose b is above 0,
 * and below, their part of D but for what the intercept takes, sum |b|,
 * sum b (z - intercept), and sum |b| |x|. */
typedef enum dual_sum {
    DUAL_LOSS,
    DUAL_SUPPORTS,
    DUAL_DUAL,
    DUAL_SIZE = DUAL_DUAL + 2,
    DUAL_PULL = DUAL_SIZE + 2,
    DUAL_REACH = DUAL_PULL + 2,
    DUAL_SUMS = DUAL_REACH + 2
} dual_sum;

/* Where a problem stands that is not at hand: as its last scan left it, or as
 * w = 0 would. */
typedef struct dual_outcome {
    double primal, gap;
    uint64_t nonzeros, supports;
} dual_outcome;

/* How steps of conjugate gradients go on: dual_face.h. */
typedef struct dual_heading {
    double *v;      /* [columns + 1] where w goes */
    double square;  /* r'r at the last step, */
    double first;   /* and at the first one */
    uint32_t steps; /* in this face */
    double alpha;   /* of the next step: how far, */
    double beta;    /* and how much of the last p is in its p */
} dual_heading;

typedef struct dual_state {
    dual_problem problem;
    char classes_text[LINEAR_CLASSES_TEXT]; /* options.classes points to it */
    linear_classes classes;
    double *scale; /* [columns] while w is that of scaled columns; else NULL */
    const strads_data *data;
    uint32_t width, target;               /* problems, and the one at hand */
    dual_outcome done[LINEAR_LABELS_MAX]; /* of those that are not */
    dual_pool *pool;                      /* [pools] */
    double *urgency;    /* [groups] share of the gap when last looked at */
    double *entries;    /* [groups] of rows that do not rest */
    uint8_t *waits;     /* [groups] for a visit in this pass: dual_pass.c */
    uint32_t *awake;    /* [groups] pool by pool: the groups of this pass */
    uint32_t *told;     /* [groups] parameters on their way to the policy ... */
    double *how;        /* ... and their priorities */
    strads_block *own;  /* [partitions] the rows of each, */
    strads_range *held; /* [partitions] and the groups */
    uint32_t partitions, pools;
    uint64_t columns, rows, groups;
    bool surveyed, measured;
    bool seed_due; /* the run starts from a w whose b are not known */
    bool moved;    /* rows have moved since the last merge, */
    bool joined;   /* and pools have joined what moved, */
    bool spread;   /* which is more than the first partition's w */
    bool little;   /* what a pass looks at is too little for several hands */
    bool alone;    /* the first partition does this pass for all: dual_pass.c */
    double safety; /* s, as measured last */
    bool scan_due;
    bool rested; /* the scan to come was called by the policy's rest */
    bool stalled;
    double near, far;   /* sums of |sum d|^2 and sum |d|^2, fading */
    double apart;       /* sum |d|^2 of the last join */
    uint64_t visits;    /* rows that passes have looked at, */
    double parts;       /* the sum of their parts of D, */
    double reached;     /* and |w|^2, both as told by passes */
    uint64_t next_scan; /* so many visits until one is due */
    uint64_t scans;
    double aim;             /* a scan is due at this share of the tolerance */
    double enough;          /* that share of P: see dual_pass.c */
    double sums[DUAL_SUMS]; /* of the scan, so far */
    uint64_t supports;
    uint64_t nonzeros;  /* of w */
    uint32_t seen;      /* blocks of the scan that have come in */
    double primal, gap; /* P and P - D of the last scan, */
    double level_gap;   /* and P - D while the level is held */
    double least, most; /* the best P and D so far */
    uint32_t idle;      /* scans in a row that bettered neither */
    double bias;        /* B */
    /* dual_level.c */
    double bias_before; /* what the bias came to, before the level */
    double level_step;  /* went so far; */
    double level_share; /* of what the level lacks the bias is this share */
    double intercept[LINEAR_LABELS_MAX];

    /* dual_newton.c; `step` is the phase that comes next, or DUAL_ASCEND. */
    uint32_t step;
    uint32_t inner, vain;
    bool gave_up;
    bool blunt;        /* the last step was within rounding, */
    double gradient;   /* from where the gradient was that long, */
    double ballast;    /* of the diagonal, over what dual_curve.c says */
    double *matrix;    /* [(columns + 1)^2] */
    double *direction; /* [columns + 1] */
    double slope, along, reach; /* g'd, w'd and d'd of it */
    double nearest;             /* the least gap so far */

    /* dual_face.c */
    dual_heading heading;
    uint32_t patience; /* passes before the next */
    double faced;      /* the gap before the last one */
} dual_state;

/* How many coefficients are penalised; the bias's is the last one. */
static inline uint64_t dual_penalised(const dual_state *state)
{
    return state->columns + !state->problem.options.intercept;
}

/* As dual_at, on the coordinator. */
static inline size_t dual_place(const dual_state *state, size_t k)
{
    return k * state->width + state->target;
}

/* The intercept after a commit of all coefficients. */
static inline void dual_take_intercept(const strads_commit *commit)
{
    dual_state *state = commit->state;
    const size_t at = dual_place(state, state->columns);

    state->intercept[state->target] =
        commit->total[DUAL_LEVEL] +
        state->bias * (commit->value[at] + commit->change[at]);
}

#endif
