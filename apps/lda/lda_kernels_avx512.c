/* The inner loops for AVX-512. The build compiles this file for such
 * processors, without fused products, so that its draws equal those of the
 * portable loops. It runs only on such processors. */
#include "lda_kernels.h"

#ifndef __AVX512F__

const lda_kernels *lda_kernels_avx512(void)
{
    return NULL;
}

#else

#define LDA_AVX512
#include "lda_kernels_loops.h"
#include "lda_labelled_loops.h"

const lda_kernels *lda_kernels_avx512(void)
{
    static const lda_kernels table = {.name = "avx512",
                                      .build = build_q,
                                      .draw = draw_tokens,
                                      .draw_by_turns = draw_by_turns,
                                      .draw_labelled = draw_labelled};
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? &table
               : NULL;
}

#endif
