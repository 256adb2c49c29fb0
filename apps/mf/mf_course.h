/* How a run goes on after a sweep: one rule that the coordinator and every
 * partition follow on the same merged sums, so that they need not tell each
 * other. */
#ifndef MF_COURSE_H
#define MF_COURSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mf_course {
    double first_step;
    double fixed_lambda; /* 0: follows the held-out error */
    double each;         /* lambda counts so many times as much then */
    uint32_t sweeps, patience;
    bool descends; /* the objective falls from sweep to sweep */

    uint32_t done, undone; /* sweeps */
    uint32_t stale;        /* sweeps in a row with a worse held-out error */
    double scale;          /* of the step: halved when a sweep is undone */
    double lambda;
    double train, held; /* mean squared errors, scaled; of the last sweep */
    double first_bound; /* what the first sweep may leave of train */
    double best;        /* held-out error so far */
    bool exploded;      /* the last sweep was undone */
} mf_course;

/* Begins with the errors of the biases alone on n ratings; held is NaN when
 * nothing is held out. */
void mf_course_begin(mf_course *c, double n, double train, double held);
double mf_course_step(const mf_course *c);
/* Takes a sweep's errors; false: it is to be undone. */
bool mf_course_take(mf_course *c, double train, double held);
/* Takes the errors of a sweep that descends: it always stands. */
void mf_course_follow(mf_course *c, double train, double held);
bool mf_course_over(const mf_course *c);

#endif
