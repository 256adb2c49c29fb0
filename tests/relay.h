/* tests/relay.h - a network connection that a test can break. It listens on
 * its own port and connects each client to a target, byte for byte. Connections
 * are cut with a reset or with an end of the stream, in turn. It uses one
 * thread and does not depend on Criterion. */
#ifndef TESTS_RELAY_H
#define TESTS_RELAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct relay relay;

/* Opens a relay to tcp://127.0.0.1:PORT; NULL on failure. */
relay *relay_open(const char *target);
/* Cuts all connections and stops listening. */
void relay_close(relay *r);

/* The URL to use instead of the target's. */
const char *relay_url(const relay *r);

/* Cuts all current connections. */
void relay_cut(relay *r);

/* From now on cuts each connection after a number of bytes, drawn from 1 to
 * twice `mean`, so mostly inside a frame. At most `times` times. */
void relay_cut_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* Likewise, but flips a bit there and continues. */
void relay_flip_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* Likewise, but drops up to 700 bytes there and continues. */
void relay_drop_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* Likewise, but drops a whole frame there, except the transport's own.
 * The frames must not be inside TLS. */
void relay_lose_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* Accepts connections but moves no bytes while `hold` is true. */
void relay_hold(relay *r, bool hold);

/* Waits until this many connections have come, or were cut; flips count as
 * cuts. */
void relay_wait_come(relay *r, unsigned n);
void relay_wait_cuts(relay *r, unsigned n);
unsigned relay_cuts(relay *r);

#endif
