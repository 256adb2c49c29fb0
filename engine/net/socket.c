/* Parses and writes URLs; dials, listens on and describes sockets. */
#include "engine/net/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/system.h"

enum {
    BACKLOG = 4096,   /* the kernel lowers it to net.core.somaxconn */
    WEB_HOST_MAX = 96 /* host and port of ws:// and wss:// */
};

/* ---- URLs -------------------------------------------------------------- */

static strads_err parse_ipc(const char *url, const char *path, sti_url *out)
{
    const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
    if (path[0] != '/' || path[1] == 0)
        return strads_fail(STRADS_EINVAL,
                           "%s: after ipc:// an absolute path is expected, "
                           "such as ipc:///run/strads.sock",
                           url);
    if (strlen(path) > most)
        return strads_fail(STRADS_EINVAL,
                           "%s: the path has %zu bytes, a socket's may have "
                           "%zu: choose a shorter one",
                           url, strlen(path), most);
    (void)snprintf(out->host, sizeof out->host, "%s", path);
    return STRADS_OK;
}

static strads_err parse_tcp(const char *url, const char *rest, sti_url *out)
{
    const char *colon = strrchr(rest, ':');
    char *end = NULL;
    unsigned long port = 0;
    if (colon != NULL && colon[1] >= '0' && colon[1] <= '9')
        port = strtoul(colon + 1, &end, 10);
    if (end == NULL || *end != 0 || port > 65535)
        return strads_fail(STRADS_EINVAL,
                           "%s: a port from 0 to 65535 is expected at the "
                           "end, such as tcp://127.0.0.1:7000",
                           url);
    size_t length = (size_t)(colon - rest);
    if (length == 0)
        (void)snprintf(out->host, sizeof out->host, "127.0.0.1");
    else if (length == 1 && *rest == '*')
        (void)snprintf(out->host, sizeof out->host, "0.0.0.0");
    else
        (void)snprintf(out->host, sizeof out->host, "%.*s", (int)length, rest);
    if (strpbrk(out->host, "/@?#% ") != NULL)
        return strads_fail(STRADS_EINVAL,
                           "%s: only a host and a port are expected", url);
    out->tcp = true;
    out->port = (unsigned)port;
    return STRADS_OK;
}

/* `rest` has a host, perhaps a port, and perhaps a path. */
static strads_err parse_web(const char *url, const char *rest, sti_url *out)
{
    char host[WEB_HOST_MAX + 8];
    const size_t length = strcspn(rest, "/");
    const char *path = rest + length;
    const char *colon = memrchr(rest, ':', length);
    const bool has_port =
        colon && !memchr(colon, ']', length - (size_t)(colon - rest));
    if (length > WEB_HOST_MAX || strlen(path) > STI_PATH_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%s: a host of at most %d bytes and a path of at "
                           "most %d are expected",
                           url, WEB_HOST_MAX, STI_PATH_MAX);
    for (const char *p = path; *p; p++)
        if (*p <= ' ' || *p > '~' || strchr("?#%\"<>\\", *p))
            return strads_fail(STRADS_EINVAL,
                               "%s: a path of letters, digits and signs "
                               "without space, ?, # and %% is expected",
                               url);
    (void)snprintf(host, sizeof host, "%.*s%s", (int)length, rest,
                   has_port         ? ""
                   : out->outer_tls ? ":443"
                                    : ":80");
    (void)snprintf(out->path, sizeof out->path, "%s", *path ? path : "/");
    return parse_tcp(url, host, out);
}

strads_err sti_url_parse(const char *url, sti_url *out)
{
    sti_url parsed = {0};
    strads_err err = STRADS_OK;
    if (url == NULL || strlen(url) > STI_URL_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a URL of at most %d bytes is expected",
                           STI_URL_MAX);
    parsed.outer_tls = strncmp(url, "wss://", 6) == 0;
    parsed.web = parsed.outer_tls || strncmp(url, "ws://", 5) == 0;
    if (strncmp(url, "tcp://", 6) == 0)
        err = parse_tcp(url, url + 6, &parsed);
    else if (strncmp(url, "ipc://", 6) == 0)
        err = parse_ipc(url, url + 6, &parsed);
    else if (strncmp(url, "tls+tcp://", 10) == 0)
        err = parse_tcp(url, url + 10, &parsed);
    else if (parsed.web)
        err = parse_web(url, url + (parsed.outer_tls ? 6 : 5), &parsed);
    else
        err = strads_fail(STRADS_EINVAL,
                          "%s: not a URL of a node: tcp://host:port, "
                          "tls+tcp://host:port, ws://host:port/path, "
                          "wss://host/path or ipc:///path is expected",
                          url);
    parsed.tls = strncmp(url, "tls+", 4) == 0;
    if (err == STRADS_OK)
        *out = parsed;
    return err;
}

