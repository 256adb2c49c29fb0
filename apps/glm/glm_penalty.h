/* Penalties: what the program has to know of one, as a table. A penalty is a sum
 * of terms, one of each coefficient or group of them. All is W-fold, as in
 * glm_parts.h.
 *
 * A new penalty is a row in a file penalty_NAME.c and a line in
 * GLM_PENALTIES. */
#ifndef GLM_PENALTY_H
#define GLM_PENALTY_H

#include <stdbool.h>
#include <stdint.h>

#define GLM_PENALTIES(PENALTY)          \
    PENALTY("l1", l1)                   \
    PENALTY("elastic-net", elastic_net) \
    PENALTY("ridge", ridge)             \
    PENALTY("group", group)             \
    PENALTY("mcp", mcp)                 \
    PENALTY("scad", scad)               \
    PENALTY("none", none)

/* Where s is below 1 it is less by this share. */
#define GLM_SHRINK_MARGIN 1e-14

/* One term: of a coefficient between bounds that have 0 between them, or of a
 * group of n. */
typedef struct glm_term {
    double l1, l2; /* weights of |w| and of |w|^2 / 2 */
    double low, high;
    uint32_t n;
    double unit, gamma; /* of concave ones: l1 / unit is where they bend, and
                           gamma times that where they are flat */
} glm_term;

typedef struct glm_penalty {
    double share; /* of l1 in the whole, where the option l1_ratio does not
                       say it */
    bool mixed;   /* it may */
    bool off;     /* nothing is penalised */
    bool grouped; /* terms are of groups; no bounds */
    double usual, least; /* gamma; 0: there is none */
    double (*value)(const glm_term *t, const double *w);
    /* Concave in |w|, where not NULL: the term of an L1 penalty that is nowhere
     * below it, and touches it at w. All the rest is that penalty's then, and as
     * there is no dual a fit is certified by violations alone. */
    glm_term (*tangent)(const glm_term *t, double w);
    /* w = argmin a/2 |w|^2 - u'w + value(w), a >= 0. */
    void (*prox)(const glm_term *t, const double *u, double a, double *w);
    /* max_w q'w - value(w), which may be INFINITY; and the largest s in [0, 1]
     * for which that of s q is not, but for a margin for rounding. */
    double (*conjugate)(const glm_term *t, const double *q);
    double (*shrink)(const glm_term *t, const double *q);
    /* How far q is from the subgradients at w. */
    double (*violation)(const glm_term *t, const double *w, const double *q);
} glm_penalty;

#define GLM_PENALTY_IS_THERE(word, name) \
    extern const glm_penalty glm_penalty_##name;
GLM_PENALTIES(GLM_PENALTY_IS_THERE)

/* The penalty of that name, NULL: the first; or NULL. */
const glm_penalty *glm_penalty_find(const char *name);

/* "l1|elastic-net|..." */
#define GLM_PENALTY_CHOICE(word, name) "|" word
#define GLM_PENALTY_CHOICES (&(GLM_PENALTIES(GLM_PENALTY_CHOICE))[1])

#endif
