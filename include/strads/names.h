/* strads/names.h - names of rows and columns: words, users, items, features.
 *
 * Strings numbered 0, 1, 2, ... in the order in which they were added. Adding
 * is for one thread at a time; any number of them may look names up meanwhile
 * nobody adds. */
#ifndef STRADS_NAMES_H
#define STRADS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strads_names strads_names;

/* No names yet. The caller's to free. STRADS_ENOMEM. */
STRADS_API strads_err strads_names_new(strads_names **out);

/* Reads names from a file, one a line, plain, gzip or zstd; a line's end, and a
 * mark of UTF-8 before all, are no part of a name. STRADS_EIO: the file cannot
 * be read. STRADS_EFORMAT: an empty line, or a name for the second time; the
 * sentence has the lines. STRADS_ENOMEM. Blocks. Any thread. */
STRADS_API strads_err strads_names_read(const char *path, strads_names **out);

/* Frees the names; NULL is fine. */
STRADS_API void strads_names_free(strads_names *names);

/* The number of the name name[size], any bytes, which is added if it is not
 * there. STRADS_ENOMEM. STRADS_ELIMIT: 2^32 - 2 names, or 4 GB of them. */
STRADS_API strads_err strads_names_add(strads_names *names, const char *name,
                                       size_t size, uint32_t *number);

/* Whether the name name[size] is there; its number goes to *number. */
STRADS_API bool strads_names_find(const strads_names *names, const char *name,
                                  size_t size, uint32_t *number);

/* How many names there are. */
STRADS_API uint32_t strads_names_count(const strads_names *names);

/* Name number `number`, below the count, with a zero behind it; valid until a
 * name is added. */
STRADS_API const char *strads_names_at(const strads_names *names,
                                       uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
