/* The priority policy under a stand-in for the engine. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/policy_harness.h"

/* A random symmetric matrix in which a fraction `dense` of pairs depend. */
static float *random_dependency(uint32_t n, double dense, uint64_t seed)
{
    float *d = malloc((size_t)n * n * sizeof *d);
    sti_random r = sti_random_stream(seed, 1, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double u = sti_random_unit(&r);
            double v = sti_random_unit(&r);
            float value = (float)(u < dense ? 0.1 + 0.9 * v : 0.09 * v);
            d[i * n + j] = d[j * n + i] = i == j ? 1 : value;
        }
    return d;
}

static float *random_weights(uint32_t n, uint64_t seed)
{
    float *w = malloc(n * sizeof *w);
    sti_random r = sti_random_stream(seed, 2, 0);
    for (uint32_t j = 0; j < n; j++)
        w[j] = (float)floor(pow(sti_random_unit(&r), -0.5));
    return w;
}

static void must(const char *wrong)
{
    cr_assert_null(wrong, "%s", wrong);
}

static double decays(harness *h, uint32_t j)
{
    double p = h->priority[j] * sti_random_unit(&h->random) * 0.9;
    return p < 1e-6 ? 0 : p;
}

static double keeps(harness *h, uint32_t j)
{
    return h->priority[j];
}

static double rests(harness *h, uint32_t j)
{
    (void)h, (void)j;
    return 0;
}

/* What a scan finds: a few that violate. */
static double scanned(harness *h, uint32_t j)
{
    (void)j;
    return sti_random_below(&h->random, 4) ? 0 : sti_random_unit(&h->random);
}

/* ---- every promise, at every answer ------------------------------------ */

typedef struct promise_case {
    uint64_t seed;
    bool scans; /* scan everything now and then, and change the work */
} promise_case;

static void play_promises(promise_case c)
{
    static const double densities[] = {0, 0.002, 0.01, 0.05, 0.3, 1};
    uint32_t n = 20 + (uint32_t)(c.seed * 7 % 180);
    float *d = random_dependency(n, densities[c.seed % 6], c.seed);
    float *w = random_weights(n, c.seed);
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
        wrong = harness_play(&h, sti_random_below(&h.random, 60), decays);
        harness_scan(&h, scanned);
    }
    uint64_t before = h.rests;
    if (!wrong)
        wrong = harness_play(&h, 100000, decays);
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
    /* A block that left alone, uncompared, met a pool whose pairs with it had
     * all been probed: its own diagonal was what lacked. */
    play_promises((promise_case){.seed = 3272, .scans = true});
}

Test(policy_priority, every_promise_holds_without_probes)
{
    for (uint32_t n = 1; n < 300; n += 11) {
        float *w = random_weights(n, n);
        harness h;
        harness_setup setup = {.parameters = n,
                               .weight = w,
                               .want = 1 + n % 5,
                               .depth = n % 3,
                               .work = 1 + n % 17,
                               .seed = n};
        must(harness_open(&h, &setup));
        must(harness_play(&h, 100000, decays));
        cr_assert_eq(h.rests, 1);
        cr_assert_eq(h.probes, 0);
        harness_close(&h);
        free(w);
    }
}

/* ---- the same again ---------------------------------------------------- */

static uint64_t fingerprint(const harness_setup *setup)
{
    harness h;
    must(harness_open(&h, setup));
    must(harness_play(&h, 100000, decays));
    uint64_t sum = h.asked;
    for (uint32_t k = 0; k < h.n_known; k++)
        for (uint32_t m = 0; m < h.known[k].block.n; m++)
            sum = sum * 31 + h.known[k].param[m];
    harness_close(&h);
    return sum;
}

Test(policy_priority, a_seed_names_the_whole_schedule)
{
    float *d = random_dependency(80, 0.05, 1);
    harness_setup setup = {
        .parameters = 80, .dependency = d, .want = 2, .depth = 1, .seed = 9};
    uint64_t first = fingerprint(&setup);
    cr_assert_eq(first, fingerprint(&setup));
    setup.seed = 10;
    cr_assert_neq(first, fingerprint(&setup));
    free(d);
}

/* ---- who is drawn ------------------------------------------------------ */

