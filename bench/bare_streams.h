/* bench/bare_streams.h - the cost of bytes over a tcp stream without a store:
 * the receiver adds them to an array of f32 (a push) or copies them to one (a
 * pull). A raw stream is a plain socket, read and written by one thread at each
 * end. A stream of pieces adds what every store needs, with the same threads:
 * pieces have a head and a checksum, as a store's frames do; the sender keeps
 * up to 1 MB until it is acknowledged; pulled pieces are copied to their place.
 *
 * One process serves, another requests. A connected socket links them and is
 * the stream. Any failure ends the process. */
#ifndef BENCH_BARE_STREAMS_H
#define BENCH_BARE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum bare_kind { BARE_SOCKET, BARE_PIECES, BARE_KINDS } bare_kind;

typedef struct bare_streams bare_streams;

/* Runs the far end until the near end closes; pushes and pulls use an array of
 * `most` bytes. */
void bare_streams_serve(int fd, size_t most);

/* Opens the near end; it stays open for the life of the process. */
bare_streams *bare_streams_open(int fd);
void bare_streams_close(bare_streams *s);

/* Sends n bytes, which the far end adds; `last`: waits until all pushes of this
 * stream are added. */
void bare_push(bare_streams *s, bare_kind kind, char *bytes, size_t n,
               bool last);

/* Fetches n bytes. */
void bare_pull(bare_streams *s, bare_kind kind, char *bytes, size_t n);

/* Sends or receives all of n bytes. */
void bare_move(int fd, void *bytes, size_t n, bool out);

#endif
