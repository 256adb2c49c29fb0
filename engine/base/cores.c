/* Reads the affinity mask; if that fails, the number of online cores. */
#include "engine/base/cores.h"

#include <sched.h>
#include <unistd.h>

uint32_t sti_cores(void)
{
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        return (uint32_t)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
