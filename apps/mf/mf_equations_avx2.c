/* Normal equations for AVX2 and FMA. The build compiles this file for them, and
 * only processors that have them execute it. */
#include "mf_equations.h"

#ifndef __AVX2__

const mf_equations *mf_equations_avx2(void)
{
    return NULL;
}

#else

#include "mf_conjugate_loops.h"

const mf_equations *mf_equations_avx2(void)
{
    static const mf_equations table = {.gather = gather_outer,
                                       .subtract = subtract,
                                       .solve = solve_cholesky,
                                       .solve_nonnegative = solve_nonnegative,
                                       MF_CONJUGATE_LOOPS};

    return runs_here() ? &table : NULL;
}

#endif
