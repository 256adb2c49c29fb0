/* The priority policy under a stand-in for the engine. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/policy_harness.h"

static double rests(harness *h, uint32_t j)
{
    (void)h, (void)j;
    return 0;
}

/* Result of a scan: a few parameters violate. */
static double scanned(harness *h, uint32_t j)
{
    (void)j;
    return sti_random_below(&h->random, 4) ? 0 : sti_random_unit(&h->random);
}

/* ---- every promise at every answer --------------------------------------- */

typedef struct promise_case {
    uint64_t seed;
    bool scans; /* scans everything occasionally, and changes the work */
} promise_case;

static void play_promises(promise_case c)
{
    static const double densities[] = {0, 0.002, 0.01, 0.05, 0.3, 1};
    uint32_t n = 20 + (uint32_t)(c.seed * 7 % 180);
    float *d = harness_dependency(n, densities[c.seed % 6], c.seed);
    float *w = harness_weights(n, c.seed);
    harness h;
    harness_setup setup = {.parameters = n,
                           .weight = w,
                           .dependency = d,
                           .want = 1 + (uint32_t)(c.seed % 4),
                           .depth = (uint32_t)(c.seed / 4 % 4),
                           .rest = c.seed % 2 ? 0 : 1e-3,
                           .seed = c.seed};
    const char *wrong = harness_open(&h, &setup);
    for (int scan = 0; scan < 20 && c.scans && !wrong; scan++) {
        h.setup.work = 1 + (double)sti_random_below(&h.random, 30);
        wrong =
            harness_play(&h, sti_random_below(&h.random, 60), harness_decays);
        harness_scan(&h, scanned);
    }
    uint64_t before = h.rests;
    if (!wrong)
        wrong = harness_play(&h, 100000, harness_decays);
    cr_assert_null(wrong, "seed %d: %s", (int)c.seed, wrong);
    cr_assert_eq(h.rests, before + 1, "seed %d: no rest", (int)c.seed);
    for (uint32_t j = 0; j < n && !c.scans; j++)
        cr_assert(h.dispatched[j] > 0, "seed %d: %u starved", (int)c.seed, j);
    harness_close(&h);
    free(d);
    free(w);
}

Test(policy_priority, every_promise_holds_under_random_dependencies)
{
    for (uint64_t seed = 0; seed < 72; seed++)
        play_promises((promise_case){.seed = seed});
}

Test(policy_priority, every_promise_holds_while_scans_come_in_between)
{
    for (uint64_t seed = 100; seed < 172; seed++)
        play_promises((promise_case){.seed = seed, .scans = true});
    /* A block that had left alone and uncompared was joined with a pool. All
     * pairs with the pool had been probed, but its own diagonal was missing. */
    play_promises((promise_case){.seed = 3272, .scans = true});
}

Test(policy_priority, every_promise_holds_without_probes)
{
    for (uint32_t n = 1; n < 300; n += 11) {
        float *w = harness_weights(n, n);
        harness h = harness_begin((harness_setup){.parameters = n,
                                                  .weight = w,
                                                  .want = 1 + n % 5,
                                                  .depth = n % 3,
                                                  .work = 1 + n % 17,
                                                  .seed = n});
        must(harness_play(&h, 100000, harness_decays));
        cr_assert_eq(h.rests, 1);
        cr_assert_eq(h.probes, 0);
        harness_close(&h);
        free(w);
    }
}

/* ---- repeated plays ------------------------------------------------------ */

static uint64_t fingerprint(const harness_setup *setup)
{
    harness h;
    must(harness_open(&h, setup));
    must(harness_play(&h, 100000, harness_decays));
    uint64_t sum = h.asked;
    for (uint32_t k = 0; k < h.n_known; k++)
        for (uint32_t m = 0; m < h.known[k].block.n; m++)
            sum = sum * 31 + h.known[k].param[m];
    harness_close(&h);
    return sum;
}

