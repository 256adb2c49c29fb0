/* Tokens, proofs and tags, by mbed TLS. Keys are wiped when they are freed. */
#include "engine/net/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <mbedtls/chachapoly.h>
#include <mbedtls/md.h>
#include <mbedtls/platform_util.h>

#include "strads/version.h"

/* ---- tokens ------------------------------------------------------------ */

static strads_err take_token(const char *text, const char *where,
                             sti_token *out)
{
    const size_t size = strcspn(text, "\r\n");
    if (size < STI_TOKEN_MIN || size > STI_TOKEN_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%s: a token of %zu bytes, expected %d to %d: make "
                           "one with `head -c 24 /dev/urandom | base64`",
                           where, size, STI_TOKEN_MIN, STI_TOKEN_MAX);
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
    mbedtls_platform_zeroize(text, sizeof text);
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

/* ---- proofs ------------------------------------------------------------ */

strads_err sti_nonce_draw(unsigned char nonce[STI_NONCE_BYTES])
{
    if (getrandom(nonce, STI_NONCE_BYTES, 0) != STI_NONCE_BYTES)
        return strads_fail(STRADS_EIO, "no random bytes for a handshake: %s",
                           strerror(errno));
    return STRADS_OK;
}

/* HMAC-SHA256 of the purpose, the side, the version and both nonces. If the
 * library fails, it returns false and zeros; the comparison then fails, too. */
static bool derive(const sti_handshake *h, const char *purpose, sti_side side,
                   unsigned char out[32])
{
    unsigned char text[64 + 2 * STI_NONCE_BYTES];
    const int n = snprintf((char *)text, 64, "%s %d %s", purpose, (int)side,
                           STRADS_VERSION);
    memcpy(text + n, h->nonce, sizeof h->nonce);
    memset(out, 0, 32);
    return mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
                           h->token->bytes, h->token->size, text,
                           (size_t)n + sizeof h->nonce, out) == 0;
}

void sti_proof_make(const sti_handshake *h, sti_side side,
                    unsigned char proof[STI_PROOF_BYTES])
{
    (void)derive(h, "strads proof", side, proof);
}

static bool is_same(const unsigned char *a, const unsigned char *b, size_t n)
{
    unsigned difference = 0;
    for (size_t i = 0; i < n; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}

bool sti_proof_is(const sti_handshake *h, sti_side side,
                  const unsigned char proof[STI_PROOF_BYTES])
{
    unsigned char wanted[STI_PROOF_BYTES];
    return derive(h, "strads proof", side, wanted) &&
           is_same(wanted, proof, sizeof wanted);
}

/* ---- tags -------------------------------------------------------------- */

struct sti_tagger {
    mbedtls_chachapoly_context context;
    uint64_t count;
};

strads_err sti_tagger_new(const sti_handshake *h, sti_side side,
                          sti_tagger **out)
{
    unsigned char key[32];
    sti_tagger *tagger = calloc(1, sizeof *tagger);
    if (tagger == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory for a link's key");
    mbedtls_chachapoly_init(&tagger->context);
    const bool good = derive(h, "strads frames", side, key) &&
                      !mbedtls_chachapoly_setkey(&tagger->context, key);
    mbedtls_platform_zeroize(key, sizeof key);
    if (!good) {
        sti_tagger_free(tagger);
        return strads_fail(STRADS_EIO, "no key for a link: mbed TLS failed");
    }
    *out = tagger;
    return STRADS_OK;
}

void sti_tagger_free(sti_tagger *tagger)
{
    if (tagger == NULL)
        return;
    mbedtls_chachapoly_free(&tagger->context);
    mbedtls_platform_zeroize(tagger, sizeof *tagger);
    free(tagger);
}

/* If the library fails, returns false and a tag of zeros. */
static bool make(sti_tagger *tagger, const sti_part *parts, unsigned count,
                 unsigned char tag[STI_TAG_BYTES])
{
    unsigned char nonce[12] = {0};
    const uint64_t number = tagger->count++;
    memcpy(nonce, &number, sizeof number);
    memset(tag, 0, STI_TAG_BYTES);
    int bad = mbedtls_chachapoly_starts(&tagger->context, nonce,
                                        MBEDTLS_CHACHAPOLY_ENCRYPT);
    for (unsigned i = 0; i < count && !bad; i++)
        if (parts[i].size > 0)
            bad =
                mbedtls_chachapoly_update_aad(&tagger->context, parts[i].bytes,
                                              (size_t)parts[i].size);
    return !bad && mbedtls_chachapoly_finish(&tagger->context, tag) == 0;
}

void sti_tag_make(sti_tagger *tagger, const sti_part *parts, unsigned count,
                  unsigned char tag[STI_TAG_BYTES])
{
    (void)make(tagger, parts, count, tag);
}

bool sti_tag_is(sti_tagger *tagger, const sti_part *parts, unsigned count,
                const unsigned char tag[STI_TAG_BYTES])
{
    unsigned char wanted[STI_TAG_BYTES];
    return make(tagger, parts, count, wanted) &&
           is_same(wanted, tag, sizeof wanted);
}