void sti_url_write(const sti_url *url, char out[STI_URL_MAX + 1])
{
    const int most = STI_URL_MAX - 20; /* leaves space for scheme and port */
    if (url->web)
        (void)snprintf(out, STI_URL_MAX + 1, "ws%s://%.*s:%u%s",
                       url->outer_tls ? "s" : "", WEB_HOST_MAX, url->host,
                       url->port, url->path);
    else if (url->tcp)
        (void)snprintf(out, STI_URL_MAX + 1, "%stcp://%.*s:%u",
                       url->tls ? "tls+" : "", most, url->host, url->port);
    else
        (void)snprintf(out, STI_URL_MAX + 1, "ipc://%.*s", most, url->host);
}

bool sti_url_is_wildcard(const sti_url *url)
{
    return url->tcp && (strcmp(url->host, "0.0.0.0") == 0 ||
                        strcmp(url->host, "[::]") == 0);
}

/* EAI_* are negative, errno is not. */
const char *sti_socket_text(int error)
{
    return error < 0 ? gai_strerror(error) : strerror(error);
}

/* ---- addresses --------------------------------------------------------- */

/* Copies the host without the brackets of an IPv6 address. */
static void bare_host(const sti_url *url, char out[STI_URL_MAX + 1])
{
    const size_t n = strlen(url->host);
    const bool brackets = n > 1 && url->host[0] == '[';
    (void)snprintf(out, STI_URL_MAX + 1, "%.*s", (int)(brackets ? n - 2 : n),
                   url->host + (brackets ? 1 : 0));
}

static int resolve_host(const sti_url *url, struct addrinfo **out)
{
    char host[STI_URL_MAX + 1], port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    bare_host(url, host);
    (void)snprintf(port, sizeof port, "%u", url->port);
    int e = getaddrinfo(host, port, &hints, out);
    return e == EAI_SYSTEM ? errno : e;
}

static bool is_loopback(const struct sockaddr *at)
{
    const void *p = at;
    if (at->sa_family == AF_INET) {
        const struct sockaddr_in *in = p;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const struct sockaddr_in6 *in = p;
    return at->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
}

bool sti_url_is_local(const sti_url *url)
{
    struct addrinfo *all = NULL;
    bool local = true;
    if (url->tcp && resolve_host(url, &all) != 0)
        return true;
    for (const struct addrinfo *a = all; a != NULL; a = a->ai_next)
        local = local && is_loopback(a->ai_addr);
    if (all != NULL)
        freeaddrinfo(all);
    return local;
}

static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    const void *p = a, *q = b;
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *x = p, *y = q;
        return x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = p, *y = q;
    return a->sa_family == AF_INET6 &&
           memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr) == 0;
}

static bool is_own_address(const struct ifaddrs *own, const struct sockaddr *at)
{
    for (; own != NULL; own = own->ifa_next)
        if (own->ifa_addr != NULL && is_same_address(own->ifa_addr, at))
            return true;
    return is_loopback(at);
}

bool sti_url_is_here(const sti_url *url)
{
    struct addrinfo *all = NULL;
    struct ifaddrs *own = NULL;
    if (!url->tcp)
        return true;
    if (url->web || resolve_host(url, &all) != 0)
        return false;
    (void)getifaddrs(&own);
    bool here = all != NULL;
    for (const struct addrinfo *a = all; a != NULL; a = a->ai_next)
        here = here && is_own_address(own, a->ai_addr);
    if (own != NULL)
        freeifaddrs(own);
    if (all != NULL)
        freeaddrinfo(all);
    return here;
}

/* sti_url_parse has checked the path's length. */
static struct sockaddr_un path_address(const sti_url *url)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, url->host, strnlen(url->host, sizeof at.sun_path - 1));
    return at;
}

static int new_socket(int family, int *fd)
{
    *fd = sti_socket(family);
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

static int connect_address(const struct sockaddr *at, socklen_t size,
                           unsigned ms, int *out)
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
        return connect_address((const void *)&at, sizeof at, ms, fd);
    }
    struct addrinfo *all = NULL;
    int e = resolve_host(url, &all);
    bool connected = false;
    for (const struct addrinfo *a = all; a != NULL && !connected;
         a = a->ai_next) {
        e = connect_address(a->ai_addr, a->ai_addrlen, ms, fd);
        connected = e == 0;
    }
    if (all != NULL)
        freeaddrinfo(all);
    return e;
}

/* ---- listening --------------------------------------------------------- */

/* Removes the socket file of a process that was killed: connecting to it is
 * refused. Other files are kept. */
static int remove_stale(const sti_url *url)
{
    struct stat about;
    int fd;
    if (lstat(url->host, &about) != 0)
        return errno;
    if (!S_ISSOCK(about.st_mode))
        return ENOTSOCK;
    const int e = sti_socket_dial(url, 0, &fd);
    if (e == 0)
        (void)close(fd);
    if (e != ECONNREFUSED)
        return EADDRINUSE;
    return unlink(url->host) ? errno : 0;
}

