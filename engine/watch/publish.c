/* A queue of messages, and the thread that sends them. The thread also closes
 * nng's socket. If nng does not return in time, the publisher is left to the
 * thread, which frees it. */
#include "engine/watch/publish.h"

#ifdef STRADS_NNG

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/nng_library.h"
#include "engine/net/socket.h"

enum {
    SOCKET_MESSAGES = 8192, /* nng's own queue for each reader */
    LINGER_NS = 200000000,  /* for readers, because nng discards on closing */
    OWNER_ONLY = 0600
};

typedef struct message {
    struct message *next;
    size_t size;
    char bytes[];
} message;

struct sti_publisher {
    const sti_nng *nng;
    nng_socket socket;
    pthread_t thread;
    atomic_int readers;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    message *first, **last;
    size_t waiting; /* bytes */
    bool closes;    /* the owner closes the publisher */
    bool is_left;   /* .. and has left it to the thread */
    bool is_over;   /* the socket is closed */
};

/* On a thread of nng: bounds the number of readers. Each pipe has both events,
 * also one that is closed by the first. */
static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    sti_publisher *p = arg;
    if (event == NNG_PIPE_EV_REM_POST)
        atomic_fetch_sub(&p->readers, 1);
    else if (atomic_fetch_add(&p->readers, 1) >= STI_PUBLISH_READERS)
        (void)p->nng->nng_pipe_close(pipe);
}

static void free_publisher(sti_publisher *p)
{
    while (p->first) {
        message *m = p->first;
        p->first = m->next;
        free(m);
    }
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Takes a message from the queue, waits for one, or returns NULL at the end. */
static message *next_message(sti_publisher *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->first && !p->closes)
        (void)pthread_cond_wait(&p->changed, &p->lock);
    message *m = p->first;
    if (m) {
        p->first = m->next;
        if (!p->first)
            p->last = &p->first;
        p->waiting -= m->size;
    }
    pthread_mutex_unlock(&p->lock);
    return m;
}

static void *run_publisher(void *arg)
{
    sti_publisher *p = arg;
    for (message *m; (m = next_message(p));) {
        (void)p->nng->nng_send(p->socket, m->bytes, m->size, 0);
        free(m);
    }
    if (atomic_load(&p->readers) > 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = LINGER_NS}, NULL);
    (void)p->nng->nng_close(p->socket);
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    const bool is_left = p->is_left;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    if (is_left)
        free_publisher(p);
    return NULL;
}

static strads_err check_address(const char *url, sti_url *at)
{
    strads_err err = sti_url_parse(url, at);
    if (err)
        return err;
    if (at->tls || at->web || (at->tcp && at->port == 0))
        return strads_fail(STRADS_EINVAL,
                           "--publish %s: ipc:///path or tcp://127.0.0.1:port "
                           "is expected",
                           url);
    if (!sti_url_is_local(at))
        return strads_fail(STRADS_EINVAL,
                           "--publish %s: other machines reach this address, "
                           "and all of them could read the log: publish at a "
                           "loopback address or ipc:///path, and forward it "
                           "(ssh -L)",
                           url);
    return STRADS_OK;
}

/* Listens; over ipc, for this user only. Returns a result of nng. */
static int start_listening(sti_publisher *p, const sti_url *at)
{
    char text[STI_URL_MAX + 1];
    nng_listener listener;
    sti_url_write(at, text);
    (void)p->nng->nng_socket_set_int(p->socket, NNG_OPT_SENDBUF,
                                     SOCKET_MESSAGES);
    int rv =
        p->nng->nng_pipe_notify(p->socket, NNG_PIPE_EV_ADD_PRE, on_pipe, p);
    if (rv == 0)
        rv = p->nng->nng_pipe_notify(p->socket, NNG_PIPE_EV_REM_POST, on_pipe,
                                     p);
    if (rv == 0)
        rv = p->nng->nng_listener_create(&listener, p->socket, text);
    if (rv == 0 && !at->tcp)
        rv = p->nng->nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS,
                                          OWNER_ONLY);
    return rv ? rv : p->nng->nng_listener_start(listener, 0);
}

strads_err sti_publisher_open(const char *url, sti_publisher **out)
{
    const sti_nng *nng;
    sti_url at;
    strads_err err = check_address(url, &at);
    if (!err)
        err = sti_nng_load(&nng);
    if (err)
        return err;
    sti_publisher *p = calloc(1, sizeof *p);
    if (!p || nng->nng_pub0_open(&p->socket) != 0) {
        free(p);
        return strads_fail(STRADS_ENOMEM, "no memory to publish the log");
    }
    p->nng = nng;
    p->last = &p->first;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)sti_monotonic_cond_init(&p->changed);
    const int rv = start_listening(p, &at);
    if (rv != 0)
        err = strads_fail(STRADS_EIO, "--publish %s: cannot listen: %s", url,
                          nng->nng_strerror(rv));
    else if (pthread_create(&p->thread, NULL, run_publisher, p) != 0)
        err = strads_fail(STRADS_ENOMEM, "no thread to publish the log");
    if (err) {
        (void)nng->nng_close(p->socket);
        free_publisher(p);
        return err;
    }
    *out = p;
    return STRADS_OK;
}

void sti_publisher_send(sti_publisher *publisher, const char *bytes,
                        size_t size)
{
    sti_publisher *p = publisher;
    message *m = malloc(sizeof *m + size);
    if (!m)
        return;
    m->next = NULL;
    m->size = size;
    memcpy(m->bytes, bytes, size);
    pthread_mutex_lock(&p->lock);
    const bool fits = p->waiting + size <= STI_PUBLISH_BYTES;
    if (fits) {
        *p->last = m;
        p->last = &m->next;
        p->waiting += size;
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    if (!fits)
        free(m);
}

void sti_publisher_close(sti_publisher *publisher)
{
    sti_publisher *p = publisher;
    if (!p)
        return;
    const uint64_t until =
        sti_monotonic_in(UINT64_C(1000000) * STI_PUBLISH_CLOSE_MS);
    pthread_mutex_lock(&p->lock);
    p->closes = true;
    pthread_cond_broadcast(&p->changed);
    while (!p->is_over && sti_monotonic_wait(&p->changed, &p->lock, until))
        continue;
    const bool is_over = p->is_over;
    p->is_left = !is_over;
    pthread_t thread = p->thread;
    pthread_mutex_unlock(&p->lock);
    if (is_over) {
        (void)pthread_join(thread, NULL);
        free_publisher(p);
    } else {
        (void)pthread_detach(thread);
    }
}

#else

strads_err sti_publisher_open(const char *url, sti_publisher **out)
{
    (void)out;
    return strads_fail(STRADS_EINVAL,
                       "--publish %s: this build has no nng to publish with: "
                       "build strads with its headers (Debian: libnng-dev) and "
                       "-DSTRADS_NNG=ON",
                       url);
}

void sti_publisher_send(sti_publisher *publisher, const char *bytes,
                        size_t size)
{
    (void)publisher, (void)bytes, (void)size;
}

void sti_publisher_close(sti_publisher *publisher)
{
    (void)publisher;
}

#endif
