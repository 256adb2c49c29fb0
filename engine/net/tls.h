/* engine/net/tls.h - TLS over a connected socket, by mbed TLS. Every node of a
 * run with tls+tcp:// addresses has a certificate of the run's authority, and
 * each end checks the other's. Independent of frames, nets and URLs.
 *
 * Names in certificates are not compared with hosts: node 0 distributes the
 * addresses, and any certificate of the authority admits a node. */
#ifndef STI_TLS_H
#define STI_TLS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "strads/error.h"

/* Paths of PEM files. */
typedef struct sti_tls_files {
    const char *ca;   /* certificates of one or more authorities */
    const char *cert; /* this node's certificate, and any intermediate ones */
    const char *key;  /* its private key, without a password */
} sti_tls_files;

typedef struct sti_tls_config sti_tls_config;

/* Reads the files. STRADS_EINVAL: a file is missing, unusable, not valid now,
 * or does not match the others; or other users may read the key. STRADS_EIO: a
 * file cannot be read. STRADS_ENOMEM. */
strads_err sti_tls_config_new(const sti_tls_files *files, sti_tls_config **out);
void sti_tls_config_free(sti_tls_config *config); /* NULL is allowed */

/* One connection. One thread may read while another one writes. */
typedef struct sti_tls sti_tls;

/* Prepares TLS over a blocking socket, which the caller keeps; sends nothing
 * yet. The config must outlive *out. STRADS_ENOMEM. */
strads_err sti_tls_new(sti_tls_config *config, int fd, bool dials,
                       sti_tls **out);
void sti_tls_free(sti_tls *tls); /* NULL is allowed */

/* Performs the handshake, which authenticates both ends. Blocks until it is
 * done or the socket is shut down. STRADS_EMISMATCH: one end does not accept
 * the other's certificate, or the peer does not use TLS. STRADS_EIO: the peer
 * closed the connection. Sets *plain on an accepting end if the peer's first
 * byte is not TLS; nothing has then been read from the socket. */
strads_err sti_tls_handshake(sti_tls *tls, bool *plain);

/* Return the number of bytes as recvmsg and sendmsg do: 0 at the end of the
 * stream, -1 with errno. Receiving blocks. Sending blocks if `may_wait`;
 * otherwise it may fail with EAGAIN, and the next call must then begin with the
 * same bytes. */
ssize_t sti_tls_receive(sti_tls *tls, void *bytes, size_t size);
ssize_t sti_tls_send(sti_tls *tls, const struct iovec *pieces, size_t count,
                     bool may_wait);

#endif
