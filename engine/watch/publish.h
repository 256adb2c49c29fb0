/* engine/watch/publish.h - publishes lines on a PUB socket of nng, for programs
 * of this machine that watch a run. A thread of its own sends, because nng may
 * take its time. A reader gets the lines from its connection on; one that is
 * slow misses lines, and delays neither the run nor other readers. */
#ifndef STI_PUBLISH_H
#define STI_PUBLISH_H

#include <stddef.h>

#include "strads/error.h"

enum {
    STI_PUBLISH_READERS = 16,    /* connections; more are closed */
    STI_PUBLISH_BYTES = 8 << 20, /* lines that wait; more are dropped */
    STI_PUBLISH_CLOSE_MS = 1000  /* limit of sti_publisher_close */
};

typedef struct sti_publisher sti_publisher;

/* Listens at ipc:///path, or at tcp://host:port with a loopback address.
 * STRADS_EINVAL: another URL, or no nng. STRADS_EIO: cannot listen there.
 * STRADS_ESTATE: see nng_library.h. STRADS_ENOMEM. */
strads_err sti_publisher_open(const char *url, sti_publisher **out);

/* Queues a message: a copy of the bytes. Any thread. Does not block. */
void sti_publisher_send(sti_publisher *publisher, const char *bytes,
                        size_t size);

/* Sends the messages that wait, gives readers some time to take them, and frees
 * the publisher. NULL is allowed. */
void sti_publisher_close(sti_publisher *publisher);

#endif
