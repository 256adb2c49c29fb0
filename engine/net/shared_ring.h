/* engine/net/shared_ring.h - a ring of bytes in memory that two processes
 * of one machine share: one puts payloads into it, the other takes them out.
 *
 * Who puts makes the ring, a file without a name (memfd_create), and tells its
 * process and descriptor; who takes opens that through /proc. What says which
 * ring is meant is a number drawn at random that stands in its first bytes, so
 * a process number of another namespace, or one that a peer lies about, opens
 * nothing. The file is sealed: nobody can shorten it, which would end who
 * touches it.
 *
 * A payload lies in one piece, at a multiple of 64, and is told by its place: a
 * count of bytes since the beginning that only grows. It is taken in the order
 * in which it was put, and copied out before anybody looks at it, for the other
 * process can write there at any time. One thread at a time puts, one takes.
 * Nothing here waits or makes anybody wait: who puts tells who takes by other
 * means, and behind it. */
#ifndef STI_SHARED_RING_H
#define STI_SHARED_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/net/frame.h"

enum { STI_SHARED_RING_BYTES = 1 << 21 }; /* the largest payload, too */

typedef struct sti_shared_ring sti_shared_ring;

/* What the other process opens a ring with. */
typedef struct sti_shared_ring_offer {
    uint32_t process;
    uint32_t
        descriptor; /* of the process's, until sti_shared_ring_close_door */
    uint64_t mark;
} sti_shared_ring_offer;

/* An empty ring of this process's; NULL: the system makes none. Its memory is
 * taken as it is used. */
sti_shared_ring *sti_shared_ring_make(sti_shared_ring_offer *offer);

/* The other process has opened it, or will not: nobody else can from now on. */
void sti_shared_ring_close_door(sti_shared_ring *ring);

/* Another process's; NULL: that one has no such ring, or this one may not open
 * it. */
sti_shared_ring *sti_shared_ring_open(const sti_shared_ring_offer *offer);

/* NULL is fine. */
void sti_shared_ring_free(sti_shared_ring *ring);

/* Copies `size` bytes, made of `count` parts, to *place. False: there is no
 * room now, or never. */
bool sti_shared_ring_put(sti_shared_ring *ring, const sti_part *parts,
                         unsigned count, uint64_t size, uint64_t *place);

/* Where a payload lies that was put; NULL: it cannot have been. */
const unsigned char *sti_shared_ring_look(const sti_shared_ring *ring,
                                          uint64_t place, uint64_t size);
/* It was copied out: its room, and what lies before it, is free. */
void sti_shared_ring_take(sti_shared_ring *ring, uint64_t place, uint64_t size);

#endif
