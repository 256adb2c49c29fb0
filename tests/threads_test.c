/* The number of threads that can run at once. */
#include <criterion/criterion.h>

#include <sched.h>

#include "engine/base/cores.h"
#include "engine/run/run_setup.h"

Test(threads, there_are_as_many_workers_as_the_affinity_mask_has_cores)
{
    const strads_engine_options usual = {.size = sizeof usual};
    cpu_set_t all, some;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&some);
    uint32_t n = 0;
    for (size_t k = 0; k < CPU_SETSIZE; k++) {
        if (!CPU_ISSET(k, &all))
            continue;
        CPU_SET(k, &some);
        n++;
        cr_assert_eq(sched_setaffinity(0, sizeof some, &some), 0);
        cr_expect_eq(sti_cores(), n);
        cr_expect_eq(sti_setup_workers(&usual), n);
    }
}