/* Restricts the socket file to this user. The mode is set before the socket
 * listens, so that other users can never connect. */
static int bind_path(int fd, const sti_url *url)
{
    const struct sockaddr_un at = path_address(url);
    int e = bind(fd, (const void *)&at, sizeof at) ? errno : 0;
    if (e == EADDRINUSE) {
        e = remove_stale(url);
        if (!e && bind(fd, (const void *)&at, sizeof at))
            e = errno;
    }
    return e ? e : chmod(url->host, S_IRUSR | S_IWUSR) ? errno : 0;
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
    int fd = -1, e = url->tcp ? resolve_host(url, &first) : 0;
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

/* ---- connected sockets ------------------------------------------------- */

static void name_address(const struct sockaddr_storage *at,
                         char host[STI_HOST_MAX + 1])
{
    const void *p = at;
    char text[INET6_ADDRSTRLEN] = "";
    host[0] = 0;
    if (at->ss_family == AF_INET) {
        const struct sockaddr_in *in = p;
        (void)inet_ntop(AF_INET, &in->sin_addr, host, STI_HOST_MAX + 1);
    } else if (at->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = p;
        (void)inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
        (void)snprintf(host, STI_HOST_MAX + 1, "[%s]", text);
    }
}

void sti_socket_ends(int fd, sti_ends *out)
{
    socklen_t size = sizeof out->peer;
    *out = (sti_ends){0};
    if (getpeername(fd, (void *)&out->peer, &size) != 0)
        out->peer = (struct sockaddr_storage){0};
    size = sizeof out->own;
    if (getsockname(fd, (void *)&out->own, &size) != 0)
        out->own = (struct sockaddr_storage){0};
}

void sti_ends_peer(const sti_ends *ends, char host[STI_HOST_MAX + 1],
                   unsigned *port)
{
    *port = port_of(&ends->peer);
    name_address(&ends->peer, host);
}

void sti_ends_own_host(const sti_ends *ends, char host[STI_HOST_MAX + 1])
{
    name_address(&ends->own, host);
}

void sti_socket_peer(int fd, char host[STI_HOST_MAX + 1], unsigned *port)
{
    sti_ends ends;
    sti_socket_ends(fd, &ends);
    sti_ends_peer(&ends, host, port);
}

/* Formats an address as /proc/net/tcp and tcp6 do; `mapped`: IPv4 in an IPv6
 * socket. */
static void table_address(const struct sockaddr_storage *at, bool mapped,
                          char text[48])
{
    const void *p = at;
    uint32_t word[4] = {0, 0, htonl(0xFFFF), 0};
    if (at->ss_family == AF_INET) {
        const struct sockaddr_in *in = p;
        word[3] = in->sin_addr.s_addr;
        if (!mapped) {
            (void)snprintf(text, 48, "%08X:%04X", word[3], port_of(at));
            return;
        }
    } else {
        const struct sockaddr_in6 *in = p;
        memcpy(word, &in->sin6_addr, sizeof word);
    }
    (void)snprintf(text, 48, "%08X%08X%08X%08X:%04X", word[0], word[1], word[2],
                   word[3], port_of(at));
}

/* Whether the table lists the socket as open and owned by this user. */
static bool is_in_table(const char *path, const struct sockaddr_storage *from,
                        const struct sockaddr_storage *to, bool mapped)
{
    char wanted[2][48], local[48], remote[48], line[256];
    bool found = false;
    unsigned uid;
    unsigned long inode;
    FILE *table = fopen(path, "re");
    table_address(from, mapped, wanted[0]);
    table_address(to, mapped, wanted[1]);
    while (table != NULL && !found && fgets(line, sizeof line, table) != NULL)
        found = sscanf(line, "%*s %47s %47s %*s %*s %*s %*s %u %*s %lu", local,
                       remote, &uid, &inode) == 4 &&
                strcmp(local, wanted[0]) == 0 &&
                strcmp(remote, wanted[1]) == 0 && uid == geteuid() &&
                inode != 0;
    if (table != NULL)
        (void)fclose(table);
    return found;
}

bool sti_ends_are_own(const sti_ends *ends)
{
    const struct sockaddr_storage *peer = &ends->peer, *own = &ends->own;
    if (!is_loopback((const void *)peer))
        return true;
    return (peer->ss_family == AF_INET &&
            is_in_table("/proc/net/tcp", peer, own, false)) ||
           is_in_table("/proc/net/tcp6", peer, own, true);
}

/* Without TCP_NODELAY a frame waits up to 40 ms for the acknowledgement of the
 * previous one. ipc sockets refuse the option and do not need it. */
void sti_socket_tune(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
