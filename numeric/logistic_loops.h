/* The logistic loss, and the loops over rows for a scan and for a quadratic
 * model: m_i = y_i z_i, u = -f'(m) and r_i = c_i y_i u_i, so that r is minus
 * the gradient of sum c_i f(m_i) with respect to z. */
#ifndef LOGISTIC_LOOPS_H
#define LOGISTIC_LOOPS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* Sums of a scan over the rows of one class. */
typedef struct logistic_side {
    double loss;     /* sum c f */
    double sum;      /* sum c u */
    double loss_sum; /* sum c u f */
    double margin;   /* sum c u y z */
    double odds;     /* sum c u^2 / (1 - u) */
    double squares;  /* sum c u^2 */
} logistic_side;

typedef struct logistic_sides {
    logistic_side of[2]; /* negative, positive */
} logistic_sides;

enum {
    LOGISTIC_SUMS = sizeof(logistic_side) / sizeof(double),
    LOGISTIC_SIDES = sizeof(logistic_sides) / sizeof(double)
};

/* Adds sums to those of a class, in the order of the fields above. */
static inline void logistic_side_add(logistic_side *side,
                                     const double sum[LOGISTIC_SUMS])
{
    side->loss += sum[0];
    side->sum += sum[1];
    side->loss_sum += sum[2];
    side->margin += sum[3];
    side->odds += sum[4];
    side->squares += sum[5];
}

/* The rows of a partition, [n] each. */
typedef struct logistic_rows {
    uint64_t n;
    const double *y; /* 1 or -1 */
    const double *c; /* weights, >= 0 */
    const double *z;
} logistic_rows;

/* With H defined by f(m) = max_a H(a) - a m: a lower bound of sum c H(t u)
 * over the rows of one class. */
double logistic_entropy(const logistic_side *side, double t);

/* The loops over rows, one table for each instruction set. */
typedef struct logistic_loops {
    const char *name;
    /* Computes r, and the sums of both classes. */
    void (*look)(const logistic_rows *rows, double *r, logistic_sides *sums);
    /* Computes r and h = c f''; either may be NULL. Returns sum c f. */
    double (*curve)(const logistic_rows *rows, double *r, double *h);
    /* The quadratic model of any loss: replaces h by root = sqrt(max(h,
     * least c)), and r by r / root, or 0 if root is 0. */
    void (*freeze)(uint64_t n, const double *c, double least, double *h,
                   double *r);
} logistic_loops;

extern const logistic_loops logistic_loops_portable;
void logistic_freeze_portable(uint64_t n, const double *c, double least,
                              double *h, double *r);
/* NULL if this build or processor does not support the instruction set. */
const logistic_loops *logistic_loops_avx2(void);
const logistic_loops *logistic_loops_avx512(void);
const logistic_loops *logistic_loops_neon(void);
const logistic_loops *logistic_loops_choose(void);

#endif
