/* Normal equations for NEON, which every arm64 processor has. The build fuses
 * products and sums in this file. */
#include "mf_equations.h"

#ifndef __aarch64__

const mf_equations *mf_equations_neon(void)
{
    return NULL;
}

#else

#include "mf_conjugate_loops.h"

const mf_equations *mf_equations_neon(void)
{
    static const mf_equations table = {.gather = gather_outer,
                                       .subtract = subtract,
                                       .solve = solve_cholesky,
                                       .solve_nonnegative = solve_nonnegative,
                                       MF_CONJUGATE_LOOPS};

    return &table;
}

#endif
