/* engine/base/instruction_set.h - the vector instructions that this process
 * uses: the processor's best set, or a lower one that STRADS_KERNELS names. */
#ifndef STI_INSTRUCTION_SET_H
#define STI_INSTRUCTION_SET_H

#include <stdint.h>

#include "strads/error.h"
#include "strads/version.h"

/* Checks STRADS_KERNELS. STRADS_EINVAL: it names an unknown set, or one that
 * this processor does not have. Any thread. */
strads_err sti_instruction_set_check(void);

/* The name of a set that a peer sent; "unknown" if it is not a set. */
const char *sti_instruction_set_name(uint32_t set);

/* Compiles the function that follows once for each register width; the loader
 * picks the widest that the processor has. Sums of single numbers are the same
 * in all versions. Left out under a sanitizer, which starts too late for the
 * choice, and under clang, which lacks it. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STI_EACH_INSTRUCTION_SET \
    __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define STI_EACH_INSTRUCTION_SET
#endif

#endif
