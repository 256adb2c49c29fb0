/* An array under a lock, and a flag that the receiver reads without it. */
#include "engine/exec/inbox.h"

#include <stdlib.h>

strads_err sti_inbox_init(sti_inbox *inbox)
{
    *inbox = (sti_inbox){0};
    return pthread_mutex_init(&inbox->lock, NULL)
               ? strads_fail(STRADS_ENOMEM, "no memory for an inbox")
               : STRADS_OK;
}

void sti_inbox_free(sti_inbox *inbox)
{
    for (size_t k = 0; k < inbox->n; k++)
        sti_object_drop(inbox->messages[k].object);
    free(inbox->messages);
    pthread_mutex_destroy(&inbox->lock);
}

/* ---- senders ------------------------------------------------------------ */

/* With the lock held. */
static bool reserve(sti_inbox *inbox)
{
    if (inbox->n < inbox->capacity)
        return true;
    size_t capacity = inbox->capacity ? 2 * inbox->capacity : 64;
    sti_msg *messages = realloc(inbox->messages, sizeof *messages * capacity);
    if (!messages)
        return false;
    inbox->messages = messages;
    inbox->capacity = capacity;
    return true;
}

strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg)
{
    pthread_mutex_lock(&inbox->lock);
    const bool fits = reserve(inbox);
    if (fits)
        inbox->messages[inbox->n++] = *msg;
    atomic_store_explicit(&inbox->stirred, true, memory_order_release);
    pthread_mutex_unlock(&inbox->lock);
    if (fits)
        return STRADS_OK;
    sti_object_drop(msg->object);
    return strads_fail(STRADS_ENOMEM, "no memory for a message");
}

/* ---- the receiver ------------------------------------------------------- */

size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *capacity)
{
    if (!atomic_load_explicit(&inbox->stirred, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&inbox->lock);
    sti_msg *filled = inbox->messages;
    size_t n = inbox->n;
    size_t filled_capacity = inbox->capacity;
    inbox->messages = *messages;
    inbox->capacity = *capacity;
    inbox->n = 0;
    atomic_store_explicit(&inbox->stirred, false, memory_order_relaxed);
    pthread_mutex_unlock(&inbox->lock);
    *messages = filled;
    *capacity = filled_capacity;
    return n;
}
