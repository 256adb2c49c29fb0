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

/* Returns the version of the linked library. All nodes of a run need the same
 * major and minor version. Any thread; the string is static. */
STRADS_API const char *strads_version(void);

/* Instruction sets of the numeric kernels. All nodes of a run use the same one,
 * because different kernels round differently. */
typedef enum strads_kernel_level {
    STRADS_KERNELS_PORTABLE = 0,
    STRADS_KERNELS_AVX2 = 1,   /* AVX2 and FMA */
    STRADS_KERNELS_AVX512 = 2, /* AVX-512 F, DQ, VL and BW as well */
    STRADS_KERNELS_NEON = 3    /* of every arm64 processor */
} strads_kernel_level;

/* Returns the instruction set that programs use: the best of this processor, or
 * a lower one that the environment variable STRADS_KERNELS names (portable,
 * avx2, avx512 or neon). The portable kernels do the same operations on all
 * processors. A run fails with STRADS_EINVAL if the variable has another value
 * or names a set that the processor lacks. Constant during the life of the
 * process. Any thread. */
STRADS_API strads_kernel_level strads_kernels(void);

#ifdef __cplusplus
}
#endif

#endif
