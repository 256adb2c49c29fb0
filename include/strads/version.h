/* strads/version.h - the version of the headers and of the linked library. */
#ifndef STRADS_VERSION_H
#define STRADS_VERSION_H

#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRADS_VERSION_MAJOR 0
#define STRADS_VERSION_MINOR 2
#define STRADS_VERSION_PATCH 0
#define STRADS_VERSION "0.2.0"

/* The version that the library was built as; nodes of one run must agree on
 * major and minor. Any thread; the string is static. */
STRADS_API const char *strads_version(void);

/* Kernels chosen by what the processor can do. Nodes of one run must be on one
 * level, because different kernels round differently. */
typedef enum strads_kernel_level {
    STRADS_KERNELS_PORTABLE = 0,
    STRADS_KERNELS_AVX2 = 1,  /* AVX2 and FMA */
    STRADS_KERNELS_AVX512 = 2 /* AVX-512 F, DQ, VL and BW as well */
} strads_kernel_level;

/* The level that programs are to use: the highest that this processor has,
 * lowered by the environment's STRADS_KERNELS (portable, avx2 or avx512; runs
 * with another word, or a level that the processor lacks, end with
 * STRADS_EINVAL). The same for the life of the process. Any thread. */
STRADS_API strads_kernel_level strads_kernels(void);

#ifdef __cplusplus
}
#endif

#endif
