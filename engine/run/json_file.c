/* See json_file.h. Owns nothing. */
#include "engine/run/json_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static strads_err cannot_read(const char *path, int why)
{
    return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                       strerror(why));
}

strads_err sti_json_load(const char *path, const char *expected, json_t **out)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return cannot_read(path, errno);
    json_error_t error;
    errno = 0;
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    const int why = errno;
    const bool broken = ferror(file) != 0;
    (void)fclose(file);
    if (root && !broken) {
        *out = root;
        return STRADS_OK;
    }
    json_decref(root);
    return broken ? cannot_read(path, why)
                  : strads_fail(STRADS_EFORMAT, "%s: %sline %d is not JSON: %s",
                                path, expected, error.line > 0 ? error.line : 1,
                                error.text);
}
