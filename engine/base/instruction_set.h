/* engine/base/instruction_set.h - which vector instructions this process uses:
 * what the processor has, lowered by STRADS_KERNELS. */
#ifndef STI_INSTRUCTION_SET_H
#define STI_INSTRUCTION_SET_H

#include <stdint.h>

#include "strads/error.h"
#include "strads/version.h"

/* STRADS_EINVAL: STRADS_KERNELS names no instruction set, or one that this
 * processor does not have. Any thread. */
strads_err sti_instruction_set_check(void);

/* The name of a set that a peer sent, "unknown" when it is none. */
const char *sti_instruction_set_name(uint32_t set);

/* In front of a function: compiles it once for each width of registers; the
 * widest that the processor has is chosen when the program starts. Sums of
 * single numbers are the same in all. A sanitizer starts too late for the
 * choice, and clang has none. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STI_EACH_INSTRUCTION_SET \
    __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define STI_EACH_INSTRUCTION_SET
#endif

#endif
