/* engine/base/stop_flag.h - the user's stop flag. A signal handler or any
 * thread may set it while a run reads it. */
#ifndef STI_STOP_FLAG_H
#define STI_STOP_FLAG_H

#include <stdbool.h>
#include <stdint.h>

/* If its user stops a node other than node 0, it continues for this long, so
 * that node 0 can end the run with a model. Then it leaves. */
#define STI_STOP_PATIENCE_NS UINT64_C(10000000000)
#define STI_STOP_LATE                                                      \
    "stopped by its user; node 0 was notified, but has not ended the run " \
    "within "                                                              \
    "10 s"

/* `stop` may be NULL: the run cannot be stopped. Reading the flag does
 * not order other memory accesses. */
static inline bool sti_stop_is_asked(const volatile bool *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

#endif
