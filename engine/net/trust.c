/* Reads tokens. Keeps no state between calls. */
#include "engine/net/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How the tokens in recipes begin (packaging/kubernetes-job.yaml). */
#define PLACEHOLDER "replace this"

static strads_err take_token(const char *text, const char *where,
                             sti_token *out)
{
    const size_t size = strcspn(text, "\r\n");
    if (size < STI_TOKEN_MIN || size > STI_TOKEN_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%s: a token of %zu bytes, expected %d to %d: make "
                           "one with `head -c 24 /dev/urandom | base64`",
                           where, size, STI_TOKEN_MIN, STI_TOKEN_MAX);
    if (strncmp(text, PLACEHOLDER, sizeof PLACEHOLDER - 1) == 0)
        return strads_fail(STRADS_EINVAL,
                           "%s: holds the placeholder of a recipe, which "
                           "everybody can read: replace it by the output of "
                           "`openssl rand -hex 16`",
                           where);
    memcpy(out->bytes, text, size);
    out->size = (uint32_t)size;
    return STRADS_OK;
}

static strads_err read_file(const char *path, sti_token *out)
{
    char text[STI_TOKEN_MAX + 2] = "";
    struct stat about;
    FILE *file = fopen(path, "re");
    strads_err err = STRADS_OK;
    if (file == NULL || fstat(fileno(file), &about) != 0)
        err = strads_fail(STRADS_EIO, "%s: the token cannot be read: %s", path,
                          strerror(errno));
    else if (about.st_mode & S_IRWXO)
        err = strads_fail(
            STRADS_EINVAL,
            "%s: all users of this machine may read this token: chmod 600 %s",
            path, path);
    else
        (void)!fgets(text, sizeof text, file);
    if (err == STRADS_OK)
        err = take_token(text, path, out);
    if (file != NULL)
        (void)fclose(file);
    explicit_bzero(text, sizeof text);
    return err;
}

strads_err sti_token_read(const char *path, sti_token *out)
{
    *out = (sti_token){0};
    if (path != NULL)
        return read_file(path, out);
    const char *text = getenv("STRADS_TOKEN");
    return text == NULL ? STRADS_OK : take_token(text, "STRADS_TOKEN", out);
}
