/* Penalties: the program's interface to a penalty, as a table. A penalty is
 * a sum of terms, one for each coefficient or group of them. All values are
 * times W, as in glm_parts.h.
 *
 * A new penalty is a row in a file penalty_NAME.c and a line in GLM_PENALTIES.
 */
#ifndef GLM_PENALTY_H
#define GLM_PENALTY_H

#include <stdbool.h>
#include <stdint.h>

#define GLM_PENALTIES(PENALTY)            \
    PENALTY("l1", l1)                     \
    PENALTY("elastic-net", elastic_net)   \
    PENALTY("ridge", ridge)               \
    PENALTY("group", group)               \
    PENALTY("sparse-group", sparse_group) \
    PENALTY("mcp", mcp)                   \
    PENALTY("scad", scad)                 \
    PENALTY("none", none)

/* If s is below 1, it is reduced by this share. */
#define GLM_SHRINK_MARGIN 1e-14

/* One term: of a coefficient with bounds around 0, or of a group of n. */
typedef struct glm_term {
    double l1, l2; /* weights of |w| and of |w|^2 / 2 */
    double low, high;
    uint32_t n;
    double share; /* of a group: of l1, the weight of |w|_1; the remainder is
                   * that of |w|_2 */
    double unit, gamma; /* for concave ones: they bend at l1 / unit, and are
                         * constant above gamma times that */
} glm_term;

typedef struct glm_penalty {
    double share; /* of l1 in the total, if the option l1_ratio does not set
                   * it */
    bool mixed;   /* l1_ratio may set it */
    bool off;     /* no penalty */
    bool grouped; /* terms belong to groups; the only bound is a low of 0 */
    double usual, least; /* default and least gamma; 0: none */
    double (*value)(const glm_term *t, const double *w);
    /* NULL, or the penalty is concave in |w|, and this is the term of an L1
     * penalty that is nowhere below it and touches it at w. The other functions
     * are then those of that L1 penalty. There is no dual, so violations alone
     * certify a fit. */
    glm_term (*tangent)(const glm_term *t, double w);
    /* w = argmin a/2 |w|^2 - u'w + value(w), a >= 0. */
    void (*prox)(const glm_term *t, const double *u, double a, double *w);
    /* max_w q'w - value(w), which may be INFINITY; and the largest s in [0,
     * 1] for which that of s q is finite, minus a margin for rounding. */
    double (*conjugate)(const glm_term *t, const double *q);
    double (*shrink)(const glm_term *t, const double *q);
    /* The distance of q from the subgradients at w. */
    double (*violation)(const glm_term *t, const double *w, const double *q);
    /* Groups only: a norm of q (of its positive part if low is 0), at most
     * |q|_2. It is at most l1 if and only if slopes q keep the group at 0. */
    double (*dual_norm)(const glm_term *t, const double *q);
} glm_penalty;

#define GLM_PENALTY_IS_THERE(word, name) \
    extern const glm_penalty glm_penalty_##name;
GLM_PENALTIES(GLM_PENALTY_IS_THERE)

/* Finds a penalty by name; NULL: the first one. Returns NULL if there is
 * none. */
const glm_penalty *glm_penalty_find(const char *name);

/* "l1|elastic-net|..." */
#define GLM_PENALTY_CHOICE(word, name) "|" word
#define GLM_PENALTY_CHOICES (&(GLM_PENALTIES(GLM_PENALTY_CHOICE))[1])

#endif
