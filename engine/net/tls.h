/* engine/net/tls.h - TLS over a connected socket, by mbed TLS: who takes part in
 * a run of tls+tcp:// addresses has a certificate of the run's authority, and
 * each end checks the other's. Nothing is known here of frames, nets or URLs.
 *
 * Names in certificates are not compared with hosts: nodes tell each other's
 * addresses, and the authority says who belongs to the run. */
#ifndef STI_TLS_H
#define STI_TLS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "strads/error.h"

/* PEM files, as users name them. */
typedef struct sti_tls_files {
    const char *ca;   /* of the authority, or several */
    const char *cert; /* this node's, with what is between it and the
                         authority */
    const char *key;  /* its private key, without a password */
} sti_tls_files;

typedef struct sti_tls_config sti_tls_config;

/* Reads them. STRADS_EINVAL: one of them is missing, cannot be used, is not
 * valid now, or does not belong to the others; or others may read the key.
 * STRADS_EIO: a file cannot be read. STRADS_ENOMEM. */
strads_err sti_tls_config_new(const sti_tls_files *files, sti_tls_config **out);
void sti_tls_config_free(sti_tls_config *config); /* NULL is fine */

/* One connection. Reading and writing may be done by two threads. */
typedef struct sti_tls sti_tls;

/* Over a blocking socket, which stays the caller's; nothing is sent yet.
 * STRADS_ENOMEM. The config outlives it. */
strads_err sti_tls_new(sti_tls_config *config, int fd, bool dials,
                       sti_tls **out);
void sti_tls_free(sti_tls *tls); /* NULL is fine */

/* Proves both ends to each other. Blocks until it is done or somebody shuts the
 * socket down. STRADS_EMISMATCH: the other end's certificate is not acceptable,
 * it does not accept this one's, or it does not speak TLS. STRADS_EIO: it closed
 * the connection. *plain, of who accepts: the other end sent nothing of TLS,
 * and the socket is as it was. */
strads_err sti_tls_handshake(sti_tls *tls, bool *plain);

/* As recvmsg and sendmsg: bytes that were moved, 0 at the end of the stream, -1
 * with errno. Receiving waits. Sending waits or fails with EAGAIN, behind which
 * the next call must send the same bytes, and perhaps more. */
ssize_t sti_tls_receive(sti_tls *tls, void *bytes, size_t size);
ssize_t sti_tls_send(sti_tls *tls, const struct iovec *pieces, size_t count,
                     bool may_wait);

#endif
