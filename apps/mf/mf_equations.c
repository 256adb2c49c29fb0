/* Normal equations for any processor, and the choice. */
#include "mf_equations.h"

#include <strads/version.h>

#include "mf_equations_loops.h"

void mf_equations_mirror(uint32_t width, float *matrix)
{
    for (uint32_t i = MF_TILE; i < width; i++)
        for (uint32_t j = 0; j < i / MF_TILE * MF_TILE; j++)
            matrix[(size_t)j * width + i] = matrix[(size_t)i * width + j];
}

const mf_equations mf_equations_portable = {.gather = gather,
                                            .subtract = subtract,
                                            .solve = solve,
                                            .solve_nonnegative =
                                                solve_nonnegative};

const mf_equations *mf_equations_choose(void)
{
    const mf_equations *fast = strads_kernels() == STRADS_KERNELS_AVX512
                                   ? mf_equations_avx512()
                                   : NULL;

    return fast ? fast : &mf_equations_portable;
}
