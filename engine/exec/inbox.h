/* engine/exec/inbox.h - where other threads leave messages for a thread.
 *
 * Any number of senders, one receiver. The receiver spins a little and then
 * sleeps; a sender wakes it where it sleeps. */
#ifndef STI_INBOX_H
#define STI_INBOX_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/role.h"

typedef struct sti_inbox {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    sti_msg *messages;   /* lock */
    size_t n, capacity;  /* lock */
    bool asleep;         /* lock */
    atomic_bool stirred; /* messages wait, or somebody wants attention;
                            changed under the lock */
} sti_inbox;

/* STRADS_ENOMEM. */
strads_err sti_inbox_init(sti_inbox *inbox);
void sti_inbox_free(sti_inbox *inbox);

/* Leaves a message; takes over its reference. STRADS_ENOMEM: the message is
 * dropped. Any thread. */
strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg);

/* Makes the receiver look up, without a message. Any thread. */
void sti_inbox_stir(sti_inbox *inbox);

/* Swaps what has come for *messages (space for *capacity, reused next time);
 * returns how many. Receiver only. */
size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *capacity);

/* Looks up to `spins` times; true: stirred. Receiver only. */
bool sti_inbox_spin(const sti_inbox *inbox, uint32_t spins);

/* Sleeps until stirred, at most `sleep_ns`. Receiver only. */
void sti_inbox_sleep(sti_inbox *inbox, uint64_t sleep_ns);

#endif
