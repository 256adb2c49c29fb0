/* engine/net/tls.h - TLS 1.3 by OpenSSL, over memory: encrypted bytes of any
 * transport go in, plain bytes come out, and the reverse. Independent of
 * sockets, frames, nets and URLs.
 *
 * A context authenticates both ends of each connection in one of two ways:
 *
 *   certificates  Each end has a certificate of the run's authority and checks
 *                 the other's. Names in certificates are not compared with
 *                 hosts: node 0 distributes the addresses, and any certificate
 *                 of the authority admits a node. If there is a token, too,
 *                 both ends also prove that they have it.
 *   the token     A pre-shared key that is derived from the token, with an
 *                 ephemeral key exchange.
 *
 * Both ends know after the handshake that the other end accepts them. */
#ifndef STI_TLS_H
#define STI_TLS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "engine/net/trust.h"
#include "strads/error.h"

typedef struct sti_tls_context sti_tls_context;

/* Reads the files; without files, uses the token. *out is NULL if there is
 * neither. STRADS_EINVAL: a file is missing, unusable, not valid now, or does
 * not match the others; or other users may read the key. STRADS_EIO: a file
 * cannot be read, or OpenSSL lacks an algorithm. STRADS_ENOMEM. */
strads_err sti_tls_context_new(const sti_trust *trust, sti_tls_context **out);
void sti_tls_context_free(sti_tls_context *context); /* NULL is allowed */

/* One end of a connection. One thread feeds bytes, performs the handshake and
 * reads. After the handshake another thread may write and take bytes. */
typedef struct sti_tls sti_tls;

/* The context must outlive *out. STRADS_ENOMEM. */
strads_err sti_tls_new(sti_tls_context *context, bool dials, sti_tls **out);
void sti_tls_free(sti_tls *tls); /* NULL is allowed */

/* Returns memory for encrypted bytes from the peer. sti_tls_feed adds the first
 * `count` bytes of it to the input. *size is at least 1 if sti_tls_handshake or
 * sti_tls_read have asked for bytes. */
void *sti_tls_space(sti_tls *tls, size_t *size);
void sti_tls_feed(sti_tls *tls, size_t count);

/* Returns the encrypted bytes to send to the peer. sti_tls_take removes the
 * first `count` of them. */
const void *sti_tls_output(sti_tls *tls, size_t *size);
void sti_tls_take(sti_tls *tls, size_t count);

/* Continues the handshake. STRADS_OK: it is complete if *done; otherwise feed
 * more bytes and call again. In all cases, also on failure, the caller first
 * sends the output: it may have an alert for the peer. STRADS_EMISMATCH: one
 * end does not accept the other. STRADS_EIO: the bytes were damaged.
 * STRADS_ENOMEM. */
strads_err sti_tls_handshake(sti_tls *tls, bool *done);

/* Whether the handshake failed because the peer does not use TLS: its first
 * byte is not of TLS. There is no output then. */
bool sti_tls_met_plain(const sti_tls *tls);

/* Returns the number of plain bytes written to `bytes`, at most `size`. 0: the
 * peer has closed its direction. -1 with errno: EAGAIN: feed more bytes;
 * EBADMSG: the bytes were damaged, repeated, moved or forged. */
ssize_t sti_tls_read(sti_tls *tls, void *bytes, size_t size);

/* Whether the input ends inside a record. */
bool sti_tls_is_inside_record(const sti_tls *tls);

/* Encrypts the first bytes of the pieces and returns their number, at least 1.
 * If output is left, it encrypts nothing and returns the number of the previous
 * call: the caller calls it again with the same pieces until all output was
 * sent. -1 with errno: the connection cannot be used any more. */
ssize_t sti_tls_write(sti_tls *tls, const struct iovec *pieces, size_t count);

/* Whether bytes that arrive on a connection without TLS begin a handshake of
 * TLS. `bytes` has at least 2. */
bool sti_tls_begins(const unsigned char *bytes);

#endif
