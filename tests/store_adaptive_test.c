/* The rule of STRADS_STALENESS_ADAPTIVE in isolation. include/strads/store.h
 * describes it; its constants are repeated here. */
#include <criterion/criterion.h>

#include "engine/store/session.h"

enum { CLOCKS = 8, MOST = 3, LONG = 1000000 };

static const strads_table_spec table = {.staleness_max = MOST};

/* Eight clocks that take `passed` ns, including `waited` ns of waiting for
 * reads. */
static uint32_t look(sti_adaptive *adaptive, uint64_t *now, uint64_t passed,
                     uint64_t waited)
{
    uint32_t before = adaptive->staleness;
    uint64_t began = *now;
    for (uint32_t k = 1; k <= CLOCKS; k++) {
        cr_assert_eq(adaptive->staleness, before, "it moved after %u clocks",
                     k - 1);
        sti_adaptive_waited(adaptive, waited / 2 * (k == 1 || k == 5) +
                                          waited % 2 * (k == 7));
        *now = began + passed * k / CLOCKS;
        sti_adaptive_clock(adaptive, *now, MOST);
    }
    return adaptive->staleness;
}

/* The staleness after one check with such a share of waiting, starting at
 * `from`. */
static uint32_t after(uint32_t from, uint64_t passed, uint64_t waited)
{
    uint64_t now = 0;
    sti_adaptive adaptive = {.staleness = from};
    return look(&adaptive, &now, passed, waited);
}

Test(store_adaptive, it_grows_to_the_largest_when_more_than_a_tenth_was_waiting)
{
    cr_assert_eq(after(0, LONG, LONG), MOST);
    cr_assert_eq(after(1, LONG, LONG / 10 + 1), MOST);
    cr_assert_eq(after(1, LONG, LONG / 10), 1);
}

Test(store_adaptive, it_shrinks_by_one_when_less_than_a_twentieth_was_waiting)
{
    cr_assert_eq(after(2, LONG, 0), 1);
    cr_assert_eq(after(2, LONG, LONG / 20 - 1), 1);
    cr_assert_eq(after(2, LONG, LONG / 20), 2);
    cr_assert_eq(after(2, LONG, LONG * 7 / 100), 2);
}

Test(store_adaptive, it_stays_between_none_and_the_largest)
{
    cr_assert_eq(after(0, LONG, 0), 0);
    cr_assert_eq(after(MOST, LONG, LONG), MOST);
    cr_assert_eq(after(0, 0, 0), 0);
    cr_assert_eq(after(1, 0, 0), 0);
}

/* Checks until the last increase is judged; returns the last staleness. */
static uint32_t judged(sti_adaptive *adaptive, uint64_t *now, uint64_t waited)
{
    enum { SKIP = 4, LOOKS = 8 };
    for (uint32_t k = 1; k < LOOKS; k++)
        cr_assert_eq(look(adaptive, now, LONG, k <= SKIP ? 0 : waited), MOST);
    return look(adaptive, now, LONG, waited);
}

Test(store_adaptive, each_look_is_at_the_time_since_the_one_before)
{
    uint64_t now = 5;
    sti_adaptive adaptive = {0};
    cr_assert_eq(look(&adaptive, &now, LONG, LONG), MOST);
    cr_assert_eq(judged(&adaptive, &now, LONG / 2), MOST); /* the increase
                                                            * helped */
    cr_assert_eq(look(&adaptive, &now, LONG, LONG / 2), MOST);
    cr_assert_eq(look(&adaptive, &now, LONG, LONG / 15), MOST);
    cr_assert_eq(look(&adaptive, &now, LONG, LONG / 50), MOST - 1);
    cr_assert_eq(look(&adaptive, &now, 100 * (uint64_t)LONG, LONG), MOST - 2);
}

/* Alternating stragglers: single checks are noisy, the mean decides. */
Test(store_adaptive, it_is_judged_by_the_mean_of_four_looks)
{
    static const uint64_t waited[] = {LONG / 100 * 90, 0, 0, LONG / 100 * 80};
    uint64_t now = 0;
    sti_adaptive adaptive = {0};
    cr_assert_eq(look(&adaptive, &now, LONG, LONG / 2), MOST);
    for (uint32_t k = 0; k < 4; k++)
        cr_assert_eq(look(&adaptive, &now, LONG, LONG), MOST); /* not judged
                                                                * yet */
    for (uint32_t k = 0; k < 4; k++)
        cr_assert_eq(look(&adaptive, &now, LONG, waited[k]), MOST);
    cr_assert_eq(look(&adaptive, &now, LONG, 0), MOST - 1);
}

/* A worker that always waits equally long checks the largest staleness more
 * and more rarely. */
Test(store_adaptive, it_steps_back_from_a_change_that_did_not_help_and_pauses)
{
    static const uint32_t pause[] = {8, 16, 32, 64, 128, 256, 256};
    uint64_t now = 0;
    sti_adaptive adaptive = {0};
    for (uint32_t k = 0; k < sizeof pause / sizeof *pause; k++) {
        cr_assert_eq(look(&adaptive, &now, LONG, LONG / 2), MOST);
        cr_assert_eq(judged(&adaptive, &now, LONG / 100 * 45), 0);
        for (uint32_t quiet = 1; quiet < pause[k]; quiet++)
            cr_assert_eq(look(&adaptive, &now, LONG, LONG / 2), 0);
    }
    cr_assert_eq(look(&adaptive, &now, LONG, LONG / 2), MOST);
    cr_assert_eq(judged(&adaptive, &now, LONG / 100 * 44), MOST);
}

Test(store_adaptive, a_table_is_read_at_its_own_bound_at_most)
{
    const sti_adaptive adaptive = {.staleness = 5};
    const strads_table_spec free_one = {.staleness_max = 0};
    cr_assert_eq(sti_adaptive_staleness(&adaptive, &table), MOST);
    cr_assert_eq(sti_adaptive_staleness(&adaptive, &free_one), 5);
    cr_assert_eq(sti_staleness_max(&free_one), 16);
}
