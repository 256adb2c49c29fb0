/* engine/run/json_file.h - JSON files, read whole. */
#ifndef STI_JSON_FILE_H
#define STI_JSON_FILE_H

#include <jansson.h>

#include "strads/error.h"

/* Reads a file; `expected` is what the sentence begins with when it is not JSON,
 * or has a key twice: "is no plan: ". *out is the caller's. STRADS_EIO: it cannot
 * be read. STRADS_EFORMAT. */
strads_err sti_json_load(const char *path, const char *expected, json_t **out);

#endif
