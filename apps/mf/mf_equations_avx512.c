/* Normal equations for AVX-512. The build compiles this file for AVX-512, and
 * only processors that have it execute it. */
#include "mf_equations.h"

#ifndef __AVX512F__

const mf_equations *mf_equations_avx512(void)
{
    return NULL;
}

#else

#include "mf_conjugate_loops.h"

const mf_equations *mf_equations_avx512(void)
{
    static const mf_equations table = {.gather = gather_outer,
                                       .subtract = subtract,
                                       .solve = solve_cholesky,
                                       .solve_nonnegative = solve_nonnegative,
                                       MF_CONJUGATE_LOOPS};

    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? &table
               : NULL;
}

#endif
