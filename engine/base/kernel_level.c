/* Which kernels this process uses, found out once. */
#include "strads/version.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static strads_kernel_level level;

static strads_kernel_level of_processor(void)
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
#else
    return STRADS_KERNELS_PORTABLE;
#endif
}

static void find_level(void)
{
    level = of_processor();
    const char *wanted = getenv("STRADS_KERNELS");
    if (!wanted)
        return;
    for (strads_kernel_level l = STRADS_KERNELS_PORTABLE; l < level; l++)
        if (strcmp(wanted, strads_kernel_level_name(l)) == 0)
            level = l;
}

strads_kernel_level strads_kernels(void)
{
    pthread_once(&once, find_level);
    return level;
}

const char *strads_kernel_level_name(strads_kernel_level l)
{
    static const char *const name[] = {"portable", "avx2", "avx512"};
    return name[l];
}
