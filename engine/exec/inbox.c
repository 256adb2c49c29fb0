/* An array under a lock, and a flag that the receiver reads without it. */
#include "engine/exec/inbox.h"

#include <stdlib.h>

#include "engine/base/monotonic_clock.h"

strads_err sti_inbox_init(sti_inbox *inbox)
{
    *inbox = (sti_inbox){0};
    int failed = pthread_mutex_init(&inbox->lock, NULL);
    if (!failed && !sti_monotonic_cond_init(&inbox->wake)) {
        pthread_mutex_destroy(&inbox->lock);
        failed = 1;
    }
    return failed ? strads_fail(STRADS_ENOMEM, "no memory for an inbox")
                  : STRADS_OK;
}

void sti_inbox_free(sti_inbox *inbox)
{
    for (size_t k = 0; k < inbox->n; k++)
        sti_object_drop(inbox->messages[k].object);
    free(inbox->messages);
    pthread_cond_destroy(&inbox->wake);
    pthread_mutex_destroy(&inbox->lock);
}

/* ---- senders ------------------------------------------------------------ */

/* With the lock held. */
static void stir(sti_inbox *inbox)
{
    atomic_store_explicit(&inbox->stirred, true, memory_order_release);
    if (inbox->asleep)
        pthread_cond_signal(&inbox->wake);
}

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
    stir(inbox);
    pthread_mutex_unlock(&inbox->lock);
    if (fits)
        return STRADS_OK;
    sti_object_drop(msg->object);
    return strads_fail(STRADS_ENOMEM, "no memory for a message");
}

void sti_inbox_stir(sti_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    stir(inbox);
    pthread_mutex_unlock(&inbox->lock);
}

/* ---- the receiver ------------------------------------------------------- */

static bool is_stirred(const sti_inbox *inbox)
{
    return atomic_load_explicit(&inbox->stirred, memory_order_acquire);
}

size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *capacity)
{
    if (!is_stirred(inbox))
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

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

bool sti_inbox_spin(const sti_inbox *inbox, uint32_t spins)
{
    for (uint32_t k = 0; k < spins; k++) {
        if (is_stirred(inbox))
            return true;
        pause_cpu();
    }
    return is_stirred(inbox);
}

void sti_inbox_sleep(sti_inbox *inbox, uint64_t sleep_ns)
{
    const uint64_t until = sti_monotonic_in(sleep_ns);
    pthread_mutex_lock(&inbox->lock);
    inbox->asleep = true;
    while (!is_stirred(inbox) &&
           sti_monotonic_wait(&inbox->wake, &inbox->lock, until))
        ;
    inbox->asleep = false;
    pthread_mutex_unlock(&inbox->lock);
}
