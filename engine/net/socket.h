/* engine/net/socket.h - URLs of nodes, and the sockets behind them:
 * tcp://host:port, tls+tcp://host:port and ipc:///path. Owns nothing beyond a call but the sockets
 * that it hands out: blocking ones, closed on exec. Any thread. Results of type
 * int are errno's values, or getaddrinfo's (negative); 0: it went well. */
#ifndef STI_SOCKET_H
#define STI_SOCKET_H

#include <stdbool.h>

#include "strads/error.h"

enum { STI_URL_MAX = 255, STI_HOST_MAX = 63 };

typedef struct sti_url {
    bool tcp;
    bool tls;                   /* and tcp */
    char host[STI_URL_MAX + 1]; /* with brackets if it had any; or the path */
    unsigned port;
} sti_url;

/* Takes a URL apart. STRADS_EINVAL: none of ours; the sentence says what is
 * expected. tcp without a host is loopback, "*" any address of this machine. */
strads_err sti_url_parse(const char *url, sti_url *out);
void sti_url_write(const sti_url *url, char out[STI_URL_MAX + 1]);

/* An address that no other machine reaches: ipc, or the loopback's. A host that
 * is not known is taken for one: nobody is reached there. */
bool sti_url_is_local(const sti_url *url);

/* Whether a process behind this address runs on this machine: ipc, a loopback
 * address, or a host all of whose addresses belong to this machine's interfaces.
 * Resolves the host's name. */
bool sti_url_is_here(const sti_url *url);

/* Any address of the machine, which no other machine can dial. */
bool sti_url_is_wildcard(const sti_url *url);

const char *sti_socket_text(int error);

/* Connects within `ms`. Blocks. */
int sti_socket_dial(const sti_url *url, unsigned ms, int *fd);

/* Binds and listens; fills in the port. The file of an ipc socket that a dead
 * process has left is taken over. */
int sti_socket_listen(sti_url *url, int *fd);

/* What a connected socket is set to before frames travel over it. */
void sti_socket_tune(int fd);

/* Whose the other end of a connection is: true for this process's user, and for
 * one that is no connection over the loopback. Of one that its process has
 * closed nobody knows. */
bool sti_socket_is_own(int fd);

/* The address of the peer, or of this end, as text for a URL; "" over ipc. */
void sti_socket_peer(int fd, char host[STI_HOST_MAX + 1], unsigned *port);
void sti_socket_own_host(int fd, char host[STI_HOST_MAX + 1]);

#endif
