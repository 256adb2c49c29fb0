/* Listening and accepting. Invariant: at most one accept is under way, and
 * none while accept_paused is set; the keeper takes it up again when there are
 * fewer strangers, or after an error such as too many open files. */
#include <stdio.h>
#include <sys/stat.h>

#include "engine/runtime/link_state.h"

void sti_net_accept(sti_net *net)
{
    nng_stream_listener_accept(net->listener, net->accept_aio);
}

static void was_accepted(void *arg)
{
    sti_net *net = arg;
    int rv = nng_aio_result(net->accept_aio);
    sti_link link;
    if (rv == 0)
        (void)sti_conn_start(net, nng_aio_get_output(net->accept_aio, 0), NULL,
                             &link);
    pthread_mutex_lock(&net->lock);
    bool full = net->strangers >= STI_STRANGERS_MAX;
    net->accept_paused = net->closing || rv != 0 || full;
    bool again = !net->accept_paused;
    pthread_mutex_unlock(&net->lock);
    if (again)
        sti_net_accept(net);
}

static strads_err listen_failed(const char *url, int rv)
{
    return strads_fail(STRADS_EIO, "cannot listen on %s: %s%s", url,
                       nng_strerror(rv),
                       rv == NNG_EADDRINUSE
                           ? ": another process has it; choose another port, "
                             "or port 0 for a free one"
                           : "");
}

static strads_err start_listening(sti_net *net, sti_url *url)
{
    int port = 0, rv;
    char text[STI_URL_MAX + 1];
    sti_url_write(url, text);
    if ((rv = nng_stream_listener_alloc(&net->listener, text)) != 0)
        return listen_failed(text, rv);
    /* Whoever may connect to a socket in the file system is the same user. */
    if (!url->tcp)
        (void)nng_stream_listener_set_int(net->listener,
                                          NNG_OPT_IPC_PERMISSIONS,
                                          S_IRUSR | S_IWUSR);
    if ((rv = nng_stream_listener_listen(net->listener)) != 0)
        return listen_failed(text, rv);
    if (url->tcp &&
        (rv = nng_stream_listener_get_int(net->listener, NNG_OPT_TCP_BOUND_PORT,
                                          &port)) != 0)
        return listen_failed(text, rv);
    if (url->tcp)
        url->port = (unsigned)port;
    sti_url_write(url, net->url);
    return STRADS_OK;
}

strads_err sti_net_listen(sti_net *net, const char *url)
{
    sti_url parsed;
    strads_err err = sti_url_parse(url, &parsed);
    if (err != STRADS_OK)
        return err;
    if (nng_aio_alloc(&net->accept_aio, was_accepted, net) != 0)
        return strads_fail(STRADS_ENOMEM, "no memory to listen on %s", url);
    err = start_listening(net, &parsed);
    if (err == STRADS_OK)
        sti_net_accept(net);
    return err;
}

void sti_net_stop_listening(sti_net *net)
{
    if (net->listener != NULL)
        nng_stream_listener_close(net->listener);
    if (net->accept_aio != NULL)
        nng_aio_free(net->accept_aio);
    if (net->listener != NULL)
        nng_stream_listener_free(net->listener);
    net->accept_aio = NULL;
    net->listener = NULL;
}
