/* The panel's product for all processors, and the choice. */
#include "svm_panel.h"

#include <strads/version.h>

void svm_panel_add_portable(uint32_t n, uint32_t rows, const double *panel,
                            double *h)
{
    svm_panel_add_tiles(n, rows, panel, h);
}

svm_panel_add *svm_panel_choose(void)
{
    svm_panel_add *fast =
        strads_kernels() == STRADS_KERNELS_AVX512 ? svm_panel_avx512() : NULL;

    return fast ? fast : svm_panel_add_portable;
}
