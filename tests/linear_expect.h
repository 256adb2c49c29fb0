/* tests/linear_expect.h - what a test expects of a linear_case's result. */
#ifndef TESTS_LINEAR_EXPECT_H
#define TESTS_LINEAR_EXPECT_H

#include <criterion/criterion.h>

#include "tests/linear_case.h"

/* It converged, within `tolerance` by what it reports and by its objective on
 * `design`. Frees the result. */
static inline void linear_expect_good(const linear_case *one,
                                      const lasso_design *design,
                                      strads_result *result, double tolerance,
                                      const char *what)
{
    const linear_verdict v = linear_case_judge(one, design, result);

    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "%s, %s: ended by %d, gap %g", one->name, what,
                 (int)strads_result_end(result), v.gap);
    cr_expect_leq(v.gap, tolerance, "%s, %s: gap %g", one->name, what, v.gap);
    cr_expect_leq(v.off, 1e-9, "%s, %s: P is off by %g", one->name, what,
                  v.off);
    cr_expect_leq(v.gain, 1.001 * tolerance,
                  "%s, %s: %g of P is left to be gained", one->name, what,
                  v.gain);
    strads_result_free(result);
}

#endif
