/* engine/runtime/inbox.h - where other threads leave messages for a thread.
 *
 * Any number of senders, one receiver. The receiver spins a little and then
 * sleeps; a sender wakes it only when it sleeps. */
#ifndef STI_INBOX_H
#define STI_INBOX_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/role/message.h"

typedef struct sti_inbox {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    sti_msg *messages;   /* lock */
    size_t n, room;      /* lock */
    bool asleep;         /* lock */
    atomic_bool stirred; /* messages wait, or somebody wants attention */
} sti_inbox;

strads_err sti_inbox_init(sti_inbox *inbox);
void sti_inbox_free(sti_inbox *inbox);

/* Leaves a message; takes over its reference. STRADS_ENOMEM: the message is
 * dropped. Any thread. */
strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg);

/* Makes the receiver look up, without a message. Any thread. */
void sti_inbox_stir(sti_inbox *inbox);

/* Swaps what has come for *messages (room for *room, reused next time);
 * returns how many. Receiver only. */
size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *room);

/* Waits until stirred, `spins` looks first, then asleep for at most
 * `sleep_ns`. Receiver only. */
void sti_inbox_wait(sti_inbox *inbox, uint32_t spins, uint64_t sleep_ns);

#endif