Test(policy_priority, what_moves_more_is_dispatched_more_often)
{
    harness h;
    harness_setup setup = {.parameters = 60,
                           .work = 1,
                           .block_max = 1,
                           .seed = 5};
    must(harness_open(&h, &setup));
    double sum = 0;
    for (uint32_t j = 0; j < 60; j++)
        h.priority[j] = 1 + j % 6;
    harness_scan(&h, keeps);
    for (uint32_t j = 0; j < 60; j++)
        sum += h.priority[j] + 0.01 * 3.5;
    enum { ROUNDS = 60000 };
    must(harness_play(&h, ROUNDS, keeps));
    double chi2 = 0, rounds = (double)h.blocks;
    for (uint32_t j = 0; j < 60; j++) {
        double expected = rounds * (h.priority[j] + 0.01 * 3.5) / sum;
        chi2 += pow((double)h.dispatched[j] - expected, 2) / expected;
    }
    cr_assert_gt(gsl_cdf_chisq_Q(chi2, 59), 1e-3, "chi2 %g", chi2);
    harness_close(&h);
}

static double one_moves(harness *h, uint32_t j)
{
    (void)h;
    return j == 7 ? 1 : 0;
}

Test(policy_priority, who_has_moved_is_visited_again_by_the_floor)
{
    harness h;
    harness_setup setup = {.parameters = 40, .work = 1, .block_max = 1};
    must(harness_open(&h, &setup));
    must(harness_play(&h, 200000, one_moves));
    for (int j = 0; j < 40; j++)
        cr_assert_gt(h.dispatched[j], 500, "%d: %d times", j,
                     (int)h.dispatched[j]);
    harness_close(&h);
}

Test(policy_priority, who_was_at_rest_in_a_scan_is_left_alone)
{
    harness h;
    harness_setup setup = {.parameters = 40, .work = 1, .block_max = 1};
    must(harness_open(&h, &setup));
    harness_scan(&h, one_moves);
    must(harness_play(&h, 1000, one_moves));
    for (int j = 0; j < 40; j++)
        cr_assert_eq(h.dispatched[j] > 0, j == 7);
    harness_close(&h);
}

Test(policy_priority, it_rests_as_soon_as_little_enough_is_left)
{
    harness h;
    harness_setup setup = {.parameters = 40, .rest = 1};
    must(harness_open(&h, &setup));
    harness_scan(&h, one_moves);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_REST);
    h.priority[3] = 0.001;
    harness_scan(&h, keeps);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_BLOCKS);
    harness_close(&h);
}

