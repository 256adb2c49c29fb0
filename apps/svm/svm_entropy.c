/* Some rows' visits for all processors, and the choice. */
#include "svm_entropy.h"

#include <stddef.h>

#include <strads/version.h>

void svm_entropy_move_portable(uint32_t n, svm_entropies *x)
{
    svm_entropy_sum dual = {0};

    x->gap = 0;
    for (uint32_t k = 0; k < n; k++) {
        svm_entropy row = {.cost = x->cost[k],
                           .curvature = x->curvature[k],
                           .m = x->m[k],
                           .stride =
                               n > 1 && x->part[k] > 0 ? SVM_ENTROPY_STRIDE : 1,
                           .part = x->part[k],
                           .u = x->u[k]};
        svm_entropy_ascend(&row);
        svm_entropy_add(&dual, &row);
        x->part[k] = row.part;
        x->u[k] = row.u;
        x->gap += row.gap;
    }
    x->dual = svm_entropy_total(&dual);
}

svm_entropy_move *svm_entropy_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    svm_entropy_move *fast = level == STRADS_KERNELS_AVX512
                                 ? svm_entropy_avx512()
                             : level == STRADS_KERNELS_AVX2 ? svm_entropy_avx2()
                                                            : NULL;

    return fast ? fast : svm_entropy_move_portable;
}
