/* engine/base/each_level.h - a loop compiled once for each width of registers.
 *
 * In front of a function: it is also compiled for wider registers than all
 * processors have, and the widest that is there is taken when the program
 * starts. Sums of single numbers are the same. A sanitizer starts too late for
 * the choice, and clang has none. */
#ifndef STI_EACH_LEVEL_H
#define STI_EACH_LEVEL_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STI_FOR_EACH_LEVEL \
    __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define STI_FOR_EACH_LEVEL
#endif

#endif
