/* Reads the affinity mask; without one, the number of online cores. */
#include "engine/base/cores.h"

#include <sched.h>
#include <unistd.h>

uint32_t sti_cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        return (uint32_t)CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
