/* engine/exec/inbox.h - where other threads leave messages for a thread.
 *
 * Any number of senders, one receiver, which looks in when it is told to. */
#ifndef STI_INBOX_H
#define STI_INBOX_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/role.h"

typedef struct sti_inbox {
    pthread_mutex_t lock;
    sti_msg *messages;   /* lock */
    size_t n, capacity;  /* lock */
    atomic_bool stirred; /* messages wait; changed under the lock */
} sti_inbox;

/* STRADS_ENOMEM. */
strads_err sti_inbox_init(sti_inbox *inbox);
void sti_inbox_free(sti_inbox *inbox);

/* Leaves a message; takes over its reference. STRADS_ENOMEM: the message is
 * dropped. Any thread. */
strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg);

/* Swaps what has come for *messages (space for *capacity, reused next time);
 * returns how many. Receiver only. */
size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *capacity);

#endif
