/* Listening and accepting, on a thread of its own. Invariant: nothing is
 * accepted while accept_paused is set; the keeper takes it up again when there
 * are fewer strangers, or after an error such as too many open files. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/link_state.h"

/* Wakes the thread: it looks at what it is to do. */
void sti_net_accept(sti_net *net)
{
    const uint64_t one = 1;
    if (write(net->accept_bell, &one, sizeof one) != (ssize_t)sizeof one)
        return; /* it has been rung so often that it will look */
}

static void accept_one(sti_net *net)
{
    sti_link link;
    int fd = accept4(net->listener, NULL, NULL, SOCK_CLOEXEC);
    int e = fd < 0 ? errno : 0;
    if (fd >= 0)
        (void)sti_conn_start(net, fd, NULL, &link);
    pthread_mutex_lock(&net->lock);
    bool failed = e && e != EINTR && e != ECONNABORTED;
    net->accept_paused =
        net->closing || failed || net->strangers >= STI_STRANGERS_MAX;
    pthread_mutex_unlock(&net->lock);
}

static void *accept_all(void *arg)
{
    sti_net *net = arg;
    for (;;) {
        uint64_t rings;
        pthread_mutex_lock(&net->lock);
        const bool paused = net->accept_paused, stops = net->accept_stops;
        pthread_mutex_unlock(&net->lock);
        if (stops)
            return NULL;
        struct pollfd look[2] = {{.fd = net->accept_bell, .events = POLLIN},
                                 {.fd = net->listener, .events = POLLIN}};
        (void)poll(look, paused ? 1 : 2, -1);
        if (look[0].revents && read(net->accept_bell, &rings, sizeof rings) < 0)
            continue;
        if (!paused && look[1].revents)
            accept_one(net);
    }
}

static strads_err listen_failed(const char *url, int e)
{
    return strads_fail(STRADS_EIO, "cannot listen on %s: %s%s", url,
                       sti_socket_text(e),
                       e == EADDRINUSE
                           ? ": another process has it; choose another port, "
                             "or port 0 for a free one"
                           : "");
}

strads_err sti_net_listen(sti_net *net, const char *url)
{
    char text[STI_URL_MAX + 1];
    strads_err err = sti_url_parse(url, &net->listens_at);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&net->listens_at, text);
    int e = sti_socket_listen(&net->listens_at, &net->listener);
    if (e)
        return listen_failed(text, e);
    sti_url_write(&net->listens_at, net->url);
    net->accept_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    net->accepts = net->accept_bell >= 0 &&
                   pthread_create(&net->acceptor, NULL, accept_all, net) == 0;
    return net->accepts ? STRADS_OK
                        : strads_fail(STRADS_ENOMEM,
                                      "no thread to listen on %s", net->url);
}

/* From now on nobody is accepted, and who is refused knows it. */
void sti_net_close_door(sti_net *net)
{
    if (net->accepts) {
        pthread_mutex_lock(&net->lock);
        net->accept_stops = true;
        pthread_mutex_unlock(&net->lock);
        sti_net_accept(net);
        (void)pthread_join(net->acceptor, NULL);
    }
    net->accepts = false;
    if (net->listener >= 0) {
        (void)close(net->listener);
        if (!net->listens_at.tcp)
            (void)unlink(net->listens_at.host);
    }
    net->listener = -1;
}

void sti_net_stop_listening(sti_net *net)
{
    sti_net_close_door(net);
    if (net->accept_bell >= 0)
        (void)close(net->accept_bell);
    net->accept_bell = -1;
}
