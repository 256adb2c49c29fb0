/* engine/base/stop_flag.h - the user's stop flag, which a signal handler or
 * any thread may set while a run reads it. */
#ifndef STI_STOP_FLAG_H
#define STI_STOP_FLAG_H

#include <stdbool.h>

/* `stop` may be NULL: nobody stops. Nothing else is ordered by it. */
static inline bool sti_stop_is_asked(const volatile bool *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

#endif
