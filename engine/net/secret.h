/* engine/net/secret.h - the run's token, and the proofs and tags derived from
 * it. Uses no sockets and no threads.
 *
 * Both sides of a connection send a nonce: the dialling side n_d, the accepting
 * side n_a. Each side then proves that it has the token:
 *
 *     proof(side) = HMAC-SHA256(token, "strads proof" side version n_d n_a),
 *
 * The dialling side proves first, so that a stranger learns nothing. From then
 * on each direction has its own key:
 *
 *     key(side) = HMAC-SHA256(token, "strads frames" side version n_d n_a),
 *
 * With this key, the header and the payload of each frame are each
 * authenticated by a tag of 16 bytes: ChaCha20-Poly1305 (RFC 8439) with an
 * empty plaintext and the bytes as additional data. The nonce counts the tags,
 * so that a repeated, missing or moved frame is detected. */
#ifndef STI_SECRET_H
#define STI_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/cursor.h"
#include "engine/net/tls.h"
#include "strads/error.h"

enum {
    STI_TOKEN_MIN = 16,
    STI_TOKEN_MAX = 512,
    STI_NONCE_BYTES = 32,
    STI_PROOF_BYTES = 32,
    STI_TAG_BYTES = 16
};

typedef struct sti_token {
    uint32_t size; /* 0: no token */
    unsigned char bytes[STI_TOKEN_MAX];
} sti_token;

/* Which peers a node accepts. {0}: processes of the same user, over the
 * loopback or ipc. */
typedef struct sti_trust {
    sti_token token;
    bool insecure; /* accept peers over a network without token or TLS */
    /* Set: only tls+tcp:// addresses are allowed. All three NULL: no
     * tls+tcp://. The files are read when a net is opened. */
    sti_tls_files tls;
} sti_trust;

/* Reads the token from the first line of a file. If `path` is NULL, it uses the
 * environment variable STRADS_TOKEN; if that is not set, there is no token.
 * STRADS_EIO: the file cannot be read. STRADS_EINVAL: other users may read the
 * file, or the token is too short or too long. */
strads_err sti_token_read(const char *path, sti_token *out);

/* Draws a nonce. STRADS_EIO: the system has no random bytes. */
strads_err sti_nonce_draw(unsigned char nonce[STI_NONCE_BYTES]);

/* An end of a connection. */
typedef enum sti_side { STI_DIALS = 0, STI_ACCEPTS = 1 } sti_side;

/* Inputs of proofs and keys; nonces by side. */
typedef struct sti_handshake {
    const sti_token *token;
    unsigned char nonce[2][STI_NONCE_BYTES];
} sti_handshake;

/* Computes the proof of `side`. */
void sti_proof_make(const sti_handshake *h, sti_side side,
                    unsigned char proof[STI_PROOF_BYTES]);

/* Compares a proof with that of `side`, in constant time. */
bool sti_proof_is(const sti_handshake *h, sti_side side,
                  const unsigned char proof[STI_PROOF_BYTES]);

/* Computes the tags of one direction in order. One thread at a time uses it. */
typedef struct sti_tagger sti_tagger;

/* Makes the tagger of the frames that `side` sends. STRADS_ENOMEM,
 * STRADS_EIO. */
strads_err sti_tagger_new(const sti_handshake *h, sti_side side,
                          sti_tagger **out);
void sti_tagger_free(sti_tagger *tagger); /* NULL is allowed */

/* Computes the next tag, of the concatenation of `count` parts. */
void sti_tag_make(sti_tagger *tagger, const sti_part *parts, unsigned count,
                  unsigned char tag[STI_TAG_BYTES]);

/* Compares a tag with the next one of the parts, in constant time. */
bool sti_tag_is(sti_tagger *tagger, const sti_part *parts, unsigned count,
                const unsigned char tag[STI_TAG_BYTES]);

#endif
