/* strads/version.h - the version of the headers and of the linked library. */
#ifndef STRADS_VERSION_H
#define STRADS_VERSION_H

#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRADS_VERSION_MAJOR 0
#define STRADS_VERSION_MINOR 1
#define STRADS_VERSION_PATCH 0
#define STRADS_VERSION "0.1.0"

/* The version that the library was built as; nodes of one run must agree on
 * major and minor. Any thread; the string is static. */
STRADS_API const char *strads_version(void);

#ifdef __cplusplus
}
#endif

#endif
