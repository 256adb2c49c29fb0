/* Losses: what the program has to know of one, as a table. f(y, z) is what a row
 * with target y loses at the margin z = offset + x'w + b; convex in z, and 0 at
 * its best z: what the likelihood has beyond that is left out, so objectives are
 * halves of deviances where there is a likelihood.
 *
 * A new loss is a file loss_NAME.c and a line in GLM_LOSSES. */
#ifndef GLM_LOSS_H
#define GLM_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/kernels/logistic_loops.h"

#define GLM_LOSSES(LOSS)                 \
    LOSS("squared", squared)             \
    LOSS("logistic", logistic)           \
    LOSS("multinomial", multinomial)     \
    LOSS("squared-hinge", squared_hinge) \
    LOSS("poisson", poisson)             \
    LOSS("huber", huber)

/* Rows: targets, weights, margins. */
typedef logistic_rows glm_rows;

typedef enum glm_labels {
    GLM_NUMBERS, /* y is the label */
    GLM_COUNTS,  /* so it is, from 0 up */
    GLM_CLASSES  /* y is -1 or 1, the second class is 1 */
} glm_labels;

typedef struct glm_loss {
    glm_labels labels;
    bool constant;  /* f'' is 1 everywhere: the model of a step is exact */
    bool joint;     /* more than two classes are one problem, the softmax
                       (glm_softmax.c), of which f is a turn's */
    bool flat;      /* f'' is 0 on one side of a point, and not on the other */
    bool flattens;  /* f'' is at most |f'| and at most 1 */
    bool majorises; /* h of evaluate() is above f'', not that itself */
    double usual;   /* the loss's parameter p, where none is given; 0: it has
                      none */
    double (*value)(double y, double z, double p); /* f */
    /* r = -c f' and h, the curvature c f'' or one above it that makes a good
     * model; either may be NULL. Returns sum c f. */
    double (*evaluate)(const glm_rows *rows, double p, double *r, double *h);
    double (*conjugate)(double y, double u, double p); /* max_z u z - f(y, z) */
    /* sum c f*(y, -s r / c) or more, for 0 <= s <= 1, with room for r; NULL: row
     * by row. */
    double (*conjugates)(const glm_rows *rows, double s, double *r);
    double (*mean)(double z); /* what a margin says of y: of classes, how likely
                                 the second is */
    double (*link)(double mean); /* the margin that says so */
    /* The sign of z in which f falls for ever, or 0: f has a minimum in z. NULL: it
     * has for every y. */
    double (*toward)(double y);
} glm_loss;

/* `evaluate` by the functions of one row. */
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

/* The squared hinge at twice its size, as SVMs have it. */
extern const glm_loss glm_loss_svm;

/* The loss of that name, NULL: the first; or NULL. */
const glm_loss *glm_loss_find(const char *name);

/* "squared|logistic|..." */
#define GLM_LOSS_CHOICE(word, name) "|" word
#define GLM_LOSS_CHOICES (&(GLM_LOSSES(GLM_LOSS_CHOICE))[1])

#endif
