/* The portable scan of packed columns, and the choice among all of them. */
#include "engine/data/scan.h"

#include <stddef.h>

#include "engine/data/scan_slow.h"
#include "strads/version.h"

bool sti_scan_portable(const sti_scan_chunk *c, const float *v, float *dot)
{
    const uint8_t *gaps = c->gaps;
    for (uint32_t j = 0; j < c->cols; j++) {
        const uint64_t codes = c->start[j + 1] - c->start[j] + c->skips[j];
        scan_place at = {.next = c->next_row, .entry = c->start[j]};
        if (!scan_codes(c, gaps, 0, codes, c->start[j + 1], &at, v) ||
            at.entry != c->start[j + 1])
            return false;
        dot[j] = scan_total(&at);
        gaps += (codes * c->bits + 7) / 8;
    }
    return true;
}

sti_scan_columns *sti_scan_best(void)
{
    const strads_kernel_level level = strads_kernels();
    sti_scan_columns *best = level == STRADS_KERNELS_AVX512 ? sti_scan_avx512()
                             : level == STRADS_KERNELS_AVX2 ? sti_scan_avx2()
                                                            : NULL;
    return best != NULL ? best : sti_scan_portable;
}
