/* engine/exec/inbox.h - where other threads leave messages for a thread.
 *
 * Any number of senders, one receiver at a time. The receiver spins a little
 * and then sleeps; a sender wakes it only when it sleeps, or leaves what it can
 * do itself and does not wake it at all. */
#ifndef STI_INBOX_H
#define STI_INBOX_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/role.h"

/* A message to a thread that is awake, and one back, in ns, about: work that
 * takes less is done sooner by the sender. */
enum { STI_HANDING_NS = 2 * 1000 };

typedef struct sti_inbox {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    sti_msg *messages;   /* lock */
    size_t n, room;      /* lock */
    atomic_bool stirred; /* messages wait, or somebody wants attention */
    /* Changed under the lock. */
    atomic_bool asleep;
    atomic_bool called;  /* and is on its way: waking takes a while, */
    uint64_t called_at;  /* lock: since then, */
    uint64_t wake_ns;    /* lock: about so long */
    uint64_t missed_ns;  /* lock: work that it has slept through in a row, */
    uint64_t missed_end; /* lock: which would have kept it awake until then */
} sti_inbox;

strads_err sti_inbox_init(sti_inbox *inbox);
void sti_inbox_free(sti_inbox *inbox);

/* Leaves a message; takes over its reference. STRADS_ENOMEM: the message is
 * dropped. Any thread. */
strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg);

/* The same of a message that `work_ns` of computing come of. A receiver that
 * sleeps is woken only where that is well above what waking it takes, or what
 * it has slept through in a row is far above. Otherwise the sender does the
 * receiver's work. */
strads_err sti_inbox_leave(sti_inbox *inbox, const sti_msg *msg,
                           uint64_t work_ns);

/* Makes the receiver look up, without a message. Any thread. */
void sti_inbox_stir(sti_inbox *inbox);

/* Says that not all is done of what has been taken. Receiver only. */
void sti_inbox_mark(sti_inbox *inbox);

/* Whether the receiver sleeps. Any thread. */
static inline bool sti_inbox_is_asleep(const sti_inbox *inbox)
{
    return atomic_load_explicit(&inbox->asleep, memory_order_relaxed);
}

/* Whether something waits for a receiver that is awake. Any thread. */
static inline bool sti_inbox_has_come(const sti_inbox *inbox)
{
    return atomic_load_explicit(&inbox->stirred, memory_order_acquire) &&
           !atomic_load_explicit(&inbox->asleep, memory_order_acquire);
}

/* Whether it has been woken, and has not come yet. Any thread. */
static inline bool sti_inbox_is_called(const sti_inbox *inbox)
{
    return atomic_load_explicit(&inbox->called, memory_order_acquire);
}

/* Whether something waits while the receiver sleeps, and `even_if_called` or
 * nobody has woken it. Any thread. */
bool sti_inbox_is_left(const sti_inbox *inbox, bool even_if_called);

/* Swaps what has come for *messages (room for *room, reused next time);
 * returns how many. Receiver only. */
size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *room);

/* Looks up to `spins` times; true: stirred. Receiver only. */
bool sti_inbox_spin(const sti_inbox *inbox, uint32_t spins);

/* The receiver is awake, who slept, or was not there yet. Receiver only. */
void sti_inbox_awake(sti_inbox *inbox);

/* Sleeps until woken, at most `sleep_ns`, where nothing waits; false: nobody
 * has stirred it. Receiver only. */
bool sti_inbox_sleep(sti_inbox *inbox, uint64_t sleep_ns);

#endif
