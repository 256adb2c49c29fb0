/* bench/bare_streams.h - what bytes cost over a tcp stream without a store: the
 * receiver adds them to an array of f32 (a push) or copies them to one (a
 * pull). The stream is a plain socket's, read and written by one thread at each
 * end. Or it carries what no store can do without: pieces with a head, kept by
 * who pushes until they are acknowledged, 1 MB of them at most, and pulled to
 * where they are wanted; and no more, by the same one thread at each end. Pieces
 * have a checksum, taken and held against it at the ends, as a store's frames do.
 *
 * One process serves, another asks; they are told of each other by a connected
 * socket, which is the stream. What fails ends the process. */
#ifndef BENCH_BARE_STREAMS_H
#define BENCH_BARE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum bare_kind { BARE_SOCKET, BARE_PIECES, BARE_KINDS } bare_kind;

typedef struct bare_streams bare_streams;

/* The far end, until the other one has closed; it pushes to and pulls from an
 * array of `most` bytes. */
void bare_streams_serve(int fd, size_t most);

/* The near end, of this process for good. */
bare_streams *bare_streams_open(int fd);
void bare_streams_close(bare_streams *s);

/* Sends n bytes, which are added up over there; `last`: and waits until all of
 * this stream's pushes are. */
void bare_push(bare_streams *s, bare_kind kind, char *bytes, size_t n,
               bool last);

/* Fetches n bytes. */
void bare_pull(bare_streams *s, bare_kind kind, char *bytes, size_t n);

/* All of n bytes, out of or into a socket. */
void bare_move(int fd, void *bytes, size_t n, bool out);

#endif
