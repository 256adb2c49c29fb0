/* The portable decoder of row gaps, and the choice among all of them. */
#include "engine/data/unpack.h"

#include <stddef.h>
#include <string.h>

#include "engine/base/byte_order.h"
#include "strads/version.h"

uint64_t sti_unpack_portable(const uint8_t *codes, uint64_t n, unsigned bits,
                             sti_unpack_range range, uint32_t *row)
{
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    uint64_t next = range.next;
    for (uint64_t k = 0, bit = 0; k < n; k++, bit += bits) {
        uint32_t window;
        memcpy(&window, codes + (bit >> 3), sizeof window);
        next += (le32toh(window) >> (bit & 7)) & mask;
        row[k] = (uint32_t)next++;
    }
    return next <= range.rows ? next : STI_UNPACK_BAD;
}

sti_unpack_rows *sti_unpack_best(void)
{
    const strads_kernel_level level = strads_kernels();
    sti_unpack_rows *best = level == STRADS_KERNELS_AVX512 ? sti_unpack_avx512()
                            : level == STRADS_KERNELS_AVX2 ? sti_unpack_avx2()
                            : level == STRADS_KERNELS_NEON ? sti_unpack_neon()
                                                           : NULL;
    return best != NULL ? best : sti_unpack_portable;
}
