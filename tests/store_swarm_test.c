/* Hundreds of worlds of the spread store, each with its own order, losses and
 * restarts; and that the checks find what is wrong. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/store_swarm.h"

enum { SEEDS = 120, WRONG_SEEDS = 60 };

Test(store_swarm, every_promise_holds_in_every_world)
{
    swarm_result sum = {0}, r;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        swarm_run(seed, SWARM_RIGHT, &r);
        cr_assert_str_eq(r.breach, "", "seed %llu, step %llu: %s",
                         (unsigned long long)seed, (unsigned long long)r.steps,
                         r.breach);
        cr_assert(r.ended);
        sum.reads += r.reads;
        sum.restarts += r.restarts;
        sum.lost += r.lost;
        sum.doubled += r.doubled;
        sum.snapshots += r.snapshots;
    }
    cr_assert_gt(sum.reads, 100 * SEEDS);
    cr_assert_gt(sum.snapshots, 10 * SEEDS);
    cr_assert_gt(sum.restarts, SEEDS);
    cr_assert_gt(sum.lost, 20 * SEEDS);
    cr_assert_gt(sum.doubled, 20 * SEEDS);
}

/* Where eager messages were lost, rows were as of an earlier clock again. */
Test(store_swarm, worlds_that_broke_a_promise_once_keep_it)
{
    static const uint64_t seeds[] = {1212, 1600, 1680};
    for (uint32_t k = 0; k < sizeof seeds / sizeof seeds[0]; k++) {
        swarm_result r;
        swarm_run(seeds[k], SWARM_RIGHT, &r);
        cr_assert_str_eq(r.breach, "");
    }
}

Test(store_swarm, the_same_seed_is_the_same_world)
{
    swarm_result a, b;
    swarm_run(5, SWARM_RIGHT, &a);
    swarm_run(5, SWARM_RIGHT, &b);
    cr_assert_eq(a.steps, b.steps);
    cr_assert_eq(a.lost, b.lost);
}

Test(store_swarm, each_thing_done_wrong_is_found)
{
    for (swarm_wrong wrong = SWARM_RIGHT + 1; wrong < SWARM_WRONGS; wrong++) {
        bool found = false;
        for (uint64_t seed = 1; !found && seed <= WRONG_SEEDS; seed++) {
            swarm_result r;
            swarm_run(seed, wrong, &r);
            found = r.breach[0] != '\0';
        }
        cr_assert(found, "nothing found where %d is wrong", (int)wrong);
    }
}
