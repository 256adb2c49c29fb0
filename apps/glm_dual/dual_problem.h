/* What an SVM's parameters are, and the problem that is solved. */
#ifndef DUAL_PROBLEM_H
#define DUAL_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/svm.h>

#include "apps/linear/linear_classes.h"
#include "dual_loss.h"

/* ---- which parameter is what ------------------------------------------- */

/* Rows of a group, at most so many: a bit each. */
enum { DUAL_GROUP_MAX = 32 };

static inline uint64_t dual_group_rows(uint64_t rows)
{
    const uint64_t few = rows / 512;

    return few < 1 ? 1 : few > DUAL_GROUP_MAX ? DUAL_GROUP_MAX : few;
}

/* The first group of a partition whose rows begin there; the groups up to the
 * next partition's first one are its own, the last of which may be empty. */
static inline uint64_t dual_group_at(uint64_t rows, uint64_t begin,
                                     uint32_t partition)
{
    return begin / dual_group_rows(rows) + partition;
}

/* The groups of a partition with those rows. */
static inline strads_range dual_groups_of(uint64_t rows, strads_range own,
                                          uint32_t partition)
{
    return (strads_range){dual_group_at(rows, own.begin, partition),
                          dual_group_at(rows, own.end, partition + 1)};
}

static inline uint64_t dual_groups(const strads_shape *shape)
{
    return dual_group_at(shape->rows, shape->rows, shape->partitions);
}

static inline uint64_t dual_first_group(const strads_shape *shape)
{
    return shape->cols + 1;
}

static inline uint64_t dual_first_sample(const strads_shape *shape)
{
    return dual_first_group(shape) + dual_groups(shape);
}

/* Shared totals; DUAL_SIGMA is dual_newton.c's, the last three are dual_face.c's:
 * how far a step goes, how much it keeps of the one before, and what of the gap
 * needs none. */
enum {
    DUAL_SAFETY,
    DUAL_STEEP,
    DUAL_LEVEL,
    DUAL_SIGMA,
    DUAL_STRIDE,
    DUAL_TURN,
    DUAL_ENOUGH,
    DUAL_TOTALS
};

/* ---- the problem ------------------------------------------------------- */

/* What a program's options come to. */
typedef struct dual_problem {
    strads_svm_options options; /* defaults filled in; c is 0 until the survey
                                   where lambda tells it */
    dual_loss_kind loss;
    linear_weights weights; /* of rows */
    double lambda; /* C = 1 / (lambda W), W the sum of weights; 0: C is given */
} dual_problem;

#endif
