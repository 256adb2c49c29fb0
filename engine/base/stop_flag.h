/* engine/base/stop_flag.h - the user's stop flag, which a signal handler or
 * any thread may set while a run reads it. */
#ifndef STI_STOP_FLAG_H
#define STI_STOP_FLAG_H

#include <stdbool.h>
#include <stdint.h>

/* A node that does not lead its run takes part for so long after its user has
 * stopped it, until node 0 has ended the run with a model; then it leaves. */
#define STI_STOP_PATIENCE_NS UINT64_C(10000000000)
#define STI_STOP_LATE                                                         \
    "stopped by its user; node 0 was told, but has not ended the run within " \
    "10 s"

/* `stop` may be NULL: nobody stops. Nothing else is ordered by it. */
static inline bool sti_stop_is_asked(const volatile bool *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

#endif
