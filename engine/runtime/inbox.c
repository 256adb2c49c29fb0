/* An array under a lock, and a flag that is looked at without it. */
#include "engine/runtime/inbox.h"

#include <stdlib.h>
#include <time.h>

strads_err sti_inbox_init(sti_inbox *inbox)
{
    *inbox = (sti_inbox){0};
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr))
        return strads_fail(STRADS_ENOMEM, "no memory for a worker's inbox");
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int failed = pthread_mutex_init(&inbox->lock, NULL);
    if (!failed && pthread_cond_init(&inbox->wake, &attr)) {
        pthread_mutex_destroy(&inbox->lock);
        failed = 1;
    }
    pthread_condattr_destroy(&attr);
    atomic_init(&inbox->stirred, false);
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

/* With the lock held. */
static void stir(sti_inbox *inbox)
{
    atomic_store_explicit(&inbox->stirred, true, memory_order_release);
    if (inbox->asleep)
        pthread_cond_signal(&inbox->wake);
}

static bool make_room(sti_inbox *inbox)
{
    if (inbox->n < inbox->room)
        return true;
    size_t room = inbox->room ? 2 * inbox->room : 64;
    sti_msg *messages = realloc(inbox->messages, sizeof *messages * room);
    if (!messages)
        return false;
    inbox->messages = messages;
    inbox->room = room;
    return true;
}

strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg)
{
    pthread_mutex_lock(&inbox->lock);
    bool fits = make_room(inbox);
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

size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *room)
{
    if (!atomic_load_explicit(&inbox->stirred, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&inbox->lock);
    sti_msg *filled = inbox->messages;
    size_t n = inbox->n;
    size_t filled_room = inbox->room;
    inbox->messages = *messages;
    inbox->room = *room;
    inbox->n = 0;
    atomic_store_explicit(&inbox->stirred, false, memory_order_relaxed);
    pthread_mutex_unlock(&inbox->lock);
    *messages = filled;
    *room = filled_room;
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

void sti_inbox_wait(sti_inbox *inbox, uint32_t spins, uint64_t sleep_ns)
{
    for (uint32_t k = 0; k < spins; k++) {
        if (atomic_load_explicit(&inbox->stirred, memory_order_acquire))
            return;
        pause_cpu();
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + sleep_ns;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&inbox->lock);
    inbox->asleep = true;
    int late = 0;
    while (!late &&
           !atomic_load_explicit(&inbox->stirred, memory_order_relaxed))
        late = pthread_cond_timedwait(&inbox->wake, &inbox->lock, &until);
    inbox->asleep = false;
    pthread_mutex_unlock(&inbox->lock);
}
