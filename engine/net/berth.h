/* engine/net/berth.h - memory of somebody who waits, for what is on its way
 * to him: the transport receives it there instead of into a frame, which would
 * be copied. He may go at any time; then it is written to no more.
 *
 * It has room for one at a time. Any thread; nobody holds its lock for longer
 * than what is there takes to be received, or to be checked. */
#ifndef STI_BERTH_H
#define STI_BERTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum { STI_BERTH_MAX = 64 };

typedef struct sti_berth {
    pthread_mutex_t lock; /* guards what follows */
    uint64_t turn;        /* how often it was taken */
    bool taken;
    unsigned count;
    struct iovec at[STI_BERTH_MAX]; /* in the order of the bytes */
} sti_berth;

/* One time that it was taken, for what comes behind `from` bytes. */
typedef struct sti_berthing {
    sti_berth *berth; /* NULL: none */
    uint64_t turn, from;
} sti_berthing;

void sti_berth_init(sti_berth *berth);
void sti_berth_destroy(sti_berth *berth);

/* For count pieces of memory, STI_BERTH_MAX at most, copied; *turn is its
 * number. False: it is taken. */
bool sti_berth_take(sti_berth *berth, const struct iovec *at, unsigned count,
                    uint64_t *turn);

/* Nothing is received there any more. Once is enough, more does no harm. */
void sti_berth_leave(sti_berth *berth, uint64_t turn);

/* What is there behind the first `skip` bytes, to iov[STI_BERTH_MAX]; how many
 * pieces. With the lock held; 0: it was left, or has no more. */
unsigned sti_berth_rest(const sti_berth *berth, uint64_t turn, uint64_t skip,
                        struct iovec *iov);

#endif
