/* tests/relay.h - a stretch of network that a test can break: it listens on a
 * port of its own, and what connects there it connects to a target, byte for
 * byte. Connections are cut with a reset, or with an end of the stream, in
 * turn. One thread. No part of it knows Criterion. */
#ifndef TESTS_RELAY_H
#define TESTS_RELAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct relay relay;

/* To tcp://127.0.0.1:PORT; NULL when that cannot be. */
relay *relay_open(const char *target);
/* Cuts everything, and listens no more. */
void relay_close(relay *r);

/* What is to be dialled instead of the target. */
const char *relay_url(const relay *r);

/* Cuts all connections that there are. */
void relay_cut(relay *r);

/* From now on cuts a connection after so many bytes, drawn anew each time from
 * 1 to twice `mean`: so mostly inside a frame. `times` times. */
void relay_cut_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* The same, but flips a bit there, and goes on. */
void relay_flip_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* The same, but leaves up to 700 bytes out there, and goes on. */
void relay_drop_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* The same, but leaves a whole frame out there, not one of the transport's own.
 * Frames must have no tags. */
void relay_lose_often(relay *r, uint64_t seed, uint64_t mean, unsigned times);

/* Takes connections but moves no byte, until it is told to go on. */
void relay_hold(relay *r, bool hold);

/* Waits until so many connections have come, or were cut; flips count as
 * cuts. */
void relay_wait_come(relay *r, unsigned n);
void relay_wait_cuts(relay *r, unsigned n);
unsigned relay_cuts(relay *r);

#endif