Test(policy_priority, it_waits_for_what_in_flight_may_still_change)
{
    harness h;
    harness_setup setup = {.parameters = 10, .work = 100, .block_max = 64};
    must(harness_open(&h, &setup));
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

/* Parameter 0 depends on all others, which are free of each other and keep the
 * pipeline full. */
Test(policy_priority, nobody_is_passed_by_for_ever)
{
    enum { N = 200 };
    float *d = calloc(N * N, sizeof *d);
    for (int j = 0; j < N; j++) {
        d[j * N + j] = 1;
        d[j] = d[j * N] = 0.9f;
    }
    harness h;
    harness_setup setup = {.parameters = N,
                           .dependency = d,
                           .work = 4,
                           .block_max = 4,
                           .want = 1,
                           .depth = 4};
    must(harness_open(&h, &setup));
    for (int k = 0; k < 20000; k++) {
        must(harness_ask(&h));
        if (h.last.kind == STRADS_CHOOSE_WAIT || h.n_in_flight > 4)
            harness_commit(&h, keeps);
    }
    double mean = (double)h.updates / N;
    cr_assert_gt((double)h.dispatched[0], mean / 50, "%d of %g",
                 (int)h.dispatched[0], mean);
    harness_close(&h);
    free(d);
}

/* ---- blocks ------------------------------------------------------------ */

Test(policy_priority, blocks_of_a_dispatch_have_similar_work)
{
    enum { N = 400 };
    float *w = random_weights(N, 3), *d = random_dependency(N, 0, 3);
    float heaviest = 0;
    for (int j = 0; j < N; j++)
        heaviest = w[j] > heaviest ? w[j] : heaviest;
    harness h;
    harness_setup setup = {.parameters = N,
                           .weight = w,
                           .dependency = d,
                           .work = 40,
                           .block_max = 64,
                           .want = 3};
    must(harness_open(&h, &setup));
    do {
        must(harness_ask(&h));
    } while (h.last.kind == STRADS_CHOOSE_PROBE);
    cr_assert_eq(h.last.n, 3);
    double least = INFINITY, most = 0;
    for (uint32_t k = 0; k < 3; k++) {
        double sum = 0;
        for (uint32_t m = 0; m < h.last.blocks[k].n; m++)
            sum += (double)w[strads_block_param(&h.last.blocks[k], m)];
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    cr_assert_geq(least, 40 - (double)heaviest);
    cr_assert_leq(most - least, (double)heaviest);
    harness_close(&h);
    free(w);
    free(d);
}

/* Pairs (0, 1), (2, 3), ... depend on each other, others do not. */
Test(policy_priority, who_depends_on_each_other_is_dispatched_together)
{
    enum { N = 36 }; /* few enough to be compared all at once */
    float *d = calloc(N * N, sizeof *d);
    for (int j = 0; j < N; j++) {
        d[j * N + j] = 1;
        d[j * N + (j ^ 1)] = 0.5f;
    }
    harness h;
    harness_setup setup = {.parameters = N,
                           .dependency = d,
                           .work = 6,
                           .want = 3};
    must(harness_open(&h, &setup));
    must(harness_play(&h, 1000, keeps));
    uint32_t together = 0, members = 0;
    for (uint32_t k = 0; k < h.n_known; k++)
        for (uint32_t m = 0; m < h.known[k].block.n; m++) {
            members++;
            for (uint32_t l = 0; l < h.known[k].block.n; l++)
                together += h.known[k].param[l] == (h.known[k].param[m] ^ 1);
        }
    cr_assert_eq(together, members);
    harness_close(&h);
    free(d);
}

Test(policy_priority, blocks_stay_together_while_their_members_move)
{
    enum { N = 96 };
    float *d = random_dependency(N, 0.01, 2);
    harness h;
    harness_setup setup = {.parameters = N,
                           .dependency = d,
                           .want = 2,
                           .depth = 1};
    must(harness_open(&h, &setup));
    must(harness_play(&h, 3000, keeps));
    uint32_t known = h.n_known;
    must(harness_play(&h, 3000, keeps));
    cr_assert_eq(h.n_known, known, "new blocks were made for no reason");
    harness_close(&h);
    free(d);
}

static double few_move(harness *h, uint32_t j)
{
    (void)h;
    return j % 8 == 0 ? 1 : 0;
}

static double first_twelve(harness *h, uint32_t j)
{
    (void)h;
    return j < 12;
}

/* A large block in the way must not keep those away that moved later on. */
Test(policy_priority, one_block_of_all_that_moves_takes_newcomers_in)
{
    harness h;
    const uint32_t newcomer[] = {20, 21, 22};
    const double moves[] = {.5, .5, .5};
    harness_setup setup = {.parameters = 40, .work = 1e6, .block_max = 16};
    must(harness_open(&h, &setup));
    harness_scan(&h, first_twelve);
    must(harness_play(&h, 3, keeps));
    cr_assert_gt(h.dispatched[0], 0);
    for (uint32_t k = 0; k < 3; k++)
        h.priority[newcomer[k]] = moves[k];
    h.policy->prioritise(h.state, 3, newcomer, moves);
    must(harness_play(&h, 3, keeps));
    for (uint32_t k = 0; k < 3; k++)
        cr_expect_gt(h.dispatched[newcomer[k]], 0, "%u", newcomer[k]);
    harness_close(&h);
}

Test(policy_priority, a_block_that_mostly_rests_is_dissolved)
{
    enum { N = 128 };
    for (int probes = 0; probes < 2; probes++) {
        float *d = probes ? random_dependency(N, 0, 2) : NULL;
        harness h;
        harness_setup setup = {.parameters = N, .dependency = d, .work = 16};
        must(harness_open(&h, &setup));
        must(harness_play(&h, 400, keeps)); /* all are in some block */
        harness_scan(&h, few_move);
        must(harness_play(&h, 400, few_move));
        uint64_t blocks = h.blocks, updates = h.updates;
        must(harness_play(&h, 400, few_move));
        blocks = h.blocks - blocks;
        updates = h.updates - updates;
        memset(h.dispatched, 0, N * sizeof *h.dispatched);
        must(harness_play(&h, 400, few_move));
        for (int j = 0; j < N; j++)
            cr_assert_eq(h.dispatched[j] > 0, j % 8 == 0, "%d", j);
        harness_close(&h);
        free(d);
    }
}

Test(policy_priority, blocks_grow_with_the_work_asked_for)
{
    harness h;
    harness_setup setup = {.parameters = 512,
                           .work = 1,
                           .block_max = 64,
                           .want = 1};
    must(harness_open(&h, &setup));
    must(harness_play(&h, 5000, keeps));
    cr_assert_eq(h.known[0].block.n, 1);
    h.setup.work = 32;
    must(harness_play(&h, 5000, keeps));
    uint64_t blocks = h.blocks, updates = h.updates;
    must(harness_play(&h, 5000, keeps));
    double mean = (double)(h.updates - updates) / (double)(h.blocks - blocks);
    cr_assert_gt(mean, 24, "%g members a block", mean);
    harness_close(&h);
}

/* ---- probes ------------------------------------------------------------ */

Test(policy_priority, what_is_known_is_not_probed_again)
{
    enum { N = 100 };
    float *d = random_dependency(N, 0.02, 4);
    harness h;
    harness_setup setup = {.parameters = N,
                           .dependency = d,
                           .want = 3,
                           .depth = 1};
    must(harness_open(&h, &setup));
    must(harness_play(&h, 5000, keeps));
    uint64_t probes = h.probes;
    must(harness_play(&h, 5000, keeps));
    cr_assert_eq(h.probes, probes);
    harness_close(&h);
    free(d);
}

Test(policy_priority, outdated_dependencies_are_compared_again)
{
    enum { N = 60 };
    float *d = random_dependency(N, 0, 4), *e = random_dependency(N, 0.1, 5);
    harness h;
    harness_setup setup = {.parameters = N,
                           .dependency = d,
                           .want = 3,
                           .depth = 1};
    must(harness_open(&h, &setup));
    must(harness_play(&h, 3000, keeps));
    while (h.n_in_flight)
        harness_commit(&h, keeps);
    h.setup.dependency = e;
    memset(h.probed, 0, N * N);
    h.epoch++;
    must(harness_play(&h, 3000, keeps));
    harness_close(&h);
    free(d);
    free(e);
}

Test(policy_priority, a_probe_that_is_never_answered_only_slows_it_down)
{
    enum { N = 30 };
    float *d = random_dependency(N, 0, 4);
    harness h;
    harness_setup setup = {.parameters = N,
                           .dependency = d,
                           .want = 2,
                           .depth = 1};
    must(harness_open(&h, &setup));
    h.setup.deaf = true;
    must(harness_play(&h, 100000, decays));
    cr_assert_eq(h.rests, 1);
    harness_close(&h);
    free(d);
}

Test(policy_priority, a_scan_while_probing_starts_the_choice_afresh)
{
    enum { N = 200 };
    float *d = random_dependency(N, 0, 4);
    harness h;
    harness_setup setup = {.parameters = N, .dependency = d, .want = 2};
    must(harness_open(&h, &setup));
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_PROBE);
    harness_scan(&h, one_moves);
    do {
        must(harness_ask(&h));
    } while (h.last.kind == STRADS_CHOOSE_PROBE);
    cr_assert_eq(h.updates, 1, "what rests was dispatched");
    cr_assert_eq(h.dispatched[7], 1);
    harness_close(&h);
    free(d);
}

Test(policy_priority, a_choice_that_did_not_leave_can_be_chosen_again)
{
    harness h;
    harness_setup setup = {.parameters = 10, .work = 100, .block_max = 64};
    must(harness_open(&h, &setup));
    must(harness_ask(&h));
    uint64_t id = h.last.blocks[0].id;
    memset(h.flying, 0, 10 * sizeof *h.flying);
    h.n_in_flight = 0;
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_BLOCKS);
    cr_assert_eq(h.last.blocks[0].id, id);
    harness_close(&h);
}

/* Whether the policy asks for a probe first, at this threshold. */
static bool probes_at(double threshold, const float *dependency)
{
    harness h;
    harness_setup setup = {.parameters = 60,
                           .dependency = dependency,
                           .threshold = threshold,
                           .want = 2};
    must(harness_open(&h, &setup));
    must(harness_ask(&h));
    bool probes = h.last.kind == STRADS_CHOOSE_PROBE;
    harness_close(&h);
    return probes;
}

Test(policy_priority, nothing_is_compared_when_every_dependency_is_allowed)
{
    float *d = random_dependency(60, 0.5, 1);
    cr_assert(probes_at(0.1, d));
    cr_assert_not(probes_at(1, d));
    free(d);
}
