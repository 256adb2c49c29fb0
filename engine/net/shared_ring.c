/* Owns the mapping. Invariants: taken <= put, by at most the ring's bytes but
 * for what was left out at a new beginning; the bytes between are the taker's,
 * all others the putter's. The other process's count is read anew each time and
 * believed only where it can be true. */
#include "engine/net/shared_ring.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, SEALS = F_SEAL_SHRINK | F_SEAL_GROW };
#define FILE_BYTES ((size_t)HEAD_BYTES + STI_SHARED_RING_BYTES)

/* The first bytes of the file. */
typedef struct ring_head {
    uint64_t mark;
    _Alignas(64) _Atomic uint64_t taken;
} ring_head;
_Static_assert(sizeof(ring_head) <= HEAD_BYTES, "behind it come payloads");

struct sti_shared_ring {
    ring_head *head;
    unsigned char *bytes; /* [STI_SHARED_RING_BYTES], behind it */
    uint64_t done;        /* put, or taken, by this process */
    uint64_t begun;       /* put: where it was empty for the last time */
    int fd;               /* -1: nobody can open it any more */
};

/* Takes the descriptor over; NULL: it cannot be mapped. */
static sti_shared_ring *map(int fd)
{
    sti_shared_ring *ring = malloc(sizeof *ring);
    void *at =
        ring ? mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
             : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(ring);
        (void)close(fd);
        return NULL;
    }
    *ring = (sti_shared_ring){.head = at,
                              .bytes = (unsigned char *)at + HEAD_BYTES,
                              .fd = fd};
    return ring;
}

sti_shared_ring *sti_shared_ring_make(sti_shared_ring_offer *offer)
{
    uint64_t mark;
    const int fd = memfd_create("strads-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return NULL;
    if (getrandom(&mark, sizeof mark, 0) != (ssize_t)sizeof mark ||
        ftruncate(fd, (off_t)FILE_BYTES) != 0 ||
        fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
        (void)close(fd);
        return NULL;
    }
    sti_shared_ring *ring = map(fd);
    if (ring == NULL)
        return NULL;
    ring->head->mark = mark;
    *offer = (sti_shared_ring_offer){.process = (uint32_t)getpid(),
                                     .descriptor = (uint32_t)fd,
                                     .mark = mark};
    return ring;
}

void sti_shared_ring_close_door(sti_shared_ring *ring)
{
    if (ring->fd >= 0)
        (void)close(ring->fd);
    ring->fd = -1;
}

static bool has_size(const struct stat *is)
{
    return S_ISREG(is->st_mode) && is->st_size == (off_t)FILE_BYTES;
}

/* Is it a file that stays as long as it is? */
static bool is_ring(int fd)
{
    struct stat is;
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &is) == 0 &&
           has_size(&is);
}

/* To open some things is to use them, a device say: looks before. */
static int open_file(const sti_shared_ring_offer *offer)
{
    char path[64];
    struct stat is;
    (void)snprintf(path, sizeof path, "/proc/%u/fd/%u", offer->process,
                   offer->descriptor);
    return stat(path, &is) == 0 && has_size(&is)
               ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
               : -1;
}

sti_shared_ring *sti_shared_ring_open(const sti_shared_ring_offer *offer)
{
    const int fd = open_file(offer);
    if (fd < 0)
        return NULL;
    if (!is_ring(fd)) {
        (void)close(fd);
        return NULL;
    }
    sti_shared_ring *ring = map(fd);
    if (ring == NULL)
        return NULL;
    sti_shared_ring_close_door(ring);
    if (ring->head->mark == offer->mark)
        return ring;
    sti_shared_ring_free(ring);
    return NULL;
}

void sti_shared_ring_free(sti_shared_ring *ring)
{
    if (ring == NULL)
        return;
    sti_shared_ring_close_door(ring);
    (void)munmap(ring->head, FILE_BYTES);
    free(ring);
}

static uint64_t up(uint64_t place, uint64_t step)
{
    return (place + step - 1) / step * step;
}

/* Where so many bytes lie in one piece, from `place` on. */
static uint64_t fit(uint64_t place, uint64_t size)
{
    const uint64_t all = STI_SHARED_RING_BYTES;
    return place % all + size > all ? up(place, all) : place;
}

/* A ring that is empty is begun anew: its first bytes are still in somebody's
 * cache. */
static uint64_t oldest(sti_shared_ring *ring)
{
    const uint64_t taken =
        atomic_load_explicit(&ring->head->taken, memory_order_acquire);
    if (taken == ring->done)
        ring->begun = ring->done = up(ring->done, STI_SHARED_RING_BYTES);
    return taken < ring->begun ? ring->begun : taken;
}

bool sti_shared_ring_put(sti_shared_ring *ring, const sti_part *parts,
                         unsigned count, uint64_t size, uint64_t *place)
{
    const uint64_t from = oldest(ring), at = fit(ring->done, size);
    if (size > STI_SHARED_RING_BYTES || from > ring->done ||
        at + size - from > STI_SHARED_RING_BYTES)
        return false;
    unsigned char *to = ring->bytes + at % STI_SHARED_RING_BYTES;
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].size > 0)
            memcpy(to, parts[i].bytes, (size_t)parts[i].size);
        to += parts[i].size;
    }
    ring->done = up(at + size, STI_PAYLOAD_ALIGN);
    *place = at;
    return true;
}

const unsigned char *sti_shared_ring_look(const sti_shared_ring *ring,
                                          uint64_t place, uint64_t size)
{
    const uint64_t all = STI_SHARED_RING_BYTES;
    const bool can_be = size <= all && place >= ring->done &&
                        place <= INT64_MAX && place % STI_PAYLOAD_ALIGN == 0 &&
                        place % all + size <= all;
    return can_be ? ring->bytes + place % all : NULL;
}

void sti_shared_ring_take(sti_shared_ring *ring, uint64_t place, uint64_t size)
{
    ring->done = up(place + size, STI_PAYLOAD_ALIGN);
    atomic_store_explicit(&ring->head->taken, ring->done, memory_order_release);
}
