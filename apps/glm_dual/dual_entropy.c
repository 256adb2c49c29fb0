/* Some rows' visits for all processors, and the choice. */
#include "dual_entropy.h"

#include <stddef.h>

#include <strads/version.h>

void dual_entropy_move_portable(uint32_t n, dual_entropies *x)
{
    dual_entropy_sum dual = {0};

    x->gap = 0;
    for (uint32_t k = 0; k < n; k++) {
        dual_entropy row = {.cost = x->cost[k],
                            .curvature = x->curvature[k],
                            .m = x->m[k],
                            .stride = n > 1 && x->part[k] > 0
                                          ? DUAL_ENTROPY_STRIDE
                                          : 1,
                            .part = x->part[k],
                            .u = x->u[k]};
        dual_entropy_ascend(&row);
        dual_entropy_add(&dual, &row);
        x->part[k] = row.part;
        x->u[k] = row.u;
        x->gap += row.gap;
    }
    x->dual = dual_entropy_total(&dual);
}

dual_entropy_move *dual_entropy_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    dual_entropy_move *fast =
        level == STRADS_KERNELS_AVX512 ? dual_entropy_avx512()
        : level == STRADS_KERNELS_AVX2 ? dual_entropy_avx2()
                                       : NULL;

    return fast ? fast : dual_entropy_move_portable;
}
