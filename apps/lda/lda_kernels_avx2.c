/* The inner loops for AVX2. The build compiles this file for such processors,
 * without fused products, so that its draws equal those of the portable loops.
 * It runs only on such processors. */
#include "lda_kernels.h"

#ifndef __AVX2__

const lda_kernels *lda_kernels_avx2(void)
{
    return NULL;
}

#else

#define LDA_AVX2
#include "lda_kernels_loops.h"
#include "lda_labelled_loops.h"

const lda_kernels *lda_kernels_avx2(void)
{
    static const lda_kernels table = {.name = "avx2",
                                      .build = build_q,
                                      .draw = draw_tokens,
                                      .draw_by_turns = draw_by_turns,
                                      .draw_labelled = draw_labelled};
    return __builtin_cpu_supports("avx2") ? &table : NULL;
}

#endif
