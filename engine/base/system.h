/* engine/base/system.h - system calls of Linux, each with a fallback for other
 * Unix systems. docs/platforms.md lists all that this tree uses. No descriptor
 * from here is inherited by programs that are started. */
#ifndef STI_SYSTEM_H
#define STI_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Without this flag, sockets are set up so that a send to a closed one raises
 * no signal. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/* Writes `size` random bytes, at most 256. False: errno has the cause. */
bool sti_random_bytes(void *to, size_t size);

/* A stream socket; -1: errno has the cause. */
int sti_socket(int family);
/* A connection to a listener; -1: errno has the cause. */
int sti_accept(int listener);

/* ends[0] reads what ends[1] writes. False: errno has the cause. */
bool sti_pipe(int ends[2]);

/* Wakes a thread in poll(): it waits to read from ends[0]. A bell of {-1, -1}
 * is closed. */
typedef struct sti_bell {
    int ends[2];
} sti_bell;

/* False: errno has the cause, and the bell is closed. */
bool sti_bell_open(sti_bell *bell);
/* Any thread; never blocks. */
void sti_bell_ring(const sti_bell *bell);
/* Forgets all rings so far. */
void sti_bell_silence(const sti_bell *bell);
void sti_bell_close(sti_bell *bell);

#endif
