/* tests/svm_expect.h - expectations of an SVM's fit. */
#ifndef TESTS_SVM_EXPECT_H
#define TESTS_SVM_EXPECT_H

#include <criterion/criterion.h>

#include "tests/svm_fit.h"

/* P and D enclose the minimum: (P - D) / P is at most `tolerance`, apart
 * from a rounding error of at most `slack`. */
static inline void svm_expect_worth(const svm_worth *worth, double tolerance,
                                    double slack, const char *what)
{
    const double gap = (worth->primal - worth->dual) / worth->primal;

    cr_expect_leq(gap, 1.01 * tolerance + slack, "%s: gap %g", what, gap);
    cr_expect_geq(gap, -slack, "%s: D %.15g is above P %.15g", what,
                  worth->dual, worth->primal);
    cr_expect_leq(worth->broken, 1e-12, "%s: b leaves its box by %g", what,
                  worth->broken);
}

#endif
