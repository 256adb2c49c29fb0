/* Sockets of both kinds, made and named. Owns nothing beyond a call but the
 * sockets that it hands out: blocking ones, closed on exec. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/net/link_state.h"

enum { BACKLOG = 128 };

/* EAI_* are negative, errno is not. */
const char *sti_socket_text(int error)
{
    return error < 0 ? gai_strerror(error) : strerror(error);
}

/* ---- addresses --------------------------------------------------------- */

/* A host without the brackets that a URL has around an IPv6 address. */
static void bare_host(const sti_url *url, char out[STI_URL_MAX + 1])
{
    const size_t n = strlen(url->host);
    const bool brackets = n > 1 && url->host[0] == '[';
    (void)snprintf(out, STI_URL_MAX + 1, "%.*s", (int)(brackets ? n - 2 : n),
                   url->host + (brackets ? 1 : 0));
}

static int resolve(const sti_url *url, struct addrinfo **out)
{
    char host[STI_URL_MAX + 1], port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    bare_host(url, host);
    (void)snprintf(port, sizeof port, "%u", url->port);
    int e = getaddrinfo(host, port, &hints, out);
    return e == EAI_SYSTEM ? errno : e;
}

/* The path's length was checked when the URL was taken apart. */
static struct sockaddr_un path_address(const sti_url *url)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, url->host, strnlen(url->host, sizeof at.sun_path - 1));
    return at;
}

static int new_socket(int family, int *fd)
{
    *fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return *fd < 0 ? errno : 0;
}

/* ---- dialling ---------------------------------------------------------- */

static void set_blocking(int fd, bool blocks)
{
    const int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

static int finish_connect(int fd, unsigned ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int e = 0, n;
    socklen_t size = sizeof e;
    do
        n = poll(&ready, 1, (int)ms);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size) ? errno : e;
}

static int connect_to(const struct sockaddr *at, socklen_t size, unsigned ms,
                      int *out)
{
    int fd, e = new_socket(at->sa_family, &fd);
    if (e)
        return e;
    set_blocking(fd, false);
    if (connect(fd, at, size) != 0)
        e = errno == EINPROGRESS ? finish_connect(fd, ms) : errno;
    set_blocking(fd, true);
    if (e)
        (void)close(fd);
    else
        *out = fd;
    return e;
}

int sti_socket_dial(const sti_url *url, unsigned ms, int *fd)
{
    if (!url->tcp) {
        const struct sockaddr_un at = path_address(url);
        return connect_to((const void *)&at, sizeof at, ms, fd);
    }
    struct addrinfo *all = NULL;
    int e = resolve(url, &all);
    bool connected = false;
    for (const struct addrinfo *a = all; a != NULL && !connected;
         a = a->ai_next) {
        e = connect_to(a->ai_addr, a->ai_addrlen, ms, fd);
        connected = e == 0;
    }
    if (all != NULL)
        freeaddrinfo(all);
    return e;
}

/* ---- listening --------------------------------------------------------- */

/* A socket's file stays when its process is killed; nobody answers there. */
static bool remove_stale(const sti_url *url)
{
    int fd;
    int e = sti_socket_dial(url, 0, &fd);
    if (e == 0)
        (void)close(fd);
    return e == ECONNREFUSED && unlink(url->host) == 0;
}

/* Whoever may connect to a socket in the file system is the same user. Before
 * it listens nobody can. */
static int bind_path(int fd, const sti_url *url)
{
    const struct sockaddr_un at = path_address(url);
    int bad = bind(fd, (const void *)&at, sizeof at);
    if (bad && errno == EADDRINUSE && remove_stale(url))
        bad = bind(fd, (const void *)&at, sizeof at);
    else if (bad && errno == ECONNREFUSED)
        errno = EADDRINUSE;
    return bad || chmod(url->host, S_IRUSR | S_IWUSR) ? errno : 0;
}

static int bind_port(int fd, const struct addrinfo *at)
{
    const int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(fd, at->ai_addr, at->ai_addrlen) ? errno : 0;
}

static unsigned port_of(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)at)->sin_port);
    if (at->ss_family == AF_INET6)
        return ntohs(
            ((const struct sockaddr_in6 *)(const void *)at)->sin6_port);
    return 0;
}

int sti_socket_listen(sti_url *url, int *out)
{
    struct sockaddr_storage at = {0};
    struct addrinfo *first = NULL;
    socklen_t size = sizeof at;
    int fd = -1, e = url->tcp ? resolve(url, &first) : 0;
    if (!e)
        e = new_socket(url->tcp ? first->ai_family : AF_UNIX, &fd);
    if (!e)
        e = url->tcp ? bind_port(fd, first) : bind_path(fd, url);
    if (!e && listen(fd, BACKLOG) != 0)
        e = errno;
    if (!e && url->tcp && getsockname(fd, (void *)&at, &size) != 0)
        e = errno;
    if (first != NULL)
        freeaddrinfo(first);
    if (e && fd >= 0)
        (void)close(fd);
    if (e)
        return e;
    if (url->tcp)
        url->port = port_of(&at);
    *out = fd;
    return 0;
}

/* ---- connected ones ---------------------------------------------------- */

/* Refused by ipc, which does not need it. Without it a frame waits up to 40 ms
 * for the acknowledgement of the one before. */
void sti_socket_no_delay(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* No network is between the ends, and none to be spared: reno, which every
 * kernel has, sends as fast as the peer takes it, where bbr would measure first
 * and then wait for timers. Refused by ipc. */
void sti_socket_no_pacing(int fd)
{
    static const char reno[] = "reno";
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof reno - 1);
}

void sti_socket_await(int fd, int bytes, int ms)
{
    const int any = 1;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
    (void)poll(&ready, 1, ms);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof any);
}

void sti_socket_peer(int fd, char host[64], unsigned *port)
{
    struct sockaddr_storage at = {0};
    socklen_t size = sizeof at;
    char text[INET6_ADDRSTRLEN] = "";
    host[0] = 0;
    *port = 0;
    if (getpeername(fd, (void *)&at, &size) != 0)
        return;
    *port = port_of(&at);
    if (at.ss_family == AF_INET) {
        (void)inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)&at)->sin_addr,
                        host, 64);
    } else if (at.ss_family == AF_INET6) {
        (void)inet_ntop(AF_INET6,
                        &((struct sockaddr_in6 *)(void *)&at)->sin6_addr, text,
                        sizeof text);
        (void)snprintf(host, 64, "[%s]", text);
    }
}

static bool is_loopback(const struct sockaddr_storage *at)
{
    const void *p = at;
    if (at->ss_family == AF_INET) {
        const struct sockaddr_in *in = p;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const struct in6_addr *a = &((const struct sockaddr_in6 *)p)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(a) ||
           (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == IN_LOOPBACKNET);
}

bool sti_socket_is_local(int fd)
{
    struct sockaddr_storage at = {0};
    socklen_t size = sizeof at;
    if (getpeername(fd, (void *)&at, &size) != 0)
        return false;
    return at.ss_family == AF_UNIX || is_loopback(&at);
}

int sti_socket_process(int fd)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    const bool known =
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return known ? (int)peer.pid : 0;
}
