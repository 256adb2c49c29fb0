/* engine/watch/watch.h - a page to watch a run with: an HTTP server of one
 * thread beside the run. It knows nothing of runs: the owner says lines of JSON
 * (events) and a text of metrics, and is told when somebody wants to stop.
 *
 *     GET  /         the page
 *     GET  /stream   the events so far, then each as it comes (Server-Sent
 *                    Events: plain HTTP, which browsers reconnect by themselves)
 *     GET  /events   the events so far, a line each
 *     GET  /metrics  the metrics
 *     POST /stop     with the token: "Authorization: Bearer TOKEN"
 *
 * A request must name this machine as its Host, and a page that sends one as
 * its Origin: other sites' pages in the user's browser reach nothing. */
#ifndef STI_WATCH_H
#define STI_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/net/secret.h"
#include "strads/error.h"

/* What strangers may take at most. */
enum {
    STI_WATCH_CLIENTS = 32,         /* connections; more are told 503 */
    STI_WATCH_REQUEST = 8192,       /* bytes of a request */
    STI_WATCH_REQUEST_SECONDS = 10, /* until it is whole */
    STI_WATCH_REPLY_SECONDS = 30,   /* without a byte of the reply taken */
    STI_WATCH_LINES = 2048          /* events that are kept, */
};
#define STI_WATCH_BYTES (8u << 20) /* and their bytes */

typedef struct sti_watch sti_watch;

typedef struct sti_watch_options {
    const char *address;    /* HOST:PORT; port 0: a free one */
    const sti_token *token; /* what stops a run; of size 0: one is drawn */
    const char *page;       /* what / shows; outlives the watch */
    size_t page_size;
    void (*stop)(void *arg); /* somebody with the token wants it; on the
                                server's thread */
    void *arg;
} sti_watch_options;

/* Listens, and starts the thread. STRADS_EINVAL: no such address, or one that
 * other machines reach without a token. STRADS_EIO: in use. STRADS_ENOMEM. */
strads_err sti_watch_open(const sti_watch_options *options, sti_watch **out);

/* Where the page is, with the real port, and behind '#' the token if it was
 * drawn: a browser does not send that part. */
const char *sti_watch_url(const sti_watch *watch);

/* An event: a line of JSON without its end. Of those that may be `thinned`, of
 * which there are many, one of every 1, 2, 4, ... is kept, and the newest: what
 * is kept covers the whole run evenly. Any thread; never waits for a client. */
void sti_watch_say(sti_watch *watch, const char *line, size_t size,
                   bool thinned);

/* Replaces what /metrics shows, in Prometheus' text format. Any thread. */
void sti_watch_metrics(sti_watch *watch, const char *text, size_t size);

/* Lets clients have the last events, for a second at most; ends the thread.
 * NULL is fine. */
void sti_watch_close(sti_watch *watch);

#endif
