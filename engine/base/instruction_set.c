/* Implements strads/version.h: the library's version, and the instruction set
 * of this process, determined once. */
#include "engine/base/instruction_set.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static strads_kernel_level level;
static const char *unmet; /* the rejected value of STRADS_KERNELS, or NULL */
static char unmet_word[32];

static const char *const NAME[] = {"portable", "avx2", "avx512", "neon"};
static const uint32_t SETS = sizeof NAME / sizeof *NAME;

static strads_kernel_level detect_set(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return STRADS_KERNELS_PORTABLE;
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return STRADS_KERNELS_AVX512;
    return STRADS_KERNELS_AVX2;
#elif defined(__aarch64__)
    return STRADS_KERNELS_NEON;
#else
    return STRADS_KERNELS_PORTABLE;
#endif
}

/* True if a processor whose best set is `best` has the set as well. */
static bool has_set(strads_kernel_level best, strads_kernel_level set)
{
    return set == best || set == STRADS_KERNELS_PORTABLE ||
           (best == STRADS_KERNELS_AVX512 && set == STRADS_KERNELS_AVX2);
}

static void find_set(void)
{
    const strads_kernel_level best = level = detect_set();
    const char *wanted = getenv("STRADS_KERNELS");
    if (!wanted || !*wanted)
        return;
    for (uint32_t set = 0; set < SETS; set++)
        if (has_set(best, (strads_kernel_level)set) &&
            strcmp(wanted, NAME[set]) == 0) {
            level = (strads_kernel_level)set;
            return;
        }
    (void)snprintf(unmet_word, sizeof unmet_word, "%s", wanted);
    unmet = unmet_word;
}

strads_kernel_level strads_kernels(void)
{
    pthread_once(&once, find_set);
    return level;
}

strads_err sti_instruction_set_check(void)
{
    strads_kernel_level best = strads_kernels();
    return unmet ? strads_fail(STRADS_EINVAL,
                               "STRADS_KERNELS is '%s'; known are portable, "
                               "avx2, avx512 and neon, and this processor's "
                               "best is %s: set it to that or a lower one, or "
                               "not at all",
                               unmet, NAME[best])
                 : STRADS_OK;
}

const char *sti_instruction_set_name(uint32_t set)
{
    return set < SETS ? NAME[set] : "unknown";
}

const char *strads_version(void)
{
    return STRADS_VERSION;
}
