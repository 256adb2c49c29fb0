/* strads/names.h - names of rows and columns: words, users, items, features.
 *
 * Strings numbered 0, 1, 2, ... in the order in which they were added. One
 * thread at a time may add names. While none adds, any number of threads may
 * look names up. */
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

/* Makes an empty set of names. The caller frees it. STRADS_ENOMEM. */
STRADS_API strads_err strads_names_new(strads_names **out);

/* Reads names from a file, one a line, plain, gzip or zstd. Line ends and a
 * UTF-8 byte order mark are not part of a name. STRADS_EIO: the file cannot be
 * read. STRADS_EFORMAT: an empty line or a repeated name; the sentence gives
 * the lines. STRADS_ENOMEM. Blocks. Any thread. */
STRADS_API strads_err strads_names_read(const char *path, strads_names **out);

/* Reads words from a file, for example a stop list. The text is cut into words
 * as a document is, so that case and punctuation do not matter, and words may
 * repeat. STRADS_EIO, STRADS_ENOMEM as strads_names_read. Blocks. Any
 * thread. */
STRADS_API strads_err strads_names_read_words(const char *path,
                                              strads_names **out);

/* Frees the names; NULL is fine. */
STRADS_API void strads_names_free(strads_names *names);

/* Finds the name name[size], any bytes, and adds it if it is new; its number
 * goes to *number. STRADS_ENOMEM. STRADS_ELIMIT: more than 2^32 - 2 names, or
 * more than 4 GB of them. */
STRADS_API strads_err strads_names_add(strads_names *names, const char *name,
                                       size_t size, uint32_t *number);

/* Returns whether the set contains name[size]; if so, its number goes to
 * *number. */
STRADS_API bool strads_names_find(const strads_names *names, const char *name,
                                  size_t size, uint32_t *number);

/* Returns the number of names. */
STRADS_API uint32_t strads_names_count(const strads_names *names);

/* Returns name `number`, which is below the count, as a string. Valid until a
 * name is added. */
STRADS_API const char *strads_names_at(const strads_names *names,
                                       uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
