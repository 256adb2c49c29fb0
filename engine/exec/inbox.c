/* An array under a lock, and a flag that is looked at without it. */
#include "engine/exec/inbox.h"

#include <stdlib.h>

#include "engine/base/monotonic_clock.h"

enum {
    /* What waking takes, in ns: as on a machine at rest before it has been
     * measured; a thread that others have kept from the processor for longer
     * than MOST counts as that. */
    WAKE_NS = 50 * 1000,
    WAKE_MOST_NS = 400 * 1000,
    STAYS_NS = 50 * 1000, /* about so long a thread looks before it sleeps */
    ONE_PAYS = 2,         /* a thread is woken for so many times that at once */
    ROW_PAYS = 6          /* or in a row: rows end without a warning */
};

strads_err sti_inbox_init(sti_inbox *inbox)
{
    *inbox = (sti_inbox){.wake_ns = WAKE_NS};
    int failed = pthread_mutex_init(&inbox->lock, NULL);
    if (!failed && !sti_monotonic_cond_init(&inbox->wake)) {
        pthread_mutex_destroy(&inbox->lock);
        failed = 1;
    }
    atomic_init(&inbox->stirred, false);
    atomic_init(&inbox->asleep, false);
    atomic_init(&inbox->called, false);
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

static bool is(const atomic_bool *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire);
}

static void set(atomic_bool *flag, bool value)
{
    atomic_store_explicit(flag, value, memory_order_release);
}

/* ---- senders, with the lock held ---------------------------------------- */

static void call(sti_inbox *inbox)
{
    if (!is(&inbox->asleep) || is(&inbox->called))
        return;
    set(&inbox->called, true);
    inbox->called_at = sti_monotonic_now();
    pthread_cond_signal(&inbox->wake);
}

/* What comes in a row counts together: once awake the receiver would find it
 * without being woken again. What it would save is what takes longer than to
 * hand it over. */
static bool is_worth_a_call(sti_inbox *inbox, uint64_t work_ns)
{
    const uint64_t now = sti_monotonic_now();
    if (now > inbox->missed_end)
        inbox->missed_ns = 0;
    if (work_ns > STI_HANDING_NS)
        inbox->missed_ns += work_ns - STI_HANDING_NS;
    inbox->missed_end = now + 2 * work_ns + STAYS_NS;
    return work_ns > ONE_PAYS * inbox->wake_ns ||
           inbox->missed_ns > ROW_PAYS * inbox->wake_ns;
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

static strads_err add(sti_inbox *inbox, const sti_msg *msg)
{
    if (!make_room(inbox)) {
        sti_object_drop(msg->object);
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    }
    inbox->messages[inbox->n++] = *msg;
    return STRADS_OK;
}

/* ---- senders ------------------------------------------------------------ */

strads_err sti_inbox_put(sti_inbox *inbox, const sti_msg *msg)
{
    pthread_mutex_lock(&inbox->lock);
    strads_err err = add(inbox, msg);
    set(&inbox->stirred, true);
    call(inbox);
    pthread_mutex_unlock(&inbox->lock);
    return err;
}

strads_err sti_inbox_leave(sti_inbox *inbox, const sti_msg *msg,
                           uint64_t work_ns)
{
    pthread_mutex_lock(&inbox->lock);
    strads_err err = add(inbox, msg);
    set(&inbox->stirred, true);
    if (is(&inbox->asleep) && is_worth_a_call(inbox, work_ns))
        call(inbox);
    pthread_mutex_unlock(&inbox->lock);
    return err;
}

void sti_inbox_stir(sti_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    set(&inbox->stirred, true);
    call(inbox);
    pthread_mutex_unlock(&inbox->lock);
}

bool sti_inbox_is_left(const sti_inbox *inbox, bool even_if_called)
{
    return is(&inbox->stirred) && is(&inbox->asleep) &&
           (even_if_called || !is(&inbox->called));
}

/* ---- the receiver ------------------------------------------------------- */

void sti_inbox_mark(sti_inbox *inbox)
{
    set(&inbox->stirred, true);
}

size_t sti_inbox_take(sti_inbox *inbox, sti_msg **messages, size_t *room)
{
    if (!is(&inbox->stirred))
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

bool sti_inbox_spin(const sti_inbox *inbox, uint32_t spins)
{
    for (uint32_t k = 0; k < spins; k++) {
        if (is(&inbox->stirred))
            return true;
        pause_cpu();
    }
    return is(&inbox->stirred);
}

/* With the lock held. */
static void wake_up(sti_inbox *inbox)
{
    if (is(&inbox->called)) {
        uint64_t took = sti_monotonic_now() - inbox->called_at;
        if (took > WAKE_MOST_NS)
            took = WAKE_MOST_NS;
        inbox->wake_ns = (7 * inbox->wake_ns + took) / 8;
    }
    set(&inbox->called, false);
    set(&inbox->asleep, false);
    inbox->missed_ns = 0;
}

void sti_inbox_awake(sti_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    wake_up(inbox);
    pthread_mutex_unlock(&inbox->lock);
}

bool sti_inbox_sleep(sti_inbox *inbox, uint64_t sleep_ns)
{
    const uint64_t until = sti_monotonic_in(sleep_ns);
    pthread_mutex_lock(&inbox->lock);
    bool late = false;
    if (!is(&inbox->stirred)) {
        set(&inbox->asleep, true);
        while (!late && !is(&inbox->called))
            late = !sti_monotonic_wait(&inbox->wake, &inbox->lock, until);
        wake_up(inbox);
    }
    const bool woken = is(&inbox->stirred);
    pthread_mutex_unlock(&inbox->lock);
    return woken;
}
