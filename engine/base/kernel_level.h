/* engine/base/kernel_level.h - whether the level of strads_kernels() is the one
 * that was asked for. */
#ifndef STI_KERNEL_LEVEL_H
#define STI_KERNEL_LEVEL_H

#include <stdint.h>

#include "strads/error.h"
#include "strads/version.h"

/* STRADS_EINVAL: STRADS_KERNELS names no level, or one that this processor
 * does not have. Any thread. */
strads_err sti_kernel_level_check(void);

/* The name of a level that a peer told, "unknown" when it is none. */
const char *sti_kernel_level_told(uint32_t level);

#endif
