/* Losses: the program's interface to a loss, as a table. f(y, z) is the loss
 * of a row with target y at the margin z = offset + x'w + b. It is convex in z,
 * and 0 at its best z: a constant of the likelihood is left out, so for
 * likelihoods objectives are half the deviance.
 *
 * A new loss is a file loss_NAME.c and a line in GLM_LOSSES. */
#ifndef GLM_LOSS_H
#define GLM_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "numeric/logistic_loops.h"

#define GLM_LOSSES(LOSS)                 \
    LOSS("squared", squared)             \
    LOSS("logistic", logistic)           \
    LOSS("multinomial", multinomial)     \
    LOSS("squared-hinge", squared_hinge) \
    LOSS("poisson", poisson)             \
    LOSS("gamma", gamma)                 \
    LOSS("tweedie", tweedie)             \
    LOSS("huber", huber)                 \
    LOSS("quantile", quantile)           \
    LOSS("cox", cox)                     \
    LOSS("cox-efron", cox_efron)         \
    LOSS("ordinal", ordinal)

/* Rows: targets, weights, margins. */
typedef logistic_rows glm_rows;

/* The smoothing of a loss with a kink (loss_quantile.c). */
typedef struct glm_smoothing {
    double width, first; /* > 0: the present one, the first one */
    double *centre;      /* [rows] slopes, per weight */
} glm_smoothing;

typedef enum glm_labels {
    GLM_NUMBERS,  /* y is the label */
    GLM_COUNTS,   /* y is the label, >= 0 */
    GLM_POSITIVE, /* y is the label, > 0 */
    GLM_CLASSES,  /* y is -1 or 1, the second class is 1 */
    GLM_LEVELS,   /* classes in order; y is the class's number, from 1 */
    GLM_TIMES     /* the label is the time of an event, or minus the time up to
                   * which there was none; y is its rank with that sign
                   * (glm_rank_times) */
} glm_labels;

typedef struct glm_loss {
    glm_labels labels;
    bool constant;  /* f'' is 1 everywhere: the model of a step is exact */
    bool joint;     /* more than two classes are one problem, the softmax
                     * (glm_softmax.c), with f the loss of a turn */
    bool whole;     /* not a sum over rows: evaluate() and conjugates() need
                     * all of them, b stays 0, value and conjugate are NULL */
    bool flat;      /* f'' is 0 on one side of a point, and not on the other */
    bool flattens;  /* f'' is at most |f'| and at most 1 */
    bool majorises; /* h of evaluate() is an upper bound of f'' */
    double usual;   /* default of the loss's parameter p; 0: it has none */
    double least, most; /* p is between them; most 0: it has no upper limit */
    double (*value)(double y, double z, double p); /* f */
    /* Computes r = -c f' and h, which is the curvature c f'' or a bound that
     * gives a good model; either may be NULL. Returns sum c f. */
    double (*evaluate)(const glm_rows *rows, double p, double *r, double *h);
    /* The same for the smoothed loss that fits of a loss with a kink minimise.
     * Its dual value is the true one minus width/2 sum c (r/c - centre)^2.
     * NULL: there is no kink. */
    double (*smooth)(const glm_rows *rows, const glm_smoothing *s, double p,
                     double *r, double *h);
    double (*conjugate)(double y, double u, double p); /* max_z u z - f(y, z) */
    /* sum c f*(y, -s r / c) or an upper bound, for 0 <= s <= 1; may
     * overwrite r. NULL: computed row by row. */
    double (*conjugates)(const glm_rows *rows, double s, double *r);
    /* Of a whole loss of times: the cumulative hazard of a row at margin 0, up
     * to and at the time of each rank: hazard[ranks + 1], from 1. NaN: margins
     * are too far apart. */
    void (*hazards)(const glm_rows *rows, double *hazard);
    /* Of a whole loss of levels: the best thresholds at these margins,
     * out[levels - 1], ascending; that of a level without weight equals its
     * neighbour's. NaN: margins are too far apart. And the sum of held f with
     * the thresholds of `rows`, which the weights held[rows] do not affect. */
    void (*thresholds)(const glm_rows *rows, uint32_t levels, double *out);
    double (*apart)(const glm_rows *rows, const double *held);
    double (*mean)(double z);    /* the expected y at a margin; for classes, the
                               * probability of the second */
    double (*link)(double mean); /* the inverse of mean */
    /* The sign of z in which f decreases forever, or 0: f has a minimum in
     * z. NULL: 0 for every y. */
    double (*toward)(double y);
} glm_loss;

/* Defines `evaluate` by the functions of one row. */
#define GLM_EVALUATE(value, slope, curve)                                \
    static double evaluate(const glm_rows *rows, double p, double *r,    \
                           double *h)                                    \
    {                                                                    \
        double sum = 0;                                                  \
        for (uint64_t i = 0; i < rows->n; i++) {                         \
            const double y = rows->y[i], c = rows->c[i], z = rows->z[i]; \
            sum += c * value(y, z, p);                                   \
            if (r)                                                       \
                r[i] = -c * slope(y, z, p);                              \
            if (h)                                                       \
                h[i] = c * curve(y, z, p);                               \
        }                                                                \
        return sum;                                                      \
    }

#define GLM_LOSS_IS_THERE(word, name) extern const glm_loss glm_loss_##name;
GLM_LOSSES(GLM_LOSS_IS_THERE)

/* The squared hinge times two, as SVMs use it. */
extern const glm_loss glm_loss_svm;

/* Finds a loss by name; NULL: the first one. Returns NULL if there is none. */
const glm_loss *glm_loss_find(const char *name);

/* "squared|logistic|..." */
#define GLM_LOSS_CHOICE(word, name) "|" word
#define GLM_LOSS_CHOICES (&(GLM_LOSSES(GLM_LOSS_CHOICE))[1])

#endif
