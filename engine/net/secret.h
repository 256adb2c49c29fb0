/* engine/net/secret.h - what nodes of one run trust each other by: the run's
 * token, and what is made of it. Knows no socket and no thread.
 *
 * Who dials sends a nonce, who accepts another; each then proves that it has the
 * token,
 *
 *     proof(side) = HMAC-SHA256(token, "strads proof" side version n_d n_a),
 *
 * the one who dials first, so that a stranger learns nothing. From then on each
 * direction has a key of its own,
 *
 *     key(side) = HMAC-SHA256(token, "strads frames" side version n_d n_a),
 *
 * under which header and payload of each frame have a tag of 16 bytes:
 * ChaCha20-Poly1305 (RFC 8439) with nothing to encrypt and the bytes as
 * additional data; the nonce counts the tags, so that none can be repeated, left
 * out or moved. */
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
    uint32_t size; /* 0: there is none */
    unsigned char bytes[STI_TOKEN_MAX];
} sti_token;

/* How a node trusts others; {0}: the same user, over
 * the loopback or ipc. */
typedef struct sti_trust {
    sti_token token;
    bool insecure; /* whoever reaches an address of another kind, too */
    /* NULL, all three: no tls+tcp://, and otherwise nothing else. Read when a net
     * is opened. */
    sti_tls_files tls;
} sti_trust;

/* The token in the first line of a file, or, where `path` is NULL, in the
 * environment's STRADS_TOKEN; without that, none. STRADS_EIO: the file cannot be
 * read. STRADS_EINVAL: others may read it, or its token is too short or long. */
strads_err sti_token_read(const char *path, sti_token *out);

/* STRADS_EIO: the system has no random bytes. */
strads_err sti_nonce_draw(unsigned char nonce[STI_NONCE_BYTES]);

/* Which end of a connection. */
typedef enum sti_side { STI_DIALS = 0, STI_ACCEPTS = 1 } sti_side;

/* What a handshake has agreed on so far: nonces by side. */
typedef struct sti_handshake {
    const sti_token *token;
    unsigned char nonce[2][STI_NONCE_BYTES];
} sti_handshake;

/* The proof that `side` has to give. */
void sti_proof_make(const sti_handshake *h, sti_side side,
                    unsigned char proof[STI_PROOF_BYTES]);

/* Is it that? In the same time whatever it is. */
bool sti_proof_is(const sti_handshake *h, sti_side side,
                  const unsigned char proof[STI_PROOF_BYTES]);

/* The tags of one direction, one after the other. Not for two threads at
 * once. */
typedef struct sti_tagger sti_tagger;

/* Those of the frames that `side` sends. STRADS_ENOMEM, STRADS_EIO. */
strads_err sti_tagger_new(const sti_handshake *h, sti_side side,
                          sti_tagger **out);
void sti_tagger_free(sti_tagger *tagger); /* NULL is fine */

/* The next tag: of `count` parts, one behind the other. */
void sti_tag_make(sti_tagger *tagger, const sti_part *parts, unsigned count,
                  unsigned char tag[STI_TAG_BYTES]);

/* Do the parts have the next tag? In the same time whatever it is. */
bool sti_tag_is(sti_tagger *tagger, const sti_part *parts, unsigned count,
                const unsigned char tag[STI_TAG_BYTES]);

#endif
