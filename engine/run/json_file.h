/* engine/run/json_file.h - reads whole JSON files. */
#ifndef STI_JSON_FILE_H
#define STI_JSON_FILE_H

#include <jansson.h>

#include "strads/error.h"

/* Reads a file into *out, which the caller releases. If the text is not JSON or
 * repeats a key, the error message starts with `expected`, for example "is no
 * plan: ". STRADS_EIO: the file cannot be read. STRADS_EFORMAT. */
strads_err sti_json_load(const char *path, const char *expected, json_t **out);

#endif
