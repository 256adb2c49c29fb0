/* URLs of nodes: taken apart, checked, put together. Owns nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "engine/net/link_state.h"

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
                           "%s: tcp:// takes a host and a port, nothing else",
                           url);
    out->tcp = true;
    out->port = (unsigned)port;
    return STRADS_OK;
}

strads_err sti_url_parse(const char *url, sti_url *out)
{
    sti_url parsed = {0};
    strads_err err = STRADS_OK;
    if (url == NULL || strlen(url) > STI_URL_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a URL of at most %d bytes is expected",
                           STI_URL_MAX);
    if (strncmp(url, "tcp://", 6) == 0)
        err = parse_tcp(url, url + 6, &parsed);
    else if (strncmp(url, "ipc://", 6) == 0)
        err = parse_ipc(url, url + 6, &parsed);
    else if (strncmp(url, "tls+tcp://", 10) == 0)
        err = strads_fail(STRADS_EINVAL,
                          "%s: this strads has no tls+tcp:// yet: use tcp:// "
                          "in a network that you trust, or through a tunnel",
                          url);
    else
        err = strads_fail(STRADS_EINVAL,
                          "%s: not a URL that nodes use: tcp://host:port or "
                          "ipc:///path is expected",
                          url);
    if (err == STRADS_OK)
        *out = parsed;
    return err;
}

void sti_url_write(const sti_url *url, char out[STI_URL_MAX + 1])
{
    const int most = STI_URL_MAX - 16; /* what surrounds a host */
    if (url->tcp)
        (void)snprintf(out, STI_URL_MAX + 1, "tcp://%.*s:%u", most, url->host,
                       url->port);
    else
        (void)snprintf(out, STI_URL_MAX + 1, "ipc://%.*s", most, url->host);
}

strads_err sti_net_seen_url(sti_net *net, sti_link link, const char *url,
                            char *out)
{
    sti_url parsed;
    strads_err err = sti_url_parse(url, &parsed);
    if (err != STRADS_OK)
        return err;
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link to %s is gone", url);
    bool wildcard = parsed.tcp && (strcmp(parsed.host, "0.0.0.0") == 0 ||
                                   strcmp(parsed.host, "[::]") == 0);
    if (wildcard && conn->host[0] != 0)
        (void)snprintf(parsed.host, sizeof parsed.host, "%s", conn->host);
    sti_conn_release(conn);
    sti_url_write(&parsed, out);
    return STRADS_OK;
}
