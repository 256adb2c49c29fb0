/* engine/watch/watch.h - a page to watch a run with: an HTTP server of one
 * thread beside the run. It knows nothing of runs: the owner passes lines of
 * JSON (events) and a text of metrics, and gets a callback when a client stops
 * the run.
 *
 *     GET  /         the page
 *     GET  /stream   the events so far, then each as it comes (Server-Sent
 *                    Events: plain HTTP; browsers reconnect by themselves)
 *     GET  /events   the events so far, a line each
 *     GET  /metrics  the metrics
 *     POST /stop     with the token: "Authorization: Bearer TOKEN"
 *     GET  /runs, /runs/NAME   texts of the owner's, if it has any
 *
 * A request must have this machine as its Host, and a page that sends one must
 * have it as its Origin, so other sites' pages in the user's browser have no
 * access. */
#ifndef STI_WATCH_H
#define STI_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/net/trust.h"
#include "strads/error.h"

/* Limits for untrusted clients. */
enum {
    STI_WATCH_CLIENTS = 32,         /* connections; one more ends another one */
    STI_WATCH_CLIENTS_EACH = 8,     /* .. of one address */
    STI_WATCH_REQUEST = 8192,       /* bytes of a request */
    STI_WATCH_REQUEST_SECONDS = 10, /* until it is complete */
    STI_WATCH_REPLY_SECONDS = 30,   /* without progress of the reply */
    STI_WATCH_LINES = 2048          /* events kept, */
};
#define STI_WATCH_BYTES (8u << 20) /* and their bytes */

typedef struct sti_watch sti_watch;

typedef struct sti_watch_options {
    const char *address; /* HOST:PORT; port 0: a free one */
    /* the run has a token; without one the address must be a loopback one */
    bool run_has_token;
    const char *page; /* the content of /; outlives the watch */
    size_t page_size;
    /* a client with the token stops the run; called on the server's thread.
     * NULL: there is nothing to stop, and no token */
    void (*stop)(void *arg);
    /* the content of /runs ("") and /runs/NAME, which the server frees, or
     * NULL: no such run; called on the server's thread. NULL: there are none */
    char *(*runs)(void *arg, const char *name, size_t *size);
    void *arg;
} sti_watch_options;

/* Listens, and starts the thread. STRADS_EINVAL: no such address, or one that
 * other machines reach without a token. STRADS_EIO: in use. STRADS_ENOMEM. */
strads_err sti_watch_open(const sti_watch_options *options, sti_watch **out);

/* The URL of the page with the real port, followed by '#' and the page's token
 * if it has one; browsers do not send that part. */
const char *sti_watch_url(const sti_watch *watch);

/* Adds an event: a line of JSON without its end. Frequent events are `thinned`:
 * one in every 1, 2, 4, ... is kept, and the newest, so that the kept ones
 * cover the whole run evenly. Any thread; never waits for a client. */
void sti_watch_publish(sti_watch *watch, const char *line, size_t size,
                       bool thinned);

/* Replaces the content of /metrics, in Prometheus' text format. Any thread. */
void sti_watch_metrics(sti_watch *watch, const char *text, size_t size);

/* Lets clients read the last events, for at most a second, and ends the thread.
 * NULL is allowed. */
void sti_watch_close(sti_watch *watch);

#endif
