/* The panel's product for AVX-512. The build compiles this file for such
 * processors; it is entered on them alone. */
#include "svm_panel.h"

#ifndef __AVX512F__

svm_panel_add *svm_panel_avx512(void)
{
    return NULL;
}

#else

static void add(uint32_t n, uint32_t rows, const double *panel, double *h)
{
    svm_panel_add_tiles(n, rows, panel, h);
}

svm_panel_add *svm_panel_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? add
               : NULL;
}

#endif