Test(policy_priority, a_seed_names_the_whole_schedule)
{
    float *d = harness_dependency(80, 0.05, 1);
    harness_setup setup = {
        .parameters = 80, .dependency = d, .want = 2, .depth = 1, .seed = 9};
    uint64_t first = fingerprint(&setup);
    cr_assert_eq(first, fingerprint(&setup));
    setup.seed = 10;
    cr_assert_neq(first, fingerprint(&setup));
    free(d);
}

/* ---- which parameters are drawn ------------------------------------------ */

Test(policy_priority, parameters_that_move_more_are_dispatched_more_often)
{
    harness h = harness_begin((
        harness_setup){.parameters = 60, .work = 1, .block_max = 1, .seed = 5});
    double sum = 0;
    for (uint32_t j = 0; j < 60; j++)
        h.priority[j] = 1 + j % 6;
    harness_scan(&h, harness_keeps);
    for (uint32_t j = 0; j < 60; j++)
        sum += h.priority[j] + 0.01 * 3.5;
    enum { ROUNDS = 60000 };
    must(harness_play(&h, ROUNDS, harness_keeps));
    double chi2 = 0, rounds = (double)h.blocks;
    for (uint32_t j = 0; j < 60; j++) {
        double expected = rounds * (h.priority[j] + 0.01 * 3.5) / sum;
        chi2 += pow((double)h.dispatched[j] - expected, 2) / expected;
    }
    cr_assert_gt(gsl_cdf_chisq_Q(chi2, 59), 1e-3, "chi2 %g", chi2);
    harness_close(&h);
}

Test(policy_priority, the_floor_revisits_parameters_that_have_moved)
{
    harness h = harness_begin(
        (harness_setup){.parameters = 40, .work = 1, .block_max = 1});
    must(harness_play(&h, 200000, harness_one_moves));
    for (int j = 0; j < 40; j++)
        cr_assert_gt(h.dispatched[j], 500, "%d: %d times", j,
                     (int)h.dispatched[j]);
    harness_close(&h);
}

Test(policy_priority, a_parameter_idle_in_a_scan_is_left_alone)
{
    harness h = harness_begin(
        (harness_setup){.parameters = 40, .work = 1, .block_max = 1});
    harness_scan(&h, harness_one_moves);
    must(harness_play(&h, 1000, harness_one_moves));
    for (int j = 0; j < 40; j++)
        cr_assert_eq(h.dispatched[j] > 0, j == 7);
    harness_close(&h);
}

Test(policy_priority, it_rests_as_soon_as_little_enough_is_left)
{
    harness h = harness_begin((harness_setup){.parameters = 40, .rest = 1});
    harness_scan(&h, harness_one_moves);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_REST);
    h.priority[3] = 0.001;
    harness_scan(&h, harness_keeps);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_BLOCKS);
    harness_close(&h);
}

Test(policy_priority, it_waits_for_blocks_in_flight_that_may_change_priorities)
{
    harness h = harness_begin(
        (harness_setup){.parameters = 10, .work = 100, .block_max = 64});
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_BLOCKS);
    cr_assert_eq(h.last.blocks[0].n, 10);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_WAIT);
    harness_commit(&h, rests);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_REST);
    harness_close(&h);
}

/* Parameter 0 depends on all others. The others are independent and keep the
 * pipeline full. */
Test(policy_priority, every_parameter_is_visited_in_the_end)
{
    enum { N = 200 };
    float *d = calloc(N * N, sizeof *d);
    for (int j = 0; j < N; j++) {
        d[j * N + j] = 1;
        d[j] = d[j * N] = 0.9f;
    }
    harness h = harness_begin((harness_setup){.parameters = N,
                                              .dependency = d,
                                              .work = 4,
                                              .block_max = 4,
                                              .want = 1,
                                              .depth = 4});
    for (int k = 0; k < 20000; k++) {
        must(harness_ask(&h));
        if (h.last.kind == STRADS_CHOOSE_WAIT || h.n_in_flight > 4)
            harness_commit(&h, harness_keeps);
    }
    double mean = (double)h.updates / N;
    cr_assert_gt((double)h.dispatched[0], mean / 50, "%d of %g",
                 (int)h.dispatched[0], mean);
    harness_close(&h);
    free(d);
}
