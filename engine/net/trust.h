/* engine/net/trust.h - which peers a node accepts: the run's token, and the
 * files of its certificates. Reads tokens; tls.h applies both. Uses no sockets
 * and no threads. */
#ifndef STI_TRUST_H
#define STI_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"

enum { STI_TOKEN_MIN = 16, STI_TOKEN_MAX = 512 };

typedef struct sti_token {
    uint32_t size; /* 0: no token */
    unsigned char bytes[STI_TOKEN_MAX];
} sti_token;

/* Paths of PEM files. */
typedef struct sti_tls_files {
    const char *ca;   /* certificates of one or more authorities */
    const char *cert; /* this node's certificate, and any intermediate ones */
    const char *key;  /* its private key, without a password */
} sti_tls_files;

/* Which peers a node accepts. {0}: processes of the same user, over the
 * loopback or ipc, without TLS. */
typedef struct sti_trust {
    sti_token token; /* every link is then inside TLS */
    bool insecure;   /* accept peers over a network without token or TLS */
    /* Set: only tls+tcp:// addresses are allowed. All three NULL: no
     * tls+tcp://. The files are read when a net is opened. */
    sti_tls_files tls;
} sti_trust;

/* Reads the token from the first line of a file. If `path` is NULL, it uses the
 * environment variable STRADS_TOKEN; if that is not set, there is no token.
 * STRADS_EIO: the file cannot be read. STRADS_EINVAL: other users may read the
 * file, or the token is too short or too long. */
strads_err sti_token_read(const char *path, sti_token *out);

#endif
