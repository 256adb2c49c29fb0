/* engine/net/socket.h - URLs of nodes and their sockets: tcp://host:port,
 * tls+tcp://host:port, ws://host:port/path, wss://host:port/path and
 * ipc:///path. The returned sockets are blocking, closed on exec, and owned by
 * the caller. Any thread. Results of type int are 0 on success, a value of
 * errno, or an error of getaddrinfo (negative). */
#ifndef STI_SOCKET_H
#define STI_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "strads/error.h"

enum { STI_URL_MAX = 255, STI_HOST_MAX = 63, STI_PATH_MAX = 127 };

typedef struct sti_url {
    bool tcp;                   /* a host and a port; otherwise ipc */
    bool tls;                   /* tls+tcp */
    bool web;                   /* ws or wss: there may be a proxy */
    bool outer_tls;             /* wss: TLS as far as the proxy */
    char host[STI_URL_MAX + 1]; /* IPv6 keeps its brackets; ipc: the path */
    unsigned port;
    char path[STI_PATH_MAX + 1]; /* of ws and wss; begins with '/' */
} sti_url;

/* Parses a URL. An empty host is the loopback address, "*" is any address of
 * this machine. Ports of ws and wss may be omitted: 80 and 443. STRADS_EINVAL:
 * not such a URL; the sentence gives the expected form. */
strads_err sti_url_parse(const char *url, sti_url *out);
void sti_url_write(const sti_url *url, char out[STI_URL_MAX + 1]);

/* Whether no other machine can reach the address: ipc, or a loopback address.
 * Also true for a host that does not resolve. */
bool sti_url_is_local(const sti_url *url);

/* Whether the address belongs to this machine: ipc, a loopback address, or a
 * host with all addresses on this machine's interfaces. Resolves the host's
 * name. Never a ws or wss address: behind a proxy the node may be anywhere. */
bool sti_url_is_here(const sti_url *url);

/* Whether the host is 0.0.0.0 or [::]: it can be listened on, not dialled. */
bool sti_url_is_wildcard(const sti_url *url);

/* Returns the text of an error of this file. */
const char *sti_socket_text(int error);

/* Connects within `ms`; of ws and wss, to the port only. Blocks. */
int sti_socket_dial(const sti_url *url, unsigned ms, int *fd);

/* Binds and listens; fills in the port. Replaces the file of an ipc socket if
 * no process listens there any more. */
int sti_socket_listen(sti_url *url, int *fd);

/* Sets the socket options of a connected socket. */
void sti_socket_tune(int fd);

/* The addresses of both ends. Family AF_UNSPEC or AF_UNIX: no host. */
typedef struct sti_ends {
    struct sockaddr_storage peer, own;
} sti_ends;

void sti_socket_ends(int fd, sti_ends *out);

/* Whether the other end of a loopback connection belongs to this process's
 * user. True for connections that do not use the loopback. False if the other
 * process has closed its end: its user is then unknown. */
bool sti_ends_are_own(const sti_ends *ends);

/* Write the address of the peer, or of this end, as the host of a URL; "" over
 * ipc. */
void sti_ends_peer(const sti_ends *ends, char host[STI_HOST_MAX + 1],
                   unsigned *port);
void sti_ends_own_host(const sti_ends *ends, char host[STI_HOST_MAX + 1]);
void sti_socket_peer(int fd, char host[STI_HOST_MAX + 1], unsigned *port);

#endif
